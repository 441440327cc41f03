#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interval oracle of the safe side: writes tests/golden/safe_side.json.

Every privacy number of the library is a bound, so a result that is one unit in the last place on
the wrong side is false. This program proves, for each of its inputs, which double is the last one
on the safe side: the true value lies between it and its neighbour. Inputs are doubles, taken
exactly.

Nothing is estimated. An interval is a pair of integers over 2^PLACES; sums and products are rounded
outward, exponentials and logarithms come from mpmath's interval arithmetic (iv), and

    Phi(x) - 1/2 = phi(x) (x + x^3 / 3 + x^5 / 15 + ...)

is summed in integers, rounded down for the lower end and up for the upper one, with a geometric
series for the remainder. Roots are guessed with floating point, and then proved by the signs at
the double and at its neighbour. No formula is shared with cpp/src/problem/privacy.cpp.

Needs mpmath (python3-mpmath of Debian 12 or 13).   python3 tests/reference/safe_side_oracle.py
"""

import json
import math
import pathlib
import random
from fractions import Fraction

from mpmath import iv, mp, mpf

PLACES = 2300
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "safe_side.json"
iv.prec = mp.prec = PLACES
ONE = 1 << PLACES


# ---- Intervals: pairs of integers over 2^PLACES

def exactly(fraction):
    low = (fraction.numerator << PLACES) // fraction.denominator
    exact = low * fraction.denominator == fraction.numerator << PLACES
    return low, low if exact else low + 1


def scaled_floor(value):
    """floor(value 2^PLACES) of an mpmath number, which is a dyadic fraction."""
    sign, man, exponent, _ = value._mpf_
    shift = exponent + PLACES
    signed = -int(man) if sign else int(man)
    return signed << shift if shift >= 0 else signed >> -shift


def from_iv(interval):
    return scaled_floor(mpf(interval.a)), scaled_floor(mpf(interval.b)) + 1


def to_iv(pair):
    return iv.mpf([mp.ldexp(mpf(pair[0]), -PLACES), mp.ldexp(mpf(pair[1]), -PLACES)])


def times(a, b):
    products = [x * y for x in a for y in b]
    return min(products) >> PLACES, -(-max(products) >> PLACES)


def minus(a, b):
    return a[0] - b[1], a[1] - b[0]


def exp_of(fraction):
    return from_iv(iv.exp(to_iv(exactly(fraction))))


def series(square, is_upper):
    """Sum 1 + x^2 / 3 + x^4 / 15 + ..., rounded to one side."""
    term, total, odd = ONE, ONE, 3
    while True:
        product = term * square
        term = -(-product // (odd << PLACES)) if is_upper else product // (odd << PLACES)
        total += term
        odd += 2
        if 2 * square < odd << PLACES and term <= 1:
            return total + (2 * term + 2 if is_upper else 0)


INVERSE_ROOT = from_iv(1 / iv.sqrt(2 * iv.pi))


def centre(x):
    """Phi(x) - 1/2 for a fraction x >= 0."""
    square = exactly(x * x)
    sums = series(square[0], False), series(square[1], True)
    density = times(exp_of(-x * x / 2), INVERSE_ROOT)
    return times(times(density, exactly(x)), sums)


def tail(x):
    """1 - Phi(x) for any fraction."""
    half = (ONE // 2, ONE // 2)
    if x >= 0:
        return minus(half, centre(x))
    other = centre(-x)
    return ONE // 2 + other[0], ONE // 2 + other[1]


# ---- What the library publishes

def delta_of_mu(mu, epsilon):
    """Phi(-e/mu + mu/2) - exp(e) Phi(-e/mu - mu/2), mu and epsilon fractions."""
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    assert b < 38, "out of the range of PLACES"
    return minus(tail(a), times(exp_of(epsilon), tail(b)))


def log_delta_at(beta, rho, epsilon):
    """The logarithm of the zCDP conversion at alpha = 1 + beta, for intervals of mpmath."""
    return (beta * ((1 + beta) * rho - epsilon) - iv.log(beta)
            + (1 + beta) * (iv.log(beta) - iv.log(1 + beta)))


def delta_of_rho(rho, epsilon):
    """Infimum over beta > 0. The function is convex, so tangents on both sides bound it below."""
    saved, iv.prec, mp.prec = iv.prec, 400, 400
    r, e = (iv.mpf(x.numerator) / x.denominator for x in (rho, epsilon))

    def slope(beta):
        return (1 + 2 * beta) * r - e + iv.log(beta) - iv.log(1 + beta)

    low, high = mpf(-400), mpf(400)  # ln beta
    for _ in range(330):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(iv.exp(iv.mpf(middle))).b < 0 else (low, middle)
    left, right = iv.exp(iv.mpf(low)), iv.exp(iv.mpf(high))
    assert slope(left).b < 0 < slope(right).a
    width = right - left
    upper = iv.exp(log_delta_at(left, r, e))
    lower = iv.exp(log_delta_at(left, r, e) + slope(left) * width)
    result = scaled_floor(mpf(lower.a)), min(scaled_floor(mpf(upper.b)) + 1, ONE)
    iv.prec = mp.prec = saved
    return result


# ---- Doubles

def at_least(pair):
    """Smallest double >= all of an interval; it must be the same for every point of it."""
    ends = [double_at_least(Fraction(end, ONE)) for end in pair]
    assert ends[0] == ends[1], "the interval is too wide"
    return ends[0]


def double_at_least(value):
    guess = value.numerator / value.denominator
    return guess if Fraction(guess) >= value else math.nextafter(guess, math.inf)


def double_at_most(value):
    return -double_at_least(-value)


def last_safe(guess, is_safe, safe_side):
    """The double next to a guess that is safe while its neighbour on the unsafe side is not."""
    towards, away = (math.inf, -math.inf) if safe_side > 0 else (-math.inf, math.inf)
    here = guess
    while not is_safe(here):
        here = math.nextafter(here, towards)
    while is_safe(math.nextafter(here, away)):
        here = math.nextafter(here, away)
    return here


def is_below(pair, limit):
    """True if an interval lies at or below a fraction; it must not straddle it."""
    bound = exactly(limit)
    if pair[1] <= bound[0]:
        return True
    assert pair[0] > bound[1], "cannot tell"
    return False


def root(rises_or_falls, low, high):
    """Guesses a root by floating-point bisection of a predicate that is true below it."""
    for _ in range(70):
        middle = math.sqrt(low * high) if high > 2 * low else (low + high) / 2
        low, high = (middle, high) if rises_or_falls(middle) else (low, middle)
    return low


def approximate_delta(mu, epsilon):
    """Delta, to about 30 digits even where it is 1e-40, for guesses."""
    with mp.workprec(260):
        mu, epsilon = mpf(mu), mpf(epsilon)
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        return (mp.erfc(a / mp.sqrt(2)) - mp.exp(epsilon) * mp.erfc(b / mp.sqrt(2))) / 2


def approximate_delta_of_rho(rho, epsilon):
    with mp.workprec(120):
        rho, epsilon = mpf(rho), mpf(epsilon)
        low, high = mpf(-200), mpf(200)
        for _ in range(110):
            middle = (low + high) / 2
            beta = mp.exp(middle)
            slope = (1 + 2 * beta) * rho - epsilon - mp.log1p(1 / beta)
            low, high = (middle, high) if slope < 0 else (low, middle)
        beta = mp.exp(low)
        return mp.exp(beta * ((1 + beta) * rho - epsilon - mp.log1p(1 / beta)) - mp.log1p(beta))


# ---- Inputs

def spread(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def profiles(rng):
    rows = []
    while len(rows) < 100:
        mu = spread(rng, 0.02, 60)
        epsilon = 0.0 if len(rows) % 12 == 0 else spread(rng, 1e-3, 60)
        a = epsilon / mu - mu / 2
        if epsilon / mu + mu / 2 > 37.9 or a < -8.2:
            continue
        rows.append({"mu": mu, "eps": epsilon,
                     "safe": at_least(delta_of_mu(Fraction(mu), Fraction(epsilon)))})
    return rows


def calibrations(rng):
    rows, epsilons = [], []
    while len(rows) < 60:
        epsilon = spread(rng, 0.05, 30)
        delta = spread(rng, 1e-60, 0.45) if len(rows) % 6 else 1 - spread(rng, 1e-9, 0.4)
        fraction, limit = Fraction(epsilon), Fraction(delta)
        guess = root(lambda mu: approximate_delta(mu, epsilon) <= delta, 1e-3, 60.0)
        if epsilon / guess + guess / 2 > 37.9:
            continue
        mu = last_safe(guess, lambda m: is_below(delta_of_mu(Fraction(m), fraction), limit), -1)
        multiplier = last_safe(
            1 / mu, lambda m: is_below(delta_of_mu(1 / Fraction(m), fraction), limit), +1)
        rows.append({"eps": epsilon, "delta": delta, "mu": mu, "multiplier": multiplier})
        own = Fraction(mu)
        back = root(lambda e: approximate_delta(mu, e) > delta, epsilon / 2, epsilon * 2)
        epsilons.append({"mu": mu, "delta": delta, "safe": last_safe(
            back, lambda e: is_below(delta_of_mu(own, Fraction(e)), limit), +1)})
    return rows, epsilons


def classical(rng):
    """Exact delta of the textbook multiplier, which is itself a double."""
    rows = []
    for delta in [1e-290, 1e-250, 1e-200, 1e-150] * 6:
        multiplier = spread(rng, 0.9, 40)
        epsilon = math.sqrt(2 * (math.log(1.25) - math.log(delta))) / multiplier
        if epsilon * multiplier + 0.5 / multiplier > 37.9:
            continue
        rows.append({"eps": epsilon, "delta": delta})
    return rows


def pure(rng):
    rows = []
    for _ in range(60):
        epsilon = spread(rng, 1e-4, 600)
        limit = Fraction(1)  # 1 - 2 (1 - Phi(mu / 2)) >= tanh(epsilon / 2)
        odds = exp_of(Fraction(epsilon))

        def covers(mu):
            # Equivalent: (1 + e^epsilon) (1 - Phi(mu / 2)) <= 1.
            return is_below(times((ONE + odds[0], ONE + odds[1]), tail(Fraction(mu) / 2)), limit)

        with mp.workprec(1800):
            guess = root(lambda mu: (1 + mp.exp(mpf(epsilon))) * mp.erfc(mpf(mu) / mp.sqrt(8)) > 2,
                         1e-6, 80.0)
        rows.append({"eps": epsilon, "safe": last_safe(guess, covers, +1)})
    return rows


def concentrated(rng):
    deltas, epsilons, rhos = [], [], []
    while len(deltas) < 60:
        rho, epsilon = spread(rng, 1e-4, 20), spread(rng, 1e-2, 40)
        pair = delta_of_rho(Fraction(rho), Fraction(epsilon))
        if pair[1] >> (PLACES - 900) == 0 or ONE - pair[0] < ONE >> 40:
            continue
        deltas.append({"rho": rho, "eps": epsilon, "safe": at_least(pair)})
    for _ in range(30):
        rho, delta = spread(rng, 1e-4, 20), spread(rng, 1e-100, 0.3)
        own, limit = Fraction(rho), Fraction(delta)
        if is_below(delta_of_rho(own, Fraction(0)), limit):
            continue
        guess = root(lambda e: approximate_delta_of_rho(rho, e) > delta, 1e-6, 1e4)
        epsilons.append({"rho": rho, "delta": delta, "safe": last_safe(
            guess, lambda e: is_below(delta_of_rho(own, Fraction(e)), limit), +1)})
        epsilon = spread(rng, 1e-2, 40)
        own = Fraction(epsilon)
        guess = root(lambda r: approximate_delta_of_rho(r, epsilon) <= delta, 1e-9, 1e3)
        rhos.append({"eps": epsilon, "delta": delta, "safe": last_safe(
            guess, lambda r: is_below(delta_of_rho(Fraction(r), own), limit), -1)})
    return deltas, epsilons, rhos


def root_at_least(square):
    """Smallest double whose square is at least a fraction."""
    return last_safe(math.sqrt(square.numerator / square.denominator),
                     lambda x: Fraction(x) ** 2 >= square, +1)


def algebraic(rng):
    rows, lists = [], []
    for _ in range(80):
        value = spread(rng, 1e-6, 1e6)
        exact = Fraction(value)
        most = last_safe(math.sqrt(2 * value), lambda x: Fraction(x) ** 2 <= 2 * exact, -1)
        rows.append({"value": value, "rho_of_mu": double_at_least(exact ** 2 / 2),
                     "mu_of_rho": most})
        a, b, c = (spread(rng, 1e-3, 1e3) for _ in range(3))
        parts = [Fraction(x) for x in (a, b, c)]
        lists.append({"a": a, "b": b, "c": c, "mu": root_at_least(sum(x * x for x in parts)),
                      "rho": double_at_least(sum(parts))})
    return rows, lists


def main():
    rng = random.Random(16)
    document = {"delta_of_mu": profiles(rng)}
    document["calibration"], document["epsilon_of_mu"] = calibrations(rng)
    document["classical"] = classical(rng)
    for row in document["classical"]:
        exact = Fraction(math.sqrt(2 * (math.log(1.25) - math.log(row["delta"]))) / row["eps"])
        row["multiplier"] = float(exact)
        row["safe"] = at_least(delta_of_mu(1 / exact, Fraction(row["eps"])))
    document["pure"] = pure(rng)
    document["delta_of_rho"], document["epsilon_of_rho"], document["rho"] = concentrated(rng)
    document["algebraic"], document["composition"] = algebraic(rng)
    lines = []
    for name, rows in document.items():
        body = ",\n".join("  " + json.dumps(row) for row in rows)
        lines.append(f' "{name}": [\n{body}\n ]')
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print({name: len(rows) for name, rows in document.items()})


if __name__ == "__main__":
    main()
