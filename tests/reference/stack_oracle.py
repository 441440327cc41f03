#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several workloads with common noise, written independently of the C++ code: writes
tests/golden/stacks.json.

    python3 tests/reference/stack_oracle.py            writes the file, in a few seconds
    python3 tests/reference/stack_oracle.py --check    exit 1 if the committed one is stale

A stack is the prefix sums (width = the horizon) and windows of widths a and b, with weights whose
sum is 1; G = sum weight A^T A.

optima    root mean square error of the best encoder with columns of norm 1, by the fixed point
          v = diag((D^(1/2) G D^(1/2))^(1/2)), D = diag(v): the error squared is sum v / n.
choices   the least error of square roots of Toeplitz matrices with columns scaled to norm 1. The
          matrices are the workloads, and the one with the first column of the lower-triangular L
          for which L^T L = G.
"""

import json
import math
import pathlib
import sys

from sensitivity_oracle import inverse_series, write_or_check
from window_oracle import square_root_of, window

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "stacks.json"
STACKS = [
    # Widths and their weights.
    ((64, 3), (0.5, 0.5)),
    ((64, 3, 7), (1 / 3, 1 / 3, 1 / 3)),
    ((64, 3, 7), (0.1, 0.3, 0.6)),
    ((2, 5), (0.5, 0.5)),
    ((3, 9, 20), (0.2, 0.3, 0.5)),
]


def gram_of(widths, weights, n):
    """Gram matrix of A_ti = 1 for i <= t < i + width: columns i <= j overlap from row j to row i +
    width - 1."""
    return [
        [
            sum(w * max(0, min(n, min(i, j) + width) - max(i, j)) for width, w in zip(widths, weights))
            for j in range(n)
        ]
        for i in range(n)
    ]


def multiply(a, b):
    columns = list(zip(*b))
    return [[math.fsum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def inverse(matrix):
    """Inverse of a positive definite matrix, by Gauss-Jordan elimination."""
    n = len(matrix)
    rows = [list(row) + [float(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = rows[i][i]
        rows[i] = [x / pivot for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i] != 0:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return [row[n:] for row in rows]


def square_root(matrix):
    """Matrix square root, by the Denman-Beavers iteration."""
    n = len(matrix)
    y, z = matrix, [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(24):
        y_inverse, z_inverse = inverse(y), inverse(z)
        y, z = (
            [[(a + b) / 2 for a, b in zip(*rows)] for rows in zip(y, z_inverse)],
            [[(a + b) / 2 for a, b in zip(*rows)] for rows in zip(z, y_inverse)],
        )
    return y


def optimum(widths, weights, n):
    gram = gram_of(widths, weights, n)
    v = [1.0] * n
    for _ in range(60):
        roots = [math.sqrt(x) for x in v]
        scaled = [[roots[i] * gram[i][j] * roots[j] for j in range(n)] for i in range(n)]
        v = [row[i] for i, row in enumerate(square_root(scaled))]
    return math.sqrt(math.fsum(v) / n)


def common_column(gram):
    """First column of the lower-triangular L with L^T L = gram, from the last row up."""
    n = len(gram)
    lower = [[0.0] * n for _ in range(n)]
    for j in reversed(range(n)):
        rest = gram[j][j] - math.fsum(lower[t][j] ** 2 for t in range(j + 1, n))
        lower[j][j] = math.sqrt(rest)
        for i in range(j):
            known = math.fsum(lower[t][i] * lower[t][j] for t in range(j + 1, n))
            lower[j][i] = (gram[i][j] - known) / lower[j][j]
    return [lower[t][0] for t in range(n)]


def error_of_root(column, widths, weights, n):
    root = square_root_of([x / column[0] for x in column])
    norms = [math.sqrt(math.fsum(c * c for c in root[: n - j])) for j in range(n)]
    inverted = inverse_series(root, n)
    total = 0.0
    for j in range(n):
        increments = [norms[i] * inverted[i - j] for i in range(j, n)]  # D C^-1
        for width, weight in zip(widths, weights):
            running, squares = 0.0, []
            for i, x in enumerate(increments):
                running += x - (increments[i - width] if i >= width else 0.0)
                squares.append(running * running)
            total += weight * math.fsum(squares)
    return math.sqrt(total / n)


def choice(widths, weights, n):
    columns = [window(width, n, 1.0) for width in (n, *widths)]
    columns.append(common_column(gram_of(widths, weights, n)))
    return min(error_of_root(column, widths, weights, n) for column in columns)


def row(widths, weights, n, value):
    # Fewer workloads than three repeat the first with weight 0.
    a, b, c = (*widths, widths[0])[:3]
    u, v, w = (*weights, 0.0)[:3]
    keys = {"num_steps": n, "width_a": a, "width_b": b, "width_c": c}
    return keys | {"weight_a": u, "weight_b": v, "weight_c": w, "error": round(value, 10)}


def document():
    return {
        "optima": [row(*stack, 12, optimum(*stack, 12)) for stack in STACKS],
        "choices": [row(*stack, 64, choice(*stack, 64)) for stack in STACKS],
    }


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
