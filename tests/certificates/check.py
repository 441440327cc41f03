#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Certificates must be accepted, and rejected once a claim in them is made false.

    usage: node tests/certificates/generate.mjs [COUNT] | tests/certificates/check.py

No claim of a true certificate may come out false; at least the share LEAST_PROVED of all claims
must be proved, and in at least the share LEAST_WHOLE of the certificates every claim. Then one
claim of each is changed a little, to the unsafe side, and must come out false. Last, every field is
left out, renamed, repeated, contradicted and given other types and values (mutations.py), and the
verifier must not say that all is proved.
"""

import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "reference"))

import mutations  # noqa: E402
from certificates.claims import FALSE, NO_CLAIM, PROVED, verify  # noqa: E402
from certificates.forms import kind_of, parse  # noqa: E402

LEAST_PROVED = 0.9
LEAST_WHOLE = 0.6
LEAST_CHANGED = 0.95
# Kinds of documents that can be proved whole, each of which must be among the input.
WHOLE_KINDS = {"calibration", "certificate", "certificate without a delta", "error",
               "error of the command", "saved strategy"}
# Number of changes of the form, and of values, tried on every document.
CHANGES = 12
# Relative change of a claim: as small as the claim's stated accuracy can reveal.
SMALL = 1e-6
# Relative increase of a lower bound, with matching ratio and gap, beyond the gap of the search.
BOUND = 0.06


def small_changes(document, is_reconstructed):
    """Names of the claims that can be made false, each with a function that does so. Claims about B
    and C are included only if the file defines these."""
    if "laplace" in document:
        return small_changes_of_pure(document["laplace"])
    if "lattice" in document:
        return small_changes_of_lattice(document)
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
    is_simple = document.get("participation") in ("single", "once", "fixed-epoch") or (
        isinstance(document.get("participation"), dict) and "epochs" in document["participation"])
    if document.get("lowerBound") and is_simple:
        found["lowerBound"] = raise_bound
    return found


def small_changes_of_pure(law):
    return {
        "scale": lambda d: d["laplace"].__setitem__("scale", law["scale"] - 1),
        "maxNorm": lambda d: d["laplace"].__setitem__("maxNorm", law["maxNorm"] + 1),
        "distance": lambda d: d["laplace"].__setitem__("distance", law["distance"] - 1),
        "sensitivity": lambda d: d.__setitem__("sensitivity", d["sensitivity"] * (1 - SMALL)),
    }


def small_changes_of_lattice(document):
    def scaled(key, factor):
        return lambda it: it.__setitem__(key, document[key] * factor)
    return {"rho": scaled("rho", 0.99), "noiseStddev": scaled("noiseStddev", 1 - SMALL),
            "noiseMultiplier": scaled("noiseMultiplier", 1 - SMALL)}


def raise_bound(document):
    """Raises the bound, with matching ratio and gap, so that the file stays consistent."""
    document["lowerBound"] *= document["ratio"] * (1 + BOUND)
    if document.get("lowerBoundEveryDimension"):
        document["lowerBoundEveryDimension"] = document["lowerBound"]
    document["ratio"] /= document["ratio"] * (1 + BOUND)
    if document.get("gap") is not None:
        document["gap"] = document["ratio"] - 1


# --- every field --------------------------------------------------------------------------------

def status_of(text, context):
    """Exit status of the verifier for a text: 2 if it cannot be read."""
    try:
        document = parse(text)
    except ValueError:
        return 2
    return verify(document, **context).status


class Trials:
    """Changes of true documents, and those after which the verifier still says all is proved."""

    def __init__(self):
        self.count = 0
        self.harmless = Counter()
        self.passed = []

    def run(self, line, context, changes):
        for path, what, text in changes:
            self.count += 1
            if status_of(text, context) != 0:
                continue
            reason = mutations.reason_of(line["document"], text, path, context)
            if reason is None:
                self.passed.append(f"{'.'.join(path)} {what}, of {line['title']}")
            else:
                self.harmless[reason] += 1


def change_every_field(whole, generator):
    """Tries every change on the longest document of each kind, and some on all others."""
    trials, longest = Trials(), {}
    for line, context in whole:
        kind = kind_of(line["document"])
        longest[kind] = max(longest.get(kind, (line, context)), (line, context),
                            key=lambda it: len(set(mutations.paths(it[0]["document"]))))
    for line, context in longest.values():
        document = line["document"]
        for changes in (mutations.of_forms, mutations.of_values, mutations.of_pairs):
            trials.run(line, context, changes(document))
    for line, context in whole:
        trials.run(line, context, mutations.of_groups(line["document"]))
        for changes in (mutations.of_forms, mutations.of_values):
            possible = list(changes(line["document"]))
            trials.run(line, context, generator.sample(possible, CHANGES))
    return trials, sorted(longest)


def known_faults(whole):
    """Files that an earlier verifier proved: (title, text, context)."""
    def first(kind, holds=lambda document: True):
        return next(((line, context) for line, context in whole
                     if kind_of(line["document"]) == kind and holds(line["document"])), None)

    def files(found, *changes):
        for change in changes:
            document = copy.deepcopy(found[0]["document"])
            change(document)
            yield found[0]["title"], json.dumps(document), found[1]
    gaussian = first("certificate",
                     lambda it: (it["participation"], it["numSteps"]) == ("single", 8))
    yield from files(
        gaussian,
        lambda it: it.update(mu=None, rho=0.024, noiseStddev=1e-4),
        lambda it: it.update(noiseStddev=it["noiseStddev"] / 1000, sensitivity=None),
        lambda it: it.update(noiseStddev=it["noiseStddev"] / 1000, x=it.pop("sensitivity")),
        lambda it: it.update(noiseStddev=it["noiseStddev"] / 2, neighbours="replace"),
        lambda it: it.update(maxParticipations=8),
        lambda it: it.update(steps=8, numSteps=1000))
    pure = first("certificate without a delta")
    yield from files(pure, *(lambda it, name=name: it.update({name: it[name] / 1000})
                             for name in ("mu", "rho", "noiseStddev", "noiseMultiplier",
                                          "maxError", "meanError")))


def exit_status(texts, *options):
    """Exit status of the program itself for files and options, each given as a text."""
    program = pathlib.Path(__file__).parent.parent / "reference" / "verify_certificate.py"
    with tempfile.TemporaryDirectory() as folder:
        def file(i, text):
            name = pathlib.Path(folder, f"{i}.json")
            name.write_text(text, encoding="utf8")
            return name
        given = [word for i, (option, text) in enumerate(options)
                 for word in (option, file(f"option-{i}", text))]
        names = [file(i, text) for i, text in enumerate(texts)]
        return subprocess.run([sys.executable, program, *given, *names], capture_output=True,
                              check=False).returncode


def wrong_strategies(whole):
    """Wrong exit statuses with --strategy: what a saved strategy says of itself is checked, too."""
    line, context = next(it for it in whole if it[1]["strategy"] is not None
                         and it[1]["workload"] is None
                         and verify(it[1]["strategy"], None, None).status == 0)
    text, saved = json.dumps(line["document"]), context["strategy"]
    strategy = json.dumps(saved)
    cases = [(0, [("--strategy", strategy)]), (2, [("--strategy", strategy)] * 2),
             (2, [("--strat", strategy)]), (2, [("--strategy", strategy), ("--workload", "1")])]
    for name in ("error", "lowerBound", "ratio"):
        for scale in (1e-3, 1 - 1e-5, 1 + 1e-5, 1e3):
            wrong = json.dumps({**saved, name: saved[name] * scale})
            cases.append(((1, 2), [("--strategy", wrong)]))
        for other in (None, str(saved[name]), [saved[name]]):
            wrong = json.dumps({**saved, name: other})
            cases.append(((1, 2), [("--strategy", wrong)]))
    for expected, options in cases:
        status = exit_status([text], *options)
        if status not in (expected if isinstance(expected, tuple) else (expected,)):
            yield f"exit status {status}, not {expected}, of {line['title']} with {options}"


def wrong_encoders(lines):
    """Wrong exit statuses with --encoder: another C is found false, and what is no C is refused."""
    line = next(it for it in lines if "encoder" in it)
    text, rows = json.dumps(line["document"]), line["encoder"]

    def written(matrix):
        return "\n".join(",".join(map(str, row)) for row in matrix) + "\n"
    longer = [[1.001 * x for x in row] for row in rows]
    upper = [[1, 1, 0, 0], *rows[1:]]
    cases = [(0, [rows]), (1, [longer]), (2, [upper]), (1, [rows[:3]]), (2, [rows, rows])]
    for expected, matrices in cases:
        status = exit_status([text], *(("--encoder", written(matrix)) for matrix in matrices))
        if status != expected:
            yield f"exit status {status}, not {expected}, of {line['title']} with {matrices}"


def wrong_exits(whole):
    """Exit statuses of the program itself that are not what they should be."""
    line, context = next(it for it in whole if it[1]["strategy"] is None
                         and kind_of(it[0]["document"]) == "certificate")
    text = json.dumps(line["document"])
    false = json.dumps({**line["document"], "noiseStddev": line["document"]["noiseStddev"] / 2})
    cases = [(0, [text]), (1, [false]), (2, [text[:-1] + ', "mu": 1}']), (2, ["null"]),
             (2, [f'{{"private": true, "certificate": {text}}}']),
             (0, [f'{{"certificate": {text}}}']), (1, [text, "{}", false]), (2, [text, "{}"])]
    for expected, texts in cases:
        status = exit_status(texts)
        if status != expected:
            yield f"exit status {status}, not {expected}, for {texts}"


def main():
    lines = [json.loads(line) for line in sys.stdin if line.strip()]
    started = time.time()
    generator = random.Random(20160)
    verdicts, faults, whole = Counter(), [], []
    made, missed = Counter(), []
    named, rebuilt = set(), set()
    for line in lines:
        context = {key: line.get(key) for key in ("strategy", "workload", "encoder")}
        report = verify(line["document"], **context)
        verdicts.update(verdict for _, verdict, _ in report.lines if verdict != NO_CLAIM)
        if report.status == 0:
            whole.append((line, context))
        faults += [(line["title"], claim, reason) for claim, verdict, reason in report.lines
                   if verdict == FALSE]
        document = line["document"]
        has_factors = not any(claim == "encoder and decoder" for claim, _, _ in report.lines)
        name = document.get("mechanism", document.get("name"))
        named.add(name)
        if has_factors:
            rebuilt.add(name)
        possible = small_changes(document, has_factors)
        if not possible:
            continue
        name = generator.choice(sorted(possible))
        changed = copy.deepcopy(document)
        possible[name](changed)
        made[name] += 1
        if verify(changed, **context).status != 1:
            missed.append((line["title"], name))
    trials, kinds = change_every_field(whole, generator)
    trials.passed += [f"known: {text} of {title}" for title, text, context in known_faults(whole)
                      if status_of(text, context) == 0]
    trials.passed += [*wrong_exits(whole), *wrong_strategies(whole), *wrong_encoders(lines)]
    claims = sum(verdicts.values())
    for title, claim, reason in faults[:20]:
        print(f"false: {claim} ({reason}) of {title}")
    for title, name in missed[:20]:
        print(f"not rejected: {name} of {title}")
    for text in trials.passed[:40]:
        print(f"accepted: {text}")
    for name in sorted(named - rebuilt):
        print(f"no claim about {name} can be checked: add its exact matrices to `plain` in "
              "tests/reference/certificates/families.py")
    print(f"{len(lines)} certificates, {claims} claims: {dict(verdicts)}; {len(whole)} proved "
          f"whole; {len(faults)} false")
    print(f"{made.total()} made false {dict(made)}; {len(missed)} not rejected")
    print(f"{trials.count} changes of every field of {kinds}; {len(trials.passed)} accepted; "
          f"{time.time() - started:.0f} s")
    for reason, count in trials.harmless.most_common():
        print(f"  harmless {count}: {reason}")
    enough = (verdicts[PROVED] >= LEAST_PROVED * claims and len(whole) >= LEAST_WHOLE * len(lines)
              and made.total() >= LEAST_CHANGED * len(lines) > 0 and set(kinds) == WHOLE_KINDS
              and named == rebuilt)
    sys.exit(0 if enough and not faults and not missed and not trials.passed else 1)


if __name__ == "__main__":
    main()
