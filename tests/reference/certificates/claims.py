# SPDX-License-Identifier: Apache-2.0
"""The claims of a certificate, each re-derived: proved, false or cannot check."""

from fractions import Fraction
from math import sqrt
from typing import NamedTuple

from mpmath import iv

from .duals import (MOST_SOLVED_STEPS, MOST_STEPS, Duals, bound_of, epochs_within, error_of,
                    needed_dimension, schatten, solve)
from .families import Unknown, reconstruct, root_for, series_inverse
from .forms import (BOUND, PROMISES, REMARKS, SAMPLED, SIMULTANEOUS, kind_of, misfits_of,
                    misfits_of_workload, steps_of)
from .gaussian import delta_of_mu, delta_of_rho
from .intervals import ONE, Interval, exact, largest, multiply, rational_ends, squares, to_mp, total
from .patterns import Schema, patterns, squared_moving_sensitivity, squared_sensitivity
from .workloads import Workload, name_of

PROVED, FALSE, UNKNOWN, NO_CLAIM = "proved", "false", "cannot check", "no claim"

# Accuracy that the package claims for its doubles: sensitivities are right to 2^-39, and noise is
# raised by 2^-36; errors are right to 1e-9, and quotients of doubles to four roundings.
SENSITIVITY_SLACK = Fraction(1, 2 ** 38)
ERROR_SLACK = Fraction(1, 10 ** 9)
ROUNDING = Fraction(1, 2 ** 50)
# Relative distance from the least safe value up to which a stated one is proved: a file that is
# farther on the safe side promises less than holds, and does not say what uses the rest.
TIGHT = Fraction(1, 10 ** 9)
# Largest horizon for which factors are computed.
MOST_DENSE_STEPS = 64
# The package multiplies B and C for up to so many steps, with an error below MOST_RESIDUAL.
MOST_RESIDUAL_STEPS = 256
MOST_RESIDUAL = 1e-12
OF_BOUND = "it says which error a bound is for"


class Report:
    def __init__(self):
        self.lines = []

    def add(self, claim, verdict, reason=""):
        self.lines.append((claim, verdict, reason))

    def judge(self, claim, is_proved, is_false, reason=""):
        verdict = PROVED if is_proved else FALSE if is_false else UNKNOWN
        self.add(claim, verdict, reason)

    def equal(self, claim, value, low, high, slack):
        """Judges a stated double against an enclosure, with a relative slack."""
        value, margin = Fraction(value), slack * max(abs(Fraction(low)), abs(Fraction(high)))
        inside = high - margin <= value <= low + margin
        outside = value < low - margin or value > high + margin
        self.judge(claim, inside, outside, f"re-derived: {float((low + high) / 2)!r}")

    def at_least(self, claim, value, least):
        """Judges a number that is rounded to the safe side from the least safe value."""
        value = Fraction(value)
        self.judge(claim, least <= value <= least * (1 + TIGHT), value < least,
                   f"stated: {float(value)!r}, re-derived: {float(least)!r}")

    @property
    def status(self):
        verdicts = {verdict for _, verdict, _ in self.lines}
        return 1 if FALSE in verdicts else 2 if UNKNOWN in verdicts or PROVED not in verdicts else 0


def ends(interval):
    return Fraction(interval.lo, ONE), Fraction(interval.hi, ONE)


class Problem:
    """Workload, participation, horizon and objective, with what can be proved from them. Cached,
    since many certificates share a problem."""

    _known = {}

    def __init__(self, workload, schema, objective):
        self.workload = workload
        self.schema = schema
        self.is_max = objective == "max"

    def solutions(self, row_weights=None):
        """Dual variables for all fixed epochs that users may keep, and for single participation:
        (duals, steps, k, encoder)."""
        n = self.workload.num_steps
        if n > MOST_SOLVED_STEPS:
            return []
        every = [(1, n)]
        if row_weights is None:
            every += epochs_within(n, self.schema, self.is_max)
        found = []
        for k, b in every:
            steps = k * b
            part = [row[:steps] for row in self.workload.matrix[:steps]]
            key = (repr(part), k, self.is_max, repr(row_weights))
            if key not in Problem._known:
                Problem._known[key] = attempt(part, k, self.is_max, row_weights)
            if Problem._known[key] is not None:
                solved, bound, of_signs = Problem._known[key]
                found.append((solved, part, k, bound, of_signs))
        return found


