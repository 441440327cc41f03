# SPDX-License-Identifier: Apache-2.0
"""Changes of documents, each of which must keep the verifier from exit status 0.

A change is a text, which may hold a field twice or not be JSON. HARMLESS lists the few changes
after which everything in the file is still true, with the reason.
"""

import copy
import json
import re
from itertools import combinations
from math import isclose, sqrt

from certificates.claims import make_factors, schema_of
from certificates.forms import EFFECTIVE, steps_of
from certificates.patterns import Schema, patterns
from certificates.workloads import Workload

SCALES = (1e-6, 1e-3, 1 - 1e-5, 1 + 1e-5, 1e3, 1e6)
# Other names under which somebody may look for a field, or state it again.
ALIASES = {
    "numSteps": ("steps", "horizon", "n"), "steps": ("numSteps",),
    "noiseStddev": ("stddev", "std", "sigma"), "noiseMultiplier": ("multiplier", "z"),
    "maxParticipations": ("participations", "epochs"), "separation": ("minSeparation",),
    "times": ("participations", "most"), "apart": ("minSeparation", "separation"),
    "neighbours": ("neighbors", "adjacency"), "epsilon": ("eps",), "mu": ("gdp",),
    "rho": ("zcdp",), "clipNorm": ("clip", "maxNorm"), "error": ("maxError", "meanError"),
}
# Texts that a field may have, or that resemble these.
TEXTS = {
    "mechanism": tuple(EFFECTIVE),
    "name": tuple(EFFECTIVE),
    "workload": ("prefix", "momentum=0.5,decay=1", "rates", "matrix", "prefix + prefix"),
    "participation": ("once", "single", "fixed-epoch", "min-separation", "epochs"),
    "neighbours": ("zero-out", "replace-one", "replace", "add-remove"),
    "sensitivityExactness": ("exact", "upper bound", "lower bound"),
    "objective": ("max", "mean", "rms"),
    "format": ("dp-ftrl", "dp-ftrl ledger"),
    "norm": ("l1", "l2"),
    "noise": ("discrete-gaussian", "rounded-gaussian"),
    "status": ("converged", "proved"),
    "boundMethod": ("dual", "dense dual", "schatten", "guess"),
}


def value_at(document, path):
    for key in path:
        document = document[key]
    return document


def changed(document, path, value):
    document = copy.deepcopy(document)
    value_at(document, path[:-1])[path[-1]] = value
    return document


def without(document, path):
    document = copy.deepcopy(document)
    del value_at(document, path[:-1])[path[-1]]
    return document


def paths(document):
    """Every field of a document and of the objects in it."""
    for name, value in document.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, *rest) for rest in paths(value))


def raw(document, path, text):
    """The text of a document with another text in the place of a value."""
    return json.dumps(changed(document, path, "@@")).replace('"@@"', text)


def doubled(document, path, value):
    """Texts of a document in which a field occurs twice, the other value first or last."""
    name, own = json.dumps(path[-1]), json.dumps(value_at(document, path))
    for first, last in ((value, own), (own, value)):
        yield raw(document, path, f"{first}, {name}: {last}")


def other_types(value):
    if value is not None:
        yield "null", None
    if value is not True:
        yield "true", True
    yield "in a list", [value]
    yield "in an object", {"value": value}
    yield "as a text", json.dumps(value) if not isinstance(value, str) else f"{value} "
    yield "an empty text", ""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        yield "a number", 2
    if not isinstance(value, list):
        yield "an empty list", []
    if not isinstance(value, dict):
        yield "an empty object", {}


def other_values(name, value):
    if isinstance(value, bool):
        yield "negated", not value
    elif isinstance(value, (int, float)):
        for scale in SCALES:
            if value and not (isinstance(value, int) and scale * value % 1):
                scaled = int(value * scale) if isinstance(value, int) else value * scale
                yield f"times {scale!r}", scaled
        if isinstance(value, int):
            yield "one more", value + 1
            yield "one less", value - 1
            yield "a half more", value + 0.5
        if value:
            yield "with another sign", -value
            yield "zero", 0
        yield "too large for a double", 10 ** 400
    elif isinstance(value, str):
        yield "in capitals", value.upper()
        for text in TEXTS.get(name, ()):
            if text != value:
                yield f"as {text}", text
    elif isinstance(value, list):
        yield "without its last", value[:-1]
        yield "with one more", [*value, value[-1] / 2]
        yield "with a text", [*value[:-1], str(value[-1])]
        yield "with a list", [*value[:-1], [value[-1]]]
        if value[0]:
            yield "with a larger first", [value[0] * 1.5, *value[1:]]
            yield "with a negative first", [-value[0], *value[1:]]


