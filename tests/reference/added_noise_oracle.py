#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integer noise with small variance, to 30 digits: writes tests/golden/added_noise.json.

A distribution is a mixture of two geometric laws in |k|, truncated at m and m + 1. Its
probabilities are listed one by one: its delta at epsilon is the sum of their excesses over
e^epsilon times the neighbouring probabilities, and its variance is that of the list. So the noise
is private, and no lower bound may be above its variance. No code is shared with cpp/src/analysis,
which bounds from below.

Needs mpmath (python3-mpmath of Debian 12 or 13).   python3 tests/reference/added_noise_oracle.py
"""

import json
import pathlib

from mpmath import exp, mp, mpf

mp.dps = 30
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "added_noise.json"


def cut(q, m):
    """The distribution as a list, from -m to m."""
    powers = [q ** abs(k) for k in range(-m, m + 1)]
    total = sum(powers)
    return [power / total for power in powers]


def delta_of(law, epsilon):
    """Largest excess over e^epsilon times the distribution shifted by 1, in either direction."""
    factor = exp(epsilon)
    padded = [0, *law, 0]
    pairs = list(zip(padded, padded[1:]))
    return max(sum(max(mpf(0), b - factor * a) for a, b in pairs),
               sum(max(mpf(0), a - factor * b) for a, b in pairs))


def variance_of(law):
    half = len(law) // 2
    return sum(p * (k - half) ** 2 for k, p in enumerate(law))


def mixture(narrow, wide, share):
    return [share * a + (1 - share) * b for a, b in zip([0, *narrow, 0], wide)]


def record(epsilon, delta):
    q = exp(-mpf(epsilon))
    m = 0
    while delta_of(cut(q, m + 1), epsilon) > delta:
        m += 1
    narrow, wide = cut(q, m), cut(q, m + 1)
    low, high = delta_of(wide, epsilon), delta_of(narrow, epsilon)
    law = mixture(narrow, wide, (mpf(delta) - low) / (high - low))
    assert abs(sum(law) - 1) < 1e-25 and min(law) >= 0
    assert delta_of(law, epsilon) <= delta + mpf(10) ** -25
    return {"epsilon": epsilon, "delta": delta, "variance": mp.nstr(variance_of(law), 20)}


def main():
    rows = [record(epsilon, delta)
            for epsilon, delta in [(0.5, 1e-5), (1.0, 1e-5), (2.0, 1e-5), (4.0, 1e-5), (0.1, 1e-6),
                                   (0.1, 1e-3), (1.0, 1e-12), (1.0, 1e-3), (3.0, 1e-2),
                                   (8.0, 1e-9), (0.02, 1e-5)]]
    body = ",\n".join("  " + json.dumps(row) for row in rows)
    OUTPUT.write_text('{\n "laws": [\n' + body + "\n ]\n}\n")


if __name__ == "__main__":
    main()
