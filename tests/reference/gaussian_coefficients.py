# SPDX-License-Identifier: Apache-2.0
"""Polynomials of the normal sampler, and a certificate of how well they fit.

Run it from the top of the repository (needs Python 3.9 or newer and mpmath):

    pip install mpmath
    python3 tests/reference/gaussian_coefficients.py             # tables and certified errors
    python3 tests/reference/gaussian_coefficients.py --check     # compare with the C++ source

It also adds up the error budget of docs/math/gaussian.md, case by case, in units of the rounding
unit (2^-53 for double, 2^-24 for float).

Three functions are approximated, each on the whole interval the reduction leaves (z stands for
the square of the reduced argument):

    log     (2 atanh(sqrt z)/sqrt z - 2) / z                 z in [0, ((sqrt2-1)/(sqrt2+1))^2]
    sine    sin(pi y/2)/y - 1,               z = y^2         z in [0, 1/4]
    cosine  (1 - cos(pi y/2)) / y^2,         z = y^2         z in [0, 1/4]

The polynomial interpolates at the Chebyshev nodes; then its coefficients are rounded to the
format of the kernel, and the error is certified FOR THE ROUNDED coefficients: f and the
polynomial have convergent power series at 0 with known coefficients e_k of the difference, so
|e''| <= sum k (k-1) |e_k| Z^(k-2) on [0, Z], and with a grid of step h

    max |e| <= max over the grid of |e|  +  h^2/8 * max |e''|.
"""

import re
import struct
import sys
from pathlib import Path

from mpmath import chebyt, cos, cosh, fac, log, matrix, lu_solve, mp, mpf, pi, sqrt

mp.dps = 60
SERIES_TERMS = 60
GRID = 20000

# Slightly widened, since the reduction decides on rounded numbers.
LOG_END = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * (1 + mpf(2) ** -20)
TURN_END = mpf(1) / 4


def log_series():
    return [mpf(2) / (2 * k + 3) for k in range(SERIES_TERMS)]


def sine_series():
    first = [(-1) ** k * (pi / 2) ** (2 * k + 1) / fac(2 * k + 1) for k in range(SERIES_TERMS)]
    return [first[0] - 1] + first[1:]


def cosine_series():
    return [(-1) ** k * (pi / 2) ** (2 * k + 2) / fac(2 * k + 2) for k in range(SERIES_TERMS)]


def evaluate(coefficients, z):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * z + c
    return total


def round_double(x):
    """Nearest double of a high-precision number (mpmath's float() rounds to nearest)."""
    return mpf(float(x))


def round_float(x):
    """Nearest single; the candidates around a doubly rounded value are compared exactly."""
    guess = struct.unpack("<f", struct.pack("<f", float(x)))[0]
    bits = struct.unpack("<i", struct.pack("<f", guess))[0]
    near = [struct.unpack("<f", struct.pack("<i", bits + d))[0] for d in (-1, 0, 1)]
    return min((mpf(v) for v in near), key=lambda v: abs(v - x))


def fit(series, end, degree, rounder):
    """Interpolate at the Chebyshev nodes of [0, end]; round the coefficients one by one.

    After each rounding, the remaining higher coefficients are fitted again to compensate for the
    rounding of the lower ones.
    """
    nodes = [end / 2 * (1 + cos(pi * (2 * i + 1) / (2 * degree + 2))) for i in range(degree + 1)]
    fixed = []
    while len(fixed) <= degree:
        free = degree + 1 - len(fixed)
        rows = matrix(len(nodes), free)
        rhs = matrix(len(nodes), 1)
        for i, z in enumerate(nodes):
            for j in range(free):
                rows[i, j] = (z / end) ** (len(fixed) + j)
            rhs[i] = evaluate(series, z) - evaluate(fixed, z)
        solution = lu_solve(rows, rhs)  # least squares once there are fewer unknowns than nodes
        fixed.append(rounder(solution[0] / end ** len(fixed)))
    return fixed


