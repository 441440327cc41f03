#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/vectors/*.json: inputs chosen here, outcomes by grid_release.py and the standards.

    python3 tests/reference/make_vectors.py            write the files
    python3 tests/reference/make_vectors.py --check    recompute every committed outcome; exit 1
                                                       if one differs, or an input of states.json

decoders.json and the valid states of states.json were made by the library once; they are inputs and
never change. Needs mpmath (any 1.x) and about 20 seconds.
"""

import hashlib
import json
import math
import pathlib
import random
import re
import struct
import sys

from mpmath import mp, mpf

import grid_release

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "vectors"
KEYS = (bytes(range(32)), hashlib.sha256(b"another key").digest(), b"\xff" * 32)


def numbers(value):
    """Doubles as C prints them with %a; everything other than lists and these numbers is
    unchanged."""
    if isinstance(value, list):
        return [numbers(x) for x in value]
    return float.fromhex(value) if value.lstrip("-").startswith(("0x", "inf", "nan")) else value


def text(value):
    if isinstance(value, (list, tuple)):
        return [text(x) for x in value]
    return re.sub(r"\.?0*p", "p", value.hex())


def read(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


def decoders():
    return {name: {field: numbers(value) for field, value in decoder.items()}
            for name, decoder in read("decoders")["decoders"].items()}


# ---- noise -----------------------------------------------------------------------------------


def row_of(decoder, key, step, coordinate):
    """The row as a number; half a unit of its integer scaled by 2^170 is negligible."""
    return mpf(grid_release.noise(decoder, key, step, coordinate, 2.0 ** 170)) / mpf(2) ** 170


def near_boundary(row, about, is_above):
    """A scale near `about` whose product with the row is the closest to k + 1/2 among 4096
    tries."""
    first, best = int(abs(row) * about), None
    for k in range(first, first + 4096):
        scale = float((k + mpf(1) / 2) / abs(row))
        distance = scale * abs(row) - k - mpf(1) / 2
        if (distance > 0) == is_above and (best is None or abs(distance) < best[0]):
            best = abs(distance), scale
    return best[1]


def extreme_rows(key, coordinate, num_rows):
    """Rows whose first uniform begins with the most zeros, and with the most ones."""
    group, inside = divmod(coordinate, 32)
    q, lane = divmod(inside, 4)

    def leading(row):
        words = grid_release.chacha20(key, (4 * group + lane, row, 0, 0))
        return words[q // 2 * 4 + 1] << 32 | words[q // 2 * 4]

    return min(range(num_rows), key=leading), max(range(num_rows), key=leading)


def noise_inputs():
    """Yields (decoder, key, step, coordinate, scale, purpose)."""
    first, second, ones = KEYS
    small, large = extreme_rows(first, 0, 12000)
    yield from (("output", first, small, 0, 2.0 ** 40, "u1 near 0: more planes of bits"),
                ("output", first, small, 4, 2.0 ** 40, "the sine of that pair"),
                ("output", first, large, 0, 2.0 ** 40, "u1 near 1: more planes of bits"),
                ("output", first, large, 4, 2.0 ** 40, "the sine of that pair"))
    for coordinate in (0, 1, 4, 31, 32, 63, 1023, 1024, 1100, 65537, 2 ** 31 - 1):
        yield "output", second, 7, coordinate, 1e6, "coordinates and their blocks"
    for step in (2 ** 16, 2 ** 32 - 1, 2 ** 32, 2 ** 40 - 1):
        yield "output", ones, step, 5, 2.0 ** 40 / 3, "rows beyond 32 bits"
    for scale in (0.0, 2.0 ** -20, 0.37, 64.0, 2.0 ** 55):
        yield "output", second, 3, 2, scale, "scales"
    for name in ("tree", "honaker", "independent", "square-root", "banded",
                 "banded-inverse-square-root", "blt", "optimal"):
        steps = (0, 1, 2, 6, 39) if name == "optimal" else (0, 1, 2, 7, 62, 511, 512, 513, 640)
        for step in steps:
            yield name, first, step, 3, 12345.678, "steps"
        for step, coordinate in ((5, 1024), (30, 1100)):
            yield name, first, step, coordinate, 54321.0, "coordinates beyond 1024"
    for step in (2 ** 20 - 1, 2 ** 33 + 12345, 2 ** 40 - 2):
        yield "tree", second, step, 3, 1e9, "large steps"
    for step in (1500, 2047):
        yield "independent", first, step, 3, 1e5, "large steps"
    for name, step, coordinate in (("output", 9, 0), ("output", 2 ** 33, 1101), ("tree", 62, 1100),
                                   ("honaker", 30, 1025), ("independent", 20, 1030),
                                   ("square-root", 25, 1077), ("banded", 17, 3),
                                   ("banded", 600, 3), ("blt", 30, 1100), ("blt", 640, 3),
                                   ("optimal", 33, 1024)):
        row = row_of(decoders()[name], first, step, coordinate)
        for is_above, about in ((True, 2.0 ** 20), (False, 2.0 ** 20), (True, 2.0 ** 38)):
            scale = near_boundary(row, about, is_above)
            yield name, first, step, coordinate, scale, "a hair from a rounding boundary"


def noise_vectors():
    return [{"decoder": name, "key": key.hex(), "step": str(step), "coordinate": str(coordinate),
             "scale": text(scale), "note": note}
            for name, key, step, coordinate, scale, note in noise_inputs()]


# ---- records ---------------------------------------------------------------------------------


def pythagorean_records():
    """Records whose norm is a whole number of grids, at that clip norm and one a few ulps below."""
    for a, b, norm, ulps in ((3, 4, 5, 1), (5, 12, 13, 1), (20, 21, 29, 2), (119, 120, 169, 1),
                             (696, 697, 985, 3), (28, 45, 53, 4), (3000, 4000, 5000, 2)):
        for grid in (1.0, 2.0 ** -11):
            clip_norm = norm * grid
            yield [1.0], [a * grid, -b * grid], clip_norm, grid, "as long as the clip norm"
            for _ in range(ulps):
                clip_norm = math.nextafter(clip_norm, 0)
            note = f"longer than the clip norm, ulps: {ulps}"
            yield [1.0], [a * grid, -b * grid], clip_norm, grid, note
            yield [1.0], [b * grid, 0.0, a * grid], clip_norm, grid, note


def record_inputs():
    """Yields (scales, features, clip_norm, grid, purpose)."""
    yield from pythagorean_records()
    tiny, huge, least = 2.0 ** -1022, sys.float_info.max, 5e-324
    for x in (0.0, -0.0, 0.3, -0.3, 1.0, math.nextafter(1, 2), math.nextafter(1, 0), 1e308, -huge,
              least, -least, tiny, 1 / 64, math.nextafter(1 / 64, 0), 1 / 3):
        yield [1.0], [x], 1.0, 1 / 64, "one number"
    for x in (17.7, math.nextafter(17.7, 18), 17.75, 1e300):
        yield [1.0], [x], 17.7, 0.25, "a clip norm between grid points"
    for features in ([1e308] * 4, [huge, -huge], [1e300, 1e-300], [3e-320, 4e-320], [0.0] * 3,
                     [1.0, least], [0.6, 0.8], [math.nextafter(0.6, 1), 0.8], [0.1] * 100):
        yield [1.0], features, 1.0, 2.0 ** -20, "magnitudes"
        yield [1.0], [x * 2.0 ** -600 for x in features], 2.0 ** -600, 2.0 ** -620, "small norms"
    for clip_norm in (1.0, 1.422657216946611, math.nextafter(2, 0)):
        features = [q * 2.0 ** -30 for q in (1261412984, 861566517, 26289, 164, 17, 5, 0)]
        yield [1.0], features, clip_norm, 2.0 ** -30, "squares beyond 2^53"
    generator = random.Random(16)
    for size in (2, 7, 8, 9, 31):
        for ulps in (-2, 0, 2):
            x = [generator.gauss(0, 1) for _ in range(size)]
            norm = math.sqrt(math.fsum(a * a for a in x))
            x = [a * 0.7 / norm * (1 + ulps * 2.0 ** -52) for a in x]
            yield [1.0], x, 0.7, 2.0 ** -26, "too close to the clip norm to tell in one pass"
    x = [0.5, -0.25, 0.125, 1.0, 3.0]
    for scales in ([0.1], [1e-3, -2.5], [0.0, 0.2], [1e200, 1e100], [2.0 ** -1060], [least, 1.0]):
        yield scales, x, 0.7, 2.0 ** -12, "products: scales times features"
    for bad in (math.nan, math.inf, -math.inf):
        yield [1.0], [0.1, bad], 1.0, 1 / 64, "refused"
        yield [bad], [0.1, 0.2], 1.0, 1 / 64, "refused"
    yield [0.0], [math.inf, 0.0], 1.0, 1 / 64, "refused"
    yield [1e200], [1e200, 0.0], 1.0, 1 / 64, "refused: the largest product is not finite"


def record_vectors():
    return [{"scales": text(scales), "features": text(features), "clip_norm": text(clip_norm),
             "grid": text(grid), "note": note}
            for scales, features, clip_norm, grid, note in record_inputs()]


# ---- releases --------------------------------------------------------------------------------


def release_vectors():
    generator = random.Random(17)
    vectors = []
    for i, name in enumerate(("output", "tree", "honaker", "independent", "square-root", "banded",
                              "blt", "optimal")):
        records = [[generator.gauss(0, 1) for _ in range(1 + i % 3)] for _ in range(12)]
        records[5] = [1e300] + records[5][1:]
        records[6] = [0.0 for _ in records[6]]
        vectors.append({"decoder": name, "key": KEYS[i % 2].hex(), "clip_norm": text(0.75 + i),
                        "grid": text(2.0 ** (-10 - i)), "noise_stddev": text(4.5 + i / 3),
                        "records": text(records), "note": "running totals"})
    return vectors


# ---- damaged states --------------------------------------------------------------------------


def sealed(state):
    """Adds the checksum of docs/math/checkpoints.md, as anyone who can write the bytes could."""
    return state[:56] + hashlib.sha256(state[:56] + state[64:]).digest()[:8] + state[64:]


def damages(state):
    """Yields (bytes, outcome, description of the damage)."""
    yield state, "ok", "whole"
    for at in (0, 3, 4, 6, 7, 8, 16, 24, 39, 40, 55, 56, 63, 64, len(state) - 1):
        if at < len(state):
            damaged = state[:at] + bytes([state[at] ^ 1]) + state[at + 1:]
            yield damaged, "bad_state", f"a bit of byte {at} turned"
    for size in (0, 1, 63, 64, len(state) - 8, len(state) - 1):
        if size < len(state):
            yield state[:size], "bad_state", f"cut to {size} bytes"
    yield state + b"\0", "bad_state", "a byte more"
    for at, value, what in ((4, b"\2\0", "version 2"), (6, b"\0", "kind 0"),
                            (6, b"\6", "kind 6"), (7, b"\1", "another precision"),
                            (8, struct.pack("<q", 41), "a step past the horizon"),
                            (8, struct.pack("<q", -1), "step -1"),
                            (16, struct.pack("<q", 41), "a state later than its step"),
                            (16, struct.pack("<q", -1), "a state before the first step"),
                            (24, bytes(16), "the fingerprint of another mechanism"),
                            (40, bytes(16), "the commitment to another key")):
        changed = state[:at] + value + state[at + len(value):]
        yield sealed(changed), "bad_state", what + ", under a new checksum"


def damages_behind_header(kind, state):
    """Yields (bytes, description of the damage) for the content after the header, which depends on
    the kind; all get a new checksum."""
    if kind == "noise":
        yield state + bytes(3), "part of a row too much"
        return
    sums = 64 if kind == "sums" else 72  # where the contributions, or the sums' own state, begin
    yield state[:64], "nothing behind the header"
    yield state[:sums + 8], "too short"
    if kind == "sums":
        for count in (-1, 2 ** 62):
            yield state[:64] + struct.pack("<q", count) + state[72:], f"{count} contributions"
        return
    size, = struct.unpack_from("<q", state, 64)
    for wrong in (-1, 0, size - 8, 2 ** 62):
        yield state[:64] + struct.pack("<q", wrong) + state[72:], f"sums of {wrong} bytes"
    entries = sums + size
    yield state[:entries] + state[entries + 32:], "an entry too few"
    yield state[:entries] + state[entries:entries + 32] + state[entries:], "an entry too many"
    yield state[:80] + b"\1" + state[81:], "sums of another step"
    yield state[:entries - 8] + bytes(8) + state[entries:], "sums with another checksum"
    count = len(state) - 24  # of contributions to the open step, before their sum
    yield state[:count] + struct.pack("<q", 2) + state[count + 8:], "more contributions than records"
    yield state[:count] + struct.pack("<q", 0) + state[count + 8:], "a sum of no contributions"
    yield state[:-8], "a sum too short"
    yield state + bytes(8), "more behind the open step"


def state_vectors():
    vectors = []
    for name, whole in read("states")["whole"].items():
        state = bytes.fromhex(whole["bytes"])
        inner = [(sealed(damaged), "bad_state", what + ", under a new checksum")
                 for damaged, what in damages_behind_header(name, state)]
        vectors += [{"state": name, "bytes": damaged.hex(), "outcome": outcome, "note": note}
                    for damaged, outcome, note in [*damages(state), *inner]]
    return vectors


# ---- files -----------------------------------------------------------------------------------


def with_outcome(file, vector):
    """Adds the results of grid_release.py to the vector."""
    if file == "states":
        return vector
    given = {field: numbers(value) for field, value in vector.items()}
    if file == "records":
        try:
            q = grid_release.integers(given["scales"], given["features"], given["clip_norm"],
                                      given["grid"])
        except grid_release.Refused as refused:
            return vector | {"outcome": str(refused)}
        return vector | {"outcome": "ok", "integers": [str(a) for a in q]}
    decoder, key = decoders()[vector["decoder"]], bytes.fromhex(vector["key"])
    if file == "noise":
        step, coordinate = int(vector["step"]), int(vector["coordinate"])
        made = grid_release.noise(decoder, key, step, coordinate, given["scale"])
        return vector | {"noise": str(made)}
    return vector | {"releases": text(grid_release.release(decoder, key, given, given["records"]))}


def write(file, vectors):
    document = read(file) if (VECTORS / f"{file}.json").exists() else {}
    others = {name: value for name, value in document.items() if name != "vectors"}
    parts = [f"{json.dumps(name)}: {json.dumps(value, indent=1)},\n" for name, value in
             others.items()]
    lines = ",\n".join(json.dumps(with_outcome(file, vector)) for vector in vectors)
    (VECTORS / f"{file}.json").write_text("{" + "".join(parts) + f'"vectors": [\n{lines}\n]}}\n')


def check(file, expected=None):
    wrong, vectors = 0, read(file)["vectors"]
    for vector in vectors:
        outcome = ("noise", "outcome", "integers", "releases")
        inputs = {field: value for field, value in vector.items() if field not in outcome}
        if with_outcome(file, vector if file == "states" else inputs) != vector:
            wrong += 1
            print(f"{file}.json: another outcome for {json.dumps(vector)[:300]}")
    if expected is not None and vectors != expected:
        print(f"{file}.json is not what make_vectors.py writes")
        wrong += 1
    return wrong, len(vectors)


def main():
    makers = {"noise": noise_vectors, "records": record_vectors, "releases": release_vectors,
              "states": state_vectors}
    if "--check" not in sys.argv[1:]:
        for file, make in makers.items():
            write(file, make())
        return 0
    # States are made by rule, so the rule is checked; the search for awkward noise is not repeated.
    results = [*map(check, ("noise", "records", "releases")), check("states", state_vectors())]
    wrong, count = (sum(column) for column in zip(*results))
    print(f"{count - wrong} of {count} test vectors reproduced")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
