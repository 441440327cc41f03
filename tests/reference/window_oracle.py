#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sliding windows, written independently of the C++ code: writes tests/golden/windows.json.

    python3 tests/reference/window_oracle.py            writes the file, in a few seconds
    python3 tests/reference/window_oracle.py --check    exit 1 if the committed one is stale

errors          root mean square error at sensitivity 1 of two factorizations of the window: its
                square root C, a series squared coefficient by coefficient, and the same with columns
                of norm 1, for which every column of B = A D C^-1 is computed separately.
sensitivities   of encoders with exact entries, by listing all allowed sets of steps and all signs
                (sensitivity_oracle.py).
"""

import json
import math
import pathlib
import sys
from fractions import Fraction

from sensitivity_oracle import allowed_sets, inverse_series, largest, toeplitz, write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "windows.json"
NUM_STEPS = 1024
WIDTHS = (8, 64, 512)
PATTERNS = [
    ("single", 1, 8, 8),
    ("min-separation", 2, 2, 8),
    ("min-separation", 3, 1, 8),
    ("min-separation", 2, 5, 8),
    ("fixed-epoch", 2, 4, 8),
]


def window(width, n, one):
    return [one] * min(width, n) + [0 * one] * (n - width)


def square_root_of(series):
    """c with c * c = series, first coefficient 1."""
    root = [series[0]]
    for j in range(1, len(series)):
        known = sum(root[i] * root[j - i] for i in range(1, j))
        root.append((series[j] - known) / 2)
    return root


def errors(width, n):
    root = square_root_of(window(width, n, 1.0))
    squares = [c * c for c in root]
    # Column j of C has the first n - j coefficients, as does row n - 1 - j of B.
    norms_squared = [math.fsum(squares[: n - j]) for j in range(n)]
    square_root = math.sqrt(norms_squared[0] * math.fsum(norms_squared) / n)
    inverse = inverse_series(root, n)
    norms = [math.sqrt(x) for x in norms_squared]
    total = 0.0
    for j in range(n):
        column, parts = [0.0] * (j + width), []
        for i in range(j, n):
            column.append(norms[i] * inverse[i - j])  # D C^-1
        running = 0.0
        for i in range(j, n):
            # The column begins `width` entries early, with zeros.
            running += column[i + width] - column[i]
            parts.append(running * running)
        total += math.fsum(parts)
    return {
        "width": width,
        "num_steps": n,
        # Sums of floats differ between versions of Python.
        "square_root": round(square_root, 12),
        "normalized_square_root": round(math.sqrt(total / n), 12),
    }


def sensitivities():
    rows = []
    for kind, k, b, n in PATTERNS:
        sets = list(allowed_sets(kind, k, b, n))
        for width in range(1, n):
            ones = window(width, n, Fraction(1))
            for name, series in (("square-root", square_root_of(ones)), ("output", ones)):
                absolute, scalar = largest(toeplitz(series, n), sets)
                row = {"strategy": name, "width": width, "kind": kind, "k": k, "b": b, "n": n}
                rows.append(row | {"absolute": absolute, "scalar": scalar})
    return rows


def document():
    return {
        "errors": [errors(width, NUM_STEPS) for width in WIDTHS],
        "sensitivities": sensitivities(),
    }


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
