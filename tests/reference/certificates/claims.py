# SPDX-License-Identifier: Apache-2.0
"""The claims of a certificate, each re-derived: proved, false or cannot check."""

from fractions import Fraction

from .duals import (MOST_SOLVED_STEPS, MOST_STEPS, Duals, bound_of, epochs_within, error_of,
                    needed_dimension, schatten, solve)
from .families import Unknown, reconstruct
from .gaussian import delta_of_mu, delta_of_rho
from .intervals import ONE, Interval, exact, multiply, squares, total
from .patterns import Schema, patterns, squared_sensitivity
from .workloads import Workload

PROVED, FALSE, UNKNOWN = "proved", "false", "cannot check"

# Accuracy that the package claims for its doubles: sensitivities are right to 2^-39, and noise is
# raised by 2^-36; errors are right to 1e-9, and quotients of doubles to four roundings.
SENSITIVITY_SLACK = Fraction(1, 2 ** 38)
ERROR_SLACK = Fraction(1, 10 ** 9)
ROUNDING = Fraction(1, 2 ** 50)
# Largest horizon for which factors are computed.
MOST_DENSE_STEPS = 64


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

    @property
    def status(self):
        verdicts = {verdict for _, verdict, _ in self.lines}
        return 1 if FALSE in verdicts else 2 if UNKNOWN in verdicts or not verdicts else 0


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
        b = n // k
        # Blocks are stored phase by phase, k numbers per step.
        blocks = [[[flat[s * k * k + i * k + j] for j in range(k)] for i in range(k)]
                  for s in range(b)]
        rows = numbers["rowDuals"] if is_max else [1] * n
        return Duals(rows, blocks, [list(range(s, n, b)) for s in range(b)]), k
    return None


def root_of(value):
    """A double near the root, which suffices because any weights give a bound."""
    return Fraction(float(value) ** 0.5)


# --- one claim after the other ------------------------------------------------------------------

def check_relations(report, claims):
    """Checks epsilon, delta, mu, rho and noise multiplier against each other."""
    epsilon, delta = claims.get("epsilon"), claims.get("delta")
    mu, rho, multiplier = claims.get("mu"), claims.get("rho"), claims.get("noiseMultiplier")
    if epsilon is None or delta is None:
        return
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    name = f"({float(epsilon):g}, {float(delta):g})-DP"
    if mu is not None:
        low, high = delta_of_mu(epsilon, Fraction(mu))
        report.judge(f"mu = {mu!r} gives {name}", high <= delta, low > delta,
                     f"delta at epsilon is {float(high):.17g}")
    if multiplier is not None and mu is not None:
        low, high = delta_of_mu(epsilon, 1 / Fraction(multiplier))
        report.judge(f"noise multiplier {multiplier!r} gives {name}", high <= delta, low > delta,
                     f"delta at epsilon is {float(high):.17g}")
    if rho is not None and mu is not None:
        needed = Fraction(mu) ** 2 / 2
        report.judge("rho is at least mu^2 / 2", Fraction(rho) >= needed * (1 - ROUNDING),
                     Fraction(rho) < needed * (1 - ROUNDING))
    if rho is not None and mu is None:
        bound = delta_of_rho(epsilon, Fraction(rho))
        report.judge(f"rho = {rho!r} (zCDP) gives {name}", bound <= delta, bound > delta * 1.001,
                     f"delta by the conversion is {float(bound):.17g}")


def check_sensitivity(report, claims, squared, distance):
    """Judges the stated sensitivity against the enclosure of its square."""
    stated = Fraction(claims["sensitivity"]) / distance
    low, high = ends(squared.sqrt())
    report.judge("sensitivity is not below the true one", high <= stated * (1 + SENSITIVITY_SLACK),
                 low > stated * (1 + SENSITIVITY_SLACK), f"re-derived: {float(high)!r}")
    if claims.get("sensitivityExactness") == "exact":
        report.judge("sensitivity is exact", low >= stated * (1 - SENSITIVITY_SLACK),
                     high < stated * (1 - SENSITIVITY_SLACK), f"re-derived: {float(low)!r}")


def check_noise(report, claims, squared, distance):
    """Checks the noise itself, from std, encoder, clip norm and distance together, without
    slack."""
    if "noiseStddev" not in claims or claims.get("mu") is None or "lattice" in claims:
        return
    low, high = ends(squared.sqrt())
    scale = Fraction(claims["clipNorm"]) * distance
    stddev = Fraction(claims["noiseStddev"])
    epsilon, delta = Fraction(claims["epsilon"]), Fraction(claims["delta"])
    upper = delta_of_mu(epsilon, high * scale / stddev)[1]
    lower = delta_of_mu(epsilon, low * scale / stddev)[0]
    report.judge("noiseStddev on this encoder is (epsilon, delta)-DP", upper <= delta,
                 lower > delta, f"delta at epsilon is {float(upper):.17g}")


