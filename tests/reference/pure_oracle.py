#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trees for pure differential privacy, by brute force: writes tests/golden/pure.json.

A step is written as a shortest signed sum of powers of the arity by walking the tree from the root,
never by a formula for digits; the l1 sensitivity counts, for every record, the nodes that hold it
and that some step uses. Tails of sums of discrete Laplace variables come from convolving their
distributions, term by term, in decimals of 40 digits. No formula is shared with cpp/src.

    python3 tests/reference/pure_oracle.py            writes the file, in a few seconds
    python3 tests/reference/pure_oracle.py --check    exit 1 if the committed one is stale
    python3 tests/reference/pure_oracle.py --check --quick    the same, without trees of 2^20 steps,
                                                      in about one second
"""

import json
import pathlib
import sys
from decimal import Decimal, getcontext

from sensitivity_oracle import write_or_check

getcontext().prec = 40
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "pure.json"
BEST = {1024: [(11, False), (13, True)], 2**16: [(17, False), (21, True)], 2**20: [(17, False), (19, True)]}
QUICK_STEPS = 2**16


def above(count, arity, subtractive):
    """Number of parents whose sum is nearest to that of the first `count` nodes; rounded down in a
    plain tree."""
    return count // arity + (subtractive and count % arity > arity // 2)


def nodes_of(count, arity, subtractive):
    """The nodes (level, index, sign) of the first `count` steps."""
    nodes, level, rest = [], 0, count
    while rest:
        parents = above(rest, arity, subtractive)
        # Children after the last of these parents, or surplus children of that parent.
        nodes += [(level, i, 1) for i in range(parents * arity, rest)]
        nodes += [(level, i, -1) for i in range(rest, parents * arity)]
        level, rest = level + 1, parents
    return nodes


def check_sums(num_steps, arity, subtractive):
    """Checks that signed nodes cover each of the first t steps once, and no other step."""
    for count in range(1, num_steps + 1):
        covered = {}
        for level, index, sign in nodes_of(count, arity, subtractive):
            for step in range(index * arity**level, (index + 1) * arity**level):
                covered[step] = covered.get(step, 0) + sign
        assert [s for s in range(max(covered) + 1) if covered.get(s)] == list(range(count))
        assert all(covered[s] == 1 for s in range(count))
    all_nodes = [nodes_of(t, arity, subtractive) for t in range(1, num_steps + 1)]
    assert total_nodes(num_steps, arity, subtractive) == sum(map(len, all_nodes))
    assert {(level, i) for nodes in all_nodes for level, i, _ in nodes} == {
        (level, i)
        for level, nodes in enumerate(used_nodes(num_steps, arity, subtractive))
        for i in nodes
    }


def used_nodes(num_steps, arity, subtractive):
    """For each level, the nodes that the total of some step uses."""
    counts, used = range(1, num_steps + 1), []
    while counts:
        edges = [(count, above(count, arity, subtractive) * arity) for count in counts]
        used.append({i for ends in edges for i in range(min(ends), max(ends))})
        counts = {edge // arity for _, edge in edges} - {0}
    return used


def sensitivity(num_steps, arity, subtractive):
    """Largest number of used nodes that contain one record."""
    used = used_nodes(num_steps, arity, subtractive)
    held = [0]  # by a node and all above it
    for level in reversed(range(len(used))):
        nodes, above_it = used[level], held
        held = [
            (i in nodes) + (above_it[i // arity] if i // arity < len(above_it) else 0)
            for i in range(-(-num_steps // arity**level))
        ]
    return max(held)


def total_nodes(num_steps, arity, subtractive):
    """Nodes of all totals together. What a total leaves to the next level takes as many nodes there
    as the total of an earlier step."""
    nodes = [0]
    for count in range(1, num_steps + 1):
        parents = above(count, arity, subtractive)
        nodes.append(abs(count - parents * arity) + nodes[parents])
    return sum(nodes)


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
    """P[|sum| > x] at some x, by convolving distributions truncated beyond 60 scales."""
    q = (Decimal(-1) / scale).exp()
    reach = 60 * scale
    law = [(1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)]
    total = [Decimal(1)]
    for _ in range(num_terms):
        # Convolving with (1 - q)^2 / ((1 - q z)(1 - q / z)) is one recursion in each direction.
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
    is_quick = "--quick" in sys.argv[1:]
    horizons = [n for n in BEST if n <= QUICK_STEPS or not is_quick]
    large = [tree(n, *which) for n in horizons for which in [(2, False), (19, True), *BEST[n]]]
    golden = {
        "trees": small + large,
        "tails": [row for m, s in ((1, 1), (1, 7), (3, 5), (12, 9), (24, 4)) for row in tails(m, s)],
    }
    if is_quick:
        committed = json.loads(OUTPUT.read_text())
        committed["trees"] = [row for row in committed["trees"] if row["num_steps"] <= QUICK_STEPS]
        return f"{OUTPUT.name} is not what comes out" if committed != golden else 0
    return write_or_check(OUTPUT, json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
