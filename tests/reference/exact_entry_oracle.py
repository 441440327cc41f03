#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Entries of B Z to 1000 bits, by an independent program: writes tests/golden/exact_entry.json.

Shares only docs/math/addressing.md with the C++ code: ChaCha20 in Python, the Box-Muller
transform in mpmath, B as an explicit row of exact fractions. `digits` is |entry| in base 2^64, the
integer part first, rounded down; `swapped` is the entry that exchanging planes 1 and 2 of every
uniform would give, which a test must reject.

Needs mpmath (any 1.x):  python3 tests/reference/exact_entry_oracle.py [--constants]
"""

import functools
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


def combination(*terms):
    """Sum of factor * row over (factor, row); factors are ints, doubles or fractions."""
    total = {}
    for factor, row in terms:
        for measurement, weight in row.items():
            total[measurement] = total.get(measurement, 0) + Fraction(factor) * weight
    return {m: w for m, w in total.items() if w != 0}


def kary_row(arity, subtractive, num_levels, step):
    order = {}
    for s in range(arity ** num_levels):
        for level in range(num_levels):
            if (s + 1) % arity ** level == 0:
                order[level, s // arity ** level] = len(order)
    row, end, rest = {}, 0, step + 1
    for level in reversed(range(num_levels)):
        size = arity ** level
        digit = (rest + (size - 1) // 2) // size if subtractive else rest // size
        for i in range(abs(digit)):
            if digit > 0:
                row[order[level, end // size + i]] = Fraction(1)
            else:
                row[order[level, end // size - 1 - i]] = Fraction(-1)
        end += digit * size
        rest -= digit * size
    return row


def haar_row(mean_scale, scales, step):
    num_levels = len(scales)
    terms = [(mean_scale, {0: step + 1})]
    for level in range(1, num_levels + 1):
        for i in range(2 ** (num_levels - level)):
            values = [(1 if s % 2 ** level < 2 ** level // 2 else -1)
                      for s in range(step + 1) if s // 2 ** level == i]
            terms.append((scales[level - 1], {2 ** (num_levels - level) + i: sum(values)}))
    return combination(*terms)


def solved(coefficients, size):
    """First column of the inverse of a lower-triangular Toeplitz matrix."""
    c = [Fraction(x) for x in coefficients] + [Fraction(0)] * size
    g = []
    for t in range(size):
        unit = 1 if t == 0 else 0
        g.append((unit - sum(c[k] * g[t - k] for k in range(1, t + 1))) / c[0])
    return g


def summed_row(g, step):
    """Row of A G, where the lower-triangular Toeplitz matrix G has first column g, padded with
    zeros."""
    return {j: sum((Fraction(x) for x in g[:step - j + 1]), Fraction(0)) for j in range(step + 1)}


def buffered_row(decays, weights, step):
    decays, weights = [Fraction(x) for x in decays], [Fraction(x) for x in weights]
    c = [Fraction(1)] + [sum(w * d ** j for w, d in zip(weights, decays)) for j in range(step + 1)]
    return summed_row(solved(c, step + 1), step)


def autoregressive_row(offset, decay, innovation, step):
    row = {0: Fraction(offset), 1: Fraction(decay) ** step}
    for t in range(1, step + 1):
        row[t + 1] = Fraction(innovation) * Fraction(decay) ** (step - t)
    return row


def toeplitz_row(coefficients, step):
    return {j: Fraction(coefficients[step - j]) for j in range(step + 1)}


def block_row(blocks, step):
    """Blocks are (steps, row function, measurements, closing row)."""
    carried, first, begin = {}, 0, 0
    for num_steps, row, num_measurements, closing in blocks:
        def placed(t):
            return {first + m: w for m, w in row(t).items()}
        if step < begin + num_steps:
            return combination((1, carried), (1, placed(step - begin)))
        carried = combination((1, carried), (1, placed(closing)))
        first += num_measurements
        begin += num_steps
    raise ValueError(step)


def filtered_row(base, scales, workload, step):
    """`workload(t, i)` is A_ti, `scales(i)` is D_i."""
    rows = [{}] + [base(i) for i in range(step + 1)]
    return combination(*(
        (Fraction(workload(step, i)) * Fraction(scales(i)) * sign, row)
        for i in range(step + 1) for sign, row in ((1, rows[i + 1]), (-1, rows[i]))))


def momentum_entry(beta, alpha, t, i):
    return sum(Fraction(alpha) ** (t - s) * Fraction(beta) ** (s - i) for s in range(i, t + 1))


def rates_entry(rates, beta, t, i):
    return sum(Fraction(rates(s)) * Fraction(beta) ** (s - i) for s in range(i, t + 1))


def no_scales(_):
    return 1


BANDED = (-1.3, 0.7, 0.4, 0.1)
BLOCKS = (
    (5, lambda t: kary_row(3, False, 2, t), 12, 7),  # completed beyond its steps
    (4, lambda t: haar_row(0.5, (0.6, 0.7), t), 4, 3),
    (6, lambda t: {j: Fraction(1) for j in range(t + 1)}, 6, 3),
    (10, lambda t: summed_row(solved(BANDED, t + 1), t), 10, 9),
)


@functools.cache
def mixed(t):
    return block_row(BLOCKS, t)


# The doubles here equal those in `form_of` of tests/cpp/noise/exact/exact_entry_test.cpp.
OTHER_FORMS = {
    "kary": lambda t: kary_row(3, False, 5, t),
    "kary_subtractive": lambda t: kary_row(5, True, 4, t),
    "haar": lambda t: haar_row(0.17, (0.9, 0.7, 0.55, 0.41, 0.3), t),
    "banded": lambda t: summed_row(solved(BANDED, t + 1), t),
    "banded_growing": lambda t: summed_row(solved((1.0, -1.2), t + 1), t),
    "banded_inverse": lambda t: summed_row((0.9, -0.5, 0.3, -0.7, 0.1), t),
    "autoregressive": lambda t: autoregressive_row(0.3, 0.625, 0.8, t),
    "buffered": lambda t: buffered_row((0.9, 0.5, 0.0), (0.3, 0.4, 0.2), t),
    "block": mixed,
    "filtered_prefix": lambda t: filtered_row(
        lambda i: toeplitz_row([1 / (1 + j) for j in range(30)], i),
        lambda i: 1 / (1 + i), lambda t, i: 1, t),
    "filtered_momentum": lambda t: filtered_row(
        lambda i: row_of("honaker", i), no_scales,
        lambda t, i: momentum_entry(0.9, 0.95, t, i), t),
    "filtered_window": lambda t: filtered_row(
        mixed, lambda i: 1 + i / 8, lambda t, i: int(t - i < 6), t),
    "filtered_plain_window": lambda t: filtered_row(
        lambda i: kary_row(5, True, 4, i), no_scales, lambda t, i: int(t - i < 5), t),
    "filtered_rates": lambda t: filtered_row(
        lambda i: buffered_row((0.9, 0.5, 0.0), (0.3, 0.4, 0.2), i), no_scales,
        lambda t, i: rates_entry(lambda s: (-1) ** s * (0.5 + s * 0.25), 0.5, t, i), t),
    "filtered_matrix": lambda t: filtered_row(
        lambda i: summed_row(solved(BANDED, i + 1), i), lambda i: 1 / (1 + i),
        lambda t, i: ((t * 7 + i * 3) % 5 - 1.5) * 0.3, t),
}


def row_of(form, step):
    """Map from measurement to weight."""
    if form == "identity":
        return {step: Fraction(1)}
    if form == "running_sum":
        return {t: Fraction(1) for t in range(step + 1)}
    if form == "square_root":
        return {t: f for t, f in enumerate(reversed(square_root_coefficients(step + 1)))}
    if form == "signed_toeplitz":  # coefficients of two signs, some large, some tiny
        return {t: Fraction((-1.5) ** (step - t) * 0.1) for t in range(step + 1)}
    if form in OTHER_FORMS:
        return OTHER_FORMS[form](step)
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


# Rows with the smallest and the largest u1 of columns 0 and 4, among the first 30000.
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
             ("square_root", 17, 1), ("signed_toeplitz", 25, 11), ("kary", 46, 0), ("kary", 79, 5),
             ("kary_subtractive", 47, 3), ("kary_subtractive", 110, 2), ("haar", 0, 3),
             ("haar", 12, 4), ("haar", 30, 8), ("banded", 0, 10), ("banded", 38, 2),
             ("banded_growing", 30, 3), ("banded_inverse", 2, 4), ("banded_inverse", 40, 5),
             ("buffered", 0, 6), ("buffered", 37, 1),
             ("autoregressive", 0, 2), ("autoregressive", 41, 7), ("block", 4, 9), ("block", 7, 12),
             ("block", 14, 3), ("block", 22, 8), ("filtered_prefix", 0, 5),
             ("filtered_prefix", 28, 7), ("filtered_momentum", 21, 2), ("filtered_window", 3, 1),
             ("filtered_window", 23, 6), ("filtered_plain_window", 60, 4),
             ("filtered_rates", 18, 3), ("filtered_matrix", 17, 0)]
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
