# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the error of every factorization, from dual variables (docs/math/optimal.md).

u are weights of the rows, Lambda = M M^T has one block per phase of a user's steps, and with
W = D_u^(1/2) A M:

    error^2 >= |W|_*^2 / (T sum u),     |W|_* >= <Q, W> / |Q|     for every Q

T is the sum over phases s of T_s = max diag Lambda_s, for records of d numbers with
(d + 1)(d + 2) / 2 > k. For records of one number, T_s = sum w + max(max R_ii, sum_{i<j} |R_ij|),
where R = Lambda_s - sum w v v^T, for sign vectors v with weights w >= 0.

Q, Lambda, u and w are found in floats; intervals prove the resulting bound.
"""

from fractions import Fraction
from itertools import product as all_of
from math import sqrt

from mpmath import iv

from .intervals import (Interval, dot, exact, from_mp, matrix, multiply, scale_rows,
                        solve_right, squares, total, transpose, upper_root, zeros)
from .patterns import squared_sensitivity

MOST_STEPS = 64
MOST_SOLVED_STEPS = 16
MOST_SIGNED = 8


# --- floats -------------------------------------------------------------------------------------

def float_product(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def float_inverse(a):
    """Inverse by Gaussian elimination with pivoting."""
    size = len(a)
    work = [list(row) + [1.0 if i == j else 0.0 for j in range(size)] for i, row in enumerate(a)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(work[r][i]))
        work[i], work[pivot] = work[pivot], work[i]
        scale = 1 / work[i][i]
        work[i] = [x * scale for x in work[i]]
        for r in range(size):
            if r != i and work[r][i]:
                factor = work[r][i]
                work[r] = [x - factor * y for x, y in zip(work[r], work[i])]
    return [row[size:] for row in work]


def polar(w):
    """Approximate orthogonal factor of a square matrix, by Newton's iteration, scaled at first."""
    q = [list(row) for row in w]
    for step in range(60):
        inverse = [list(row) for row in zip(*float_inverse(q))]
        size = sqrt(sum(x * x for row in q for x in row))
        other = sqrt(sum(x * x for row in inverse for x in row))
        scale = sqrt(other / size) if step < 8 else 1.0
        after = [[(scale * x + y / scale) / 2 for x, y in zip(row, row2)]
                 for row, row2 in zip(q, inverse)]
        change = max(abs(x - y) for row, row2 in zip(q, after) for x, y in zip(row, row2))
        q = after
        if change < 1e-14:
            break
    return q


def float_root(a):
    """Symmetric root of a positive definite matrix: the polar factor of its Cholesky factor."""
    size = len(a)
    low = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = a[i][j] - sum(low[i][m] * low[j][m] for m in range(j))
            low[i][j] = sqrt(max(rest, 1e-300)) if i == j else rest / low[j][j]
    upper = [list(row) for row in zip(*low)]
    return float_product([list(row) for row in zip(*polar(upper))], upper)


# --- bounds of given variables ------------------------------------------------------------------

class Duals:
    """Roots of the row weights, and M: a k x k block for every phase, over its steps."""

    def __init__(self, row_roots, blocks, phases):
        self.row_roots = row_roots
        self.blocks = blocks
        self.phases = phases

    def columns(self, num_steps):
        m = zeros(num_steps, num_steps)
        for block, phase in zip(self.blocks, self.phases):
            for a, i in enumerate(phase):
                for b, j in enumerate(phase):
                    m[i][j] = exact(block[a][b])
        return m


def nuclear_norm(w):
    """A lower bound on the nuclear norm of an interval matrix."""
    q = matrix(polar([[entry.middle() for entry in row] for row in w]))
    inner = total(dot(a, b) for a, b in zip(q, w))
    products = multiply(transpose(q), q)
    norm = max(sum(max(abs(e.lo), abs(e.hi)) for e in row) for row in products)
    return Interval(max(inner.lo, 0), max(inner.lo, 0)) / Interval(norm, norm).sqrt()


