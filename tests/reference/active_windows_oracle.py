#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far one person moves several windows of active people together: golden/active_windows.json.

    python3 tests/reference/active_windows_oracle.py            writes the file, in half a minute
    python3 tests/reference/active_windows_oracle.py --check    exit 1 if the committed one is stale

The events of a person determine the days on which each window counts them: an event of day t makes
window W count the days t to t + W - 1. Each window i has noise of its own, with the covariance of
active_oracle.py, so what one person does moves the measurements by J, with

    J^2 = sum over i of u_i' X_i u_i / s_i^2,        s_i^2 the largest value of u_i' X_i u_i alone.

events    largest J^2 over all sets of event days, and, if the start is open, all last events before
          the first day; exact fractions
year      upper bound on J at 365 days, from -k g^2 <= k l^2 - 2 k l g for any l, after which J^2 is
          a sum over active days, runs and ends, and the best next event for each event is found by
          trying all of them

The program shares no code with C++. Standard library only.
"""

import itertools
import json
import math
import pathlib
import sys
from fractions import Fraction

from active_oracle import brute_force, closed, energies
from sensitivity_oracle import write_or_check

TARGET = pathlib.Path(__file__).resolve().parent.parent / "golden" / "active_windows.json"


def active_days(n, window, events):
    return frozenset(t for e in events for t in range(max(0, e), min(n, e + window)))


def sets_of_events(n, longest, is_open):
    before = [(), *((-d,) for d in range(1, longest))] if is_open else [()]
    for days in range(n + 1):
        for events in itertools.combinations(range(n), days):
            for first in before:
                yield first + events


def largest_of_all(n, is_open, windows):
    """Largest J^2 of windows (W, theta, offset), and s_i^2 of each window alone."""
    best = Fraction(0)
    alone = [brute_force(n, w, is_open, 0, theta, offset) for w, theta, offset in windows]
    tables = [energies(n, theta, offset) for _, theta, offset in windows]
    seen = set()
    for events in sets_of_events(n, max(w for w, _, _ in windows), is_open):
        masks = tuple(sum(1 << t for t in active_days(n, w, events)) for w, _, _ in windows)
        if masks in seen:
            continue
        seen.add(masks)
        total = sum(
            Fraction(values[mask], scale) / square
            for mask, (values, scale), square in zip(masks, tables, alone)
        )
        best = max(best, total)
    return best, alone


class Window:
    """f - kappa g^2 in units of s^2; f and g are sums over active days, runs and ends."""

    def __init__(self, n, is_open, window, theta, offset):
        theta, offset = float(theta), float(offset)
        square = closed(n, window, is_open, 0, theta, offset)[0]
        one = 1 - theta**2
        self.window, self.sensitivity = window, math.sqrt(square)
        self.f = [x / one / square for x in ((1 - theta) ** 2, 2 * theta, -(theta**2))]
        self.g = [x / one for x in ((1 - theta) ** 2, 0, theta * (1 - theta))]
        ones = ((1 - theta) * n + 2 * theta) / (1 + theta)
        self.kappa = offset / (1 + offset * ones) / square

    def count(self, n, events):
        """Active days, runs, and active ends."""
        active = runs = ends = until = 0
        for t in events:
            first, end = max(t, 0), min(t + self.window, n)
            if end <= first:
                continue
            if first > until or active == 0:
                runs += 1
                ends += first == 0
            active += end - max(first, until if active else 0)
            until = end
        return active, runs, ends + (until == n and active > 0)

    def weights(self, level):
        return [f - 2 * self.kappa * level * g for f, g in zip(self.f, self.g)]


def dot(weights, counts):
    return sum(w * c for w, c in zip(weights, counts))


def gain(n, windows, weights, t, until):
    """Sum over the days and runs between an event and the next one, or the last day if None."""
    total = 0.0
    for w, (day, run, end) in zip(windows, weights):
        last = min(t + w.window, n if until is None else until, n)
        if last > max(t, 0):
            total += day * (last - max(t, 0)) + end * ((t <= 0) + (last == n))
        if until is not None and until - t > w.window:
            total += run
    return total


def best_events(n, is_open, windows, weights):
    """Events with the largest sum of the weights, and that sum."""
    longest = max(w.window for w in windows)
    # After the first day, only the gap to the next event matters.
    gains = [gain(n, windows, weights, 1, 1 + gap) for gap in range(min(n - 1, longest + 2))]
    best, later = {}, {}
    far = []  # the best (value, event) at or after a day, from the last day back
    for t in range(n - 1, -longest if is_open else -1, -1):
        between = lambda u: gains[u - t] if t > 0 else gain(n, windows, weights, t, u)
        choices = [(gain(n, windows, weights, t, None), -1)]
        near = range(max(0, t + 1), max(0, min(n, t + longest + 1)))
        choices += [(between(u) + best[u], u) for u in near]
        if near.stop < n:  # gaps beyond the longest window are alike
            value, u = far[n - 1 - near.stop]
            choices.append((gain(n, windows, weights, t, near.stop) + value, u))
        best[t], later[t] = max(choices)
        if t >= 0:
            far.append(max([(best[t], t), *far[-1:]]))
    starts = {
        t: value + sum(run for w, (_, run, _) in zip(windows, weights) if t + w.window > 0)
        for t, value in best.items()
    }
    t = max(starts, key=starts.get)
    value, events = starts[t], []
    while t != -1 or not events:
        events.append(t)
        t = later[t]
    return value, events


def bound(n, is_open, windows, rounds):
    """The least upper bound on J of all rounds."""
    levels = [0.0] * len(windows)
    upper = math.inf
    for r in range(rounds):
        value, events = best_events(
            n, is_open, windows, [w.weights(level) for w, level in zip(windows, levels)]
        )
        counts = [w.count(n, events) for w in windows]
        means = [dot(w.g, count) for w, count in zip(windows, counts)]
        constant = sum(w.kappa * level**2 for w, level in zip(windows, levels))
        upper = min(upper, value + constant)
        pace = (2 if r < 50 else 1) / (r + 2)
        levels = [level + pace * (g - level) for level, g in zip(levels, means)]
    return math.sqrt(upper)


def fields(windows):
    row = {}
    for i in range(3):
        window, theta, offset = windows[i] if i < len(windows) else (0, 0, 0)
        row |= {f"window_{i}": window, f"theta_{i}": float(theta), f"offset_{i}": float(offset)}
    return row


PARAMETERS = [
    (Fraction(0), Fraction(1, 4)),
    (Fraction(21, 64), Fraction(289, 1024)),
    (Fraction(11, 16), Fraction(0)),
    (Fraction(31, 32), Fraction(3)),
]
SMALL = [
    *((n, windows) for n in (1, 2, 5) for windows in ((1, 1), (1, n), (n, 1, 1))),
    *((9, windows) for windows in ((1, 3), (4, 2), (3, 3), (1, 3, 7), (9, 2, 5), (7, 1, 9))),
    (11, (1, 2, 5)),
]


def event_rows():
    rows = []
    for n, lengths in SMALL:
        for is_open, shift in itertools.product((False, True), range(len(PARAMETERS))):
            windows = [
                (w, *PARAMETERS[(i + shift) % len(PARAMETERS)]) for i, w in enumerate(lengths)
            ]
            joint, alone = largest_of_all(n, is_open, windows)
            squares = [float(s) for s in alone] + [0.0] * (3 - len(windows))
            small = [Window(n, is_open, *w) for w in windows]
            upper = bound(n, is_open, small, 30)
            assert math.sqrt(joint) <= upper * (1 + 1e-12), (n, windows, is_open)
            rows.append(
                {"n": n, "is_open": is_open, **fields(windows)}
                | {f"squared_{i}": s for i, s in enumerate(squares)}
                | {"joint": math.sqrt(joint)}
            )
    return rows


# The best parameters of each window alone, with an open start.
YEAR = {
    1: (1, Fraction(0), Fraction(857, 1 << 14)),
    7: (7, Fraction(336, 1 << 10), Fraction(1187, 1 << 14)),
    30: (30, Fraction(625, 1 << 10), Fraction(1606, 1 << 14)),
}


def year_rows():
    rows = []
    for lengths, is_open in (((1, 7), True), ((1, 30), True), ((7, 30), True), ((1, 7, 30), True),
                             ((1, 7, 30), False)):  # fmt: skip
        windows = [YEAR[w] for w in lengths]
        year = [Window(365, is_open, *w) for w in windows]
        alone = [w.sensitivity for w in year] + [0.0] * (3 - len(year))
        rows.append(
            {"n": 365, "is_open": is_open, **fields(windows)}
            | {f"sensitivity_{i}": s for i, s in enumerate(alone)}
            | {"upper": round(bound(365, is_open, year, 100), 6)}
        )
    return rows


def document():
    return {"events": event_rows(), "year": year_rows()}


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, json.dumps(document(), indent=1) + "\n"))