def attempt(part, k, is_max, row_weights):
    try:
        solved = solve(part, k, is_max, row_weights)
        if solved.duals is None:
            return None
        bound = bound_of(solved.duals, part)
        return solved, bound, bound if k <= 2 else bound_of(solved.duals, part, of_signs=True)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def stored_duals(numbers, workload, schema, is_max, query_weights):
    """Dual variables in a saved strategy, as (duals, k); None if it has none."""
    n = workload.num_steps
    if n > MOST_STEPS:
        return None
    if "columnWeights" in numbers:
        weights = [Fraction(x) for x in numbers["columnWeights"]]
        if workload.kind == "rates":
            weights = [w / rate ** 2 for w, rate in zip(weights, workload.rates)]
        rows = [Fraction(x) for x in numbers["rowWeights"]] if is_max else (
            [Fraction(x) for x in query_weights] if query_weights else [Fraction(1)] * n)
        roots = [root_of(x) for x in rows]
        return Duals(roots, [[[root_of(w)]] for w in weights], [[j] for j in range(n)]), 1
    if "columnDuals" in numbers:
        flat = numbers["columnDuals"]
        k = len(flat) // n
        if k == 0 or n % k:
            return None
        b = n // k
        # Blocks are stored phase by phase, k numbers per step.
        blocks = [[[flat[s * k * k + i * k + j] for j in range(k)] for i in range(k)]
                  for s in range(b)]
        rows = numbers["rowDuals"] if is_max else [1] * n
        return Duals(rows, blocks, [list(range(s, n, b)) for s in range(b)]), k
    return None


def root_of(value):
    """A double near the root, which suffices because any weights give a bound."""
    return Fraction(sqrt(value))


# --- one claim after the other ------------------------------------------------------------------

def check_privacy(report, claims):
    """Judges mu, and that the largest mu for (epsilon, delta) is not much larger: a file that
    promises less than its noise gives is about something else, too."""
    epsilon, delta, mu = (Fraction(claims[key]) for key in ("epsilon", "delta", "mu"))
    low, high = delta_of_mu(epsilon, mu)
    is_tight = delta_of_mu(epsilon, mu * (1 + TIGHT))[0] > delta
    reason = f"delta at epsilon is {float(high):.17g}"
    if high <= delta and not is_tight:
        reason += ", far below the stated one: what uses the rest is not in the file"
    report.judge(f"mu = {claims['mu']!r} gives ({float(epsilon):g}, {float(delta):g})-DP",
                 high <= delta and is_tight, low > delta, reason)


def check_zcdp(report, claims):
    """Judges rho without a mu, as a claim about all rho-zCDP mechanisms."""
    epsilon, delta, rho = (Fraction(claims[key]) for key in ("epsilon", "delta", "rho"))
    bound = delta_of_rho(epsilon, rho)
    is_tight = delta_of_rho(epsilon, rho * (1 + TIGHT)) > delta
    report.judge(f"rho = {claims['rho']!r} (zCDP) gives ({float(epsilon):g}, {float(delta):g})-DP",
                 bound <= delta and is_tight, bound > delta * 1.001,
                 f"delta by the conversion is {float(bound):.17g}")


def check_rho_of_mu(report, claims):
    needed = Fraction(claims["mu"]) ** 2 / 2
    report.at_least("rho = mu^2 / 2", claims["rho"], needed * (1 - ROUNDING))


def check_multiplier(report, claims):
    least = 1 / Fraction(claims["mu"])
    report.at_least("noiseMultiplier = 1 / mu", claims["noiseMultiplier"], least)


def check_sensitivity(report, claims, squared, distance):
    """Judges the stated sensitivity against the enclosure of its square; true if it is tight."""
    stated = Fraction(claims["sensitivity"]) / distance
    low, high = ends(squared.sqrt())
    is_tight = stated <= low * (1 + TIGHT)
    report.judge("sensitivity is not below the true one",
                 is_tight and high <= stated * (1 + SENSITIVITY_SLACK),
                 low > stated * (1 + SENSITIVITY_SLACK), loosely(is_tight, stated, high))
    if claims["sensitivityExactness"] == "exact":
        report.judge("sensitivity is exact", low >= stated * (1 - SENSITIVITY_SLACK),
                     high < stated * (1 - SENSITIVITY_SLACK), f"re-derived: {float(low)!r}")
    return is_tight


