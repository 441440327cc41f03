# SPDX-License-Identifier: Apache-2.0
"""Encoder C and decoder B of every family, from docs/math/mechanisms.md, families.md, optimal.md.

A factorization has C (measurements x steps) and either the decoder for prefix sums, or none if C is
square and lower triangular, since B = A C^-1 is then the only one.
"""

from fractions import Fraction

from .intervals import (UNIT, ZERO, exact, identity, inverse, multiply, scale_columns, scale_rows,
                        solve_right, squares, total, transpose, upper_root, zeros)
from .workloads import toeplitz


class Unknown(LookupError):
    """Raised with the reason if something cannot be reconstructed."""


class Factors:
    def __init__(self, encoder, prefix_decoder=None):
        self.encoder = encoder
        self.prefix_decoder = prefix_decoder

    def decoder(self, workload):
        """Returns B such that B C = A."""
        if self.prefix_decoder is None:
            return solve_right(workload, self.encoder)
        # A_w A^-1 B: each column of A_w minus the next one.
        size = len(workload)
        differences = [[row[j] - row[j + 1] if j + 1 < size else row[j] for j in range(size)]
                       for row in workload]
        return multiply(differences, self.prefix_decoder)


# --- series -------------------------------------------------------------------------------------

def power_of_binomial(exponent, ratio, num_steps):
    """Coefficients of (1 - ratio x)^exponent, rational."""
    series = [Fraction(1)]
    for j in range(1, num_steps):
        series.append(series[-1] * ratio * (Fraction(j - 1) - exponent) / j)
    return series


def series_product(a, b):
    return [sum((a[i] * b[j - i] for i in range(j + 1)), Fraction(0)) for j in range(len(a))]


def series_inverse(a):
    result = [1 / Fraction(a[0])]
    for j in range(1, len(a)):
        rest = sum((a[i] * result[j - i] for i in range(1, j + 1)), Fraction(0))
        result.append(-rest / a[0])
    return result


def series_root(a):
    """Square root of a series whose first coefficient is 1."""
    root = [Fraction(1)]
    for j in range(1, len(a)):
        rest = sum((root[i] * root[j - i] for i in range(1, j)), Fraction(0))
        root.append((a[j] - rest) / 2)
    return root


def root_for(workload):
    """Square root of the workload's series, or of prefix sums if it has no series."""
    size = workload.num_steps
    if workload.kind == "matrix":
        rows = workload.matrix
        is_toeplitz = all(rows[i][j].lo == rows[i - j][0].lo for i in range(size)
                          for j in range(i + 1))
        if is_toeplitz:
            raise Unknown("which root serves a matrix with constant diagonals is not stated")
    if workload.series is None:
        return power_of_binomial(Fraction(-1, 2), 1, size)
    return series_root(workload.series)


def real_power(series, exponent):
    """Rational power of a series whose first coefficient is 1: y' s = e s' y."""
    y = [Fraction(1)]
    for j in range(1, len(series)):
        y.append(sum((series[i] * y[j - i] * (exponent * i - (j - i)) for i in range(1, j + 1)),
                     Fraction(0)) / j)
    return y


def logarithm(series):
    """Logarithm of a series whose first coefficient is 1: s y' = s'."""
    y = [Fraction(0)]
    for j in range(1, len(series)):
        rest = sum((i * y[i] * series[j - i] for i in range(1, j)), Fraction(0))
        y.append(series[j] - rest / j)
    return y


def of_series(series):
    return Factors(toeplitz([exact(c) for c in series]))


# --- trees --------------------------------------------------------------------------------------

def indicator(first, last, num_steps):
    """Row with ones on the steps first < t <= last, t from 1."""
    return [UNIT if first < t <= last else ZERO for t in range(1, num_steps + 1)]


def factors_of_nodes(nodes, uses, num_steps):
    """Builds C from (first, last) of every node, and B from the terms that each release adds:
    {node: factor}."""
    order = {node: row for row, node in enumerate(nodes)}
    decoder = zeros(num_steps, len(nodes))
    for t, row in enumerate(uses):
        for node, factor in row.items():
            decoder[t][order[node]] = exact(factor)
    encoder = [indicator(*nodes[node], num_steps) for node in nodes]
    return Factors(encoder, decoder)