def check_arithmetic(report, claims, distance):
    """Checks that noiseStddev is the product that it is stated to be, without the encoder."""
    if "noiseStddev" not in claims or "lattice" in claims:
        return
    product = (Fraction(claims["noiseMultiplier"]) * Fraction(claims["sensitivity"])
               * Fraction(claims["clipNorm"]) * distance)
    report.judge("noiseStddev covers noiseMultiplier sensitivity clipNorm distance",
                 Fraction(claims["noiseStddev"]) >= product,
                 Fraction(claims["noiseStddev"]) < product)


def check_errors(report, claims, rows):
    """Checks max and mean error from the stated sensitivity and the rows of B."""
    stated = Fraction(claims["sensitivity"])
    if "maxError" in claims:
        low, high = ends(Interval(max(r.lo for r in rows), max(r.hi for r in rows)).sqrt())
        report.equal("maxError", claims["maxError"], low * stated, high * stated, ERROR_SLACK)
    if "meanError" in claims:
        low, high = ends((total(rows) / exact(len(rows))).sqrt())
        report.equal("meanError", claims["meanError"], low * stated, high * stated, ERROR_SLACK)


def check_ratio(report, claims, error):
    bound = claims.get("lowerBound")
    if bound is None or error is None or "ratio" not in claims:
        return
    ratio = Fraction(error) / Fraction(bound)
    report.equal("ratio = error / lowerBound", claims["ratio"], ratio, ratio, ROUNDING)
    if claims.get("gap") is not None:
        gap = Fraction(claims["ratio"]) - 1
        report.judge("gap = ratio - 1", abs(Fraction(claims["gap"]) - gap) <= ROUNDING,
                     abs(Fraction(claims["gap"]) - gap) > ROUNDING)


def check_bound(report, claims, problem, numbers, distance, own_error):
    """Checks lowerBound: by the stored dual variables, in closed form, or by an independent
    search."""
    stated = claims.get("lowerBound")
    if stated is None:
        return
    stated = Fraction(stated) / distance
    dimension = stated_dimension(claims, problem)
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
    if everywhere and everywhere != claims["lowerBound"]:
        judge_bound(report, "lowerBoundEveryDimension", Fraction(everywhere) / distance, 1, proofs,
                    least)


def stated_dimension(claims, problem):
    """Least dimension of records for which lowerBound holds. Older files do not state it and have
    bounds of this kind."""
    least = needed_dimension(problem.schema.most_within(problem.workload.num_steps))
    return claims.get("lowerBoundMinDimension", least)


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

def verify(document, strategy=None, workload=None):
    """Every claim of a parsed JSON document.

    @param strategy  the saved strategy that it is about
    @param workload  its workload in the words of the package, where the document only names it
    """
    report = Report()
    if "rows" in document and "certificate" in document:
        document = {**document["certificate"]}
    if document.get("format") == "dp-ftrl strategy":
        verify_strategy(report, document)
    elif "sensitivity" in document:
        verify_mechanism(report, document, strategy, workload)
    else:
        check_relations(report, document)
    return report


def verify_pure(report, claims):
    """Checks a certificate without a delta: integers, whose noise has a scale
    (docs/math/pure.md)."""
    law, epsilon = claims["laplace"], Fraction(claims["epsilon"])
    a = 2 if claims["neighbours"] == "replace-one" else 1
    report.judge("delta = 0", claims["delta"] == 0, claims["delta"] != 0)
    enough = epsilon * Fraction(law["scale"]) >= Fraction(law["distance"])
    report.judge("scale >= distance / epsilon", enough, not enough)
    within = Fraction(law["maxNorm"]) * Fraction(law["grid"]) <= Fraction(claims["clipNorm"])
    report.judge("records are within the clip norm", within, not within)
    moved = Fraction(claims["sensitivity"]) * Fraction(law["maxNorm"]) * a
    report.judge("distance = sensitivity of integers", Fraction(law["distance"]) == moved,
                 Fraction(law["distance"]) != moved)
    n = int(claims["numSteps"])
    try:
        factors = make_factors(claims["mechanism"], claims["effectiveParameters"],
                               Workload("prefix", n), n)
        users = patterns(schema_of(claims), n)
    except LookupError as reason:
        report.add("encoder and decoder", UNKNOWN, str(reason).strip('"'))
        return
    if users is None:
        report.add("sensitivity", UNKNOWN, "too many patterns")
        return
    # C has no negative entry, so equal contributions attain the sum of the l1 norms of its columns.
    columns = [total(column) for column in zip(*factors.encoder)]
    norms = [ends(column) for column in columns]
    low, high = (max(sum(norms[j][end] for j in steps) for steps in users) for end in (0, 1))
    report.judge("sensitivity, in l1-norm, is not below the true one",
                 Fraction(claims["sensitivity"]) >= high, Fraction(claims["sensitivity"]) < low,
                 f"re-derived: {float(high)!r}")
    if claims["sensitivityExactness"] == "exact":
        report.equal("sensitivity is exact", claims["sensitivity"], low, high, ROUNDING)