def largest_diagonal(block):
    lam = multiply(matrix(block), transpose(matrix(block)))
    return Interval(max(lam[i][i].lo for i in range(len(lam))),
                    max(lam[i][i].hi for i in range(len(lam))))


def sign_total(block):
    """T_s for scalar records."""
    k = len(block)
    if k <= 2:
        return largest_diagonal(block)
    lam = multiply(matrix(block), transpose(matrix(block)))
    signs = [(1,) + rest for rest in all_of((1, -1), repeat=k - 1)]
    rest = [[entry.middle() for entry in row] for row in lam]
    most = max(rest[i][i] for i in range(k))
    for i in range(k):
        rest[i][i] = most
    weights = [0.0] * len(signs)
    for _ in range(400):
        change = 0.0
        for index, s in enumerate(signs):
            gain = sum(s[i] * s[j] * rest[i][j] for i in range(k) for j in range(k)) / (k * k)
            step = max(0.0, weights[index] + gain) - weights[index]
            if step:
                weights[index] += step
                change = max(change, abs(step))
                for i in range(k):
                    for j in range(k):
                        rest[i][j] -= step * s[i] * s[j]
        if change <= 1e-8 * most:
            break
    exact_weights = [Fraction(weight) for weight in weights]
    whole = sum(exact_weights)
    left = [[lam[i][j] - exact(sum(w * s[i] * s[j] for w, s in zip(exact_weights, signs)))
             for j in range(k)] for i in range(k)]
    diagonal = max(left[i][i].hi for i in range(k))
    off = sum(max(abs(left[i][j].lo), abs(left[i][j].hi)) for i in range(k) for j in range(i))
    top = exact(whole).hi + max(diagonal, off)
    return Interval(max(top, 0), max(top, 0))


def bound_of(duals, workload, of_signs=False):
    """Bound that variables prove, in units of the error at unit noise; the lower end is proved."""
    num_steps = len(workload)
    w = multiply(scale_rows(workload, [exact(r) for r in duals.row_roots]),
                 duals.columns(num_steps))
    rows = squares([exact(r) for r in duals.row_roots])
    if of_signs and max(len(block) for block in duals.blocks) > MOST_SIGNED:
        return exact(0)
    totals = [sign_total(b) if of_signs else largest_diagonal(b) for b in duals.blocks]
    return nuclear_norm(w) / (rows * total(totals)).sqrt()


def needed_dimension(k):
    """The least d with (d + 1)(d + 2) / 2 > k."""
    dimension = 1
    while (dimension + 1) * (dimension + 2) // 2 <= k:
        dimension += 1
    return dimension


# --- a solver of our own ------------------------------------------------------------------------

class Solved:
    def __init__(self, duals, encoder):
        self.duals = duals
        self.encoder = encoder  # of the primal problem, in intervals; None where it fails


