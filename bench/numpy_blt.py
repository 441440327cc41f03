#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Baseline N: float32 rows of a BLT with four buffers in NumPy, as one would write them by hand.

A row is a fresh normal less what the buffers hold: x = z - sum w_i s_i; s_i = d_i s_i + x. Blocks of
2^16 coordinates go through all four buffers while they are in the cache; of the sizes from 2^12 to
2^20, this is the fastest. Prints the JSON that run.mjs reads.

    python3 bench/numpy_blt.py [MIN_SECONDS]
"""

import json
import sys
import time

import numpy as np

DIMENSION = 1 << 20
BLOCK = 1 << 16
DECAYS = np.array([0.9, 0.99, 0.999, 0.9999], np.float32)
WEIGHTS = np.array([0.1, 0.05, 0.02, 0.01], np.float32)


def make_row():
    """Returns a function that makes the next row."""
    generator = np.random.default_rng(1)
    row = np.empty(DIMENSION, np.float32)
    buffers = np.zeros((4, DIMENSION), np.float32)
    scaled = np.empty(BLOCK, np.float32)

    def next_row():
        for first in range(0, DIMENSION, BLOCK):
            x = row[first : first + BLOCK]
            generator.standard_normal(BLOCK, dtype=np.float32, out=x)
            held = buffers[:, first : first + BLOCK]
            for i in range(4):
                np.multiply(held[i], WEIGHTS[i], out=scaled)
                x -= scaled
            for i in range(4):
                held[i] *= DECAYS[i]
                held[i] += x

    return next_row


def main():
    least = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    next_row = make_row()
    for _ in range(3):
        next_row()
    rows = 0
    real = time.perf_counter()
    start = time.process_time()
    while time.process_time() - start < least:
        next_row()
        rows += 1
    cpu, real = time.process_time() - start, time.perf_counter() - real
    times = {"cpu_time": cpu / rows * 1e9, "real_time": real / rows * 1e9}
    result = {"name": "baseline/N", "time_unit": "ns", "items": DIMENSION, **times}
    context = {"compiler": f"NumPy {np.__version__}", "flags": f"Python {sys.version.split()[0]}"}
    print(json.dumps({"context": context, "benchmarks": [result]}))


if __name__ == "__main__":
    main()
