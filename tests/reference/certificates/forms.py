# SPDX-License-Identifier: Apache-2.0
"""Forms of the documents: every field that one may have, its type, and fields that go together.

What a document lacks, or has beyond its form, cannot be checked; so nothing in it is passed over.
A new field needs a line in a form and a check in claims.py, or a line in PROMISES.
"""

import json
import math
from typing import Callable, NamedTuple


class Type(NamedTuple):
    words: str
    accepts: Callable[[object], bool]


def _is_number(value):
    try:
        return type(value) in (int, float) and math.isfinite(float(value))
    except OverflowError:
        return False


def one_of(*values):
    listed = ", ".join(json.dumps(value) for value in values)
    return Type(listed if len(values) == 1 else f"one of {listed}",
                lambda value: any(type(value) is type(it) and value == it for it in values))


def or_null(kind):
    return Type(f"{kind.words}, or null", lambda value: value is None or kind.accepts(value))


NUMBER = Type("a number", _is_number)
POSITIVE = Type("a positive number", lambda value: _is_number(value) and value > 0)
NON_NEGATIVE = Type("a number, 0 or more", lambda value: _is_number(value) and value >= 0)
PROBABILITY = Type("between 0 and 1", lambda value: _is_number(value) and 0 < value < 1)
COUNT = Type("a whole number from 1", lambda value: type(value) is int and 0 < value < 2 ** 53)
WHOLE = Type("a whole number from 0", lambda value: type(value) is int and 0 <= value < 2 ** 53)
FLAG = Type("true or false", lambda value: type(value) is bool)
TEXT = Type("a text", lambda value: type(value) is str and value != "")
OBJECT = Type("an object", lambda value: type(value) is dict)
NUMBERS = Type("a list of numbers", lambda value: type(value) is list and len(value) > 0
               and all(map(_is_number, value)))


class Optional(NamedTuple):
    kind: Type


class Form(NamedTuple):
    fields: dict
    # Groups of fields of which a document has all or none.
    groups: tuple = ()


# --- parameters of the families -----------------------------------------------------------------

VARIANTS = {"epochLength": Optional(COUNT), "completeEpochs": Optional(one_of(True)),
            "normalizeColumns": Optional(one_of(True))}
# Workload of each mechanism without a delta.
PURE_WORKLOADS = {"tree-k": "prefix", "independent": "window=1"}
BUFFERS = {"buffers": COUNT, "decays": NUMBERS, "weights": NUMBERS}
BANDS = {"bands": COUNT, "coefficients": NUMBERS}

# Forms of `effectiveParameters`; one of them must fit.
EFFECTIVE = {
    **{name: [{}] for name in ("independent", "output", "tree", "honaker", "honaker-full", "haar",
                               "square-root", "normalized-square-root")},
    "tree-k": [{"arity": COUNT, "subtractive": FLAG}],
    "nu": [{"nu": NUMBER}],
    "lambda-cgd": [{"lambda": NUMBER}],
    "log-perturbed": [{"alpha": NUMBER, "loglogPower": NUMBER, "horizonCap": COUNT}],
    **{name: [BANDS] for name in ("banded-square-root", "banded-inverse-square-root",
                                  "banded-toeplitz")},
    **{name: [BUFFERS] for name in ("blt", "blt-rational", "blt-normalized", "blt-scaled")},
    "banded": [{"bands": COUNT}],
    "optimal": [{}, {"bands": COUNT},
                {"buffers": COUNT, "shifts": NUMBERS, "weights": NUMBERS, "direct": NUMBER}],
}

# Forms of `parameters` of a saved strategy.
SAVED = {
    "banded-toeplitz": [{"coefficients": NUMBERS}],
    **{name: [{"decays": NUMBERS, "weights": NUMBERS}]
       for name in ("blt", "blt-rational", "blt-normalized")},
    "blt-scaled": [{"decays": NUMBERS, "weights": NUMBERS, "rowScales": NUMBERS}],
    "banded": [{"columns": NUMBERS}],
    "optimal": [{"columns": NUMBERS, "columnDuals": NUMBERS, "rowDuals": Optional(NUMBERS)},
                {name: NUMBERS for name in ("columnWeights", "rowWeights", "shifts", "weights",
                                            "direct", "decay")}],
}

