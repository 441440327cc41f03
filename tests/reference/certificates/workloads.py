# SPDX-License-Identifier: Apache-2.0
"""Workloads as matrices: what is answered at every step (docs/math/mechanisms.md)."""

import re
from fractions import Fraction
from functools import cached_property

from .intervals import ZERO, exact, multiply


_NUMBER = r"-?[0-9][0-9.e+-]*"
# Names of workloads as the package prints them.
NAMES = re.compile(rf"momentum=(?P<momentum>{_NUMBER}),decay=(?P<decay>{_NUMBER})"
                   rf"|window=(?P<window>[1-9][0-9]*)|(?P<matrix>matrix)"
                   rf"|(?P<rates>rates)(,momentum=(?P<average>{_NUMBER}))?")


def toeplitz(coefficients):
    """Lower-triangular matrix of a power series."""
    size = len(coefficients)
    return [[coefficients[i - j] if j <= i else ZERO for j in range(size)] for i in range(size)]


class Workload:
    """A workload in the words of the package: 'prefix', {momentum, decay}, {window}, {rates,
    momentum} or {matrix}, or as `error` prints it."""

    def __init__(self, given, num_steps):
        self.num_steps = num_steps
        self.words = given = read_words(given)
        if None in given.values():
            raise LookupError("which matrix is answered is not in the file")
        self.momentum = Fraction(given.get("momentum", 0))
        self.decay = Fraction(given.get("decay", 1))
        self.is_prefix = given == {}
        self.kind = next((kind for kind in ("matrix", "window", "rates") if kind in given),
                         "prefix" if self.is_prefix else "momentum")
        self.rates = [Fraction(x) for x in given.get("rates", ())]

    @cached_property
    def series(self):
        """Exact coefficients, where it is Toeplitz by its kind."""
        if self.kind in ("matrix", "rates"):
            return None
        if self.kind == "window":
            return [Fraction(k < self.words["window"]) for k in range(self.num_steps)]
        return momentum_series(self.momentum, self.decay, self.num_steps)

    @cached_property
    def matrix(self):
        n = self.num_steps
        if self.kind == "matrix":
            numbers = [exact(x) for x in self.words["matrix"]]
            return [numbers[i * n:(i + 1) * n] for i in range(n)]
        if self.kind != "rates":
            return toeplitz([exact(a) for a in self.series])
        # Prefix diag(rates) LTT(momentum^k): record j enters through the averages after it.
        averages = toeplitz([exact(self.momentum ** k) for k in range(n)])
        weighted = [[exact(rate) * entry for entry in row]
                    for rate, row in zip(self.rates, averages)]
        return multiply(toeplitz([exact(1)] * n), weighted)


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
    """The workload as an object; without its numbers if the words only name them.

    @throws LookupError  the words do not name one workload
    """
    if isinstance(given, dict):
        return dict(given)
    if given == "prefix":
        return {}
    match = NAMES.fullmatch(given)
    if match is None:
        raise LookupError(f"which matrix {given!r} is, is not in the file")
    found = match.groupdict()
    if found["window"]:
        return {"window": int(found["window"])}
    if found["matrix"]:
        return {"matrix": None}
    if found["rates"]:
        return {"rates": None, "momentum": float(found["average"] or 0)}
    return {"momentum": float(found["momentum"]), "decay": float(found["decay"])}


def name_of(given):
    """What the name of a workload states, as a tuple that can be compared."""
    words = read_words(given)
    momentum, decay = words.get("momentum", 0), words.get("decay", 1)
    if "matrix" in words or "window" in words:
        return ("matrix",) if "matrix" in words else ("window", words["window"])
    return ("rates", momentum) if "rates" in words else ("sums", momentum, decay)