def tree(num_steps):
    nodes = {(l, i): (i << l, (i + 1) << l) for l in range(num_steps.bit_length())
             for i in range(num_steps >> l)}
    uses = []
    for t in range(1, num_steps + 1):
        row, first = {}, 0
        for l in range(t.bit_length() - 1, -1, -1):
            if t >> l & 1:
                row[(l, first >> l)] = 1
                first += 1 << l
        uses.append(row)
    return nodes, uses


def honaker(num_steps):
    nodes, uses = tree(num_steps)

    def estimate(level, index, weight, row):
        """est = v z + (1 - v)(left + right), v = 2^l / (2^(l+1) - 1)."""
        v = Fraction(1 << level, (2 << level) - 1)
        row[(level, index)] = weight * v
        if level > 0:
            for child in (2 * index, 2 * index + 1):
                estimate(level - 1, child, weight * (1 - v), row)
    estimates = []
    for row in uses:
        merged = {}
        for level, index in row:
            estimate(level, index, Fraction(1), merged)
        estimates.append(merged)
    return nodes, estimates


def k_ary(num_steps, arity, subtractive):
    half = (arity - 1) // 2
    levels = 1
    while (arity ** levels - 1) // 2 < num_steps if subtractive else arity ** levels <= num_steps:
        levels += 1
    uses, nodes = [], {}
    for t in range(1, num_steps + 1):
        digits, rest = [], t
        for _ in range(levels):
            digit = (rest + half) % arity - half if subtractive else rest % arity
            digits.append(digit)
            rest = (rest - digit) // arity
        row, place = {}, 0
        for level in range(levels - 1, -1, -1):
            size = arity ** level
            first = place // size
            for r in range(abs(digits[level])):
                index = first + r if digits[level] > 0 else first - 1 - r
                row[(level, index)] = 1 if digits[level] > 0 else -1
                nodes[(level, index)] = (index * size, (index + 1) * size)
            place += digits[level] * size
        uses.append(row)
    return nodes, uses


# --- Haar bases ---------------------------------------------------------------------------------

def haar_levels(num_steps):
    return max(num_steps - 1, 0).bit_length()


def haar_factors(num_steps, weights):
    """Measurements of the mean and all Haar vectors, with one weight per level; columns have
    squared norm sum(weights)."""
    levels = len(weights) - 1
    size = 1 << levels
    roots = [weight.sqrt() for weight in weights]
    encoder = [[roots[0]] * num_steps]
    prefix = [[exact(Fraction(t, size)) / roots[0]] for t in range(1, num_steps + 1)]
    for level in range(1, levels + 1):
        length = 1 << level
        for first in range(0, size, length):
            row = []
            for t in range(num_steps):
                inside = first <= t < first + length
                is_left = t < first + length // 2
                row.append((roots[level] if is_left else -roots[level]) if inside else ZERO)
            encoder.append(row)
            for t in range(1, num_steps + 1):
                place = t - first if first <= t <= first + length else 0
                height = min(place, length - place)
                prefix[t - 1].append(exact(Fraction(height, length)) / roots[level])
    return Factors(encoder, prefix)


def haar_weights(num_steps):
    """Optimal weights, with sum 1, in proportion to sqrt(m_l) / 2^l."""
    levels = haar_levels(num_steps)
    shares = []
    for level in range(levels + 1):
        length = 1 << level
        if level == 0:
            moment = Fraction(sum(t * t for t in range(1, num_steps + 1)), num_steps)
            length = 1 << levels
        else:
            moment = Fraction(sum(min(t % length, length - t % length) ** 2
                                  for t in range(1, num_steps + 1)), num_steps)
        shares.append(exact(moment).sqrt() / exact(length))
    whole = total(shares)
    return [share / whole for share in shares]


def honaker_full(num_steps):
    levels = haar_levels(num_steps)
    size = 1 << levels
    weights = [exact(Fraction(2 * size - 1, size))]
    weights += [exact(Fraction((1 << l) - 1, 1 << l)) for l in range(1, levels + 1)]
    return haar_factors(num_steps, weights)


# --- buffers and bands --------------------------------------------------------------------------

def buffered_series(decays, weights, num_steps):
    """Coefficients c_0 = 1, c_j = sum of weight decay^(j - 1)."""
    pairs = [(Fraction(d), Fraction(w)) for d, w in zip(decays, weights)]
    return [Fraction(1)] + [sum((w * d ** (j - 1) for d, w in pairs), Fraction(0))
                            for j in range(1, num_steps)]