# --- documents ----------------------------------------------------------------------------------

NEIGHBOURS = one_of("zero-out", "replace-one")
OBJECTIVE = one_of("max", "mean")
MECHANISM = one_of(*EFFECTIVE)

SENSITIVITY = {
    "mechanism": MECHANISM,
    "workload": TEXT,
    "participation": one_of("single", "fixed-epoch", "min-separation"),
    "maxParticipations": COUNT,
    "separation": COUNT,
    "neighbours": NEIGHBOURS,
    "sensitivity": POSITIVE,
    "sensitivityExactness": one_of("exact", "upper bound"),
    "sensitivityMethod": TEXT,
    "maxError": POSITIVE,
    "meanError": POSITIVE,
    "effectiveParameters": OBJECT,
}

BOUND = {
    "lowerBound": or_null(POSITIVE),
    "boundMethod": or_null(one_of("dual", "dense dual", "schatten")),
    "lowerBoundMinDimension": or_null(COUNT),
    "lowerBoundEveryDimension": or_null(POSITIVE),
    "ratio": or_null(POSITIVE),
    "gap": or_null(NUMBER),
}
PROVED_BOUND = {**BOUND, "decoderResidual": NON_NEGATIVE, "residualSteps": COUNT}

SIMULTANEOUS = {
    "beta": PROBABILITY,
    "dimension": COUNT,
    "simultaneousError": POSITIVE,
    "simultaneousMethod": TEXT,
    "simultaneousUnion": POSITIVE,
    "simultaneousNorm": POSITIVE,
    "frobeniusError": POSITIVE,
    "frobeniusRms": POSITIVE,
}
SAMPLED = {"simultaneousSampled": or_null(POSITIVE), "simultaneousPaths": COUNT,
           "simultaneousRisk": PROBABILITY}


def optional(fields):
    return {name: Optional(kind) for name, kind in fields.items()}


UNIT_ERROR = {
    **SENSITIVITY,
    **PROVED_BOUND,
    "objective": OBJECTIVE,
    "optimisedFor": Optional(one_of("single participation")),
    "raisedByNormalizing": Optional(FLAG),
    **optional({**SIMULTANEOUS, **SAMPLED}),
}
SIMULTANEOUS_GROUPS = (tuple(SIMULTANEOUS), tuple(SAMPLED))

PURE_ERROR = {**SENSITIVITY, "epsilon": POSITIVE, "clipNorm": POSITIVE,
              **optional({name: SIMULTANEOUS[name] for name in ("beta", "dimension",
                                                                "simultaneousError",
                                                                "simultaneousMethod")})}

LATTICE = Form({
    "noise": one_of("discrete-gaussian", "rounded-gaussian"),
    "precisionBits": WHOLE,
    "measurementUnit": POSITIVE,
    "noiseVariance": POSITIVE,
    "distance": POSITIVE,
    "roundingDeviation": NON_NEGATIVE,
    "maxContributions": COUNT,
})
LAPLACE = Form({
    "norm": one_of("l1"),
    "scale": COUNT,
    "distance": COUNT,
    "maxNorm": COUNT,
    "grid": POSITIVE,
})

# Remarks on how a file was made. No number depends on them.
REMARKS = ("sensitivityMethod", "boundMethod", "optimisedFor", "status", "iterations")

# Statements about what happens outside the mechanism, which no file can prove.
PROMISES = {
    "clipping": one_of("by the caller"),
}

PRIVACY = {
    **SENSITIVITY,
    "numSteps": COUNT,
    "epsilon": POSITIVE,
    "mu": POSITIVE,
    "rho": POSITIVE,
    "clipNorm": POSITIVE,
    "noiseMultiplier": POSITIVE,
    "noiseStddev": POSITIVE,
    **optional(PROMISES),
}

