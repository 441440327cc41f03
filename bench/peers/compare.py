#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares this library, as its npm package, with libraries of Python, in one run.

Times are processor time of all threads of the process that does the work, of calls that alternate:
both sides share whatever else the machine does. Errors come from errors.py for both sides. Prints a
Markdown table for each comparison, under its heading in PEERS.md; a ratio above 1 means that ours is
better, below 1 that theirs is.

    npm run bench:peers -- [--long] [--only NAME]
"""

import argparse
import datetime
import gzip
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version

import jax
import mpmath
import numpy as np

jax.config.update("jax_enable_x64", True)

import dp_accounting
import opendp.prelude as opendp
from jax_privacy.matrix_factorization import buffered_toeplitz, dense, toeplitz

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import errors
import numpy_blt

opendp.enable_features("contrib")


class Ours:
    """A process of Node with the package."""

    def __init__(self):
        program = ROOT / "bench/peers/ours.mjs"
        self.process = subprocess.Popen(["node", program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __call__(self, call, **arguments):
        """(result, seconds)."""
        self.process.stdin.write(json.dumps({"call": call, **arguments}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer.get("result"), answer["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(use):
    """(result, seconds)."""
    start = time.process_time()
    result = use()
    return result, time.process_time() - start


def in_pairs(ours, theirs, rounds):
    """Runs both in turn. Returns (our result, their result, first pair of times, later pairs)."""
    times = []
    for _ in range(rounds + 1):
        our_result, our_seconds = ours()
        their_result, their_seconds = theirs()
        times.append((our_seconds, their_seconds))
    return our_result, their_result, times[0], times[1:]


def seconds(value):
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def table(title, head, rows):
    print(f"\n## {title}\n")
    for row in [head, ["---"] * len(head), *rows]:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


SOLVER_HEAD = ["problem", "error, ours", "error, theirs", "theirs / ours", "first call: ours",
               "theirs", "ratio", "later calls: ratio"]


def solver_row(name, our_error, their_error, cold, warm):
    ratio = statistics.median(b / a for a, b in warm) if warm else math.nan
    return [name, f"{our_error:.6f}", f"{their_error:.6f}", f"{their_error / our_error:.6f}",
            seconds(cold[0]), seconds(cold[1]), f"{cold[1] / cold[0]:.3g}",
            f"{ratio:.3g}" if warm else ""]


def optimum_row(ours, n, epochs, rounds):
    problem = {"steps": n, "strategy": {"name": "optimal", "objective": "mean"},
               **({"participation": {"epochs": epochs}} if epochs > 1 else {})}
    found, encoder, cold, warm = in_pairs(
        lambda: ours("optimize", problem=problem),
        lambda: timed(lambda: np.asarray(dense.optimize(n, epochs=epochs))), rounds)
    our_error, _ = errors.gram_errors(errors.our_gram(found["parameters"], n), epochs)
    their_error, _ = errors.gram_errors(encoder.T @ encoder, epochs)
    assert abs(our_error / found["error"] - 1) < 1e-6, (our_error, found["error"])
    return solver_row(f"n = {n}" + (f", {epochs} epochs" if epochs > 1 else ""), our_error,
                      their_error, cold, warm)


def optima(ours, is_long):
    """The optimal factorization, mean error, against jax_privacy's dense solver."""
    rows = (optimum_row(ours, n, 1, 1) for n in [64, 128, *([256, 512] if is_long else [])])
    return "Optimal factorization", SOLVER_HEAD, rows


def epochs(ours, is_long):
    """Fixed epochs, where each user participates once per epoch at the same position."""
    rows = (optimum_row(ours, n, 4, 1) for n in [64, *([128, 256] if is_long else [])])
    return "Fixed epochs", SOLVER_HEAD, rows


def bands_row(ours, n):
    problem = {"steps": n, "strategy": {"name": "banded-toeplitz", "bands": 32, "objective": "mean"}}
    found, column, cold, warm = in_pairs(
        lambda: ours("optimize", problem=problem),
        lambda: timed(lambda: np.asarray(toeplitz.optimize_banded_toeplitz(n, 32))), 1)
    columns = [errors.banded_column(each, n) for each in (found["parameters"]["coefficients"], column)]
    mine, theirs = [errors.toeplitz_errors(each)[0] for each in columns]
    return solver_row(f"32 bands, n = {n}, mean", mine, theirs, cold, warm)


