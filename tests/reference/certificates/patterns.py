# SPDX-License-Identifier: Apache-2.0
"""Sensitivity: how far contributions of one user move C G (docs/math/sensitivity.md).

    sens^2 = max over patterns pi of sup |u_i| <= 1 of |sum_{i in pi} C_i u_i|^2

for records of every dimension. With X = C^T C, it is at most sum |X_ij| over a pattern, and at
least sum X_ij, which equal contributions attain. If X has no negative entry, the two are equal.
"""

from .intervals import Interval, multiply, transpose

# Largest number of patterns to enumerate; beyond it, pairs of steps give a bound.
MOST_PATTERNS = 60000


class Schema:
    """Patterns of at most k steps, at least b apart (for fixed epochs exactly b, over the whole
    horizon)."""

    def __init__(self, kind, most, separation):
        self.kind = kind
        self.most = 1 if kind == "single" else most
        self.separation = 1 if kind == "single" else separation

    @staticmethod
    def read(words, num_steps):
        """Parses 'once', {epochs} or {times, apart}."""
        if words == "once":
            return Schema("single", 1, 1)
        if "epochs" in words:
            return Schema("fixed-epoch", words["epochs"], num_steps // words["epochs"])
        return Schema("min-separation", words["times"], words["apart"])

    def most_within(self, num_steps):
        return min(self.most, -(-num_steps // self.separation))


def gram(encoder):
    return multiply(transpose(encoder), encoder)


def patterns(schema, num_steps):
    """Maximal patterns, which no other allowed pattern contains; None if there are too many."""
    if schema.kind == "single":
        return [(i,) for i in range(num_steps)]
    if schema.kind == "fixed-epoch":
        return [tuple(range(s, num_steps, schema.separation)) for s in range(schema.separation)]
    found, b, most = [], schema.separation, schema.most
    # If as many participations as fit are allowed, a gap of 2 b or more has room for one step more.
    is_full = most >= -(-num_steps // b)

    def extend(chosen, first):
        if len(found) > MOST_PATTERNS:
            return
        if len(chosen) == most or first >= num_steps:
            found.append(tuple(chosen))
            return
        for step in range(first, min(num_steps, first + b) if is_full else num_steps):
            extend(chosen + [step], step + b)
    extend([], 0)
    return found if len(found) <= MOST_PATTERNS else None


def pattern_bounds(x, pattern):
    """Interval of the squared sensitivity to one pattern, for records of every dimension."""
    low = high = 0
    for i in pattern:
        row = x[i]
        for j in pattern:
            entry = row[j]
            low += entry.lo
            high += max(abs(entry.lo), abs(entry.hi))
    return Interval(max(low, 0), high)


def squared_sensitivity(encoder, schema):
    """Interval of the squared sensitivity; if there are too many patterns, pairs of steps give its
    upper end."""
    num_steps = len(encoder[0])
    x = gram(encoder)
    every = patterns(schema, num_steps)
    if every is not None:
        bounds = [pattern_bounds(x, pattern) for pattern in every]
        return Interval(max(b.lo for b in bounds), max(b.hi for b in bounds))
    sizes = [[max(abs(e.lo), abs(e.hi)) for e in row] for row in x]
    shares = [best_sum(row, schema) for row in sizes]
    spread = tuple(range(0, num_steps, schema.separation))[:schema.most]
    return Interval(pattern_bounds(x, spread).lo, best_sum(shares, schema))


def squared_moving_sensitivity(encoder, schema):
    """Interval of the squared sensitivity if records u are replaced by records v at other steps:

        sup over patterns pi, pi' of |sum_{i in pi} C_i u_i - sum_{j in pi'} C_j v_j|^2

    for records of norm at most 1 / sqrt(2), no two of which have a negative inner product. It is at
    most half the sum of |X_ij| over each of the patterns, plus max(0, -X_ij) between them."""
    x = gram(encoder)
    same = squared_sensitivity(encoder, schema)
    every = patterns(schema, len(x))
    if every is None or len(every) ** 2 > MOST_PATTERNS:
        return Interval(max(e.lo for row in x for e in row), 2 * same.hi)
    bounds = [pattern_bounds(x, pattern) for pattern in every]
    # Orthogonal records in the same steps attain the sum of X_ij; equal records in the steps of two
    # patterns attain half of |sum_{i in pi} C_i - sum_{j in pi'} C_j|^2.
    low = max(sum(x[i][j].lo for i in pi for j in pi) for pi in every)
    high = 0
    for pi, of_pi in zip(every, bounds):
        for other, of_other in zip(every, bounds):
            opposed = sum(max(0, -x[i][j].lo) for i in pi for j in other)
            high = max(high, -(-(of_pi.hi + of_other.hi) // 2) + opposed)
            apart = (sum(x[i][j].lo for steps in (pi, other) for i in steps for j in steps)
                     - 2 * sum(x[i][j].hi for i in pi for j in other))
            low = max(low, apart // 2)
    return Interval(low, min(high, 2 * same.hi))


def best_sum(values, schema):
    """Largest sum of at most k values at least b steps apart, by a dynamic program."""
    size = len(values)
    best = [0] * (size + schema.separation + 1)
    for _ in range(schema.most_within(size)):
        after = [0] * len(best)
        for i in range(size - 1, -1, -1):
            after[i] = max(after[i + 1], values[i] + best[i + schema.separation])
        if after == best:
            break
        best = after
    return best[0]
