#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of counts of active people, independent of the C++ code: golden/active.json.

    python3 tests/reference/active_oracle.py            writes the file, in about a minute
    python3 tests/reference/active_oracle.py --check    exit 1 if the committed one is stale

A pattern is the set of days on which one person counts as active. `is_allowed` is the definition:
every run of active days has at least `window` days, unless the last day cuts it, or the first one
if the start is open, and there are at most `runs` runs (0 in the file: any number). Patterns are
listed by filtering all 2^n sets. Noise has the covariance

    Sigma_ij = theta^|i-j| + offset,        X = Sigma^-1 (by Gaussian elimination),

and s^2 = max u' X u over patterns u (removal), or over their differences (replacement).

brute_force    s^2 over all patterns, exact fractions
closed         s^2 by the formula of docs/math/active.md, over all triples (active days, runs, ends)
replacement    s^2 of differences, without an offset: by a dynamic program over the days
std            s * sqrt(1 + offset) / mu for epsilon 1 and delta 1e-6

The program asserts that formula and dynamic program equal the lists, as fractions. Standard
library only.
"""

import functools
import itertools
import json
import math
import pathlib
import sys
from fractions import Fraction

from sensitivity_oracle import write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "active.json"


@functools.cache
def runs_of(mask, n):
    """Returns (first day, one past the last) of each maximal run of ones; bit t is day t."""
    runs, day = [], 0
    while day < n:
        if mask >> day & 1:
            first = day
            while day < n and mask >> day & 1:
                day += 1
            runs.append((first, day))
        day += 1
    return runs


def is_allowed(mask, n, window, is_open, most_runs):
    runs = runs_of(mask, n)
    if most_runs and len(runs) > most_runs:
        return False
    return all(
        last - first >= window or last == n or (is_open and first == 0) for first, last in runs
    )


@functools.cache
def patterns(n, window, is_open, most_runs):
    return [m for m in range(1 << n) if is_allowed(m, n, window, is_open, most_runs)]


def covariance(n, theta, offset):
    return [[theta ** abs(i - j) + offset for j in range(n)] for i in range(n)]


def inverse(matrix):
    n = len(matrix)
    rows = [list(row) + [Fraction(int(i == j)) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i] != 0:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return [row[n:] for row in rows]


@functools.cache
def energies(n, theta, offset):
    """u' X u of all 2^n patterns, times the common denominator, and that denominator."""
    gram = inverse(covariance(n, theta, offset))
    scale = math.lcm(*(x.denominator for row in gram for x in row))
    whole = [[int(x * scale) for x in row] for row in gram]
    values = [0] * (1 << n)
    for top in range(n):
        products = [0] * (1 << top)  # of column `top` with every pattern of earlier days
        for day in range(top):
            for mask in range(1 << day):
                products[mask | 1 << day] = products[mask] + whole[top][day]
        for mask in range(1 << top):
            values[mask | 1 << top] = values[mask] + whole[top][top] + 2 * products[mask]
    return values, scale


def brute_force(n, window, is_open, most_runs, theta, offset):
    values, scale = energies(n, theta, offset)
    return Fraction(max(values[m] for m in patterns(n, window, is_open, most_runs)), scale)


def triples(n, window, is_open, most_runs):
    """(active days, runs, ends that are active) of patterns, straight from the definition: runs
    have at least `window` days, or 1 if they may be cut, and gaps of at least one day between
    them."""
    for ends in (0, 1, 2):
        for runs in range(max(1, ends), (n + 1) // 2 + 1):
            if most_runs and runs > most_runs:
                break
            cut = min(ends, 2 if is_open else 1)
            if ends == 2 and runs == 1:
                continue
            least = window * (runs - cut) + cut
            most = n - (runs - 1) - (2 - ends)
            for active in range(least, most + 1):
                yield active, runs, ends
    yield n, 1, 2


def closed(n, window, is_open, most_runs, theta, offset):
    """Returns s^2 and the triple that attains it."""
    one = 1 - theta**2
    kappa = offset / (1 + offset * ((1 - theta) * n + 2 * theta) / (1 + theta))
    best = (Fraction(0), 0, 0, 0)
    for active, runs, ends in triples(n, window, is_open, most_runs):
        f = ((1 - theta) ** 2 * active + 2 * theta * runs - theta**2 * ends) / one
        g = ((1 - theta) ** 2 * active + theta * (1 - theta) * ends) / one
        best = max(best, (f - kappa * g * g, active, runs, ends))
    return best


def replacement_by_list(n, window, is_open, theta):
    gram = inverse(covariance(n, theta, Fraction(0)))
    rows = [tuple(m >> t & 1 for t in range(n)) for m in patterns(n, window, is_open, 0)]
    differences = {tuple(a - b for a, b in zip(u, v)) for u, v in itertools.product(rows, rows)}
    return max(
        sum(d[i] * d[j] * gram[i][j] for i in range(n) if d[i] for j in range(n) if d[j])
        for d in differences
    )


def replacement(n, window, is_open, theta):
    """s^2 of differences for autoregressive noise: X has three diagonals, so d' X d is a sum over
    days. A person's phase is 0 (inactive) or min(days of the run so far, window)."""
    one = 1 - theta**2

    def following(phase):
        if phase == 0:
            return (0, 1)
        return (0, window) if phase == window else (phase + 1,)

    first = [0, *sorted({1, window} if is_open else {1})]
    best = {}
    for t in range(n):
        middle = (1 if t in (0, n - 1) else 1 + theta**2) if n > 1 else one
        moves = (
            ((p, 0, Fraction(0)) for p in itertools.product(first, first))
            if t == 0
            else (
                ((a, b), (p > 0) - (q > 0), value)
                for (p, q), value in best.items()
                for a in following(p)
                for b in following(q)
            )
        )
        later = {}
        for phases, before, value in moves:
            d = (phases[0] > 0) - (phases[1] > 0)
            value += middle * d * d - 2 * theta * d * before
            if phases not in later or value > later[phases]:
                later[phases] = value
        best = later
    return max(best.values()) / one


@functools.cache
def mu_of(epsilon, delta):
    """Largest mu for which mu-GDP implies (epsilon, delta)."""
    normal = lambda x: math.erfc(-x / math.sqrt(2)) / 2
    spent = lambda mu: normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(
        -mu / 2 - epsilon / mu
    )
    low, high = 1e-6, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) <= delta else (low, middle)
    return low