def loosely(is_tight, stated, high):
    """Reason beside a sensitivity, which may be an upper bound."""
    beyond = "" if is_tight else f"; the stated one is {float(stated / high):.6g} times that"
    return f"re-derived: {float(high)!r}{beyond}"


def check_noise(report, claims, squared, distance):
    """Checks the noise itself, from std, encoder, clip norm and distance together, without
    slack."""
    low, high = ends(squared.sqrt())
    scale = Fraction(claims["clipNorm"]) * distance
    allowed = Fraction(claims["mu"]) * Fraction(claims["noiseStddev"])
    report.judge("noiseStddev on this encoder is mu-GDP",
                 high * scale <= allowed <= low * scale * (1 + TIGHT), low * scale > allowed,
                 f"mu is {float(high * scale / allowed * claims['mu'])!r}")


def check_arithmetic(report, claims, distance):
    """Checks that noiseStddev is the product that it is stated to be, without the encoder."""
    product = (Fraction(claims["noiseMultiplier"]) * Fraction(claims["sensitivity"])
               * Fraction(claims["clipNorm"]) * distance)
    report.at_least("noiseStddev = noiseMultiplier sensitivity clipNorm distance",
                    claims["noiseStddev"], product)


def check_errors(report, claims, rows, is_tight):
    """Checks max and mean error from the stated sensitivity, if that is tight, and the rows of
    B."""
    if not is_tight:
        for name in ("maxError", "meanError"):
            report.add(name, UNKNOWN, "is for the stated sensitivity, which is above the true one")
        return
    stated = Fraction(claims["sensitivity"])
    low, high = ends(largest(rows).sqrt())
    report.equal("maxError", claims["maxError"], low * stated, high * stated, ERROR_SLACK)
    low, high = ends((total(rows) / exact(len(rows))).sqrt())
    report.equal("meanError", claims["meanError"], low * stated, high * stated, ERROR_SLACK)


def has_bound(claims):
    return all(claims[name] is not None for name in BOUND if name in claims)


def check_ratio(report, claims, error):
    """Checks ratio and gap; without a bound, there are none."""
    if not has_bound(claims):
        agree = all(claims[name] is None for name in BOUND if name in claims)
        report.judge("lowerBound", False, not agree,
                     "no bound is stated" if agree else "all of it is null, or nothing")
        return
    ratio = Fraction(error) / Fraction(claims["lowerBound"])
    report.equal("ratio = error / lowerBound", claims["ratio"], ratio, ratio, ROUNDING)
    if "gap" in claims:
        gap = Fraction(claims["ratio"]) - 1
        report.equal("gap = ratio - 1", claims["gap"], gap, gap, ROUNDING)


def check_residual(report, claims):
    """Checks that the package's own product of B and C was right to rounding; B C = A is proved
    independently of it."""
    is_right = claims["residualSteps"] == min(claims["numSteps"], MOST_RESIDUAL_STEPS)
    report.judge("residualSteps", is_right, not is_right)
    report.judge("decoderResidual is of rounding only", claims["decoderResidual"] <= MOST_RESIDUAL,
                 False)


def check_participation(report, claims):
    """Checks the words of a participation against its numbers."""
    k, b, n = (claims[key] for key in ("maxParticipations", "separation", "numSteps"))
    agree = {"single": k == b == 1, "fixed-epoch": k * b == n,
             "min-separation": True}[claims["participation"]]
    report.judge("participation, maxParticipations and separation agree", agree, not agree)


def check_normalising(report, claims, errors, workload, schema, is_max):
    """Checks whether normalised columns raised the error."""
    is_normalised = "normalizeColumns" in claims["effectiveParameters"]
    if "raisedByNormalizing" not in claims:
        if is_normalised:
            report.add("raisedByNormalizing", UNKNOWN, "is missing beside normalizeColumns")
        return
    if not is_normalised:
        report.add("raisedByNormalizing", FALSE, "columns are not normalised")
        return
    plain = dict(claims["effectiveParameters"])
    del plain["normalizeColumns"]
    found = derive(claims["mechanism"], plain, workload, schema)
    low, high = error_interval(found, is_max, None)
    is_raised = errors[0] > high * (1 + ERROR_SLACK / 2)
    is_not = errors[1] <= low * (1 + 2 * ERROR_SLACK)
    stated = claims["raisedByNormalizing"]
    report.judge("raisedByNormalizing", is_raised if stated else is_not,
                 is_not and not is_raised if stated else is_raised and not is_not)