def log_perturbed(num_steps, alpha, power, cap):
    """(1-x)^(-1/2) L^(-1/2 - alpha) (2 ln(L) / x)^power, L = -ln(1 - x) / x."""
    size = max(cap, num_steps)
    ell = [Fraction(1, j + 1) for j in range(size + 1)]
    inner = logarithm(ell)
    iterated = [2 * c for c in inner[1:]]
    first = real_power(ell[:size], -Fraction(1, 2) - alpha)
    second = real_power(iterated, power)
    series = series_product(power_of_binomial(Fraction(-1, 2), 1, size),
                            series_product(first, second))
    return series


def normalised(factors):
    """Normalises columns to norm 1, with B' = A D A^-1 B for prefix sums."""
    encoder = factors.encoder
    norms = [squares(column).sqrt() for column in transpose(encoder)]
    scaled = scale_columns(encoder, [UNIT / norm for norm in norms])
    if factors.prefix_decoder is None:
        return Factors(scaled)
    differences = []
    for t, row in enumerate(factors.prefix_decoder):
        before = factors.prefix_decoder[t - 1] if t else [ZERO] * len(row)
        differences.append([norms[t] * (a - b) for a, b in zip(row, before)])
    decoder = []
    for t, row in enumerate(differences):
        decoder.append([a + b for a, b in zip(decoder[-1], row)] if t else row)
    return Factors(scaled, decoder)