def verify_mechanism(report, claims, strategy, given):
    """Checks the JSON of `error`, or a certificate."""
    claims = dict(claims)
    if "laplace" in claims:
        verify_pure(report, claims)
        return
    distance = 2 if claims.get("neighbours") == "replace-one" else 1
    is_unit_error = "noiseStddev" not in claims
    check_relations(report, claims)
    check_arithmetic(report, claims, distance)
    objective = claims.get("objective", "max")
    check_ratio(report, claims, claims.get("maxError" if objective == "max" else "meanError"))
    if "lattice" in claims:
        report.add("the encoder of integers", UNKNOWN, "its numbers are not in the file")
        return
    n = int(claims.get("steps", claims.get("numSteps")))
    scale = distance if is_unit_error else 1
    numbers = strategy["parameters"] if strategy else claims.get("effectiveParameters", {})
    try:
        workload = Workload(strategy["workload"] if strategy else given or claims["workload"], n)
        problem = Problem(workload, schema_of(claims), objective)
        factors = make_factors(claims["mechanism"], numbers, workload, n)
    except LookupError as reason:
        report.add("encoder and decoder", UNKNOWN, str(reason).strip('"'))
        if "workload" in locals():
            check_bound(report, claims, Problem(workload, schema_of(claims), objective), numbers,
                        scale, None)
        return
    rows, squared = measure(report, factors, workload, problem.schema)
    check_sensitivity(report, claims, squared, scale)
    check_noise(report, claims, squared, distance)
    check_errors(report, claims, rows)
    own = error_from(rows, squared, problem.is_max, None)
    check_bound(report, claims, problem, numbers, scale, own)


def verify_strategy(report, saved):
    """Checks a saved strategy: its error, the bound and their ratio."""
    n = saved["numSteps"]
    check_ratio(report, saved, saved["error"])
    try:
        workload = Workload(saved["workload"], n)
        schema = Schema.read(saved["participation"], n)
        problem = Problem(workload, schema, saved["objective"])
        factors = make_factors(saved["mechanism"], saved["parameters"], workload, n)
    except LookupError as reason:
        report.add("encoder and decoder", UNKNOWN, str(reason).strip('"'))
        return
    rows, squared = measure(report, factors, workload, schema)
    low, high = error_interval(rows, squared, problem.is_max, saved.get("queryWeights"))
    # The sensitivity may be an upper bound, in which case the stated error uses it.
    report.judge("error is not below the true one", Fraction(saved["error"]) >=
                 high * (1 - ERROR_SLACK), Fraction(saved["error"]) < low * (1 - ERROR_SLACK),
                 f"re-derived: {float(high)!r}")
    check_bound(report, saved, problem, saved["parameters"], 1, high)


def schema_of(claims):
    kind = claims["participation"]
    if isinstance(kind, dict) or kind == "single":
        return Schema.read(kind, int(claims.get("steps", claims.get("numSteps"))))
    if "maxParticipations" not in claims:
        raise LookupError("how often a user takes part is not in the file")
    return Schema(kind, int(claims["maxParticipations"]), int(claims["separation"]))


def make_factors(name, numbers, workload, n):
    if n > MOST_DENSE_STEPS:
        raise Unknown(f"more than {MOST_DENSE_STEPS} steps")
    return reconstruct(name, numbers, workload, n)


def measure(report, factors, workload, schema):
    """Proves B C = A; returns the squared row norms of B, and the squared sensitivity."""
    decoder = factors.decoder(workload.matrix)
    product = multiply(decoder, factors.encoder)
    contained = all(p.lo <= a.lo and a.hi <= p.hi or p.contains(a)
                    for row, other in zip(product, workload.matrix) for p, a in zip(row, other))
    apart = any(p.lo > a.hi or p.hi < a.lo for row, other in zip(product, workload.matrix)
                for p, a in zip(row, other))
    report.judge("B C = A", contained, apart)
    encoder = factors.encoder
    rows = [squares(row) for row in decoder]
    tail = getattr(factors, "tail", None)
    squared = squares(tail) if tail and schema.kind == "single" else squared_sensitivity(encoder,
                                                                                        schema)
    return rows, squared


def error_interval(rows, squared, is_max, query_weights):
    if is_max:
        size = Interval(max(r.lo for r in rows), max(r.hi for r in rows))
    else:
        weights = query_weights or [1] * len(rows)
        size = total(exact(w) * r for w, r in zip(weights, rows)) / exact(len(rows))
    return ends((squared * size).sqrt())


def error_from(rows, squared, is_max, query_weights):
    return error_interval(rows, squared, is_max, query_weights)[1]