def text_of(value):
    return f"{value.numerator}/{value.denominator}"


def row(n, window, is_open, most_runs, theta, offset):
    squared, active, runs, ends = closed(n, window, is_open, most_runs, theta, offset)
    return {
        "n": n,
        "window": window,
        "is_open": is_open,
        "runs": most_runs,
        "theta": float(theta),
        "offset": float(offset),
        "squared": text_of(squared),
        "sensitivity": math.sqrt(squared),
        "active": active,
        "num_runs": runs,
        "ends": ends,
        "std": round(math.sqrt(squared * (1 + offset)) / mu_of(1, 1e-6), 6),
    }


PARAMETERS = [
    (Fraction(0), Fraction(1, 4)),
    (Fraction(21, 64), Fraction(289, 1024)),
    (Fraction(11, 16), Fraction(0)),
    (Fraction(31, 32), Fraction(3)),
]
SMALL = (1, 2, 3, 4, 9, 16)


def brute_force_rows():
    rows = []
    for n, (theta, offset) in itertools.product(SMALL, PARAMETERS):
        for window, is_open, runs in itertools.product(range(1, n + 1), (False, True), (0, 1, 2)):
            squared = brute_force(n, window, is_open, runs, theta, offset)
            formula = closed(n, window, is_open, runs, theta, offset)[0]
            assert squared == formula, (n, window, is_open, runs, theta, offset)
            rows.append(
                {
                    "n": n,
                    "window": window,
                    "is_open": is_open,
                    "runs": runs,
                    "theta": float(theta),
                    "offset": float(offset),
                    "squared": float(squared),
                }
            )
    return rows


# Dyadic parameters near the best ones.
CLOSED = [
    (16, 1, False, 0, Fraction(0), Fraction(1, 4)),
    (16, 3, False, 0, Fraction(1, 8), Fraction(263, 1024)),
    (16, 7, False, 0, Fraction(21, 64), Fraction(289, 1024)),
    (64, 1, False, 0, Fraction(0), Fraction(1, 8)),
    (64, 7, False, 0, Fraction(21, 64), Fraction(163, 1024)),
    (365, 1, False, 0, Fraction(0), Fraction(27, 512)),
    (365, 7, False, 0, Fraction(21, 64), Fraction(19, 256)),
    (365, 30, False, 0, Fraction(39, 64), Fraction(109, 1024)),
    (365, 1, True, 0, Fraction(0), Fraction(27, 512)),
    (365, 7, True, 0, Fraction(21, 64), Fraction(19, 256)),
    (365, 30, True, 0, Fraction(39, 64), Fraction(109, 1024)),
    (365, 90, True, 0, Fraction(93, 128), Fraction(147, 1024)),
    (365, 30, False, 4, Fraction(93, 128), Fraction(147, 1024)),
]
REPLACEMENT_SMALL = [
    *((n, w, o) for n in (1, 2, 3, 6) for w in range(1, n + 1) for o in (False, True)),
    *((9, w, o) for w in (1, 3, 6, 9) for o in (False, True)),
]
REPLACEMENT = [
    (16, 3, False, Fraction(11, 16)),
    (365, 7, True, Fraction(1, 2)),
    (365, 30, False, Fraction(11, 16)),
    (365, 30, True, Fraction(11, 16)),
]


def replacement_rows():
    for (n, window, is_open), theta in itertools.product(
        REPLACEMENT_SMALL, (Fraction(0), Fraction(11, 16))
    ):
        listed = replacement_by_list(n, window, is_open, theta)
        assert listed == replacement(n, window, is_open, theta), (n, window, is_open, theta)
    rows = [(n, w, o, Fraction(11, 16)) for n, w, o in REPLACEMENT_SMALL] + REPLACEMENT
    result = []
    for n, window, is_open, theta in rows:
        squared = replacement(n, window, is_open, theta)
        result.append(
            {
                "n": n,
                "window": window,
                "is_open": is_open,
                "theta": float(theta),
                "squared": float(squared),
                "std": round(math.sqrt(squared) / mu_of(1, 1e-6), 6),
            }
        )
    return result


def document():
    return {
        "brute_force": brute_force_rows(),
        "closed": [row(*case) for case in CLOSED],
        "replacement": replacement_rows(),
    }


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
