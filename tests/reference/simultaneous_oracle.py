#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Levels of simultaneous errors with 20 digits, roots to 14: writes tests/golden/simultaneous.json.

Square roots of prefix sums, sensitivity included: union bound, product bound (Sidak), bound
from neighbouring rows (a double integral by quadrature), norms in d dimensions (incomplete gamma
functions), and the level of a sum of equal chi-squares. No formula for tails is shared
with cpp/src/analysis.

Needs mpmath (python3-mpmath of Debian 12 or 13), and 90 CPU seconds: it is not part of `scripts/test
generated`.

    python3 tests/reference/simultaneous_oracle.py            writes the file
    python3 tests/reference/simultaneous_oracle.py --check    exit 1 if the committed one is stale
"""

import json
import math
import pathlib
import sys

from mpmath import mp, mpf, erfc, gammainc, log1p, sqrt

from sensitivity_oracle import write_or_check

mp.dps = 20
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "simultaneous.json"


def root_of(function, low, high):
    """Root of a decreasing function between two points, to 14 digits."""
    low, high = mpf(low), mpf(high)
    assert function(low) > 0 > function(high)
    while high - low > mpf(10) ** -14 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def square_root(num_steps):
    """Row norms, products of neighbouring rows, and the sensitivity."""
    column = [mpf(1)]
    for j in range(1, num_steps):
        column.append(column[-1] * (2 * j - 1) / (2 * j))
    norms, products, total, product = [], [], mpf(0), mpf(0)
    for j, entry in enumerate(column):
        total += entry**2
        if j:
            product += entry * column[j - 1]
            products.append(product)
        norms.append(sqrt(total))
    return norms, products, norms[-1]


def two_sided(h):
    return erfc(h / sqrt(mpf(2)))


def norm_tail(h, dimension):
    return gammainc(mpf(dimension) / 2, h * h / 2, regularized=True)


def both_beyond(h, k, r):
    """P(|X| > h, |Y| > k), by conditioning on X; Simpson's rule in double precision."""
    s = math.sqrt(1 - r * r)
    intervals, width = 1000, 12 / 1000
    total = 0
    for i in range(intervals + 1):
        v = h + i * width
        beyond = math.erfc((k - r * v) / s / math.sqrt(2)) + math.erfc((k + r * v) / s / math.sqrt(2))
        weight = 1 if i in (0, intervals) else 4 if i % 2 else 2
        total += weight * math.exp(-v * v / 2) * beyond
    return total * width / 3 / math.sqrt(2 * math.pi)


def levels(num_steps, beta, dimension):
    norms, products, sensitivity = square_root(num_steps)
    beta = mpf(beta)
    high = 40 * norms[-1]
    union = root_of(lambda x: dimension * sum(two_sided(x / s) for s in norms) - beta, 0.3, high)
    cost = -log1p(-beta)
    product = root_of(
        lambda x: dimension * sum(-log1p(-two_sided(x / s)) for s in norms) - cost, 0.3, high)
    norm = root_of(lambda x: sum(-log1p(-norm_tail(x / s, dimension)) for s in norms) - cost,
                   sqrt(mpf(dimension)) * 0.7, high)
    return {"num_steps": num_steps, "beta": float(beta), "dimension": dimension,
            "union_bound": mp.nstr(union * sensitivity, 20),
            "product": mp.nstr(product * sensitivity, 20),
            "norm": mp.nstr(norm * sensitivity, 20)}


def neighbours(num_steps, beta, dimension):
    norms, products, sensitivity = ([float(x) for x in each] if isinstance(each, list)
                                    else float(each) for each in square_root(num_steps))
    each = -math.expm1(math.log1p(-beta) / dimension)

    def excess(x):
        total = math.erfc(x / norms[0] / math.sqrt(2))
        for t in range(1, num_steps):
            r = products[t - 1] / norms[t] / norms[t - 1]
            total += math.erfc(x / norms[t] / math.sqrt(2))
            total -= both_beyond(x / norms[t - 1], x / norms[t], r)
        return total - each

    low, high = 0.5, 8 * norms[-1]
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return {"num_steps": num_steps, "beta": beta, "dimension": dimension,
            "neighbours": high * sensitivity}


def chi_squared(num_steps, beta, dimension):
    """Quantile of a chi-square with num_steps * dimension degrees of freedom: all weights are 1."""
    degrees = num_steps * dimension
    root = root_of(lambda q: gammainc(mpf(degrees) / 2, q / 2, regularized=True) - mpf(beta),
                   degrees / 4, 2 * degrees + 200)
    return {"num_steps": num_steps, "beta": beta, "dimension": dimension,
            "quantile": mp.nstr(root, 20)}


def counted(num_paths, beta):
    """Largest k with P(Binomial(num_paths, beta) <= k) <= 1e-6, in integers scaled by 2^200."""
    scale = 1 << 200
    odds = mpf(beta) / (1 - mpf(beta))
    mp.dps = 60
    term, total, k = (1 - mpf(beta)) ** num_paths * scale, 0, -1
    while True:
        total += int(term) + 1
        if total > scale // 10**6:
            break
        k += 1
        term = term * odds * (num_paths - k) / (k + 1)
    mp.dps = 20
    return {"num_paths": num_paths, "beta": beta, "above": k}


def main():
    records = {
        "binomial_counts": [
            counted(n, beta)
            for n, beta in [(300, 0.05), (1000, 0.05), (20000, 0.05), (20000, 0.005),
                            (5000, 0.5), (100, 0.9), (260, 0.05), (1 << 20, 0.5)]],
        "simultaneous_levels": [
            levels(n, beta, d)
            for n, beta, d in [(1, 0.05, 1), (1, 0.3, 2), (2, 0.05, 3), (8, 0.05, 1), (8, 1e-3, 4),
                               (8, 0.5, 7), (16, 0.05, 1), (16, 1e-12, 10), (16, 0.05, 41),
                               (8, 1e-200, 1), (1024, 0.05, 1), (1024, 0.05, 10)]],
        "neighbour_levels": [
            neighbours(n, beta, d)
            for n, beta, d in [(2, 0.05, 1), (8, 0.05, 1), (8, 0.5, 3), (16, 1e-6, 1),
                            (1024, 0.05, 1)]],
        "equal_weights": [
            chi_squared(n, beta, d)
            for n, beta, d in [(1, 0.05, 1), (4, 0.05, 1), (4, 1e-6, 3), (64, 0.05, 10),
                               (64, 0.5, 1)]],
    }
    lines = []
    for name, rows in records.items():
        body = ",\n".join("  " + json.dumps(row) for row in rows)
        lines.append(f' "{name}": [\n{body}\n ]')
    return write_or_check(OUTPUT, "{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