def solve(workload, k, is_max, row_weights=None, iterations=70):
    """Dual variables near the optimum, by fixed-point iteration; without blocks, steps are doubled.

    @param workload     interval matrix
    @param k            fixed epochs; 1: one participation
    @param row_weights  of the mean objective, floats; None: 1
    """
    n = len(workload)
    a = [[entry.middle() for entry in row] for row in workload]
    b = n // k
    phases = [list(range(s, n, b)) for s in range(b)]
    u = list(row_weights) if row_weights else [1.0] * n
    levels = [[[1.0 if i == j else 0.0 for j in range(k)] for i in range(k)] for _ in phases]
    best = (0.0, None, None)
    for step in range(iterations):
        blocks, m = [], [[0.0] * n for _ in range(n)]
        for level, phase in zip(levels, phases):
            root = float_root(level) if k > 1 else [[sqrt(level[0][0])]]
            trace = sum(level[i][i] for i in range(k))
            block = [[x / sqrt(level[i][i] / trace) for x in root[i]] for i in range(k)]
            blocks.append(block)
            for x, i in enumerate(phase):
                for y, j in enumerate(phase):
                    m[i][j] = block[x][y]
        w = [[sqrt(weight) * x for x in row] for weight, row in zip(u, float_product(a, m))]
        q = polar(w)
        p = float_product([list(row) for row in zip(*q)], w)
        left = float_product(w, [list(row) for row in zip(*q)])
        nuclear = sum(p[i][i] for i in range(n))
        whole = sum(max(sum(x * x for x in row) for row in block) for block in blocks)
        bound = nuclear / sqrt(whole * sum(u))
        if bound > best[0]:
            best = (bound, Duals([sqrt(x) for x in u], blocks, phases), (p, m))
        scale = n / nuclear
        # Twice the plain step without blocks, the plain step with them.
        for s, phase in enumerate(phases):
            fresh = [[scale * p[i][j] for j in phase] for i in phase]
            if k == 1:
                fresh = [[fresh[0][0] ** 2 / levels[s][0][0]]]
            levels[s] = [[(fresh[i][j] + fresh[j][i]) / 2 for j in range(k)] for i in range(k)]
        trace = sum(level[i][i] for level in levels for i in range(k))
        levels = [[[x * n / trace for x in row] for row in level] for level in levels]
        if is_max:
            rows = [scale * left[i][i] for i in range(n)]
            u = [max(x * x / y if k == 1 else x, 1e-12) for x, y in zip(rows, u)]
            mean = sum(u) / n
            u = [x / mean for x in u]
    return Solved(best[1], encoder_of(best[2]))


def encoder_of(point):
    """Encoder of X = M^-T P M^-1 at rounded entries: its root in intervals."""
    p, m = point
    back = float_inverse(m)
    x = float_product(float_product([list(row) for row in zip(*back)], p), back)
    size = len(x)
    rounded = [[exact((x[i][j] + x[j][i]) / 2) for j in range(size)] for i in range(size)]
    try:
        return upper_root(rounded)
    except ValueError:
        return None


# --- closed form --------------------------------------------------------------------------------

def patterns_to_cover(num_steps, schema):
    """Number of patterns in a partition of the steps: phases, cut into pieces of k steps."""
    if schema.kind == "single":
        return num_steps
    count = 0
    for s in range(min(schema.separation, num_steps)):
        steps = -(-(num_steps - s) // schema.separation)
        count += -(-steps // schema.most)
    return count


def schatten(num_steps, schema):
    """Bound for prefix sums: |A|_* / sqrt(n T), singular values 1 / (2 sin((2i-1) pi / (4n+2)))."""
    value = iv.mpf(0)
    for i in range(1, num_steps + 1):
        value += 1 / (2 * iv.sin((2 * i - 1) * iv.pi / (4 * num_steps + 2)))
    return from_mp(value / iv.sqrt(iv.mpf(num_steps) * patterns_to_cover(num_steps, schema)))


def epochs_within(num_steps, schema, is_max):
    """Fixed epochs (k, b) that the schema allows, over the first k b steps."""
    found = []
    widths = {schema.separation}
    if schema.kind == "min-separation":
        widths.add(max(schema.separation, num_steps // schema.most))
    for b in sorted(widths):
        k = min(schema.most, num_steps // b)
        if k > 1 and (is_max or k * b == num_steps):
            found.append((k, b))
    return found


def error_of(encoder, workload, schema, is_max, row_weights=None):
    """Error of a lower-triangular encoder at unit noise, for records of every dimension."""
    rows = [squares(row) for row in solve_right(workload, encoder)]
    sens = squared_sensitivity(encoder, schema)
    if is_max:
        size = Interval(max(r.lo for r in rows), max(r.hi for r in rows))
    else:
        weights = row_weights or [1] * len(rows)
        size = total(exact(w) * r for w, r in zip(weights, rows)) / exact(len(rows))
    return (sens * size).sqrt()
