#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums with weights, written independently of the C++ code: writes tests/golden/weights.json.

    python3 tests/reference/weights_oracle.py            writes the file, in a few seconds
    python3 tests/reference/weights_oracle.py --check    exit 1 if the committed one is stale

With m_t = momentum m_{t-1} + w_t, the workload is S_t = decay S_{t-1} + m_t.

errors          root mean square error at sensitivity 1 of the square root of the workload, and of
                the same with columns of norm 1: columns of B = A D C^-1 are computed separately.
sensitivities   of encoders with exact entries, by listing all allowed sets of steps and all signs
                (sensitivity_oracle.py).
sums            S_t of the integers 1000003 (t + 1) mod 2001 - 1000 as an exact fraction: its floor,
                and the first 53 bits of the rest.
"""

import json
import math
import pathlib
import sys
from fractions import Fraction

from sensitivity_oracle import allowed_sets, inverse_series, largest, toeplitz, write_or_check
from window_oracle import PATTERNS, square_root_of

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "weights.json"
NUM_STEPS = 1024
OF_ERRORS = [(0.0, 0.99), (0.0, 0.999), (0.9, 1.0), (0.9, 0.99)]
# Halves, so that fractions stay short.
OF_SENSITIVITIES = [(0.0, 0.5), (0.0, 0.75), (0.5, 1.0), (0.5, 0.75)]
OF_SUMS = [(0.0, 0.5), (0.0, 0.99), (0.0, 0.999999), (0.9, 1.0), (0.9, 0.99), (0.25, 1e-20)]
STEPS_OF_SUMS = (0, 1, 2, 7, 40, 150)


def filtered(momentum, decay, inputs):
    """S of these inputs."""
    average = total = 0 * momentum
    sums = []
    for x in inputs:
        average = momentum * average + x
        total = decay * total + average
        sums.append(total)
    return sums


def errors(momentum, decay, n):
    root = square_root_of(filtered(momentum, decay, [1.0] + [0.0] * (n - 1)))
    squares = [c * c for c in root]
    norms_squared = [math.fsum(squares[: n - j]) for j in range(n)]
    # Row n - 1 - j of B = C has the norm of column j.
    square_root = math.sqrt(norms_squared[0] * math.fsum(norms_squared) / n)
    inverse = inverse_series(root, n)
    total = 0.0
    for j in range(n):
        column = [math.sqrt(norms_squared[i]) * inverse[i - j] for i in range(j, n)]
        total += math.fsum(x * x for x in filtered(momentum, decay, column))
    return {
        "momentum": momentum,
        "decay": decay,
        "num_steps": n,
        # Sums of floats differ between versions of Python.
        "square_root": round(square_root, 11),
        "normalized_square_root": round(math.sqrt(total / n), 11),
    }


def sensitivities():
    rows = []
    for kind, k, b, n in PATTERNS:
        sets = list(allowed_sets(kind, k, b, n))
        for momentum, decay in OF_SENSITIVITIES:
            impulse = [Fraction(1)] + [Fraction(0)] * (n - 1)
            weights = filtered(Fraction(momentum), Fraction(decay), impulse)
            for name, series in (("square-root", square_root_of(weights)), ("output", weights)):
                absolute, scalar = largest(toeplitz(series, n), sets)
                row = {"strategy": name, "momentum": momentum, "decay": decay, "kind": kind}
                row |= {"k": k, "b": b, "n": n, "absolute": absolute, "scalar": scalar}
                rows.append(row)
    return rows


def sums():
    rows = []
    for momentum, decay in OF_SUMS:
        integers = [Fraction(1000003 * (t + 1) % 2001 - 1000) for t in range(STEPS_OF_SUMS[-1] + 1)]
        # Fraction(0.99) is exactly the double.
        exact = filtered(Fraction(momentum), Fraction(decay), integers)
        for step in STEPS_OF_SUMS:
            floor = math.floor(exact[step])
            rest = math.floor((exact[step] - floor) * 2**53) / 2**53
            row = {"momentum": momentum, "decay": decay, "step": step, "floor": floor}
            rows.append(row | {"rest": rest})
    return rows


def document():
    return {
        "errors": [errors(momentum, decay, NUM_STEPS) for momentum, decay in OF_ERRORS],
        "sensitivities": sensitivities(),
        "sums": sums(),
    }


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
