#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trees for pure differential privacy, by brute force: writes tests/golden/pure.json.

A step is written as a shortest signed sum of powers of the arity by walking the tree from the root,
never by a formula for digits; the l1 sensitivity counts, for every record, the nodes that hold it
and that some step uses. Tails of sums of discrete Laplace variables come from convolving their laws,
term by term, in fractions of 40 digits. No formula is shared with cpp/src.

    python3 tests/reference/pure_oracle.py            writes the file, in two minutes
    python3 tests/reference/pure_oracle.py --check    compares it with the committed one
"""

import json
import pathlib
import sys
from decimal import Decimal, getcontext

getcontext().prec = 40
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "pure.json"
BEST = {1024: [(11, False), (13, True)], 2**16: [(17, False), (21, True)], 2**20: [(17, False), (19, True)]}


def nodes_of(count, arity, subtractive):
    """The nodes (level, index, sign) of the first `count` steps."""
    nodes, level, rest = [], 0, count
    while rest:
        below = rest % arity  # children of the last, incomplete parent
        if subtractive and below > arity // 2:
            # The parent as a whole, less the children that come after.
            parent = rest // arity + 1
            nodes += [(level, i, -1) for i in range(rest, parent * arity)]
            rest = parent
        else:
            nodes += [(level, i, 1) for i in range(rest - below, rest)]
            rest //= arity
        level += 1
    return nodes


def check_sums(num_steps, arity, subtractive):
    """Signed nodes cover each of the first t steps once, and no other."""
    for count in range(1, num_steps + 1):
        covered = {}
        for level, index, sign in nodes_of(count, arity, subtractive):
            for step in range(index * arity**level, (index + 1) * arity**level):
                covered[step] = covered.get(step, 0) + sign
        assert [s for s in range(max(covered) + 1) if covered.get(s)] == list(range(count))
        assert all(covered[s] == 1 for s in range(count))


def sensitivity(num_steps, arity, subtractive):
    """Largest number of used nodes that hold one record."""
    used = set()
    for count in range(1, num_steps + 1):
        used.update(node[:2] for node in nodes_of(count, arity, subtractive))
    levels = 1 + max(level for level, _ in used)
    return max(
        sum((level, step // arity**level) in used for level in range(levels))
        for step in range(num_steps)
    )


def total_nodes(num_steps, arity, subtractive):
    return sum(len(nodes_of(t, arity, subtractive)) for t in range(1, num_steps + 1))


def tree(num_steps, arity, subtractive):
    nodes = total_nodes(num_steps, arity, subtractive)
    held = sensitivity(num_steps, arity, subtractive)
    # Laplace noise of scale held / epsilon has variance 2 (held / epsilon)^2.
    return {
        "num_steps": num_steps,
        "arity": arity,
        "subtractive": subtractive,
        "sensitivity": held,
        "squared_error": 2 * held**2 * nodes / num_steps,
    }


def tails(num_terms, scale):
    """P[|sum| > x] at some x, by convolution of laws that are cut beyond 60 scales."""
    q = (Decimal(-1) / scale).exp()
    reach = 60 * scale
    law = [(1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)]
    total = [Decimal(1)]
    for _ in range(num_terms):
        # Times (1 - q)^2 / ((1 - q z)(1 - q / z)) is two recursions, one each way.
        total = [Decimal(0)] * reach + total + [Decimal(0)] * reach
        for order in (range(1, len(total)), range(len(total) - 2, -1, -1)):
            before = -1 if order.step > 0 else 1
            for k in order:
                total[k] += q * total[k + before]
        total = [(1 - q) ** 2 * p for p in total]
    if num_terms == 1:
        assert max(abs(a - b) for a, b in zip(law, total)) < Decimal(10) ** -24
    middle = len(total) // 2
    rows = []
    deviation = float((2 * q / (1 - q) ** 2 * num_terms).sqrt())
    for multiple in (0, 0.5, 1, 2, 4, 8):
        x = int(multiple * deviation)
        tail = sum(p for k, p in enumerate(total) if abs(k - middle) > x)
        rows.append({"num_terms": num_terms, "scale": scale, "x": x, "probability": float(tail)})
    return rows


def main():
    for arity, subtractive in ((2, False), (3, False), (3, True), (4, False), (5, True), (9, True)):
        check_sums(64, arity, subtractive)
    small = [
        tree(n, arity, subtractive)
        for n in range(1, 9)
        for arity in range(2, 10)
        for subtractive in ((False, True) if arity % 2 else (False,))
    ]
    large = [tree(n, *which) for n in BEST for which in [(2, False), (19, True), *BEST[n]]]
    golden = {
        "trees": small + large,
        "tails": [row for m, s in ((1, 1), (1, 7), (3, 5), (12, 9), (24, 4)) for row in tails(m, s)],
    }
    text = json.dumps(golden, indent=1) + "\n"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if OUTPUT.read_text() == text else f"{OUTPUT.name} is not what comes out")
    OUTPUT.write_text(text)


main()