def certified_error(series, coefficients, end, weight):
    """Upper bound of weight(z) * |f - p| on [0, end] for increasing weight; also the grid
    maximum."""
    difference = [s - (coefficients[k] if k < len(coefficients) else 0)
                  for k, s in enumerate(series)]
    curvature = sum(k * (k - 1) * abs(e) * end ** (k - 2)
                    for k, e in enumerate(difference) if k >= 2)
    h = end / GRID
    slack = h * h / 8 * curvature
    best = mpf(0)
    left = abs(evaluate(difference[:30], mpf(0)))
    for i in range(GRID):
        z = h * (i + 1)
        right = abs(evaluate(difference[:30], z))
        best = max(best, weight(z) * max(left, right))
        left = right
    # 30 terms: the neglected tail of each series is below 1e-32, and is added.
    tail = sum(abs(e) * end ** k for k, e in enumerate(difference) if k >= 30) * mpf("1.01")
    return best + weight(end) * (slack + tail)


def hex_float(x, single):
    text = float(x).hex()
    mantissa, exponent = text.split("p")
    mantissa = re.sub(r"0+$", "", mantissa)
    if mantissa.endswith("."):
        mantissa += "0"
    return f"{mantissa}p{int(exponent)}" + ("f" if single else "")


def split_double(x):
    high = mpf(float(x))
    return high, mpf(float(x - high))


def log2_text(x):
    return "2^%.2f" % float(log(x) / log(2))


TABLES = [
    # name, series, end, degree (double, float), weight of the error in the result
    ("Log", log_series(), LOG_END, (6, 2), lambda z: z, "ln((1+s)/(1-s))/s"),
    ("Sine", sine_series(), TURN_END, (6, 3), lambda z: sqrt(z), "sin(pi y/2)"),
    ("Cosine", cosine_series(), TURN_END, (6, 3), lambda z: z, "cos(pi y/2)"),
]


def tables():
    out = []
    for name, series, end, degrees, weight, quantity in TABLES:
        for single, degree in ((False, degrees[0]), (True, degrees[1])):
            coefficients = fit(series, end, degree, round_float if single else round_double)
            error = certified_error(series, coefficients, end, weight)
            label = f"k{name}{'Float' if single else 'Double'}"
            out.append((label, [hex_float(c, single) for c in coefficients], error, quantity))
    return out


def exact_tables():
    """Coefficients of the careful path: Taylor series as unevaluated sums of two doubles."""
    sine = [(-1) ** k * (pi / 2) ** (2 * k + 1) / fac(2 * k + 1) for k in range(11)]
    cosine = [(-1) ** k * (pi / 2) ** (2 * k) / fac(2 * k) for k in range(11)]
    return [("kSineExact", [split_double(c) for c in sine]),
            ("kCosineExact", [split_double(c) for c in cosine])]


def half_ulp(x):
    """Largest rounding error of a result of size x or less, in rounding units."""
    return mpf(2) ** int(mp.floor(log(x) / log(2)))