def buffers_row(ours, n, buffers=4):
    problem = {"steps": n, "strategy": {"name": "blt", "buffers": buffers}}
    found, blt, cold, warm = in_pairs(
        lambda: ours("optimize", problem=problem),
        lambda: timed(lambda: buffered_toeplitz.optimize(
            n=n, min_buffers=buffers, max_buffers=buffers)), 1)
    numbers = found["parameters"]
    columns = [errors.buffered_column(numbers["decays"], numbers["weights"], n),
               errors.buffered_column(blt.buf_decay, blt.output_scale, n)]
    mine, theirs = [errors.toeplitz_errors(each)[1] for each in columns]
    return solver_row(f"BLT, {buffers} buffers, n = {n}, max", mine, theirs, cold, warm)


def structured(ours, is_long):
    """Bands and buffers, against jax_privacy's solvers with as many of them."""
    horizons = [1000, *([10_000] if is_long else [])]
    rows = (row(ours, n) for row in (buffers_row, bands_row) for n in horizons)
    return "Bands and buffers", SOLVER_HEAD, rows


def jax_rows():
    """Returns a function for a row of a BLT: a compiled step of JAX in single precision."""
    decays = jax.numpy.asarray(numpy_blt.DECAYS)[:, None]
    weights = jax.numpy.asarray(numpy_blt.WEIGHTS)[:, None]

    @jax.jit
    def step(key, buffers):
        key, part = jax.random.split(key)
        row = jax.random.normal(part, (numpy_blt.DIMENSION,), jax.numpy.float32)
        row = row - (weights * buffers).sum(0)
        return key, decays * buffers + row, row

    state = [jax.random.key(1), jax.numpy.zeros((4, numpy_blt.DIMENSION), jax.numpy.float32)]

    def next_row():
        *state[:], row = step(*state)
        row.block_until_ready()

    return next_row


def noise_rows(ours, is_long):
    """Rows of a BLT's noise with four buffers and 2^20 coordinates in single precision."""
    strategy = {"name": "blt", "decays": numpy_blt.DECAYS.astype(float).tolist(),
                "weights": numpy_blt.WEIGHTS.astype(float).tolist()}
    sides = {"NumPy (`bench/numpy_blt.py`)": numpy_blt.make_row(),
             "JAX, one compiled step a row": jax_rows()}
    rows = []
    for name, next_row in sides.items():
        next_row()
        _, _, _, warm = in_pairs(
            lambda: ours("rows", strategy=strategy, batches=1),
            lambda: timed(lambda: [next_row() for _ in range(16)]), 5)
        per_item = [[1e9 * value / (16 * numpy_blt.DIMENSION) for value in pair] for pair in warm]
        rows.append([name, *(f"{statistics.median(side):.3g}" for side in zip(*per_item)),
                     f"{statistics.median(b / a for a, b in per_item):.3g}"])
    return "Rows of noise", ["other", "ns a coordinate, ours", "theirs", "ratio"], rows


TARGETS = [(1, 1e-6), (0.1, 1e-9), (10, 1e-5), (0.01, 1e-12), (3, 1e-30)]


def exact_multiplier(epsilon, delta):
    """The smallest noise multiplier with (epsilon, delta), to 60 digits."""
    with mpmath.workdps(80):
        epsilon, delta = mpmath.mpf(epsilon), mpmath.mpf(delta)

        def excess(mu):
            return (mpmath.ncdf(mu / 2 - epsilon / mu)
                    - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu) - delta)

        low, high = mpmath.mpf(2) ** -30, mpmath.mpf(64)
        for _ in range(240):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        return 1 / low