def restarted(factors, epoch, num_steps, last_row=None):
    """Repeats the factors of one epoch; each past epoch contributes its last row to later steps."""
    decoder = factors.prefix_decoder or factors.decoder(toeplitz([UNIT] * epoch))
    rows = len(factors.encoder)
    last_row = last_row or decoder[-1]
    blocks = -(-num_steps // epoch)
    encoder = zeros(rows * blocks, num_steps)
    result = zeros(num_steps, rows * blocks)
    for t in range(num_steps):
        block, s = divmod(t, epoch)
        for i in range(rows):
            encoder[block * rows + i][t] = factors.encoder[i][s]
            result[t][block * rows + i] = decoder[s][i]
            for past in range(block):
                result[t][past * rows + i] = last_row[i]
    return Factors(encoder, result)


def completed_tree(make, epoch):
    """Tree over 2^p >= epoch steps, the last of which are empty; a past epoch contributes its
    root."""
    size = 1 << (epoch - 1).bit_length()
    nodes, uses = make(size)
    whole = factors_of_nodes(nodes, uses, size)
    encoder = [row[:epoch] for row in whole.encoder]
    return Factors(encoder, whole.prefix_decoder[:epoch]), whole.prefix_decoder[-1]


# --- the optimum --------------------------------------------------------------------------------

def optimal(numbers, num_steps):
    """X_q = direct D_v^-1 + sum_k w_k (A^-1 D_u^-1 A^-T + s_k D_v)^-1, columns scaled to norm 1."""
    v = [exact(x) for x in numbers["columnWeights"]]
    u = [exact(x) for x in numbers["rowWeights"]]
    decay = exact(numbers["decay"][0])
    # A^-1 has ones on the diagonal and -decay below; rows of A^-1 D_u^-1 A^-T are sums of two
    # terms.
    base = zeros(num_steps, num_steps)
    for i in range(num_steps):
        base[i][i] = UNIT / u[i]
        if i:
            base[i][i] = base[i][i] + decay * decay / u[i - 1]
            base[i][i - 1] = base[i - 1][i] = -(decay / u[i - 1])
    x = zeros(num_steps, num_steps)
    for i in range(num_steps):
        x[i][i] = exact(numbers["direct"][0]) / v[i]
    for shift, weight in zip(numbers["shifts"], numbers["weights"]):
        shifted = [list(row) for row in base]
        for i in range(num_steps):
            shifted[i][i] = shifted[i][i] + exact(shift) * v[i]
        resolvent = inverse(shifted)
        factor = exact(weight)
        x = [[a + factor * b for a, b in zip(row, other)] for row, other in zip(x, resolvent)]
    return normalised(Factors(upper_root(x)))


def banded(columns, num_steps):
    """Bands stored column after column, each from its diagonal entry down, with equally many
    numbers per column."""
    bands = len(columns) // num_steps
    encoder = zeros(num_steps, num_steps)
    for j in range(num_steps):
        for m in range(min(bands, num_steps - j)):
            encoder[j + m][j] = exact(columns[j * bands + m])
    return Factors(encoder)


# --- by name ------------------------------------------------------------------------------------

def reconstruct(name, given, workload, num_steps):
    """Factors of a mechanism with the parameters of a certificate or of a saved strategy.

    @throws Unknown  what defines it is not in the file
    """
    epoch = given.get("epochLength")
    if epoch is not None:
        at_most(epoch, "epochLength")
        one = dict(given)
        for key in ("epochLength", "completeEpochs", "normalizeColumns"):
            one.pop(key, None)
        if given.get("completeEpochs"):
            inner, last = completed_tree({"tree": tree, "honaker": honaker}[name], epoch)
        else:
            if not workload.is_prefix:
                raise Unknown("restarts for another workload than prefix sums")
            inner, last = plain(name, one, type(workload)({}, epoch), epoch), None
        factors = restarted(inner, epoch, num_steps, last)
    else:
        factors = plain(name, given, workload, num_steps)
    return normalised(factors) if given.get("normalizeColumns") else factors


def at_most(number, key, most=1 << 10):
    """Refuses a number that this program would take too long to follow."""
    if number > most:
        raise Unknown(f"{key} is above {most}")


def need(given, key):
    if key not in given:
        raise Unknown(f"{key} is not in the file")
    return given[key]


def plain(name, given, workload, n):
    half = Fraction(-1, 2)
    if name == "independent":
        return Factors(identity(n))
    if name == "output":
        return Factors(workload.matrix if workload.series else toeplitz([UNIT] * n))
    if name in ("tree", "honaker"):
        return factors_of_nodes(*(tree if name == "tree" else honaker)(n), n)
    if name == "tree-k":
        if given["arity"] < 2 or given["subtractive"] and given["arity"] % 2 == 0:
            raise Unknown("no tree has this arity")
        return factors_of_nodes(*k_ary(n, given["arity"], given["subtractive"]), n)
    if name == "haar":
        return haar_factors(n, haar_weights(n))
    if name == "honaker-full":
        return honaker_full(n)
    if name == "square-root":
        return of_series(root_for(workload))
    if name == "normalized-square-root":
        return normalised(of_series(root_for(workload)))
    if name == "nu":
        return of_series(power_of_binomial(half, 1 - Fraction(given["nu"]), n))
    if name == "lambda-cgd":
        return of_series([Fraction(given["lambda"]) ** j for j in range(n)])
    if name == "banded-square-root":
        bands = given["bands"]
        return of_series([c if j < bands else Fraction(0)
                          for j, c in enumerate(root_for(workload))])
    if name == "banded-inverse-square-root":
        bands = given["bands"]
        short = [c if j < bands else Fraction(0)
                 for j, c in enumerate(series_inverse(root_for(workload)))]
        return of_series(series_inverse(short))
    if name in ("blt", "blt-rational", "blt-normalized", "blt-scaled"):
        series = buffered_series(need(given, "decays"), need(given, "weights"), n)
        factors = of_series(series)
        if name == "blt-scaled":
            factors = Factors(scale_rows(factors.encoder,
                                         [exact(x) for x in need(given, "rowScales")]))
        return factors if name in ("blt", "blt-rational") else normalised(factors)
    if name == "banded-toeplitz":
        coefficients = [Fraction(c) for c in need(given, "coefficients")][:n]
        return of_series(coefficients + [Fraction(0)] * (n - len(coefficients)))
    if name == "banded":
        return banded(need(given, "columns"), n)
    if name == "log-perturbed":
        at_most(given["horizonCap"], "horizonCap")
        series = log_perturbed(n, Fraction(given["alpha"]), Fraction(given["loglogPower"]),
                               given["horizonCap"])
        factors = of_series(series[:n])
        factors.tail = [exact(c) for c in series]
        return factors
    if name == "optimal":
        if "columns" in given:
            return banded(given["columns"], n)
        need(given, "columnWeights")
        return optimal(given, n)
    raise Unknown(f"no family is called {name}")
