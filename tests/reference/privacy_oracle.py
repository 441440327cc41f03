#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slow, independent oracle of the privacy conversions: writes tests/golden/privacy_oracle.json.

It shares no formula with cpp/src/problem/privacy.cpp: delta is the textbook difference
Phi(-e/mu + mu/2) - exp(e) Phi(-e/mu - mu/2), evaluated with enough digits to make up for its
cancellation, and every root is bracketed by bisection and rechecked from both sides. Inputs are
doubles, taken exactly. The zCDP conversion is minimised over alpha, not beta.

Needs mpmath (any 1.x). Run time about two minutes:  python3 tests/reference/privacy_oracle.py
"""

import json
import math
import pathlib
import sys
import time

from mpmath import mp, mpf

DIGITS = 30
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "privacy_oracle.json"

EPSILONS = [1e-308, 1e-100, 1e-20, 1e-6, 1e-4, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0,
            1e3, 1e4, 1e6, 1e10, 1e15, 1e20]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-30, 1e-15, 1e-9, 1e-6, 1e-3, 0.1, 0.4, 0.5, 0.6, 0.9, 0.999,
          1 - 1e-9, 1 - 2.0**-53]
MUS = [1e-60, 1e-20, 1e-8, 1e-3, 0.03, 0.3, 1.0, 1.7, 3.0, 10.0, 40.0, 150.0, 1e3, 1e6]
RHOS = [1e-12, 1e-6, 1e-3, 0.05, 0.5, 3.0, 12.5, 100.0, 5e3]


def delta_of(mu, epsilon):
    """Exact delta and 1 - delta of a mu-GDP mechanism."""
    mu, epsilon = mpf(mu), mpf(epsilon)
    saved = mp.dps
    lost = max(0, -mp.log10(mu)) + max(0, mp.log10(1 + epsilon)) + max(0, mp.log10(1 + mu))
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    lost += max(0, 2 * mp.log10(1 + abs(a)))
    mp.dps = int(60 + 3 * min(lost, 2000))
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    root2 = mp.sqrt(2)
    tail_b = mp.exp(epsilon) * mp.erfc(b / root2) / 2
    delta, complement = mp.erfc(a / root2) / 2 - tail_b, mp.erfc(-a / root2) / 2 + tail_b
    mp.dps = saved
    return +delta, +complement


def zcdp_delta_at(rho, epsilon, alpha):
    return mp.exp((alpha - 1) * (alpha * rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha) ** alpha


def zcdp_delta(rho, epsilon):
    """Infimum over alpha > 1; the logarithm is convex in alpha, so its derivative has one root."""
    rho, epsilon = mpf(rho), mpf(epsilon)
    if rho - epsilon > 60:  # alpha - 1 is about exp(epsilon - rho), and so is 1 - delta
        return mpf(1)

    def slope(alpha):
        return (2 * alpha - 1) * rho - epsilon + mp.log(1 - 1 / alpha)

    low, high = mpf(-1000), mpf(1000)  # ln(alpha - 1)
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(1 + mp.exp(middle)) < 0 else (low, middle)
    return zcdp_delta_at(rho, epsilon, 1 + mp.exp((low + high) / 2))


def bisect(is_low, low, high, width=mpf(10) ** -28):
    """The point of (low, high), both positive, where is_low becomes false."""
    assert is_low(low) and not is_low(high)
    while high / low - 1 > width:
        middle = mp.sqrt(low * high) if high > 2 * low else (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return (low + high) / 2


def below(pair, delta):
    """True if delta_of(...) < delta, compared by the smaller of delta and 1 - delta."""
    value, complement = pair
    return value < mpf(delta) if delta < 0.5 else complement > 1 - mpf(delta)


def bracket_mu(epsilon, delta):
    """Bracket of mu: a = epsilon / mu - mu / 2 is within 60 of the normal quantile; mu > delta
    always."""
    z = 60 + mp.sqrt(-2 * mp.log(min(mpf(delta), 1 - mpf(delta))))
    low = 2 * mpf(epsilon) / (z + mp.sqrt(z * z + 2 * mpf(epsilon)))
    high = z + mp.sqrt(z * z + 2 * mpf(epsilon))
    return max(low, mpf(delta)), high


def solve_mu(epsilon, delta):
    low, high = bracket_mu(epsilon, delta)
    # Bisection of ln(mu), then Newton with d(delta)/d(mu) = phi(a), then a proof from both
    # sides.
    for _ in range(30):
        middle = mp.sqrt(low * high)
        low, high = (middle, high) if below(delta_of(middle, epsilon), delta) else (low, middle)
    mu = mp.sqrt(low * high)
    for _ in range(40):
        a = mpf(epsilon) / mu - mu / 2
        value, complement = delta_of(mu, epsilon)
        density = mp.exp(-a * a / 2) / mp.sqrt(2 * mp.pi)
        if delta < 0.5:
            move = value / density * mp.log(mpf(delta) / value)
        else:
            move = -complement / density * mp.log((1 - mpf(delta)) / complement)
        mu = min(max(mu + move, low), high)
        if abs(move) < mu * mpf(10) ** -(DIGITS + 5):
            break
    tiny = mpf(10) ** -(DIGITS - 4)
    assert below(delta_of(mu * (1 - tiny), epsilon), delta)
    assert not below(delta_of(mu * (1 + tiny), epsilon), delta)
    return mu


def text(value):
    return mp.nstr(value, DIGITS)


def main():
    mp.dps = 60
    start = time.time()
    fixture = {"calibration": [], "profile": [], "epsilon": [], "zcdp_delta": [],
               "zcdp_epsilon": [], "zcdp_rho": []}
    for epsilon in EPSILONS:
        for delta in DELTAS:
            mu = solve_mu(epsilon, delta)
            fixture["calibration"].append(
                {"eps": epsilon, "delta": delta, "mu": text(mu), "multiplier": text(1 / mu)})
    for mu in MUS:
        for epsilon in [0.0] + EPSILONS[:-3]:
            if abs(mpf(epsilon) / mpf(mu) - mpf(mu) / 2) > 40:
                continue
            value, complement = delta_of(mu, epsilon)
            if value < mpf(10) ** -307 or complement < mpf(10) ** -16:
                continue
            fixture["profile"].append({"mu": mu, "eps": epsilon, "delta": text(value),
                                       "complement": text(complement)})
    for mu in MUS:
        for delta in DELTAS[:-1]:
            if delta > 0.9 * delta_of(mu, 0)[0]:
                continue
            high = mpf(mu) * (60 + mp.sqrt(-2 * mp.log(mpf(delta))) + mpf(mu))
            epsilon = bisect(lambda e: not below(delta_of(mu, e), delta),
                             high * mpf(10) ** -12, high)
            fixture["epsilon"].append({"mu": mu, "delta": delta, "eps": text(epsilon)})
    for rho in RHOS:
        for epsilon in [0.0] + EPSILONS[3:-4]:
            value = zcdp_delta(rho, epsilon)
            if value > mpf(10) ** -307 and 1 - value > mpf(10) ** -12:
                fixture["zcdp_delta"].append({"rho": rho, "eps": epsilon, "delta": text(value)})
    for rho in RHOS:
        for delta in (1e-300, 1e-30, 1e-9, 1e-3, 0.4):
            if delta < 0.9 * zcdp_delta(rho, 0):
                epsilon = bisect(lambda e: zcdp_delta(rho, e) > delta, mpf(10) ** -14, mpf(10) ** 6)
                fixture["zcdp_epsilon"].append({"rho": rho, "delta": delta, "eps": text(epsilon)})
    for epsilon in (1e-6, 0.01, 1.0, 10.0, 100.0, 1e4):
        for delta in (1e-300, 1e-30, 1e-9, 1e-3, 0.4, 0.9):
            rho = bisect(lambda r: zcdp_delta(r, epsilon) < delta, mpf(10) ** -30, mpf(10) ** 6)
            fixture["zcdp_rho"].append({"eps": epsilon, "delta": delta, "rho": text(rho)})
    lines = []
    for name, rows in fixture.items():
        body = ",\n".join("  " + json.dumps(row) for row in rows)
        lines.append(f' "{name}": [\n{body}\n ]')
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print({name: len(rows) for name, rows in fixture.items()}, f"{time.time() - start:.0f} s",
          file=sys.stderr)


if __name__ == "__main__":
    main()
