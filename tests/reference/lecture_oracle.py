#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The noise that the lecture of docs/sources.md gives the binary tree, and the privacy it has,
written independently of the code of the package: writes tests/golden/lecture.json.

    python3 tests/reference/lecture_oracle.py            writes the file
    python3 tests/reference/lecture_oracle.py --check    exit 1 if the committed one is stale

sigma        2 sqrt(log T log(1/delta)) / epsilon, with either logarithm of T
zero_out,    the epsilon at which a Gaussian mechanism of sensitivity sqrt(log2(T) + 1), or twice
replacement  that, and noise sigma has this delta, Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) with
             mu = sensitivity / sigma (Balle, Wang 2018)
needed       the sigma at which replacement has epsilon
"""

import json
import math
import pathlib
import sys

from sensitivity_oracle import write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "lecture.json"
STEPS, EPSILON, DELTA = 1024, 1.0, 1e-6


def below(x):
    """Phi(x)"""
    return math.erfc(-x / math.sqrt(2)) / 2


def delta_of(epsilon, mu):
    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


def root(decreasing, low, high):
    """Where a decreasing function is 0."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(middle) > 0 else (low, middle)
    return low


def epsilon_of(mu):
    return root(lambda epsilon: delta_of(epsilon, mu) - DELTA, 0.0, 50.0)


def document():
    # A record is in the node of each level, from single steps up to all of them.
    sensitivity = math.sqrt(math.log2(STEPS) + 1)
    claims = []
    for name, logarithm in (("natural", math.log), ("binary", math.log2)):
        sigma = 2 * math.sqrt(logarithm(STEPS) * math.log(1 / DELTA)) / EPSILON
        claims.append({
            "logarithm": name,
            "sigma": sigma,
            "zero_out": epsilon_of(sensitivity / sigma),
            "replacement": epsilon_of(2 * sensitivity / sigma),
        })
    mu = 1 / root(lambda it: delta_of(EPSILON, 1 / it) - DELTA, 0.1, 1000.0)
    return json.dumps({
        "num_steps": STEPS,
        "epsilon": EPSILON,
        "delta": DELTA,
        "sensitivity": sensitivity,
        "claims": claims,
        "needed": 2 * sensitivity / mu,
    }, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, document()))
