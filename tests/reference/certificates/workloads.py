# SPDX-License-Identifier: Apache-2.0
"""Workloads as matrices: what is answered at every step (docs/math/mechanisms.md)."""

from fractions import Fraction

from .intervals import ZERO, exact, multiply


def toeplitz(coefficients):
    """Lower-triangular matrix of a power series."""
    size = len(coefficients)
    return [[coefficients[i - j] if j <= i else ZERO for j in range(size)] for i in range(size)]


class Workload:
    """A workload in the words of the package: 'prefix', {momentum, decay}, {window}, {rates,
    momentum} or {matrix}, or as `error` prints it."""

    def __init__(self, given, num_steps):
        self.num_steps = num_steps
        self.series = None  # exact coefficients, where it is Toeplitz by its kind
        given = read_words(given)
        if given is None:
            raise LookupError("which matrix is answered is not in the file")
        momentum = Fraction(given.get("momentum", 0))
        decay = Fraction(given.get("decay", 1))
        rates = given.get("rates")
        self.is_prefix = given == {}
        self.kind = ("matrix" if "matrix" in given else "window" if "window" in given
                     else "rates" if rates is not None else "prefix" if self.is_prefix
                     else "momentum")
        self.momentum, self.decay = momentum, decay
        if self.kind == "matrix":
            numbers = [Fraction(x) for x in given["matrix"]]
            rows = [numbers[i * num_steps:(i + 1) * num_steps] for i in range(num_steps)]
            self.matrix = [[exact(x) for x in row] for row in rows]
            return
        if self.kind == "window":
            self.series = [Fraction(1 if k < given["window"] else 0) for k in range(num_steps)]
        else:
            self.series = momentum_series(momentum, decay, num_steps)
        entries = [exact(a) for a in self.series]
        self.matrix = toeplitz(entries)
        if rates is not None:
            scales = [exact(Fraction(x)) for x in rates]
            # Prefix diag(rates) LTT(momentum^k): record j enters through the averages after it.
            averages = toeplitz([exact(momentum ** k) for k in range(num_steps)])
            sums = toeplitz([exact(1)] * num_steps)
            weighted = [[scales[i] * entry for entry in row] for i, row in enumerate(averages)]
            self.matrix = multiply(sums, weighted)
            self.series = None
            self.rates = [Fraction(x) for x in rates]


def momentum_series(momentum, decay, num_steps):
    """Coefficients of 1 / ((1 - decay x)(1 - momentum x))."""
    series, average = [], Fraction(0)
    value = Fraction(0)
    for _ in range(num_steps):
        average = average * momentum + (1 if not series else 0)
        value = decay * value + average
        series.append(value)
    return series


def read_words(given):
    """The workload as an object; None if the words do not define it, or name several."""
    if isinstance(given, dict):
        return dict(given)
    if given == "prefix":
        return {}
    if " + " in given:
        return None
    words = dict(part.split("=") for part in given.split(",") if "=" in part)
    if "window" in words:
        return {"window": int(words["window"])}
    if "momentum" in words:
        return {name: Fraction(value) for name, value in words.items()}
    return None
