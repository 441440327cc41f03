#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random lower-triangular encoders C, with 50 digits and independently of the code of the package:
writes tests/golden/encoders.json.

    python3 tests/reference/encoder_oracle.py            writes the file, in a few seconds
    python3 tests/reference/encoder_oracle.py --check    exit 1 if the committed one is stale

Entries come row after row from s -> 48271 s mod (2^31 - 1), s_0 = seed: with r = s mod 1025, an
entry is (r - 512) / 4096, and on the diagonal (r + 512) / 1024.

sensitivity    the largest column norm of C
max_error,     that times the largest norm, and the root mean square of the norms, of the rows of
mean_error     B = A C^-1, for A the prefix sums (width = the horizon) or a window
increments     standard deviations of the noise C^-1 Z of single steps, at the first, middle and last
               step: roots of the diagonal of (C^T C)^-1
"""

import json
import pathlib
import sys
from decimal import Decimal, getcontext

from sensitivity_oracle import write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "encoders.json"
# Horizon, seed, widths of windows.
CASES = [(1, 5, (1,)), (4, 1, (4, 3)), (64, 2, (64, 3)), (256, 3, (256, 7))]

getcontext().prec = 50


def encoder(n, seed):
    rows = []
    for i in range(n):
        row = []
        for j in range(i + 1):
            seed = seed * 48271 % (2**31 - 1)
            r = seed % 1025
            row.append(Decimal(r + 512) / 1024 if i == j else Decimal(r - 512) / 4096)
        rows.append(row)
    return rows


def inverse_of(rows):
    """Rows of C^-1 by forward substitution: C_ii x_i = e_i - sum over k < i of C_ik x_k."""
    inverse = []
    for i, row in enumerate(rows):
        right = [Decimal(0)] * i + [Decimal(1)]
        for k in range(i):
            for j in range(k + 1):
                right[j] -= row[k] * inverse[k][j]
        inverse.append([entry / row[i] for entry in right])
    return inverse


def squared_norm(values):
    return sum(value * value for value in values)


def decoder_norms(inverse, width):
    """Squared norms of the rows of A C^-1, each the sum of the last `width` rows of C^-1."""
    n = len(inverse)
    norms, total = [], [Decimal(0)] * n
    for t in range(n):
        for j, entry in enumerate(inverse[t]):
            total[j] += entry
        if t >= width:
            for j, entry in enumerate(inverse[t - width]):
                total[j] -= entry
        norms.append(squared_norm(total))
    return norms


def document():
    cases = []
    for n, seed, widths in CASES:
        rows = encoder(n, seed)
        inverse = inverse_of(rows)
        sensitivity = max(squared_norm(rows[i][j] for i in range(j, n)) for j in range(n)).sqrt()
        for width in widths:
            norms = decoder_norms(inverse, width)
            cases.append({
                "num_steps": n,
                "seed": seed,
                "width": width,
                "sensitivity": float(sensitivity),
                "max_error": float(sensitivity * max(norms).sqrt()),
                "mean_error": float(sensitivity * (sum(norms) / n).sqrt()),
                "increments": [float(squared_norm(inverse[t]).sqrt()) for t in (0, n // 2, n - 1)],
            })
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    return f'{{"encoders": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, document()))
