#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Certificates must be accepted, and rejected once a claim in them is made false.

    usage: node tests/certificates/generate.mjs [COUNT] | tests/certificates/check.py

No claim of a true certificate may come out false; the share LEAST_PROVED of all claims must
be proved, and every claim of the share LEAST_WHOLE of the certificates. Then one claim of each is
changed a little, to the unsafe side, and must come out false.
"""

import copy
import json
import pathlib
import random
import sys
import time
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "reference"))

from certificates.claims import FALSE, PROVED, verify  # noqa: E402

LEAST_PROVED = 0.9
LEAST_WHOLE = 0.6
LEAST_CHANGED = 0.95
# Relative change of a claim: as small as the claim's stated accuracy can reveal.
SMALL = 1e-6
# Relative increase of a lower bound, with matching ratio and gap, beyond the gap of the search.
BOUND = 0.06


def mutations(document, is_reconstructed):
    """Names of the claims that can be made false, each with a function that does so. Claims about B
    and C are included only if the file defines these."""
    if "laplace" in document:
        return mutations_of_pure(document["laplace"])
    found = {}

    def scaled(key, factor):
        if isinstance(document.get(key), (int, float)) and document[key] > 0:
            found[key] = lambda d: d.__setitem__(key, d[key] * factor)
    for key in ("sensitivity", "noiseStddev", "noiseMultiplier", "maxError", "meanError", "error",
                "ratio", "epsilon", "delta", "rho"):
        if document.get("rho") is not None and document.get("mu") is None and key == "rho":
            continue
        scaled(key, 1 - SMALL)
    scaled("mu", 1 + SMALL)
    if not is_reconstructed:
        for key in ("sensitivity", "maxError", "meanError", "error"):
            found.pop(key, None)
    if document.get("ratio") is None:
        found.pop("error", None)
    is_simple = document.get("participation") in ("single", "fixed-epoch") or (
        isinstance(document.get("participation"), dict) and "epochs" in document["participation"])
    if document.get("lowerBound") and is_simple:
        found["lowerBound"] = raise_bound
    return found


def mutations_of_pure(law):
    return {
        "scale": lambda d: d["laplace"].__setitem__("scale", law["scale"] - 1),
        "maxNorm": lambda d: d["laplace"].__setitem__("maxNorm", law["maxNorm"] + 1),
        "distance": lambda d: d["laplace"].__setitem__("distance", law["distance"] - 1),
        "sensitivity": lambda d: d.__setitem__("sensitivity", d["sensitivity"] - 1),
        "delta": lambda d: d.__setitem__("delta", 1e-9),
    }


def raise_bound(document):
    """Raises the bound, with matching ratio and gap, so that the file stays consistent."""
    document["lowerBound"] *= document["ratio"] * (1 + BOUND)
    if document.get("lowerBoundEveryDimension"):
        document["lowerBoundEveryDimension"] = document["lowerBound"]
    document["ratio"] /= document["ratio"] * (1 + BOUND)
    if document.get("gap") is not None:
        document["gap"] = document["ratio"] - 1


def is_read_as_before(document, report):
    """A saved strategy without the fields that say for which records its bound holds is in the old
    format, and must prove as much as before."""
    old = copy.deepcopy(document)
    for key in ("lowerBoundMinDimension", "lowerBoundEveryDimension"):
        old.pop(key)
    proved = {claim for claim, verdict, _ in verify(old).lines if verdict == PROVED}
    return all(claim in proved for claim, verdict, _ in report.lines
               if verdict == PROVED and claim != "lowerBoundEveryDimension")


def main():
    lines = [json.loads(line) for line in sys.stdin if line.strip()]
    started = time.time()
    generator = random.Random(20160)
    verdicts, faults, whole = Counter(), [], 0
    made, missed = Counter(), []
    for line in lines:
        context = {key: line.get(key) for key in ("strategy", "workload")}
        report = verify(line["document"], **context)
        verdicts.update(verdict for _, verdict, _ in report.lines)
        whole += report.status == 0
        faults += [(line["title"], claim, reason) for claim, verdict, reason in report.lines
                   if verdict == FALSE]
        document = line["document"]
        if document.get("format") == "dp-ftrl strategy" and (
                document.get("lowerBoundMinDimension", 1) > 1
                and not is_read_as_before(document, report)):
            missed.append((line["title"], "bound of a file of before"))
        has_factors = not any(claim == "encoder and decoder" for claim, _, _ in report.lines)
        possible = mutations(document, has_factors)
        if not possible:
            continue
        name = generator.choice(sorted(possible))
        changed = copy.deepcopy(document)
        possible[name](changed)
        made[name] += 1
        if verify(changed, **context).status != 1:
            missed.append((line["title"], name))
    claims = sum(verdicts.values())
    for title, claim, reason in faults[:20]:
        print(f"false: {claim} ({reason}) of {title}")
    for title, name in missed[:20]:
        print(f"not rejected: {name} of {title}")
    print(f"{len(lines)} certificates, {claims} claims: {dict(verdicts)}; {whole} proved whole; "
          f"{len(faults)} false")
    print(f"{made.total()} made false {dict(made)}; {len(missed)} not rejected; "
          f"{time.time() - started:.0f} s")
    enough = (verdicts[PROVED] >= LEAST_PROVED * claims and whole >= LEAST_WHOLE * len(lines)
              and made.total() >= LEAST_CHANGED * len(lines) > 0)
    sys.exit(0 if enough and not faults and not missed else 1)


if __name__ == "__main__":
    main()
