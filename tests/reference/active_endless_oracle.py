#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts of active people without a horizon, and lower bounds: writes golden/active_endless.json.

Needs numpy (python3-numpy of Debian), and a minute: it is not part of `scripts/test generated`.

    python3 tests/reference/active_endless_oracle.py            writes the file
    python3 tests/reference/active_endless_oracle.py --check    exit 1 if the committed one is stale

The noise of day t is row t of B Z, B = 1 / C' for C' = 1 - sum_i gain_i x / (1 - decay_i x), so a
pattern u of active days moves the measurements by v_t = u_t - gain . y_t, where
y_{t+1} = decay * y_t + u_t. Neighbours differ in one person's events of at most `days` consecutive
days; the other events stay. The difference of the two counts is then a union of runs of at least
`window` days, but for the first and the last one, in at most days + window - 1 days (checked on
lists of all events of few days).

upper    largest |v| of all of them, by a dynamic program over the remaining days on a grid of y.
         What remains, less y' P y for the energy P after the last day, is a maximum of affine
         functions of y, hence convex, and interpolation between the corners of a cell is never
         below it.
lower    |v| of the pattern that the program follows
bounds   max over probabilities of patterns u and of days of the nuclear norm of M^1/2 L^1/2, M the
         mean of u u' and L the probabilities of days: no Gaussian noise has a smaller s * e
"""

import itertools
import json
import math
import pathlib
import sys

import numpy

from active_oracle import mu_of, patterns
from sensitivity_oracle import write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "active_endless.json"
CONSTANTS = [
    (1, [0.038, 0.0], [0.9505, 0.0]),
    (7, [0.0159, 0.3325], [0.968, 0.0]),
    (30, [0.0055, 0.459], [0.9785, 0.266]),
]


class Grid:
    """Points of y, each coordinate between 0 and its largest value, 1 / (1 - decay)."""

    def __init__(self, decays, sizes):
        tops = [1 / (1 - decay) for decay in decays]
        self.steps = [top / (size - 1) for top, size in zip(tops, sizes)]
        self.sizes = sizes
        axes = [numpy.linspace(0, top, size) for top, size in zip(tops, sizes)]
        self.points = numpy.stack(numpy.meshgrid(*axes, indexing="ij"), axis=-1)

    def at(self, points):
        """Returns a function that interpolates values on the grid at these points."""
        corners, fractions = [], []
        for k, (step, size) in enumerate(zip(self.steps, self.sizes)):
            place = points[..., k] / step
            low = numpy.clip(numpy.floor(place).astype(int), 0, size - 2)
            corners.append(low)
            fractions.append(numpy.clip(place - low, 0, 1))
        (i, j), (p, q) = corners, fractions
        return lambda values: (
            (1 - p) * ((1 - q) * values[i, j] + q * values[i, j + 1])
            + p * ((1 - q) * values[i + 1, j] + q * values[i + 1, j + 1])
        )


class Remaining:
    """Largest energy of the remaining days, for phases off and on (a run that may end)."""

    def __init__(self, window, gains, decays, sizes):
        self.window = window
        self.gains, self.decays = numpy.array(gains), numpy.array(decays)
        self.after = numpy.outer(gains, gains) / (1 - numpy.outer(decays, decays))
        self.grid = Grid(decays, sizes)
        end = numpy.zeros(self.grid.points.shape[:2])  # less the energy after the last day
        self.off, self.on = [end], [end]

    def tail(self, y):
        return ((y @ self.after) * y).sum(axis=-1)

    def move(self, y, active, days):
        """Energy and state after some days."""
        energy = numpy.zeros(y.shape[:-1])
        for _ in range(days):
            energy = energy + (active - y @ self.gains) ** 2
            y = y * self.decays + active
        return energy, y

    def choices(self, y, phase, remaining, cache):
        """Yields, for a day off or on, the largest energy of the choice with all that follows, the
        next y, whether it is active, its days, and the next phase."""
        forced = min(self.window, remaining)
        moves = [(0, 1, "off"), (1, forced if phase == "off" else 1, "on")]
        for active, days, following in moves:
            key = (active, days)
            if key not in cache:
                energy, later = self.move(y, active, days)
                cache[key] = energy + self.tail(later), later, self.grid.at(later)
            energy, later, interpolate = cache[key]
            values = (self.off if following == "off" else self.on)[remaining - days]
            yield energy + interpolate(values), later, active, days, following

    def extend(self, length):
        cache, y = {}, self.grid.points
        own = self.tail(y)
        while len(self.off) <= length:
            remaining = len(self.off)
            best = [
                numpy.maximum(*(c[0] for c in self.choices(y, phase, remaining, cache)))
                for phase in ("off", "on")
            ]
            self.off.append(best[0] - own)
            self.on.append(best[1] - own)

    def upper(self, remaining):
        """Energy of patterns in this many days, whose first run may be cut."""
        return max(self.off[remaining][0, 0], self.on[remaining][0, 0])

    def path(self, remaining):
        """The pattern that the values lead to, and its energy."""
        y = numpy.zeros(2)
        phase = "on" if self.on[remaining][0, 0] > self.off[remaining][0, 0] else "off"
        pattern = []
        while remaining:
            choices = list(self.choices(y, phase, remaining, {}))
            _, y, active, days, phase = max(choices, key=lambda choice: choice[0])
            pattern += [active] * days
            remaining -= days
        return pattern, energy_of(pattern, self.gains, self.decays)


def energy_of(pattern, gains, decays):
    y, total = numpy.zeros(len(gains)), 0.0
    for active in pattern:
        total += (active - y @ gains) ** 2
        y = y * decays + active
    after = numpy.outer(gains, gains) / (1 - numpy.outer(decays, decays))
    return total + y @ after @ y


def differences(days, window):
    """All differences of counts, from all events around `days` days, as tuples of days."""
    span = range(-window, days + window)

    def active(events):
        return tuple(
            any(t - window < e <= t for e in events) for t in range(-window, days + 2 * window)
        )

    found = set()
    for count in range(len(span) + 1):
        for events in itertools.combinations(span, count):
            kept = [e for e in events if not 0 <= e < days]
            difference = [a - b for a, b in zip(active(events), active(kept))]
            while difference and difference[0] == 0:
                difference.pop(0)
            while difference and difference[-1] == 0:
                difference.pop()
            found.add(tuple(difference))
    return found


def error_of(gains, decays):
    """l2-norm of 1 / C'."""
    gains, decays = numpy.array(gains), numpy.array(decays)
    y, total, response = numpy.zeros(2), 0.0, 1.0
    for _ in range(100_000):
        total += response * response
        y = y * decays + response
        response = y @ gains
    return math.sqrt(total)


