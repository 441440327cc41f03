#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Distances of the columns of moments, written independently of the C++ code: writes
tests/golden/moments.json.

    python3 tests/reference/moments_oracle.py            writes the file, in a few seconds
    python3 tests/reference/moments_oracle.py --check    exit 1 if the committed one is stale

distance_squared  largest squared distance of two records of numbers in [-1, 1], or of one and none,
                  by listing all records on a lattice, in rational arithmetic: squared distances
                  contain only squares of the weights. For records that may move it is twice the
                  largest squared norm, since no inner product of records is negative.
"""

import itertools
import json
import pathlib
import sys
from fractions import Fraction

from sensitivity_oracle import write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "moments.json"
# Columns, covariance, number of listed values per column.
CASES = [(1, False, 33), (2, False, 9), (3, False, 5), (2, True, 9), (3, True, 5)]


RELATIONS = ("zero-out", "replace-one", "fixed times")


def weights_squared(num, covariance, relation):
    """Squares of the weights of counts, squares and products, and the centre subtracted from
    squares."""
    has_pairs = covariance and num > 1
    product = Fraction(2 if relation == "zero-out" else 1, num - 1) if has_pairs else Fraction(0)
    if relation == "zero-out":
        return Fraction(1), Fraction(4), product, Fraction(5, 8)
    if relation == "replace-one":
        return ((Fraction(num, 2), Fraction(3, 2), product, Fraction(1)) if has_pairs
                else (Fraction(7 * num, 8), Fraction(2), product, Fraction(3, 4)))
    if has_pairs:
        return Fraction(9, 4), Fraction(2), product, Fraction(3, 4)
    return Fraction(9, 4), Fraction(11, 4), product, Fraction(15, 22)


def difference_squared(a, b, weights):
    """Squared distance of two records; None stands for no record."""
    count, square, product, centre = weights
    pairs = list(itertools.combinations(range(len(a or b)), 2))

    def columns(record):
        if record is None:
            return 0, [0] * len(a or b), [0] * len(a or b), [0] * len(pairs)
        products = [record[i] * record[j] for i, j in pairs]
        return 1, record, [x * x - centre for x in record], products

    (n, x, s, p), (m, y, t, q) = columns(a), columns(b)
    return (
        count * (n - m) ** 2
        + sum((u - v) ** 2 for u, v in zip(x, y))
        + square * sum((u - v) ** 2 for u, v in zip(s, t))
        + product * sum((u - v) ** 2 for u, v in zip(p, q))
    )


def largest(num, covariance, values, relation):
    weights = weights_squared(num, covariance, relation)
    lattice = [Fraction(2 * k, values - 1) - 1 for k in range(values)]
    records = list(itertools.product(lattice, repeat=num))
    norms = {a: difference_squared(a, None, weights) for a in records}
    found = max(norms.values())
    if relation == "zero-out":
        return found
    # Flipping the signs of a number in both records preserves their distance, so one record may be
    # assumed to have no negative number.
    first = [a for a in records if min(a) >= 0]
    distances = {(a, b): difference_squared(a, b, weights) for a in first for b in records}
    if relation == "fixed times":
        return max(found, max(distances.values()))
    assert all(norms[a] + norms[b] >= distance for (a, b), distance in distances.items())
    return 2 * found


def document():
    return [
        {
            "columns": num,
            "covariance": covariance,
            "neighbours": "zero-out" if relation == "zero-out" else "replace-one",
            "fixed_times": relation == "fixed times",
            "distance_squared": float(largest(num, covariance, values, relation)),
        }
        for num, covariance, values in CASES
        for relation in RELATIONS
    ]


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