FORMS = {
    "calibration": Form({
        "noiseMultiplier": POSITIVE,
        "epsilon": NON_NEGATIVE,
        "delta": PROBABILITY,
        "rho": POSITIVE,
        "mu": or_null(POSITIVE),
        "method": TEXT,
        "classical": OBJECT,
    }),
    "error": Form({**UNIT_ERROR, "numSteps": COUNT}, SIMULTANEOUS_GROUPS),
    # The command names the steps as its option does, and repeats the parameters it was given.
    "error of the command": Form({**UNIT_ERROR, "steps": COUNT, "parameters": OBJECT},
                                 SIMULTANEOUS_GROUPS),
    "error without a delta": Form({**PURE_ERROR, "numSteps": COUNT}),
    "error of the command without a delta": Form({**PURE_ERROR, "steps": COUNT,
                                                  "parameters": OBJECT}),
    "certificate": Form({
        **PRIVACY,
        "delta": PROBABILITY,
        "fixedTimes": Optional(FLAG),
        "objective": OBJECTIVE,
        "optimisedFor": Optional(one_of("single participation")),
        **optional(PROVED_BOUND),
    }, (tuple(PROVED_BOUND),)),
    "certificate of integers": Form({
        **PRIVACY,
        "delta": PROBABILITY,
        "mu": or_null(POSITIVE),
        "objective": OBJECTIVE,
        "optimisedFor": Optional(one_of("single participation")),
        "lattice": OBJECT,
    }),
    "certificate without a delta": Form({
        **PRIVACY,
        "mechanism": one_of(*PURE_WORKLOADS),
        "workload": one_of(*PURE_WORKLOADS.values()),
        "delta": one_of(0),
        "objective": one_of("mean"),
        "laplace": OBJECT,
    }),
    "saved strategy": Form({
        "format": one_of("dp-ftrl strategy"),
        "version": one_of(2),
        "name": one_of(*SAVED),
        "steps": COUNT,
        "workload": Type("a workload", lambda value: type(value) in (str, dict)),
        "participation": Type("a participation", lambda value: type(value) in (str, dict)),
        "objective": OBJECTIVE,
        "queryWeights": Optional(NUMBERS),
        "error": POSITIVE,
        "lowerBound": or_null(POSITIVE),
        "boundMethod": BOUND["boundMethod"],
        "lowerBoundMinDimension": Optional(COUNT),
        "lowerBoundEveryDimension": Optional(POSITIVE),
        "ratio": or_null(POSITIVE),
        "status": one_of("converged", "stopped", "not converged", "infeasible"),
        "iterations": WHOLE,
        "parameters": OBJECT,
    }, (("lowerBoundMinDimension", "lowerBoundEveryDimension"),)),
}

CLASSICAL = Form({"noiseMultiplier": or_null(POSITIVE), "actualDelta": NON_NEGATIVE,
                  "theoremApplies": FLAG, "sound": FLAG})

WORKLOADS = [Form({"decay": NUMBER}), Form({"momentum": NUMBER, "decay": Optional(NUMBER)}),
             Form({"window": COUNT}), Form({"rates": NUMBERS, "momentum": Optional(NUMBER)}),
             Form({"matrix": NUMBERS})]
PARTICIPATIONS = [Form({"epochs": COUNT}),
                  Form({"times": COUNT, "apart": COUNT})]


def kind_of(document):
    """Name of the form that a document must have, by the field that no other form has."""
    if "format" in document:
        return "saved strategy"
    if "laplace" in document:
        return "certificate without a delta"
    if "lattice" in document:
        return "certificate of integers"
    if "noiseStddev" in document:
        return "certificate"
    if "sensitivity" in document:
        name = "error of the command" if "steps" in document else "error"
        return f"{name} without a delta" if "epsilon" in document else name
    return "calibration"


