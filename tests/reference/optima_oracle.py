#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Optima at 1024 steps, written independently of the C++ code: writes tests/golden/optima.json.

Needs numpy (python3-numpy of Debian), and two minutes: it is not part of `scripts/test generated`.

    python3 tests/reference/optima_oracle.py            writes the file
    python3 tests/reference/optima_oracle.py --check    exit 1 if the committed one is stale

windows, decays   least root mean square error of an encoder with columns of norm 1 at most. With
                  G = A^T A, D = diag(v) for any v > 0 and S = (D^(1/2) G D^(1/2))^(1/2):

                  error^2 >= tr(S)^2 / (n sum v)            Cauchy and Schwarz, for every encoder
                  error^2 <= tr(S) max(S_ii / v_i) / n      C^T C = D^(-1/2) S D^(-1/2), rescaled

                  v^-0.8 (diag S)^1.8 takes the place of v until both bounds agree to 1e-6; the file
                  has the lower one, which is off by far less: it is stationary at the optimum.
totals            lower bounds on the root mean square error of every mechanism for totals of records
                  between -1 and 1, from ||A D||_* by a singular value decomposition, where D has the
                  steps of a block as a column, for the best length of blocks
                  (docs/math/mechanism-bounds.md).
"""

import functools
import json
import math
import pathlib
import sys

import numpy

from sensitivity_oracle import write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "optima.json"
NUM_STEPS = 1024
WIDTHS = (8, 64, 512)
DECAYS = (0.99, 0.999)
RHOS = (0.5, 0.1, 0.005)
MOST_LENGTH = 64


def optimum(weights):
    n = len(weights)
    sums = numpy.zeros((n, n))
    for t in range(n):
        sums[t, : t + 1] = weights[t::-1]
    gram = sums.T @ sums
    v = numpy.ones(n)
    while True:
        roots = numpy.sqrt(v)
        values, vectors = numpy.linalg.eigh(gram * numpy.outer(roots, roots))
        halves = numpy.sqrt(numpy.maximum(values, 0))
        diagonal = (vectors * vectors) @ halves
        trace = halves.sum()
        low = trace / math.sqrt(n * v.sum())
        high = math.sqrt(trace * (diagonal / v).max() / n)
        if high - low <= 1e-6 * high:
            return round(low, 7)
        v *= (diagonal / v) ** 1.8


@functools.cache
def norm_over_root(n, length):
    """||A D||_* / sqrt(n n') for n' blocks of `length` steps."""
    num_blocks = (n - length // 2) // length
    blocks = numpy.zeros((n, num_blocks))
    blocks[range(num_blocks * length), numpy.arange(num_blocks * length) // length] = 1
    norm = numpy.linalg.svd(numpy.cumsum(blocks, axis=0), compute_uv=False).sum()
    return norm / math.sqrt(n * num_blocks)


def bound_on_every_mechanism(n, rho):
    # Longer blocks have a chi-square divergence beyond the range of doubles.
    lengths = [length for length in range(1, MOST_LENGTH + 1) if 2 * length**2 * rho < 700]
    bounds = [
        (norm_over_root(n, length) / (1 + math.sqrt(math.expm1(2 * length**2 * rho))), length)
        for length in lengths
    ]
    every, length = max(bounds)
    return {"rho": rho, "num_steps": n, "block_length": length, "every": round(every, 9)}


def document():
    n = NUM_STEPS
    windows = [[1.0] * width + [0.0] * (n - width) for width in WIDTHS]
    decays = [[decay**t for t in range(n)] for decay in DECAYS]
    return {
        "windows": [
            {"width": width, "num_steps": n, "error": optimum(weights)}
            for width, weights in zip(WIDTHS, windows)
        ],
        "decays": [
            {"decay": decay, "num_steps": n, "error": optimum(weights)}
            for decay, weights in zip(DECAYS, decays)
        ],
        "totals": [bound_on_every_mechanism(n, rho) for rho in RHOS],
    }


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
