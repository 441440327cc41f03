#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Entries of B Z to 1000 bits, by an independent program: writes tests/golden/exact_entry.json.

Shares nothing with the C++ code but docs/math/addressing.md: ChaCha20 in Python, the Box-Muller
transform in mpmath, B as an explicit row of exact fractions. `digits` is |entry| in base 2^64, the
integer part first, rounded down; `swapped` is the entry that exchanging planes 1 and 2 of every
uniform would give, which a test has to reject.

Needs mpmath (any 1.x):  python3 tests/reference/exact_entry_oracle.py [--constants]
"""

import json
import pathlib
import sys
from fractions import Fraction

from mpmath import mp, mpf

mp.prec = 1000
SEED = 20
NUM_PLANES = 14
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "exact_entry.json"
MASK = 0xFFFFFFFF
KEY = [int.from_bytes((SEED.to_bytes(8, "little") + b"dpftrl insecure seed key")[4 * i:4 * i + 4],
                      "little") for i in range(8)]


def chacha20(counter_and_nonce, rounds=20):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574] + KEY + counter_and_nonce
    x = list(start)

    def quarter(a, b, c, d):
        for i, j, k, r in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[i] = (x[i] + x[j]) & MASK
            x[k] ^= x[i]
            x[k] = (x[k] << r | x[k] >> (32 - r)) & MASK

    for _ in range(rounds // 2):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(a, b, c, d)
    return [(a + b) & MASK for a, b in zip(x, start)]


def plane(row, coordinate, number):
    group, inside = divmod(coordinate, 32)
    q, lane = divmod(inside, 4)
    block = chacha20([4 * group + lane, row & MASK, row >> 32 | number << 16, 0])
    w = block[q // 2 * 4:][:4]
    return w[1] << 32 | w[0], w[3] << 32 | w[2], q % 2


def normal(row, coordinate, order):
    u1 = u2 = mpf(0)
    for position, number in enumerate(order):
        high, low, is_sine = plane(row, coordinate, number)
        u1 += mpf(high) / mpf(2) ** (64 * (position + 1))
        u2 += mpf(low) / mpf(2) ** (64 * (position + 1))
    radius = mp.sqrt(-2 * mp.log(u1))
    return radius * (mp.sin if is_sine else mp.cos)(2 * mp.pi * u2)


def square_root_coefficients(n):
    exact = [Fraction(1)]
    for j in range(1, n):
        exact.append(exact[-1] * (2 * j - 1) / (2 * j))
    return [Fraction(float(f)) for f in exact]


def row_of(form, step):
    """measurement -> weight."""
    if form == "identity":
        return {step: Fraction(1)}
    if form == "running_sum":
        return {t: Fraction(1) for t in range(step + 1)}
    if form == "square_root":
        return {t: f for t, f in enumerate(reversed(square_root_coefficients(step + 1)))}
    if form == "signed_toeplitz":  # coefficients of two signs, some large, some tiny
        return {t: Fraction((-1.5) ** (step - t) * 0.1) for t in range(step + 1)}
    weights = [1 / (2 * (1 - 2.0 ** (-l - 1))) if form == "honaker" else 1.0 for l in range(12)]
    order = {}  # post-order number of each node
    for t in range(step + 1):
        for level in range(12):
            if (t + 1) % (1 << level) == 0:
                order[level, t >> level] = len(order)

    def estimate(level, index):
        own = Fraction(weights[level])
        row = {order[level, index]: own}
        if own != 1:
            for child in (2 * index, 2 * index + 1):
                for m, w in estimate(level - 1, child).items():
                    row[m] = row.get(m, 0) + (1 - own) * w
        return row

    total, begin = {}, 0
    for level in range(11, -1, -1):
        if (step + 1) >> level & 1:
            total.update(estimate(level, begin >> level))
            begin += 1 << level
    return total


def digits_of(value):
    value, digits = abs(value), []
    for _ in range(9):
        digit = int(mp.floor(value))
        digits.append(digit)
        value = (value - digit) * mpf(2) ** 64
    return digits


def entry(form, step, coordinate, order):
    total = mpf(0)
    for measurement, weight in row_of(form, step).items():
        z = normal(measurement, coordinate, order)
        total += z * mpf(weight.numerator) / mpf(weight.denominator)
    return total


# Rows of column 0 and 1 with the smallest and largest u1 among the first 30000.
def extreme_rows():
    first = [(plane(row, 0, 0)[0], row) for row in range(30000)]
    return min(first)[1], max(first)[1]


def main():
    if "--constants" in sys.argv:
        for value in (mp.log(2), mp.pi / 2):
            print(", ".join(f"0x{d:016x}" for d in digits_of(value)))
        return
    small, large = extreme_rows()
    cases = [("identity", small, 0), ("identity", large, 4), ("identity", large, 0),
             ("identity", 7, 0), ("identity", 7, 4), ("identity", 7, 61), ("identity", 8, 1023),
             ("identity", 1 << 33, 30), ("running_sum", 40, 2), ("tree", 12, 3), ("tree", 45, 4),
             ("honaker", 0, 0), ("honaker", 22, 9), ("honaker", 47, 5), ("square_root", 29, 6),
             ("square_root", 17, 1), ("signed_toeplitz", 25, 11)]
    straight = list(range(NUM_PLANES))
    swapped = [0, 2, 1] + straight[3:]
    rows = []
    for form, step, coordinate in cases:
        value, wrong = (entry(form, step, coordinate, o) for o in (straight, swapped))
        rows.append({"form": form, "step": step, "coordinate": coordinate,
                     "negative": bool(value < 0),
                     "digits": " ".join(f"{d:016x}" for d in digits_of(value)),
                     "swapped": " ".join(f"{d:016x}" for d in digits_of(wrong))})
    OUTPUT.write_text(json.dumps({"entries": rows}, indent=1) + "\n")
    print(f"{len(rows)} entries; smallest u1 in row {small}, largest in row {large}")


if __name__ == "__main__":
    main()