def misfits(document, form, where=""):
    """Pairs of a field and the reason why the document does not have the form."""
    if type(document) is not dict:
        return [(where or "the document", "must be an object")]
    found = []
    for name, kind in form.fields.items():
        is_optional = isinstance(kind, Optional)
        kind = kind.kind if is_optional else kind
        if name in document:
            if not kind.accepts(document[name]):
                found.append((where + name, f"must be {kind.words}"))
        elif not is_optional:
            found.append((where + name, "is missing"))
    found += [(where + name, "is not a field that is known here")
              for name in document if name not in form.fields]
    for group in form.groups:
        given = [name for name in group if name in document]
        missing = [name for name in group if name not in document]
        if given and missing:
            found.append((where + missing[0], f"is missing beside {given[0]}"))
    return found


def best_misfits(document, forms, where):
    """Misfits with the form that fits best; none if one of them fits."""
    return min((misfits(document, form, where) for form in forms), key=len)


def misfits_of_parameters(document, saved):
    """Misfits of the parameters of a mechanism whose name is known."""
    if saved:
        forms = [Form(fields) for fields in SAVED[document["name"]]]
        return best_misfits(document["parameters"], forms, "parameters.")
    forms = [Form({**fields, **VARIANTS}) for fields in EFFECTIVE[document["mechanism"]]]
    return best_misfits(document["effectiveParameters"], forms, "effectiveParameters.")


def misfits_of_lengths(given, num_steps, where):
    """Lists whose length does not follow from the horizon, or from another list."""
    expected = {name: num_steps for name in ("columnWeights", "rowWeights", "rowDuals",
                                             "rowScales")}
    expected.update(direct=1, decay=1, shifts=len(given.get("weights", ())),
                    decays=len(given.get("weights", ())))
    found = [(where + name, f"must have {length} numbers") for name, length in expected.items()
             if type(given.get(name)) is list and len(given[name]) != length]
    for name in ("columns", "columnDuals"):
        if name in given and len(given[name]) % num_steps:
            found.append((where + name, "must have equally many numbers for every step"))
    if len(given.get("coefficients", ())) > num_steps:
        found.append((where + "coefficients", "must not be more than the steps"))
    return found


def misfits_of(document):
    """All misfits of a document, with those of the objects in it."""
    if type(document) is not dict:
        return [("the document", "must be an object")]
    kind = kind_of(document)
    found = misfits(document, FORMS[kind])
    if found:
        return found
    if kind == "calibration":
        return misfits(document["classical"], CLASSICAL, "classical.")
    if kind == "saved strategy":
        if document["participation"] != "once":
            found += best_misfits(document["participation"], PARTICIPATIONS, "participation.")
            if not found and document["steps"] % document["participation"].get("epochs", 1):
                found = [("participation.epochs", "must divide steps")]
        found += misfits_of_workload(document["workload"], document["steps"])
    if "lattice" in document:
        found += misfits(document["lattice"], LATTICE, "lattice.")
    if "laplace" in document:
        found += misfits(document["laplace"], LAPLACE, "laplace.")
        if document["workload"] != PURE_WORKLOADS[document["mechanism"]]:
            found.append(("workload", "must be that of the mechanism"))
    found += misfits_of_parameters(document, kind == "saved strategy")
    if not found:
        name = "parameters" if kind == "saved strategy" else "effectiveParameters"
        found += misfits_of_lengths(document[name], steps_of(document), f"{name}.")
    return found


def steps_of(document):
    return document.get("numSteps", document.get("steps", 0))


def misfits_of_workload(workload, num_steps):
    """Misfits of a workload in the words of the package: 'prefix', or an object."""
    if workload == "prefix":
        return []
    found = best_misfits(workload, WORKLOADS, "workload.")
    if found:
        return found
    lengths = {"rates": num_steps, "matrix": num_steps ** 2}
    return [(f"workload.{name}", f"must have {length} numbers")
            for name, length in lengths.items()
            if name in workload and len(workload[name]) != length]


# --- reading ------------------------------------------------------------------------------------

def _object(pairs):
    found = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the field {json.dumps(name)} occurs twice")
        found[name] = value
    return found


def _constant(word):
    raise ValueError(f"{word} is not a number of JSON")


def parse(text):
    """Parses JSON; refuses what JSON itself does not allow, and fields that occur twice."""
    return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