def budget(name, unit, w_error, y_error, poly_cosine, poly_log, largest_k):
    """Sum of the error terms of the fast path, per binade of L = -ln u1 (see gaussian.md).

    All in units of `unit`; w_error: relative error of w; y_error: absolute error of y; poly_*:
    certified absolute errors of the polynomials.
    """
    # (P) relative error of ln m: s 2, bracket 1 + 12 * 0.02/2 + polynomial, product 1.
    p_relative = 2 + (1 + mpf("0.125") + poly_log / unit / 2) + 1
    p_error = p_relative * mpf("0.34658")
    # (C) |delta cos| for cos in [1/sqrt2, 1], and where cos is so large that |z| >= 4 is possible.
    # The sine's error is smaller (gaussian.md).
    def cosine_error(smallest):
        angle = mp.acos(smallest)
        z = (2 * angle / pi) ** 2
        return (mpf("0.5") + half_ulp(1 - smallest) + half_ulp(nearest_below(z)) * mpf("1.2338")
                + mpf("1.25") * z + pi / 2 * mp.sin(angle) * y_error + poly_cosine / unit)

    end = largest_k * log(2)
    cosine = cosine_error(sqrt(mpf(1) / 2))
    cosine_above = cosine_error(4 / sqrt(2 * end) - mpf("0.001"))
    print(f"{name}: ln m {float(p_error):.3f}, cosine {float(cosine):.3f}, "
          f"cosine where |z| >= 4 {float(cosine_above):.3f} units")
    edges = [log(2)] + [mpf(b) for b in (1, 2, 4, 8, 16) if b < end] + [end]
    worst = mpf(0)
    cases = [("u1 > 1/2, k = 0", mpf(0), log(2) / 2, None),
             ("u1 > 1/2, k = 1", mpf("0.3465"), log(2), 1 * w_error)]
    cases += [("u1 < 1/2", a, b, w_error) for a, b in zip(edges, edges[1:])]
    for label, low, high, w_term in cases:
        r_high = sqrt(2 * high)
        if w_term is None:  # relative to L: (w/(1-w))/L <= 1.195
            delta_r = (p_relative + mpf("1.2") * w_error) / 2 * r_high + half_ulp(r_high)
        else:
            inside = nearest_below(high)
            delta_l = w_term + p_error + mpf("0.25") + half_ulp(inside)
            delta_r = delta_l / sqrt(2 * low) + half_ulp(nearest_below(r_high))
        total = delta_r + r_high * cosine + half_ulp(min(nearest_below(r_high), mpf("3.9")))
        if r_high > 4:
            total = max(total, delta_r + r_high * cosine_above + 4)
        worst = max(worst, total)
        print(f"    {label}, L in [{float(low):.3f}, {float(high):.3f}]: radius "
              f"{float(delta_r):.2f}, normal {float(total):.2f} units")
    print(f"    worst {float(worst):.2f} units = {float(worst * unit):.3e}; "
          f"sin and cos {float(cosine * unit):.3e}")


def nearest_below(x):
    return x * (1 - mpf(2) ** -40)


def main():
    lines = []
    budget("double", mpf(2) ** -53, 1, mpf("0.25"), mpf("1.4e-18"), mpf("9.2e-18"), 14)
    budget("float", mpf(2) ** -24, 2, mpf("0.5"), mpf("1.7e-9"), mpf("5.5e-9"), 18)
    for label, coefficients, error, quantity in tables():
        lines.append((label, coefficients))
        print(f"{label}: certified absolute error of {quantity}: {float(error):.3e} "
              f"= {log2_text(error)}")
        for c in coefficients:
            print("   ", c + ",")
    for label, pairs in exact_tables():
        print(label)
        lines.append((label, [t for p in pairs for t in (hex_float(p[0], 0), hex_float(p[1], 0))]))
        for high, low in pairs:
            print("    {" + hex_float(high, 0) + ", " + hex_float(low, 0) + "},")
    ln2 = log(2)
    high = mpf(int(ln2 * 2 ** 42)) / 2 ** 42
    low = mpf(float(ln2 - high))
    print("kLn2High", hex_float(high, 0), "kLn2Low", hex_float(low, 0), "error",
          float(ln2 - high - low))
    high_f = mpf(int(ln2 * 2 ** 15)) / 2 ** 15
    low_f = round_float(ln2 - high_f)
    print("kLn2HighFloat", hex_float(high_f, 1), "kLn2LowFloat", hex_float(low_f, 1), "error",
          float(ln2 - high_f - low_f))
    lines.append(("ln 2", [hex_float(high, 0), hex_float(low, 0), hex_float(high_f, 1),
                           hex_float(low_f, 1)]))
    if "--check" in sys.argv:
        root = Path(__file__).resolve().parents[2]
        source = "".join((root / "cpp/src" / name).read_text()
                         for name in ("simd/normal_arithmetic.hpp",
                                      "simd/extended_arithmetic.hpp"))
        missing = [(label, c) for label, cs in lines for c in cs if c not in source]
        if missing:
            print("NOT IN THE SOURCE:", missing)
            sys.exit(1)
        print("every coefficient is in the source")


if __name__ == "__main__":
    main()