def calibration(ours, is_long):
    """Gaussian noise for (epsilon, delta), against dp-accounting and 60 digits."""
    mine, theirs, _, warm = in_pairs(
        lambda: ours("calibrate", targets=TARGETS),
        lambda: timed(lambda: [dp_accounting.get_sigma_gaussian(*each) for each in TARGETS]), 20)
    ratio = statistics.median(b / a for a, b in warm)
    rows = []
    for (epsilon, delta), our_sigma, their_sigma in zip(TARGETS, mine, theirs):
        exact = exact_multiplier(epsilon, delta)
        rows.append([f"({epsilon}, {delta})", f"{float(exact):.6f}",
                     *(f"{float(value / exact - 1):+.1e}" for value in (our_sigma, their_sigma))])
    our_time, their_time = (seconds(statistics.median(side)) for side in zip(*warm))
    rows.append(["processor time, all five", "", our_time, f"{their_time} (ratio {ratio:.3g})"])
    return "Calibration", ["target", "noise multiplier", "ours", "dp-accounting"], rows


def opendp_counter(n, epsilon, branching):
    """Largest standard deviation of a prefix sum from OpenDP's tree of totals with consistency and
    Laplace noise. The post-processing is linear: its matrix is read off."""
    space = (opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int))
    tree = opendp.t.make_b_ary_tree(*space, leaf_count=n, branching_factor=branching)
    scale = tree.map(1) / epsilon
    num_nodes = len(tree([0] * n))
    consistent = opendp.t.make_consistent_b_ary_tree(branching, TIA=int, TOA=float)
    leaves = []
    for node in range(num_nodes):
        unit = [0] * num_nodes
        unit[node] = 1
        leaves.append(consistent(unit)[:n])
    sums = np.cumsum(np.array(leaves), axis=1)
    return scale * math.sqrt(2 * (sums ** 2).sum(0).max())


def counters(ours, is_long):
    """Largest standard deviation of 1024 totals at epsilon 1. OpenDP's post-processing needs all
    leaves, so its totals come at the end; ours come step by step."""
    n = 1024
    stddevs = {}
    for name, delta in [("pure", 0), ("delta = 1e-6", 1e-6)]:
        problem = {"steps": n, "epsilon": 1, "delta": delta}
        stddevs[f"ours, {name}, at each step"], _ = ours("counter", problem=problem)
    chosen = opendp.t.choose_branching_factor(size_guess=n)
    for branching in [chosen, 4]:  # 4 is the best of 2, 4 and 8
        origin = ", as it chooses" if branching == chosen else ""
        stddevs[f"OpenDP, pure, at the end, branching {branching}{origin}"] = opendp_counter(
            n, 1, branching)
    base = next(iter(stddevs.values()))
    rows = [[name, f"{value:.4g}", f"{value / base:.3g}"] for name, value in stddevs.items()]
    return "Totals of 1024 steps", ["counter", "std", "over ours, pure"], rows


MODULES = {
    "dp-ftrl": "dist/dp-ftrl.wasm",
    "dp-ftrl/counter": "dist/counter.wasm",
    "@tensorflow/tfjs-backend-wasm 4.22.0":
        "node_modules/@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm",
}


def modules(ours, is_long):
    """Sizes of WebAssembly files, and the processor time of compiling them in Node."""
    rows = []
    for name, path in MODULES.items():
        times = []
        for _ in range(6):
            size, spent = ours("compile", path=str(ROOT / path))
            times.append(spent)
        packed = len(gzip.compress((ROOT / path).read_bytes()))
        rows.append([name, f"{size / 1e3:.0f}", f"{packed / 1e3:.0f}",
                     seconds(statistics.median(times[1:]))])
    return "WebAssembly", ["module", "kB", "kB, gzip", "compiled in"], rows


COMPARISONS = {each.__name__: each
               for each in (calibration, counters, noise_rows, modules, structured, optima, epochs)}


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    node = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    names = ["jax-privacy", "jax", "dp-accounting", "opendp", "numpy", "scipy"]
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    package = json.loads((ROOT / "package.json").read_text())["version"]
    return (f"{datetime.date.today()}, {cpu}, dp-ftrl {package}, Node {node}, "
            f"Python {platform.python_version()}, {versions}, "
            f"load {os.getloadavg()[0]:.0f} at the start")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--long", action="store_true", help="larger problems, too")
    parser.add_argument("--only", choices=COMPARISONS, help="one comparison")
    options = parser.parse_args()
    print(machine(), flush=True)
    for name, compare in COMPARISONS.items():
        if options.only not in (None, name):
            continue
        ours = Ours()  # a fresh process: the first call of each comparison is a cold one
        table(*compare(ours, options.long))
        ours.close()


if __name__ == "__main__":
    main()