def check_bound(report, claims, problem, numbers, distance, own_error):
    """Checks lowerBound: by the stored dual variables, in closed form, or by an independent
    search."""
    if not has_bound(claims):
        return
    stated = Fraction(claims["lowerBound"]) / distance
    dimension = claims.get("lowerBoundMinDimension", 1)
    everywhere = claims.get("lowerBoundEveryDimension")
    query_weights = claims.get("queryWeights")
    proofs, least = [], [own_error] if own_error is not None else []
    workload = problem.workload
    if workload.is_prefix and not query_weights and workload.num_steps <= 4096:
        proofs.append((ends(schatten(workload.num_steps, problem.schema))[0], 1, "in closed form"))
    stored = stored_duals(numbers, workload, problem.schema, problem.is_max, query_weights)
    if stored is not None and is_allowed(stored[1], problem):
        duals, k = stored
        value = ends(bound_of(duals, workload.matrix))[0]
        proofs.append((value, needed_dimension(k), "stored dual variables"))
        if everywhere:
            value = ends(bound_of(duals, workload.matrix, of_signs=True))[0]
            proofs.append((value, 1, "stored dual variables"))
    if not any(value >= stated and d <= dimension for value, d, _ in proofs) or everywhere:
        for solved, part, k, bound, of_signs in problem.solutions(query_weights):
            proofs.append((ends(bound)[0], needed_dimension(k), "dual variables of our own"))
            proofs.append((ends(of_signs)[0], 1, "dual variables of our own"))
            whole = len(part) == workload.num_steps
            if solved.encoder is not None and whole:
                least.append(ends(error_of(solved.encoder, workload.matrix, problem.schema,
                                           problem.is_max, query_weights))[1])
    judge_bound(report, f"lowerBound, records of {dimension} numbers or more", stated, dimension,
                proofs, least)
    if everywhere is not None and everywhere != claims["lowerBound"]:
        report.judge("lowerBoundEveryDimension is at most lowerBound",
                     everywhere < claims["lowerBound"], everywhere > claims["lowerBound"])
        judge_bound(report, "lowerBoundEveryDimension", Fraction(everywhere) / distance, 1, proofs,
                    least)