def spellings(name):
    yield name.upper()
    yield f"{name} "
    yield re.sub("[A-Z]", lambda match: "_" + match[0].lower(), f"{name}X")
    yield from ALIASES.get(name, ())


def of_forms(document):
    """Changes that leave the values alone, or give them another type: (path, what, text)."""
    for path in paths(document):
        value = value_at(document, path)
        yield path, "missing", json.dumps(without(document, path))
        for what, other in other_types(value):
            yield path, what, json.dumps(changed(document, path, other))
        for text in ("NaN", "Infinity", "-Infinity", "1e999"):
            yield path, text, raw(document, path, text)
        for text in doubled(document, path, "0.001"):
            yield path, "twice", text
        yield path, "twice, with the same value", raw(
            document, path, f"{json.dumps(value)}, {json.dumps(path[-1])}: {json.dumps(value)}")
        for alias in spellings(path[-1]):
            renamed = changed(without(document, path), (*path[:-1], alias), value)
            yield path, f"called {alias!r}", json.dumps(renamed)
            beside = changed(document, (*path[:-1], alias), value)
            yield path, f"beside {alias!r}", json.dumps(beside)
        if isinstance(value, dict):
            yield path, "with another field", json.dumps(changed(document, (*path, "extra"), 1))
    whole = json.dumps(document)
    for what, text in (("in a list", f"[{whole}]"), ("nothing", ""), ("null", "null"),
                       ("cut off", whole[:-1]), ("twice", whole + whole), ("a text", '"proved"'),
                       ("empty", "{}"), ("with a note", whole[:-1] + ', "note": "true"}'),
                       ("beside another", f'{{"certificate": {whole}, "epsilon": 0.1}}')):
        yield (), what, text


def of_values(document):
    """Changes to another value of the same type."""
    for path in paths(document):
        for what, other in other_values(path[-1], value_at(document, path)):
            yield path, what, json.dumps(changed(document, path, other))


def of_pairs(document):
    """Two numbers scaled alike, or one against the other. Clip norms are left out: scaled with the
    noise, they make a true document about other records."""
    numbers = [path for path in paths(document) if isinstance(value_at(document, path), float)
               and path[0] not in ("clipNorm", "decoderResidual", "lowerBoundEveryDimension")]
    for one, other in combinations(numbers, 2):
        if (one, other) == (("lowerBound",), ("ratio",)):
            continue  # A smaller bound with its own ratio is true.
        for scale, against in ((1e-3, 1e-3), (1e-3, 1e3), (1e3, 1e-3)):
            both = changed(document, one, value_at(document, one) * scale)
            both = changed(both, other, value_at(document, other) * against)
            yield one + other, f"times {scale!r} and {against!r}", json.dumps(both)


# Claims that grow with the sensitivity, and those about a lower bound.
LOOSE = ("sensitivity", "noiseStddev", "maxError", "meanError", "error", "ratio")
LOWER_BOUND = ("lowerBound", "boundMethod", "lowerBoundMinDimension", "lowerBoundEveryDimension",
               "ratio", "gap")


def of_groups(document):
    """Changes of all fields that go together, after which these agree: each number is safe, but
    farther from the true one than rounding explains, or no bound is stated."""
    for factor in (1 + 1e-6, 2, 1e3):
        loose = {name: document[name] * factor for name in LOOSE if document.get(name)}
        if "sensitivityExactness" in document:
            loose["sensitivityExactness"] = "upper bound"
        if document.get("gap") is not None:
            loose["gap"] = loose["ratio"] - 1
        if loose:
            yield (), f"loose by {factor!r}", json.dumps({**document, **loose})
    stated = {name: None for name in LOWER_BOUND if name in document}
    if stated:
        yield (), "without a bound", json.dumps({**document, **stated})


# --- the harmless few ---------------------------------------------------------------------------

