#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent implementation of mode `grid` in high precision, used to check tests/vectors/.

Written from addressing.md, gaussian.md (section 1), grid.md (sections 1 and 6) and mechanisms.md in
docs/math, and from tests/vectors/README.md; shares no code with the library.

Three planes give every uniform 192 bits, so a normal z is off by less than 2^-180 / (|z| u1). A row
closer than 2^-80 to a rounding boundary raises an error, so every rounding is certain.

Needs mpmath (any 1.x).
"""

import functools
import math
import struct
from fractions import Fraction

from mpmath import mp, mpf

NUM_PLANES, NEAREST = 3, mpf(2) ** -80
mp.prec = 64 * NUM_PLANES + 128
MASK = 0xFFFFFFFF


class Refused(Exception):
    """Raised for a refused record, with the error's code as text."""


# ---- noise -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def chacha20(key, words_12_to_15):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    start += [*struct.unpack("<8I", key), *words_12_to_15]
    x = list(start)
    columns = [(i, 4 + i, 8 + i, 12 + i) for i in range(4)]
    diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    for a, b, c, d in 10 * (columns + diagonals):
        for to, other, mixed, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[other]) & MASK
            y = x[mixed] ^ x[to]
            x[mixed] = (y << bits | y >> 32 - bits) & MASK
    return [(a + b) & MASK for a, b in zip(x, start)]