def is_allowed(k, problem):
    """True if the epochs of the dual variables are patterns that a user may have."""
    n = problem.workload.num_steps
    return k == 1 or (k <= problem.schema.most and n // k >= problem.schema.separation)


def judge_bound(report, claim, stated, dimension, proofs, least):
    usable = [(value, how) for value, needed, how in proofs if needed <= dimension]
    best, how = max(usable, default=(Fraction(0), "none"))
    ceiling = min(least, default=None)
    is_false = ceiling is not None and stated > ceiling
    report.judge(claim, best >= stated, is_false,
                 f"{how} prove {float(best)!r}" + ("" if best >= stated or ceiling is None else
                                                   f"; {float(ceiling)!r} is reached"))


# --- documents ----------------------------------------------------------------------------------

def verify(document, strategy=None, workload=None, encoder=None):
    """Every claim of a parsed JSON document.

    @param strategy  the saved strategy that it is about
    @param workload  its workload in the words of the package, where the document only names it
    @param encoder   rows of the caller's own C, lower triangular
    """
    report = Report()
    if type(document) is dict and "certificate" in document:
        # A file of releases: whom it protects, and what was drawn, cannot be derived.
        for name in document:
            if name != "certificate":
                report.add(name, UNKNOWN, "is not part of the certificate")
        document = document["certificate"]
    misfits = misfits_of(document)
    if strategy is not None:
        misfits += [(f"--strategy: {field}", why) for field, why in misfits_of_saved(strategy)]
    if not misfits and workload is not None:
        misfits = misfits_of_workload(workload, steps_of(document))
    for field, reason in misfits:
        report.add(field, UNKNOWN, reason)
    if misfits:
        return report
    for name in PROMISES:
        if name in document:
            report.add(name, UNKNOWN, "no file can prove it")
    for name in REMARKS:
        if name in document:
            report.add(name, NO_CLAIM, str(document[name]))
    try:
        verify_kind(report, document, (strategy, encoder), workload)
    except (LookupError, ArithmeticError, ValueError) as reason:
        report.add("encoder and decoder", UNKNOWN, str(reason).strip('"'))
    return report


def misfits_of_saved(strategy):
    if type(strategy) is not dict or "format" not in strategy:
        return [("the document", "must be a saved strategy")]
    return misfits_of(strategy)


def verify_kind(report, document, sources, workload):
    kind = kind_of(document)
    strategy, encoder = sources
    if kind not in ("certificate", "error", "error of the command"):
        report.lines += [(option, UNKNOWN, f"is not for a document of kind {kind!r}")
                         for option, given in (("--strategy", strategy), ("--workload", workload),
                                               ("--encoder", encoder))
                         if given is not None]
    if kind == "calibration":
        verify_calibration(report, document)
    elif kind == "saved strategy":
        verify_strategy(report, document)
    elif kind == "certificate of integers":
        verify_integers(report, document)
    elif kind == "certificate without a delta":
        verify_pure(report, document)
    elif kind.endswith("without a delta"):
        for name in ("sensitivity", "maxError", "meanError"):
            report.add(name, UNKNOWN, "the law of the noise is not in the file")
    else:
        verify_mechanism(report, document, sources, workload)


def verify_calibration(report, claims):
    """Checks the conversions of `calibrate`, and the textbook formula beside them."""
    if claims["mu"] is None:
        expected = "conversion of zero-concentrated DP (Canonne, Kamath, Steinke), an upper bound"
        check_zcdp(report, claims)
        square = Fraction(claims["noiseMultiplier"]) ** 2 * 2
        report.at_least("noiseMultiplier^2 = 1 / (2 rho)", square, (1 - ROUNDING)
                        / Fraction(claims["rho"]))
    else:
        expected = "exact privacy profile of the Gaussian mechanism"
        check_privacy(report, claims)
        check_multiplier(report, claims)
        check_rho_of_mu(report, claims)
    report.judge("method", claims["method"] == expected, claims["method"] != expected)
    check_classical(report, claims["classical"], Fraction(claims["epsilon"]),
                    Fraction(claims["delta"]))


def check_classical(report, textbook, epsilon, delta):
    """Checks sqrt(2 ln(1.25 / delta)) / epsilon, and what it achieves."""
    if epsilon == 0 or textbook["noiseMultiplier"] is None:
        report.add("classical", UNKNOWN, "the formula divides by epsilon")
        return
    low, high = rational_ends(iv.sqrt(2 * iv.log(to_mp(Fraction(5, 4) / delta))) / to_mp(epsilon))
    report.equal("classical.noiseMultiplier", textbook["noiseMultiplier"], low, high, ERROR_SLACK)
    low, high = delta_of_mu(epsilon, 1 / Fraction(textbook["noiseMultiplier"]))
    report.equal("classical.actualDelta", textbook["actualDelta"], low, high, ERROR_SLACK)
    report.judge("classical.sound", textbook["sound"] == (high <= delta),
                 high <= delta or low > delta)
    applies = epsilon < 1
    report.judge("classical.theoremApplies", textbook["theoremApplies"] == applies,
                 textbook["theoremApplies"] != applies)


def verify_integers(report, claims):
    """Checks what mode `lattice` states, except what follows from the encoder of integers."""
    report.add("objective", NO_CLAIM, OF_BOUND)
    for name in ("effectiveParameters", "sensitivity", "maxError", "meanError", "clipNorm",
                 "lattice.distance", "lattice.precisionBits", "lattice.measurementUnit",
                 "lattice.roundingDeviation", "lattice.maxContributions"):
        report.add(name, UNKNOWN, "the encoder of integers is not in the file")
    check_participation(report, claims)
    law = claims["lattice"]
    variance, distance = Fraction(law["noiseVariance"]), Fraction(law["distance"])
    stated = (("noiseStddev", variance * Fraction(law["measurementUnit"]) ** 2),
              ("noiseMultiplier", variance / distance ** 2))
    for name, square in stated:
        report.equal(f"{name}, from noiseVariance", Fraction(claims[name]) ** 2, square, square,
                     ROUNDING)
    if law["noise"] == "discrete-gaussian":
        report.judge("mu of discrete noise is null", claims["mu"] is None, claims["mu"] is not None)
        rho = distance ** 2 / variance / 2
        report.at_least("rho = distance^2 / (2 noiseVariance)", claims["rho"],
                        rho * (1 - ROUNDING))
        check_zcdp(report, claims)
    elif claims["mu"] is None:
        report.add("mu of rounded noise", FALSE, "is null")
    else:
        report.at_least("mu^2 = distance^2 / noiseVariance", Fraction(claims["mu"]) ** 2,
                        distance ** 2 / variance * (1 - ROUNDING))
        check_rho_of_mu(report, claims)
        check_privacy(report, claims)


def verify_pure(report, claims):
    """Checks a certificate without a delta: integers, whose noise has a scale
    (docs/math/pure.md)."""
    report.add("objective", NO_CLAIM, OF_BOUND)
    law, epsilon = claims["laplace"], Fraction(claims["epsilon"])
    distance, clip_norm = law["distance"], Fraction(claims["clipNorm"])
    check_participation(report, claims)
    least = -(-distance // epsilon)
    report.judge("scale is the least whole number from distance / epsilon", law["scale"] == least,
                 law["scale"] < least, f"re-derived: {least}")
    whole = clip_norm // Fraction(law["grid"])
    report.judge("maxNorm is clipNorm in whole grids", law["maxNorm"] == whole,
                 law["maxNorm"] > whole, f"re-derived: {whole}")
    moved = Fraction(claims["sensitivity"]) * law["maxNorm"] * distance_of(claims)
    report.judge("distance = sensitivity of integers", distance == moved, distance < moved)
    check_pure_conversions(report, claims, epsilon)
    decay = iv.exp(-1 / iv.mpf(law["scale"]))
    deviation = iv.sqrt(2 * decay) / (1 - decay) * to_mp(law["grid"])
    report.equal("noiseStddev, of the discrete Laplace distribution", claims["noiseStddev"],
                 *rational_ends(deviation), ERROR_SLACK)
    n = claims["numSteps"]
    is_of_steps = claims["workload"] != "prefix"
    workload = Workload({"window": 1} if is_of_steps else "prefix", n)
    schema = schema_of(claims)
    found = measure(report, claims["mechanism"], claims["effectiveParameters"], workload, schema)
    users = patterns(schema, n)
    if users is None:
        report.add("sensitivity", UNKNOWN, "too many patterns")
        return
    # C has no negative entry, so equal contributions attain the sum of the l1 norms of its columns.
    norms = [ends(total(column)) for column in zip(*found.encoder)]
    low, high = (max(sum(norms[j][end] for j in steps) for steps in users) for end in (0, 1))
    stated = Fraction(claims["sensitivity"])
    is_tight = stated <= low * (1 + TIGHT)
    report.judge("sensitivity, in l1-norm, is not below the true one",
                 is_tight and stated >= high, stated < low, loosely(is_tight, stated, high))
    if claims["sensitivityExactness"] == "exact":
        report.equal("sensitivity is exact", claims["sensitivity"], low, high, ROUNDING)
    check_errors(report, claims, found.rows, is_tight)


def check_pure_conversions(report, claims, epsilon):
    """Checks mu and rho that epsilon-DP implies, and that noiseMultiplier is sqrt 2 / epsilon."""
    # mu-GDP covers epsilon-DP if its total variation does: 1 - 2 Phi(-mu / 2) >= tanh(epsilon / 2).
    low, high = rational_ends((iv.exp(to_mp(epsilon)) - 1) / (iv.exp(to_mp(epsilon)) + 1))
    at = delta_of_mu(Fraction(0), Fraction(claims["mu"]))
    is_tight = delta_of_mu(Fraction(0), Fraction(claims["mu"]) * (1 - TIGHT))[1] < low
    report.judge("mu is the least that epsilon-DP implies", at[0] >= high and is_tight, at[1] < low)
    report.at_least("rho = epsilon tanh(epsilon / 2)", claims["rho"], epsilon * high)
    square = Fraction(claims["noiseMultiplier"]) ** 2
    report.at_least("noiseMultiplier = sqrt 2 / epsilon", square, 2 / epsilon ** 2)


def distance_of(claims):
    return 2 if claims["neighbours"] == "replace-one" else 1


def verify_mechanism(report, claims, strategies, given):
    """Checks the JSON of `error`, or a certificate."""
    strategy, encoder = strategies
    claims = {**claims, "numSteps": steps_of(claims)}
    is_unit_error = "noiseStddev" not in claims
    is_max = claims["objective"] == "max"
    distance = distance_of(claims)
    scale = distance if is_unit_error else 1
    if is_unit_error:
        check_given(report, claims)
    else:
        check_privacy(report, claims)
        check_rho_of_mu(report, claims)
        check_multiplier(report, claims)
        check_arithmetic(report, claims, distance)
    check_participation(report, claims)
    check_times(report, claims)
    if "lowerBound" in claims:
        check_ratio(report, claims, claims["maxError" if is_max else "meanError"])
        check_residual(report, claims)
    if claims.get("lowerBound") is None:
        report.add("objective", NO_CLAIM, OF_BOUND)
    workload = read_workload(report, claims, strategy, given)
    schema = schema_of(claims)
    problem = Problem(workload, schema, claims["objective"])
    numbers = (numbers_of(report, claims, strategy) if encoder is None
               else numbers_of_encoder(report, claims, encoder))
    own = None
    try:
        moves = claims.get("fixedTimes") is False
        found = measure(report, claims["mechanism"], numbers, workload, schema, moves)
    except LookupError as reason:
        report.add("encoder and decoder", UNKNOWN, str(reason).strip('"'))
    else:
        errors = error_interval(found, is_max, None)
        own = errors[1]
        check_derived_numbers(report, claims, workload)
        is_tight = check_sensitivity(report, claims, found.squared, scale)
        if not is_unit_error:
            check_noise(report, claims, found.squared, distance)
        else:
            check_normalising(report, claims, errors, workload, schema, is_max)
        check_errors(report, claims, found.rows, is_tight)
    if "lowerBound" in claims:
        check_bound(report, claims, problem, numbers, scale, own)


def check_times(report, claims):
    """Reports fixedTimes as a promise that no file can prove, or that suits only replace-one."""
    if claims.get("fixedTimes"):
        report.add("fixedTimes", UNKNOWN, "no file can prove that records stay in their steps")
    if "fixedTimes" in claims and claims["neighbours"] == "zero-out":
        report.add("fixedTimes", UNKNOWN, "is about records that are replaced")


def check_given(report, claims):
    """Checks parameters that the command repeats, and names what is not derived here."""
    for name, value in claims.get("parameters", {}).items():
        used = {**claims["effectiveParameters"], "objective": claims["objective"]}.get(name)
        if (type(used), used) != (type(value), value):
            report.add(f"parameters.{name}", UNKNOWN, "is not among the effective parameters")
    for name in (*SIMULTANEOUS, *SAMPLED):
        if name in claims:
            report.add(name, UNKNOWN, "probabilities of all steps together are not derived here")


def read_workload(report, claims, strategy, given):
    """The workload, after checking that the file, the strategy and --workload name the same."""
    n = claims["numSteps"]
    sources = [("--strategy", strategy and strategy["workload"]), ("--workload", given)]
    words = [(where, it) for where, it in sources if it is not None]
    for where, it in words:
        same = name_of(it) == name_of(claims["workload"])
        report.judge(f"workload is that of {where}", same, not same)
    if strategy is not None:
        same = (strategy["name"], strategy["steps"]) == (claims["mechanism"], n)
        report.judge("mechanism and steps are those of --strategy", same, not same)
    if len(words) == 2:
        raise Unknown("--strategy and --workload both define the matrix")
    return Workload(words[0][1] if words else claims["workload"], n)


def numbers_of(report, claims, strategy):
    """The numbers that define the encoder, after checking that the file states the same."""
    effective = claims["effectiveParameters"]
    if strategy is None:
        return effective
    saved = strategy["parameters"]
    counts = {"buffers": lambda: len(saved.get("decays", saved.get("shifts", ()))),
              "bands": lambda: len(saved.get("coefficients", saved.get("columns", ())))
              // (1 if "coefficients" in saved else claims["numSteps"])}
    for name, value in effective.items():
        own = counts[name]() if name in counts else saved.get(name)
        same = own == value or own == [value]
        report.judge(f"effectiveParameters.{name} is that of --strategy", same, not same)
    return saved


def numbers_of_encoder(report, claims, encoder):
    """The columns of the caller's own C, after checking that the file is about one of its size."""
    n = len(encoder)
    stated = (claims["mechanism"], claims["numSteps"], claims["effectiveParameters"])
    same = stated == ("banded", n, {"bands": n})
    report.judge("mechanism, steps and bands are those of --encoder", same, not same)
    if not same:
        raise Unknown("the file is not about --encoder")
    return {"bands": n, "columns": [encoder[j + m][j] if j + m < n else 0.0
                                    for j in range(n) for m in range(n)]}


def check_derived_numbers(report, claims, workload):
    """Checks effective parameters that repeat others."""
    given = claims["effectiveParameters"]
    for count, name in (("bands", "coefficients"), ("buffers", "decays"), ("buffers", "shifts"),
                        ("buffers", "weights")):
        if count in given and name in given:
            same = given[count] == len(given[name])
            report.judge(f"{count} = numbers in {name}", same, not same)
    if claims["mechanism"] in ("banded-square-root", "banded-inverse-square-root"):
        root = root_for(workload)
        exactly = root if claims["mechanism"] == "banded-square-root" else series_inverse(root)
        same = all(abs(Fraction(stated) - value) <= ROUNDING * 4
                   for stated, value in zip(given["coefficients"], exactly))
        report.judge("coefficients are those of the root", same, not same)


def verify_strategy(report, saved):
    """Checks a saved strategy: its error, the bound and their ratio."""
    n = saved["steps"]
    check_ratio(report, saved, saved["error"])
    weights = saved.get("queryWeights")
    if weights is not None and (len(weights) != n or saved["objective"] != "mean"):
        raise Unknown("queryWeights are not one for each step of the mean")
    workload = Workload(saved["workload"], n)
    schema = Schema.read(saved["participation"], n)
    problem = Problem(workload, schema, saved["objective"])
    found = measure(report, saved["name"], saved["parameters"], workload, schema)
    low, high = error_interval(found, problem.is_max, weights)
    error = Fraction(saved["error"])
    # If the sensitivity is an upper bound, so is the error, which then cannot be checked.
    report.judge("error is the true one",
                 high * (1 - ERROR_SLACK) <= error <= high * (1 + ERROR_SLACK),
                 error < low * (1 - ERROR_SLACK), f"re-derived: {float(high)!r}")
    check_bound(report, saved, problem, saved["parameters"], 1, high)


def schema_of(claims):
    return Schema(claims["participation"], claims["maxParticipations"], claims["separation"])


def make_factors(name, numbers, workload, n):
    if n > MOST_DENSE_STEPS:
        raise Unknown(f"more than {MOST_DENSE_STEPS} steps")
    return reconstruct(name, numbers, workload, n)


class Derived(NamedTuple):
    encoder: list
    rows: list  # squared norms of the rows of B
    squared: Interval  # the squared sensitivity
    is_factored: bool  # B C = A is proved
    is_apart: bool  # the contrary is


_derived = {}


def derive(name, numbers, workload, schema, moves=False):
    """Rebuilds C and B and measures them; with `moves`, for the records of moments and histograms,
    which may move. Cached, since many documents share a mechanism."""
    key = repr((name, sorted(numbers.items()), workload.words, workload.num_steps, vars(schema),
                moves))
    if key not in _derived:
        _derived[key] = derived(name, numbers, workload, schema, moves)
    return _derived[key]


def derived(name, numbers, workload, schema, moves):
    factors = make_factors(name, numbers, workload, workload.num_steps)
    decoder = factors.decoder(workload.matrix)
    product = multiply(decoder, factors.encoder)
    pairs = [pair for row in zip(product, workload.matrix) for pair in zip(*row)]
    tail = getattr(factors, "tail", None)
    return Derived(
        encoder=factors.encoder, rows=[squares(row) for row in decoder],
        # Coefficients with a tail are not negative, so records may move at no cost.
        squared=squares(tail) if tail and schema.kind == "single" else (
            squared_moving_sensitivity if moves else squared_sensitivity)(factors.encoder, schema),
        is_factored=all(p.lo <= a.lo and a.hi <= p.hi or p.contains(a) for p, a in pairs),
        is_apart=any(p.lo > a.hi or p.hi < a.lo for p, a in pairs))


def measure(report, *problem):
    """Derives a mechanism, and reports whether B C = A."""
    found = derive(*problem)
    report.judge("B C = A", found.is_factored, found.is_apart)
    return found


def error_interval(found, is_max, query_weights):
    rows = found.rows
    if is_max:
        size = largest(rows)
    else:
        weights = query_weights or [1] * len(rows)
        size = total(exact(w) * r for w, r in zip(weights, rows)) / exact(len(rows))
    return ends((found.squared * size).sqrt())