def is_true(document, context):
    """True if the sensitivity and the errors of a document are those of the problem that it names,
    or an upper bound on the former, by plain floats. The change then made a true document about
    another problem."""
    try:
        n = steps_of(document)
        is_saved = "format" in document
        saved = context.get("strategy")
        words = saved["workload"] if saved else context.get("workload") or document["workload"]
        workload = Workload(words, n)
        schema = (Schema.read(document["participation"], n) if is_saved else schema_of(document))
        numbers = (saved or document)["parameters" if is_saved or saved else "effectiveParameters"]
        factors = make_factors(document.get("mechanism", document.get("name")), numbers, workload, n)
        encoder = [[entry.middle() for entry in row] for row in factors.encoder]
        rows = [sum(entry.middle() ** 2 for entry in row)
                for row in factors.decoder(workload.matrix)]
        users = patterns(schema, n)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        return False
    gram = [[sum(row[i] * row[j] for row in encoder) for j in range(n)] for i in range(n)]
    if "laplace" in document:  # The norm is l1.
        sizes = [sum(map(abs, column)) for column in zip(*encoder)]
        sensitivity = max(sum(sizes[i] for i in steps) for steps in users)
    else:
        sizes = [sum(abs(gram[i][j]) for i in steps for j in steps) for steps in users]
        sensitivity = sqrt(max(sizes))
        if document.get("fixedTimes") is False:
            sensitivity = sqrt(max(
                (size + other) / 2 + sum(max(0, -gram[i][j]) for i in steps for j in others)
                for size, steps in zip(sizes, users) for other, others in zip(sizes, users)))
    if is_saved:
        size = max(rows) if document["objective"] == "max" else sum(rows) / n
        return isclose(document["error"], sensitivity * sqrt(size), rel_tol=1e-7)
    distance = 2 if "noiseStddev" not in document and document["neighbours"] != "zero-out" else 1
    stated, least = document["sensitivity"], sensitivity * distance
    is_bound = document["sensitivityExactness"] == "upper bound" and stated >= least
    return (is_bound or isclose(stated, least, rel_tol=1e-7)) and all(
        isclose(document[name], stated * sqrt(size), rel_tol=1e-7)
        for name, size in (("maxError", max(rows)), ("meanError", sum(rows) / n)))


def is_higher(before, after, path):
    return value_at(after, path) > value_at(before, path)


PROBLEM = ("mechanism", "name", "numSteps", "steps", "participation", "times", "apart",
           "maxParticipations", "separation", "workload", "effectiveParameters", "columns", "rowScales")

# Names of a field, whether a change of it is harmless, and why.
HARMLESS = [
    (("sensitivityExactness",), lambda before, after, path, _: after[path[-1]] == "upper bound",
     "an exact sensitivity is an upper bound, too"),
    (("sensitivityMethod", "boundMethod", "optimisedFor", "status", "iterations"),
     lambda *_: True, "remarks on the search, which the verifier reports as no claim"),
    (("decoderResidual",), lambda before, after, path, _: after[path[-1]] <= 1e-12,
     "a measurement of rounding; B C = A is proved without it"),
    (("lowerBoundEveryDimension",), lambda *it: not is_higher(*it[:3]),
     "a smaller bound holds, too"),
    (("lowerBoundMinDimension",), lambda before, after, path, _: is_higher(before, after, path)
     or before["lowerBoundEveryDimension"] >= before["lowerBound"] * (1 - 1e-5),
     "a bound for fewer kinds of records, or the same for all of them"),
    (("fixedTimes",), lambda before, after, path, _: not after.get("fixedTimes"),
     "a true file about other records: vectors of the clip norm, or records that move"),
    (("columnDuals", "rowDuals"), lambda *_: True,
     "hints: what they prove, or the verifier's own, must reach the stated bound"),
    (("objective",), lambda before, after, path, _: "lowerBound" not in before
     or before.get("maxError") == before.get("meanError"),
     "it says which error ratio and gap are about: none, or one of two that are equal"),
    (PROBLEM, lambda before, after, path, context: is_true(after, context),
     "the file is a true one about another problem, whose numbers happen to be the same"),
    (("clipNorm",), lambda before, after, path, _: "laplace" in before and all(
        it["clipNorm"] // it["laplace"]["grid"] == it["laplace"]["maxNorm"]
        for it in (before, after)), "as many whole grids: the integers are the same"),
    (("parameters",), lambda before, after, path, _: "effectiveParameters" in before
     and set(after.get("parameters", ())) < set(before["parameters"]),
     "the command repeats what was typed; effectiveParameters has it all"),
]


def reason_of(before, text, path, context):
    """Why a change is harmless; None if it is not."""
    try:
        after = json.loads(text)
        for names, holds, reason in HARMLESS:
            if any(name in names for name in path) and holds(before, after, path, context):
                return reason
    except (LookupError, TypeError):
        return None
    return None
