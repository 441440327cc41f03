# SPDX-License-Identifier: Apache-2.0
"""Privacy of Gaussian noise, in intervals: the (epsilon, delta) of mu-GDP and of rho-zCDP.

    mu-GDP:    delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)
               (Balle, Wang, arXiv 1805.06530)
    rho-zCDP:  delta <= e^((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a for every a > 1
               (Canonne, Kamath, Steinke, arXiv 2004.00010, Corollary 13)
"""

from fractions import Fraction
from functools import lru_cache

from mpmath import iv, mp

from .intervals import rational_ends, to_mp

# Beyond this, the tail is enclosed by two terms of its asymptotic series.
FAR = 45


def upper_tail(x):
    """Phi(-x) = P[normal > x] for an interval x of mpmath."""
    low, high = x.a, x.b
    return iv.mpf([_tail_at(high).a, _tail_at(low).b])


def _tail_at(x):
    """Encloses the tail at one number, by the series of all-positive terms, or for large x by
    bounds."""
    point = iv.mpf(x)
    if point < 0:
        return 1 - _tail_at((-point).b)
    density = iv.exp(-point * point / 2) / iv.sqrt(2 * iv.pi)
    if point > FAR:
        square = point * point
        low = density / point * (1 - 1 / square)
        high = density / point
        return iv.mpf([low.a, high.b])
    # Phi(x) - 1/2 = density sum_k x^(2k+1) / (1 3 5 .. (2k+1)); the remainder of the series is at
    # most the last term times q / (1 - q), q = x^2 / (2k + 3).
    square = point * point
    term = point
    sum_ = point
    k = 0
    while True:
        k += 1
        term = term * square / (2 * k + 1)
        sum_ += term
        ratio = square / (2 * k + 3)
        if ratio.b < 0.5 and (term.b == 0 or term.b < (sum_ * iv.mpf(2) ** -(iv.prec + 8)).a):
            break
    rest = term * ratio / (1 - ratio)
    total = density * iv.mpf([sum_.a, (sum_ + rest).b])
    low = iv.mpf(0.5) - total
    return low if low.a > 0 else iv.mpf([0, low.b])


@lru_cache(maxsize=1 << 16)
def delta_of_mu(epsilon, mu):
    """Interval of delta(epsilon) of mu-GDP, for rational mu and epsilon."""
    before = iv.prec
    reach = float(epsilon) / float(mu) + float(mu)
    # The series loses a factor exp(x^2 / 2) to cancellation, and so does the difference.
    iv.prec = 320 + int(3 * min(reach, FAR + 1) ** 2)
    try:
        eps, rate = to_mp(epsilon), to_mp(mu)
        near = upper_tail(eps / rate - rate / 2)
        far = iv.exp(eps) * upper_tail(eps / rate + rate / 2)
        return rational_ends(near - far)
    finally:
        iv.prec = before


@lru_cache(maxsize=1 << 16)
def delta_of_rho(epsilon, rho):
    """Upper bound on delta(epsilon) of rho-zCDP, at the best order found in floats."""
    def exponent(log_beta):
        beta = mp.exp(log_beta)
        r, e = mp.mpf(float(rho)), mp.mpf(float(epsilon))
        return beta * ((1 + beta) * r - e) - mp.log(beta) + (1 + beta) * mp.log(beta / (1 + beta))
    low, high = mp.mpf(-60), mp.mpf(60)
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if exponent(a) < exponent(b):
            high = b
        else:
            low = a
    order = to_mp(Fraction(float(mp.exp(low)))) + 1
    r, e = to_mp(rho), to_mp(epsilon)
    value = iv.exp((order - 1) * (order * r - e)) / (order - 1) * iv.exp(
        order * iv.log(1 - 1 / order))
    return rational_ends(value)[1]