def check_small():
    """Differences are patterns whose first and last run may be cut, and the grid finds the worst of
    these."""
    for window, days in ((1, 5), (2, 5), (3, 6), (4, 4)):
        gains, decays = [0.05, 0.3], [0.9, 0.2]
        lengths = range(1, days + window)
        cut = {
            tuple(m >> t & 1 for t in range(length))
            for length in lengths
            for m in patterns(length, window, True, 0)
        }
        assert differences(days, window) <= cut | {()}
        worst = max(energy_of(d, gains, decays) for d in cut)
        remaining = Remaining(window, gains, decays, (120, 120))
        remaining.extend(lengths[-1])
        upper = max(remaining.upper(r) for r in lengths)
        assert worst <= upper * (1 + 1e-12) <= worst * (1 + 1e-3), (window, worst, upper)


def endless_row(window, gains, decays, days=365):
    most = days + window - 1
    # The second state is 0 or 1 if its decay is 0.
    sizes = (300, 200) if decays[1] else (8000, 2)
    remaining = Remaining(window, gains, decays, sizes)
    remaining.extend(most)
    lengths = range(1, most + 1)
    upper = max(remaining.upper(r) for r in lengths)
    lower = max(remaining.path(r)[1] for r in lengths[-2 * window :])
    error = error_of(gains, decays)
    return {
        "window": window,
        "days": days,
        "gain_0": gains[0],
        "gain_1": gains[1],
        "decay_0": decays[0],
        "decay_1": decays[1],
        "upper": round(math.sqrt(upper), 6),
        "lower": round(math.sqrt(lower), 6),
        "error": round(error, 6),
        "std": round(math.sqrt(upper) * error / mu_of(1, 1e-6), 4),
    }


def lower_bound(n, window, is_open=False):
    allowed = [m for m in patterns(n, window, is_open, 0) if m]
    rows = numpy.array([[m >> t & 1 for t in range(n)] for m in allowed], float)
    of_patterns = numpy.full(len(rows), 1 / len(rows))
    of_days = numpy.full(n, 1 / n)
    best = 0.0
    for _ in range(4_000):
        scale = numpy.sqrt(of_days)
        moment = (rows * of_patterns[:, None]).T @ rows
        values, vectors = numpy.linalg.eigh(scale[:, None] * moment * scale)
        roots = numpy.sqrt(numpy.maximum(values, 1e-14))
        best = max(best, numpy.sqrt(numpy.maximum(values, 0)).sum())
        # The geometric mean of M^-1 and L, and its inverse.
        gram = scale[:, None] * ((vectors / roots) @ vectors.T) * scale
        covariance = ((vectors * roots) @ vectors.T) / scale[:, None] / scale
        energies = ((rows @ gram) * rows).sum(axis=1)
        of_patterns *= energies
        of_patterns /= of_patterns.sum()
        of_days *= numpy.diag(covariance)
        of_days /= of_days.sum()
    return best


def document():
    check_small()
    return {
        "endless": [endless_row(*case) for case in CONSTANTS],
        "bounds": [
            {"n": n, "window": w, "bound": round(lower_bound(n, w), 6)}
            for n, w in ((16, 1), (16, 3), (16, 7))
        ],
    }


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