@functools.lru_cache(maxsize=None)
def normal(key, row, coordinate):
    """Entry of Z: exact Box-Muller transform of two uniforms of 64 * NUM_PLANES bits."""
    group, inside = divmod(coordinate, 32)
    q, lane = divmod(inside, 4)
    i = j = 0
    for plane in range(NUM_PLANES):
        block = chacha20(key, (4 * group + lane, row & MASK, row >> 32 | plane << 16, 0))
        low1, high1, low2, high2 = block[q // 2 * 4:][:4]
        i, j = i << 64 | high1 << 32 | low1, j << 64 | high2 << 32 | low2
    half, ones = mpf(1) / 2, mpf(2) ** (64 * NUM_PLANES)
    angle = 2 * mp.pi * (j + half) / ones
    return mp.sqrt(-2 * mp.log((i + half) / ones)) * (mp.sin(angle) if q % 2 else mp.cos(angle))


# ---- rows of B Z -----------------------------------------------------------------------------


def node(decoder, z, level, end):
    """Estimate of the dyadic node of a level whose last step is `end`, counted from 0."""
    weight = decoder["node_weights"][level]
    own = weight * z(2 * end - end.bit_count() + level)
    if weight == 1:
        return own
    children = (end - (1 << level - 1), end)
    return own + (1 - mpf(weight)) * sum(node(decoder, z, level - 1, s) for s in children)


def dyadic_row(decoder, z, step):
    total, begin = mpf(0), 0
    for level in reversed(range((step + 1).bit_length())):
        if (step + 1) >> level & 1:
            begin += 1 << level
            total += node(decoder, z, level, begin - 1)
    return total


def increments(decoder, z, step):
    """Terms w_0, ..., w_step of the forms whose row t is w_0 + ... + w_t."""
    form, ws = decoder["form"], []
    states = [mpf(0)] * len(decoder.get("decays", decoder.get("gains", [[]])[0]))
    for t in range(step + 1):
        if form == "running-sum":
            w = z(t)
        elif form == "banded":
            c = decoder["coefficients"]
            w = (z(t) - sum(c[k] * ws[t - k] for k in range(1, min(len(c) - 1, t) + 1))) / c[0]
        elif form == "banded-inverse":
            g = decoder["coefficients"]
            w = sum(g[k] * z(t - k) for k in range(min(len(g) - 1, t) + 1))
        elif form == "buffered":
            w = z(t) - sum(a * s for a, s in zip(decoder["weights"], states))
            states = [theta * s + w for theta, s in zip(decoder["decays"], states)]
        elif form == "varying-buffered":
            w = decoder["inverse_scales"][t] * z(t)
            w -= sum(g * s for g, s in zip(decoder["gains"][t], states))
            states = [f * (s + w) for f, s in zip(decoder["factors"][t], states)]
        else:
            raise ValueError(form)
        ws.append(w)
    scales = decoder.get("column_scales")
    return [scale * w for scale, w in zip(scales, ws)] if scales else ws


def noise(decoder, key, step, coordinate, scale):
    """floor(scale * (B Z)[step, coordinate] + 1/2)"""
    def z(row):
        return normal(key, row, coordinate)
    if decoder["form"] == "identity":
        row = z(step)
    elif decoder["form"] == "dyadic":
        row = dyadic_row(decoder, z, step)
    elif decoder["form"] == "toeplitz":
        row = sum(decoder["coefficients"][step - j] * z(j) for j in range(step + 1))
    else:
        row = sum(increments(decoder, z, step))
    shifted = scale * row + mpf(1) / 2
    if abs(shifted - mp.nint(shifted)) < NEAREST:
        raise ArithmeticError("too near to a rounding boundary to tell")
    return int(mp.floor(shifted))


# ---- records to integers ---------------------------------------------------------------------


def keeps_digits(scale, power):
    return scale == 0 or 2.0 ** -1022 <= abs(scale * power) < math.inf


def compare_norm(scales, features, clip_norm):
    """Compares a record's norm with the clip norm in doubles: -1 within it, 0 too close to tell, 1
    longer or unknown."""
    exponent = math.frexp(clip_norm)[1]
    if abs(exponent) > 1000:
        return 1
    to_one, total, whole = 2.0 ** -exponent, 0.0, len(features) // 8 * 8
    for scale in scales:
        if not keeps_digits(scale, to_one):
            return 1
        squares = [x * (scale * to_one) * (x * (scale * to_one)) for x in features]
        part = functools.reduce(float.__add__, squares[whole:], 0.0)
        for lane in range(8):
            part += functools.reduce(float.__add__, squares[lane:whole:8], 0.0)
        total += part
    slack = (len(scales) * len(features) + 16) * 2.0 ** -51
    limit = clip_norm * to_one * clip_norm * to_one
    return -1 if total <= limit * (1 - slack) else 0 if total <= limit * (1 + slack) else 1


def clipped(scales, features, clip_norm):
    largest = max(map(abs, scales)) * max(map(abs, features))
    if not all(map(math.isfinite, [*scales, *features, largest])):
        raise Refused("invalid_argument")
    entries = [scale * x for scale in scales for x in features]
    if largest == 0:
        return entries
    ratio = math.sqrt(functools.reduce(float.__add__, [x / largest * (x / largest)
                                                       for x in entries], 0.0))
    if largest * ratio <= clip_norm:
        return entries
    return [x / largest / ratio * clip_norm for x in entries]


def integers(scales, features, clip_norm, grid):
    """Increment of the sums due to the record, in grids."""
    limit = math.floor((Fraction(clip_norm) / Fraction(grid)) ** 2)
    order = compare_norm(scales, features, clip_norm)
    if order <= 0:
        q = [int(scale * x / grid) for scale in scales for x in features]
        if order < 0 or sum(a * a for a in q) <= limit:
            return q
    q = [int(x / grid) for x in clipped(scales, features, clip_norm)]
    while sum(a * a for a in q) > limit:
        largest = max(range(len(q)), key=lambda i: abs(q[i]))
        q[largest] -= 1 if q[largest] > 0 else -1
    return q


def release(decoder, key, options, records):
    """Running totals, one list per record."""
    clip_norm, grid = options["clip_norm"], options["grid"]
    scale, releases = options["noise_stddev"] / grid, []
    sums = [0] * len(records[0])
    for step, record in enumerate(records):
        sums = [a + b for a, b in zip(sums, integers([1.0], record, clip_norm, grid))]
        releases.append([(a + noise(decoder, key, step, i, scale)) * grid
                         for i, a in enumerate(sums)])
    return releases
