#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaders of composite losses, by a slow solver: writes tests/golden/penalty.json.

Minimises <s, w> + t alpha sum_g ||w_g|| + lambda ||w||^2 / 2 over whole space, ball or box by
iterative reweighting: a norm is the least of (||w||^2 / eta + eta) / 2 over eta > 0, for eta its
value. Each round solves a quadratic problem with eta from the round before, in a ball by bisection
on the multiplier of its constraint. It uses no thresholds and shares no formula with cpp/src.

    python3 tests/reference/penalty_oracle.py            writes the file
    python3 tests/reference/penalty_oracle.py --check    compares it with the committed one
"""

import json
import math
import pathlib
import random
import sys

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "penalty.json"
DIMENSION = 6
ROUNDS = 4000
# Groups of weights that are penalised together; all other weights are unpenalised.
TERMS = {
    "l1": [[0], [1], [2], [3], [4], [5]],
    "l1 but the last": [[0], [1], [2], [3], [4]],
    "groups 2 3": [[0, 1], [2, 3, 4]],
    "groups 1 5": [[0], [1, 2, 3, 4, 5]],
    # Two scores of three features, with groups of 2 and 1.
    "two scores": [[0, 1, 3, 4], [2, 5]],
}


def quadratic(sums, curvatures, domain, radius):
    """argmin <s, w> + sum_i c_i w_i^2 / 2 over the domain."""
    at = lambda nu: [-s / (c + nu) for s, c in zip(sums, curvatures)]
    if domain == "box":
        return [min(radius, max(-radius, w)) for w in at(0)]
    if domain == "whole-space" or math.hypot(*at(0)) <= radius:
        return at(0)
    low, high = 0.0, math.hypot(*sums) / radius
    for _ in range(80):
        middle = (low + high) / 2
        if math.hypot(*at(middle)) > radius:
            low = middle
        else:
            high = middle
    return at(high)


def leader(sums, terms, slope, strength, domain, radius):
    widths = [1.0] * len(terms)
    for _ in range(ROUNDS):
        curvatures = [strength] * DIMENSION
        for term, width in zip(terms, widths):
            for i in term:
                curvatures[i] += slope / width
        weights = quadratic(sums, curvatures, domain, radius)
        widths = [max(1e-150, math.hypot(*(weights[i] for i in term))) for term in terms]
    return [0.0 if abs(w) < 1e-12 else w for w in weights]


def rows():
    generator = random.Random(20)
    for penalty, terms in TERMS.items():
        for domain in ("whole-space", "ball", "box"):
            if domain == "box" and not penalty.startswith("l1"):
                continue
            for step, scale in ((1, 1.0), (3, 5.0), (8, 9.0)):
                sums = [round(generator.uniform(-scale, scale), 3) for _ in range(DIMENSION)]
                radius, alpha, strength = 0.75, 0.5, 2.5
                weights = leader(sums, terms, step * alpha, strength, domain, radius)
                row = {"penalty": penalty, "domain": domain, "radius": radius, "step": step}
                row |= {"alpha": alpha, "lambda": strength}
                row |= {f"sum_{i}": float(s) for i, s in enumerate(sums)}
                row |= {f"weight_{i}": w for i, w in enumerate(weights)}
                yield row


def main():
    found = {"leaders": list(rows())}
    if "--check" not in sys.argv[1:]:
        OUTPUT.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    for old, new in zip(json.loads(OUTPUT.read_text())["leaders"], found["leaders"], strict=True):
        for name, value in new.items():
            near = abs(old[name] - value) <= 1e-9 if isinstance(value, float) else old[name] == value
            if not near:
                print(f"{OUTPUT.name}: {name} of {new} was {old[name]}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
