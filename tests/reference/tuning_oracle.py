#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Privacy cost of tuning, by integration on a grid: writes tests/golden/tuning.json.

For a target and k candidates, the largest epsilon of a learner by the bound of
docs/math/learning.md, section 12, with the profile integrated from the two densities and the ratio
searched on a grid; and the exact delta of three ways to rank outcomes of such learners, which must
be below the target's. In the third, `needle`, an outcome that reveals a row is ranked behind those
that are more likely in the other world. Only the formula is shared with cpp/src.

    python3 tests/reference/tuning_oracle.py            writes the file
    python3 tests/reference/tuning_oracle.py --check    compares it with the committed one; with --quick
                                                        only for one number of candidates a target
"""

import json
import math
import pathlib
import sys

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tuning.json"
TAKES_PART = 0.75
STEP = 1 / 256
TARGETS = [(epsilon, delta, k) for epsilon, delta in ((0.5, 1e-5), (1, 1e-6), (4, 1e-5), (8, 1e-8))
           for k in (2, 3, 8)]


def cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def density(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def integral(f, low, high):
    """Integrates by Simpson's rule."""
    pieces = 2 * math.ceil((high - low) / STEP)
    width = (high - low) / pieces
    inner = sum((4 if i % 2 else 2) * f(low + i * width) for i in range(1, pieces))
    return (f(low) + inner + f(high)) * width / 3


def profile(mu, epsilon):
    """Delta of N(mu, 1) against N(0, 1)."""
    start = epsilon / mu + mu / 2  # where the likelihood ratio is e^epsilon
    return integral(lambda y: density(y - mu) - math.exp(epsilon) * density(y), start, start + mu + 12)


def mean(k):
    return TAKES_PART * k / (1 - (1 - TAKES_PART) ** k)


def largest_ratio(mu):
    points = (i / 400 for i in range(-400 * 12, 400 * 8))
    return max((1 - TAKES_PART * cdf(x)) / (1 - TAKES_PART * cdf(x + mu)) for x in points)


def bound(mu, epsilon, k):
    left = epsilon - (k - 1) * math.log(largest_ratio(mu))
    return mean(k) * profile(mu, left) if left >= 0 else 1.0


def bisected(high, passes):
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2
        if passes(middle):
            low = middle
        else:
            high = middle
    return low


def chosen(mu, k, better):
    """Density of the chosen outcome if a candidate's outcome is N(mu, 1); better(y, mu) is the
    probability that another candidate's outcome is ranked before y."""
    return lambda y: mean(k) * density(y - mu) * (1 - TAKES_PART * better(y, mu)) ** (k - 1)


def delta_of(better, mu, epsilon, k, cuts):
    """Delta of choosing among k candidates, in the worse of both directions, by integration between
    cuts."""
    worst = 0.0
    for here, there in ((mu, 0.0), (0.0, mu)):
        p, q = chosen(here, k, better), chosen(there, k, better)
        edges = [-12.0, *sorted(cuts), mu + 12.0]
        # Slightly inside, so that a cut belongs to one side.
        worst = max(worst, sum(
            integral(lambda y: max(0.0, p(y) - math.exp(epsilon) * q(y)), a + 1e-9, b - 1e-9)
            for a, b in zip(edges, edges[1:]) if b - a > 1e-6))
    return worst


def needle(first, tail):
    """Ranks outcomes below `first` first, then those above `tail`, then the rest."""
    def better(y, mu):
        if y < first:
            return cdf(y - mu)
        above = 1 - cdf(y - mu)
        if y > tail:
            return cdf(first - mu) + above
        return cdf(first - mu) + above
    return better


def worst_needle(mu, epsilon, k):
    found = 0.0
    start = epsilon / mu + mu / 2
    for first in (-2, -1, -0.5, 0, 0.5, 1, 1.5):
        for back in (0.5, 0.25, 0.0):
            tail = max(first, start - back)
            found = max(found, delta_of(needle(first, tail), mu, epsilon, k, (first, tail)))
    return found


def case(epsilon, delta, k):
    mu = bisected(20.0, lambda it: bound(it, epsilon, k) <= delta)
    learner_epsilon = bisected(epsilon, lambda it: profile(mu, it) >= delta)
    return {
        "epsilon": epsilon, "delta": delta, "numCandidates": k,
        "mu": mu, "learnerEpsilon": learner_epsilon,
        "deltas": {
            "greater is better": delta_of(lambda y, m: 1 - cdf(y - m), mu, epsilon, k, ()),
            "less is better": delta_of(lambda y, m: cdf(y - m), mu, epsilon, k, ()),
            "needle": worst_needle(mu, epsilon, k),
        },
    }


def main():
    if sys.argv[1:2] != ["--check"]:
        OUTPUT.write_text(json.dumps([case(*target) for target in TARGETS], indent=1) + "\n")
        return
    stored = json.loads(OUTPUT.read_text())
    # Four steps at a time through a list of three per target, so that each number of candidates
    # occurs.
    step = 4 if "--quick" in sys.argv else 1
    for target, old in zip(TARGETS[::step], stored[::step], strict=True):
        new = case(*target)
        numbers = [(new[key], old[key]) for key in ("mu", "learnerEpsilon")]
        numbers += list(zip(new["deltas"].values(), old["deltas"].values()))
        if any(abs(a - b) > 1e-6 * abs(b) for a, b in numbers):
            sys.exit(f"{OUTPUT.name} is not what this program computes: {new} {old}")


if __name__ == "__main__":
    main()
