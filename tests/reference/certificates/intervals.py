# SPDX-License-Identifier: Apache-2.0
"""Interval arithmetic on multiples of 2^-256: every operation rounds outward.

Matrices are lists of lists of intervals. Doubles are taken as exact rationals.
"""

from fractions import Fraction
from math import isqrt

from mpmath import iv

BITS = 256
ONE = 1 << BITS
iv.prec = BITS + 64


class Interval:
    """All numbers from lo to hi, both in units of 2^-BITS."""

    __slots__ = ("lo", "hi")

    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi

    def __add__(self, other):
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __sub__(self, other):
        return Interval(self.lo - other.hi, self.hi - other.lo)

    def __neg__(self):
        return Interval(-self.hi, -self.lo)

    def __mul__(self, other):
        low, high = product(self, other)
        return Interval(low >> BITS, -(-high >> BITS))

    def __truediv__(self, other):
        if other.lo <= 0 <= other.hi:
            raise ZeroDivisionError("division by an interval that contains 0")
        ends = [(a << BITS, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(a // b for a, b in ends), max(-(-a // b) for a, b in ends))

    def sqrt(self):
        if self.hi < 0:
            raise ValueError("square root of a negative interval")
        root = isqrt(self.hi << BITS)
        return Interval(isqrt(max(self.lo, 0) << BITS), root + 1)

    def magnitude(self):
        """All absolute values of the interval."""
        low = 0 if self.lo <= 0 <= self.hi else min(abs(self.lo), abs(self.hi))
        return Interval(low, max(abs(self.lo), abs(self.hi)))

    def contains(self, other):
        return self.lo <= other.lo and other.hi <= self.hi

    def middle(self):
        return float(Fraction(self.lo + self.hi, 2 * ONE))

    def width(self):
        return float(Fraction(self.hi - self.lo, ONE))

    def __repr__(self):
        return f"[{float(Fraction(self.lo, ONE))!r}, {float(Fraction(self.hi, ONE))!r}]"


def product(a, b):
    """Ends of a b in units of 2^(-2 BITS)."""
    if a.lo >= 0 and b.lo >= 0:
        return a.lo * b.lo, a.hi * b.hi
    ends = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
    return min(ends), max(ends)


def exact(number):
    """Interval of one rational: an int, a Fraction, or the exact value of a double."""
    if isinstance(number, Interval):
        return number
    if isinstance(number, int):
        return Interval(number << BITS, number << BITS)
    value = Fraction(number)
    scaled = value.numerator << BITS
    return Interval(scaled // value.denominator, -(-scaled // value.denominator))


def from_mp(value):
    """Converts an interval of mpmath."""
    low, high = rational_ends(value)
    return Interval(exact(low).lo, exact(high).hi)


# Numbers are written as rationals between 2^-FAR_BITS and 2^FAR_BITS.
FAR_BITS = 1 << 13


def rational_ends(value):
    """The ends of an interval of mpmath as exact rationals, rounded outward beyond FAR_BITS."""
    low, high = value._mpi_
    return _rational(low, is_low=True), _rational(high, is_low=False)


def _rational(end, is_low):
    sign, mantissa, exponent, bits = end
    if mantissa == 0 and exponent != 0:
        raise OverflowError("an interval without bounds")
    outward = bool(sign) == is_low
    if mantissa and exponent + bits < -FAR_BITS:
        size = Fraction(1, 1 << FAR_BITS) if outward else Fraction(0)
    elif exponent + bits > FAR_BITS:
        if outward:
            raise OverflowError("an interval with bounds that are too large")
        size = Fraction(1 << FAR_BITS)
    else:
        size = Fraction(mantissa) * Fraction(2) ** exponent
    return -size if sign else size


def to_mp(number):
    """A rational as an interval of mpmath."""
    value = Fraction(number)
    return iv.mpf(value.numerator) / iv.mpf(value.denominator)


ZERO = exact(0)
UNIT = exact(1)


def total(values):
    low = high = 0
    for value in values:
        low += value.lo
        high += value.hi
    return Interval(low, high)


def largest(values):
    values = list(values)
    return Interval(max(v.lo for v in values), max(v.hi for v in values))


def dot(left, right):
    """Inner product, rounded once."""
    low = high = 0
    for a, b in zip(left, right):
        if a.lo == a.hi == 0 or b.lo == b.hi == 0:
            continue
        least, most = product(a, b)
        low += least
        high += most
    return Interval(low >> BITS, -(-high >> BITS))


def squares(values):
    return total(v.magnitude() * v.magnitude() for v in values)


def zeros(rows, columns):
    return [[ZERO] * columns for _ in range(rows)]


def identity(size):
    return [[UNIT if i == j else ZERO for j in range(size)] for i in range(size)]


def matrix(numbers):
    return [[exact(number) for number in row] for row in numbers]


def transpose(a):
    return [list(column) for column in zip(*a)]


def multiply(a, b):
    columns = transpose(b)
    return [[dot(row, column) for column in columns] for row in a]


def scale_columns(a, factors):
    return [[entry * factor for entry, factor in zip(row, factors)] for row in a]


def scale_rows(a, factors):
    return [[factor * entry for entry in row] for row, factor in zip(a, factors)]


def solve_right(a, lower):
    """A L^-1 for a square, lower-triangular L, with rows solved from the last column on."""
    size = len(lower)
    columns = transpose(lower)
    result = []
    for row in a:
        out = [ZERO] * size
        for j in range(size - 1, -1, -1):
            rest = row[j] - dot(out[j + 1:], columns[j][j + 1:])
            out[j] = rest / lower[j][j]
        result.append(out)
    return result


def inverse(a):
    """Inverse of a positive definite matrix, by its Cholesky factor from the last row up."""
    root = upper_root(a)
    right = solve_right(identity(len(a)), root)
    return multiply(right, transpose(right))


def upper_root(a):
    """Lower-triangular T with T^T T = A for positive definite A, with rows from the last one up."""
    size = len(a)
    t = zeros(size, size)
    for i in range(size - 1, -1, -1):
        below = [t[r][i] for r in range(i + 1, size)]
        pivot = a[i][i] - squares(below)
        if pivot.lo <= 0:
            raise ValueError("not proved to be positive definite")
        t[i][i] = pivot.sqrt()
        for j in range(i):
            rest = a[i][j] - dot(below, [t[r][j] for r in range(i + 1, size)])
            t[i][j] = rest / t[i][i]
    return t
