#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities by brute force, written independently of the C++ code.

    python3 tests/reference/sensitivity_oracle.py            write golden/sensitivity_oracle.json
    python3 tests/reference/sensitivity_oracle.py --check    exit 1 if the committed file is stale

Every allowed set of steps is listed by filtering all subsets of the steps (`is_allowed` is the
definition, word for word), not by a search that could share a mistake with the library. For an
encoder C given as a list of rows:

    absolute   max over sets of sqrt(sum_{i,j} |<C_i, C_j>|)
    scalar     max over sets and signs of |sum_i +-C_i|
    value      for trees: max over sets of the sum over completed dyadic intervals of count^2

Sums are exact fractions where C is rational; the square root is taken last. Standard library only.
"""

import itertools
import json
import math
import pathlib
import sys
from fractions import Fraction

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "sensitivity_oracle.json"


def is_allowed(steps, kind, k, b, n):
    """True if one user may contribute to exactly these steps (increasing)."""
    if len(steps) > k:
        return False
    if kind == "fixed-epoch":  # a part of s, s + b, ..., s + (k-1) b
        assert n == k * b
        return len({step % b for step in steps}) <= 1
    return all(later - earlier >= b for earlier, later in zip(steps, steps[1:]))


def allowed_sets(kind, k, b, n):
    most = min(k, (n - 1) // b + 1)
    for size in range(1, most + 1):
        for steps in itertools.combinations(range(n), size):
            if is_allowed(steps, kind, k, b, n):
                yield steps


def toeplitz(coefficients, n):
    padded = list(coefficients)[:n] + [Fraction(0)] * (n - len(coefficients))
    return [[padded[i - j] if i >= j else Fraction(0) for j in range(n)] for i in range(n)]


def square_root(n):
    f = [Fraction(1)]
    for j in range(1, n):
        f.append(f[-1] * Fraction(2 * j - 1, 2 * j))
    return f


def inverse_series(coefficients, n):
    inverse = [1 / coefficients[0]]
    for j in range(1, n):
        total = sum(
            coefficients[i] * inverse[j - i] for i in range(1, min(j, len(coefficients) - 1) + 1)
        )
        inverse.append(-total / coefficients[0])
    return inverse


def dyadic_intervals(n):
    intervals = []
    size = 1
    while size <= n:
        intervals += [range(i, i + size) for i in range(0, n - size + 1, size)]
        size *= 2
    return intervals


def encoders(n):
    f = square_root(n)
    g = [Fraction(1)] + [-f[j] / (2 * j - 1) for j in range(1, n)]
    mixed = [Fraction(1), Fraction(-1, 2), Fraction(4, 5)]
    yield "identity", toeplitz([Fraction(1)], n)
    yield "prefix", toeplitz([Fraction(1)] * n, n)
    yield "square-root", toeplitz(f, n)
    yield "banded-square-root-3", toeplitz(f[:3], n)
    yield "banded-inverse-square-root-3", toeplitz(inverse_series(g[:3], n), n)
    yield "mixed-3", toeplitz(mixed, n)
    yield "alternating", toeplitz([Fraction((-1) ** j, j + 1) for j in range(n)], n)
    yield "spike", toeplitz([Fraction(int(j % 3 == 0), 1 + j) for j in range(n)], n)
    yield "tree", [[Fraction(int(j in rows)) for j in range(n)] for rows in dyadic_intervals(n)]


def largest(encoder, sets):
    n = len(encoder[0])
    gram = [[sum(row[i] * row[j] for row in encoder) for j in range(n)] for i in range(n)]
    absolute = scalar = Fraction(0)
    for steps in sets:
        absolute = max(absolute, sum(abs(gram[i][j]) for i in steps for j in steps))
        for signs in itertools.product((1, -1), repeat=len(steps) - 1):
            weighted = list(zip(steps, (1, *signs)))
            square = sum(a * c * gram[i][j] for i, a in weighted for j, c in weighted)
            scalar = max(scalar, square)
    return math.sqrt(absolute), math.sqrt(scalar)


SCHEMAS = [
    ("min-separation", 3, 3, 8),
    ("min-separation", 2, 2, 6),
    ("min-separation", 9, 2, 7),
    ("min-separation", 4, 1, 6),
    ("min-separation", 2, 5, 10),
    ("fixed-epoch", 2, 4, 8),
    ("fixed-epoch", 3, 3, 9),
    ("fixed-epoch", 5, 2, 10),
]

TREES = [
    ("min-separation", 1, 8, 8),
    ("min-separation", 3, 4, 9),
    ("min-separation", 3, 3, 7),
    ("min-separation", 3, 3, 9),
    ("min-separation", 3, 2, 7),
    ("min-separation", 2, 2, 4),
    ("min-separation", 16, 1, 16),
    ("min-separation", 5, 3, 15),
    ("min-separation", 4, 5, 17),
    ("min-separation", 3, 7, 24),
    ("min-separation", 8, 3, 24),
    ("min-separation", 8, 2, 24),
    ("min-separation", 6, 4, 22),
    ("fixed-epoch", 4, 5, 20),
    ("fixed-epoch", 7, 3, 21),
    ("fixed-epoch", 8, 3, 24),
]


def tree_value(kind, k, b, n):
    nodes = dyadic_intervals(n)
    sets = allowed_sets(kind, k, b, n)
    return max(sum(sum(s in node for s in steps) ** 2 for node in nodes) for steps in sets)


def document():
    patterns = []
    for kind, k, b, n in SCHEMAS:
        sets = list(allowed_sets(kind, k, b, n))
        for name, encoder in encoders(n):
            absolute, scalar = largest(encoder, sets)
            patterns.append(
                {
                    "encoder": name,
                    "kind": kind,
                    "k": k,
                    "b": b,
                    "n": n,
                    "num_sets": len(sets),
                    "absolute": absolute,
                    "scalar": scalar,
                }
            )
    trees = [
        {"kind": kind, "k": k, "b": b, "n": n, "value": tree_value(kind, k, b, n)}
        for kind, k, b, n in TREES
    ]
    return json.dumps({"patterns": patterns, "trees": trees}, indent=1) + "\n"


def write_or_check(target, text):
    """Writes the text, or with --check returns exit status 1 if the committed file differs from
    it."""
    if "--check" not in sys.argv[1:]:
        target.write_text(text)
    elif target.read_text() != text:
        print(f"stale, run {sys.argv[0]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, document()))
