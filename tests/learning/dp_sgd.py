# SPDX-License-Identifier: Apache-2.0
"""Compares DP-SGD, DP-GD and DP-FTRL at equal epsilon: `npm run experiment dp-sgd`.

Prints a table to standard error as it grows, and the accuracies of all splits to standard output as
JSON. Standard input lists, as JSON, the covariance of the noise in the running sums of the steps at
noise multiplier 1, for numbers of passes. The learners, each tuned as in judge.py on the splits
other than the one it is measured on:

    dp-sgd                 Poisson batches, as in judge.py
    dp-gd                  all rows at every step, independent noise, as `ours` in judge.py
    K passes, optimal      batches in a fixed order, K times, noise of the given covariance
    K passes, independent  the same batches, independent noise
    dp-ftrl                the best of `K passes, optimal`, except with all rows at every step
"""

import argparse
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import judge
import tables

# Judging tables of two classes, except affairs and turnout, to save time.
TABLES = ["breast", "Pima", "Mroz", "phishing", "Computers"]
# Momenta of all learners except dp-gd, which has those of judge.py.
MOMENTA = (0, 0.8)
SHOWN = ("dp-sgd", "dp-gd", "dp-ftrl", "plain")


def increments_of(covariance, passes):
    """Returns the matrix that turns normals into noise increments.

    Raises ValueError if a row that takes part in every pass can have sensitivity above 1.
    """
    steps = len(covariance)
    root = np.linalg.cholesky(covariance)
    increments = np.diff(root, axis=0, prepend=np.zeros((1, steps)))
    encoder = np.linalg.inv(increments)
    gram = np.abs(encoder.T @ encoder)
    separation = steps // passes
    largest = max(gram[first::separation, first::separation].sum() for first in range(separation))
    if not largest <= 1 + 1e-9:
        raise ValueError(f"{passes} passes have squared sensitivity {largest}, not 1")
    return increments


class Compared(judge.Tuned):
    def __init__(self, noises):
        super().__init__(folder=None)
        self.noises = [(each["passes"], increments_of(np.array(each["covariance"]).reshape(
            each["steps"], each["steps"]), each["passes"])) for each in noises]

    def plans(self, num_rows, epsilon, random):
        for plan in self.full_plans(num_rows, epsilon):
            yield ("dp-gd", *plan[1:])
        for momentum in MOMENTA:
            for *plan, more in (*self.sampled_plans(num_rows, epsilon, random),
                                *self.ordered_plans(num_rows, epsilon, random)):
                yield *plan, {"momentum": momentum, **more}

    def ordered_plans(self, num_rows, epsilon, random):
        for passes, optimal in self.noises:
            independent = np.sqrt(passes) * np.eye(len(optimal))
            for kind, increments in (("optimal", optimal), ("independent", independent)):
                yield self.ordered_plan(f"{passes} passes, {kind}", num_rows, epsilon, random,
                                        passes, increments)

    def grids(self, name, epsilon, seed):
        grids = self.accuracies(name, epsilon, seed)
        grids["dp-ftrl"] = np.concatenate([grids[f"{passes} passes, optimal"]
                                           for passes, increments in self.noises
                                           if passes < len(increments)])
        return grids


def measure(compared, name, epsilon, seeds, pool):
    grids = list(pool.map(lambda seed: compared.grids(name, epsilon, seed), seeds))
    found = {learner: list(judge.tuned_and_hindsight(np.array([grid[learner] for grid in grids]))[0])
             for learner in grids[0]}
    found["plain"] = [judge.not_private(name, seed) for seed in seeds]
    return {"table": name, "epsilon": epsilon, "accuracies": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="splits at a time")
    options = parser.parse_args()
    compared = Compared(json.load(sys.stdin))
    pool = ThreadPoolExecutor(options.jobs)
    print("| table | epsilon | DP-SGD | DP-GD | DP-FTRL | no privacy |\n" + "|---" * 6 + "|",
          file=sys.stderr)
    cases = []
    for name in options.tables.split(","):
        tables.table(name)
        for epsilon in judge.EPSILONS:
            case = measure(compared, name, epsilon, range(options.seeds), pool)
            cases.append(case)
            columns = " | ".join(judge.shown(case["accuracies"][key]) for key in SHOWN)
            print(f"| {name} | {epsilon} | {columns} |", file=sys.stderr, flush=True)
    json.dump(cases, sys.stdout)


if __name__ == "__main__":
    main()
