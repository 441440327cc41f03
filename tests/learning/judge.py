# SPDX-License-Identifier: Apache-2.0
"""Judges what `dp-ftrl learn` chooses by what tuned learners reach: `scripts/test learning`.

For every table and epsilon, compares on the same ten splits the command with default settings of
the learner, and learners whose settings were selected from a grid, at an unaccounted privacy cost:

    dp-sgd      Poisson batches, noise by the accountant for privacy loss distributions of dp_accounting
    dense       jax_privacy's dense mechanism in fixed-epoch order
    ours        independent noise, all rows at every step, as in the command

A learner is tuned in two ways. `tuned` selects for each split the setting that is best on the nine
others; `hindsight` selects the best on all ten, so it is biased upwards. The best learner is also
selected on the ten: with `--fresh N` the learner and setting that are best on the ten are compared
with the command on N other splits. Then the judge itself is checked: with two thirds of the noise
at epsilon 1 the command must be more accurate, and with permuted labels at epsilon 8 hardly more
accurate than always predicting the most frequent label.
"""

import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Threads of these libraries would compete with those of this program.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
from dp_accounting import dp_event, mechanism_calibration
from dp_accounting.pld import pld_privacy_accountant
from sklearn.linear_model import LogisticRegression

import learners
import tables

EPSILONS = (1, 4, 8)
DELTA = 1e-5
BAR = 1.5
CLIP_SHARES = (0.03, 0.1, 0.3, 1)
# Bounds on the total movement of the weights, in units of signal over noise.
WAYS = (0.5, 1, 2, 4, 8, 16, 32, 64)
# Steps and momentum.
OURS = ((30, 0), (120, 0), (120, 0.8))
# Shares of the rows per step, and steps.
SAMPLED = ((0.05, 400), (0.25, 120))
# Steps and epochs.
DENSE = ((64, 8), (64, 32))
LEARNERS = ("ours", "dp-sgd", "dense")
# Number of standard errors at which a mean difference is significant.
CLEAR = 2


def noise_multiplier(epsilon, share=1.0, steps=1):
    """Returns the noise multiplier for sums of Poisson samples, slightly above the least."""
    def accountant():
        return pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)

    def event(noise):
        gaussian = dp_event.GaussianDpEvent(noise)
        sampled = dp_event.PoissonSampledDpEvent(share, gaussian) if share < 1 else gaussian
        return dp_event.SelfComposedDpEvent(sampled, steps)

    return mechanism_calibration.calibrate_dp_mechanism(
        accountant, event, epsilon, DELTA,
        mechanism_calibration.ExplicitBracketInterval(0.1, 100), tol=1e-3)


def dense_increments(num_steps, epochs, folder):
    """Returns the matrix that turns normals into noise increments at noise multiplier 1."""
    path = folder / f"dense-{num_steps}-{epochs}.npy"
    if not path.exists():
        import jax
        from jax_privacy.matrix_factorization import dense, sensitivity
        jax.config.update("jax_enable_x64", True)
        encoder = dense.optimize(num_steps, epochs=epochs)
        scale = float(sensitivity.fixed_epoch_sensitivity(encoder, epochs))
        np.save(path, scale * np.linalg.inv(np.array(encoder)))
    return np.load(path)


class Tuned:
    """Accuracies over the grids of settings of all learners."""

    def __init__(self, folder):
        self.folder = folder
        self.multiplier = functools.cache(noise_multiplier)

    def full_plans(self, num_rows, epsilon):
        full = self.multiplier(epsilon)
        for steps, momentum in OURS:
            yield ("ours", [None] * steps, np.sqrt(steps), full, num_rows / full,
                   {"momentum": momentum})

    def sampled_plans(self, num_rows, epsilon, random):
        for share, steps in SAMPLED:
            noise = self.multiplier(epsilon, share, steps)
            batches = [np.flatnonzero(random.random(num_rows) < share) for _ in range(steps)]
            signal = share * num_rows * np.sqrt(steps) / noise
            yield "dp-sgd", batches, 1.0, noise, signal, {"expected": share * num_rows}

    def ordered_plan(self, learner, num_rows, epsilon, random, epochs, increments):
        """Returns a plan of `epochs` passes over a random order of the rows.

        increments: the matrix that turns normals into noise increments at noise multiplier 1.
        """
        steps = len(increments)
        full = self.multiplier(epsilon)
        order = random.permutation(num_rows)
        separation = steps // epochs
        batches = [order[step % separation::separation] for step in range(steps)]
        last = np.linalg.norm(np.ones(steps) @ increments) * full
        signal = epochs * num_rows / last
        return learner, batches, increments, full, signal, {"expected": num_rows / separation}

    def plans(self, num_rows, epsilon, random):
        """Yields learner, batches, increments, noise multiplier, signal over noise, and more."""
        yield from self.full_plans(num_rows, epsilon)
        yield from self.sampled_plans(num_rows, epsilon, random)
        for steps, epochs in DENSE:
            increments = dense_increments(steps, epochs, self.folder)
            yield self.ordered_plan("dense", num_rows, epsilon, random, epochs, increments)

    def accuracies(self, name, epsilon, seed, only=None):
        """Returns, for each learner (in `only`), the accuracies of its grid on the held-out rows."""
        features, labels = tables.table(name)
        rows = learners.rows_of(features)
        training, held_out = tables.split(len(rows), seed)
        random = np.random.default_rng([seed, epsilon])
        found = {}
        for learner, batches, increments, noise, signal, more in self.plans(
                len(training), epsilon, random):
            if only is not None and learner not in only:
                continue
            settings = [(clip, way * signal, noise) for clip in CLIP_SHARES for way in WAYS]
            weights = learners.learn(rows[training], labels[training], settings, batches,
                                     increments, random, **more)
            reached = learners.accuracies(weights, rows[held_out], labels[held_out])
            found[learner] = np.append(found.get(learner, []), reached)
        return found


def tuned_and_hindsight(grid):
    """Returns accuracies by split, selected on the other splits, and selected on all splits.

    grid: splits x settings.
    """
    others = (grid.sum(axis=0) - grid) / max(1, len(grid) - 1)
    tuned = grid[np.arange(len(grid)), others.argmax(axis=1)]
    return tuned, grid[:, grid.mean(axis=0).argmax()]


def not_private(name, seed):
    features, labels = tables.table(name)
    training, held_out = tables.split(len(labels), seed)
    model = LogisticRegression(C=10, max_iter=2000).fit(features[training], labels[training])
    return model.score(features[held_out], labels[held_out])


class Command:
    """Accuracies of `dp-ftrl learn` with default settings of the learner."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, path, features, labels):
        header = ",".join([f"x{i}" for i in range(features.shape[1])] + ["label"])
        np.savetxt(path, np.hstack([features, labels[:, None]]), delimiter=",", header=header,
                   comments="", fmt="%.17g")

    def files(self, name, seed, permuted):
        features, labels = tables.table(name)
        training, held_out = tables.split(len(labels), seed)
        parts = self.folder / f"{name}-{seed}-train{'-permuted' * permuted}.csv", \
            self.folder / f"{name}-{seed}-test.csv"
        shown = labels[training]
        if permuted:
            shown = np.random.default_rng([seed, 7]).permutation(shown)
        self.write(parts[0], features[training], shown)
        self.write(parts[1], features[held_out], labels[held_out])
        return parts, int(labels.max()) + 1

    def accuracy(self, name, epsilon, seed, permuted=False):
        (training, held_out), classes = self.files(name, seed, permuted)
        many = ["--loss", "softmax", "--classes", str(classes)] if classes > 2 else []
        answer = subprocess.run(
            ["node", str(tables.ROOT / "dist/cli.js"), "learn", "--label", "label", *many,
             "--epsilon", str(epsilon), "--delta", str(DELTA), "--seed", str(seed + 1), "--json",
             "--test", str(held_out), str(training)],
            check=True, capture_output=True, text=True)
        return json.loads(answer.stdout)["test"]["accuracy"]


def epsilon_of_two_thirds(epsilon):
    """Returns the epsilon at which the noise is two thirds of that at the given epsilon."""
    wanted = noise_multiplier(epsilon) * 2 / 3
    low, high = epsilon, 3.0 * epsilon
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if noise_multiplier(middle) > wanted else (low, middle)
    return high


def shown(values):
    return f"{100 * np.mean(values):5.1f} ({100 * np.std(values, ddof=1):3.1f})"


def measure(names, epsilons, num_seeds, pool, folder):
    """Returns and prints the results, one line per table and epsilon."""
    tuned, command = Tuned(folder), Command(folder)
    seeds = range(num_seeds)
    lines = []
    for name in names:
        plain = [not_private(name, seed) for seed in seeds]
        for epsilon in epsilons:
            ours = pool.map(lambda seed: command.accuracy(name, epsilon, seed), seeds)
            grids = list(pool.map(lambda seed: tuned.accuracies(name, epsilon, seed), seeds))
            line = {"table": name, "epsilon": epsilon, "default": list(ours), "plain": plain}
            for learner in grids[0]:
                grid = np.array([each[learner] for each in grids])
                line[learner], line[f"{learner}, hindsight"] = map(list, tuned_and_hindsight(grid))
            lines.append(line)
            print(describe(line), flush=True)
    return lines


def chosen(grids):
    """Returns the learner and setting with the greatest mean, from grids of splits x settings."""
    means = {learner: grid.mean(axis=0) for learner, grid in grids.items()}
    learner = max(means, key=lambda each: means[each].max())
    return learner, int(means[learner].argmax())


def measure_fresh(names, epsilons, num_seeds, num_fresh, pool, folder):
    """Returns and prints the command's accuracies on later splits, next to those of the learner
    that is best on the first splits."""
    tuned, command = Tuned(folder), Command(folder)
    fresh = range(num_seeds, num_seeds + num_fresh)
    lines = []
    for name in names:
        tables.table(name)
        for epsilon in epsilons:
            grids = list(pool.map(lambda seed: tuned.accuracies(name, epsilon, seed),
                                  range(num_seeds)))
            learner, setting = chosen({each: np.array([grid[each] for grid in grids])
                                       for each in LEARNERS})
            best = np.array(list(pool.map(
                lambda seed: tuned.accuracies(name, epsilon, seed, [learner])[learner][setting],
                fresh)))
            ours = list(pool.map(lambda seed: command.accuracy(name, epsilon, seed), fresh))
            lines.append({"table": name, "epsilon": epsilon, "default": ours, "learner": learner,
                          "setting": setting, "chosen": list(best)})
            gaps = best - ours
            print(f"| {name} | {epsilon} | {shown(ours)} | {learner} {setting}: {shown(best)} | "
                  f"{100 * gaps.mean():+.2f}, standard error "
                  f"{100 * gaps.std(ddof=1) / np.sqrt(num_fresh):.2f} |", flush=True)
    return lines


def measure_command(names, epsilons, num_seeds, pool, folder):
    """Returns and prints the accuracies of the command alone."""
    command, seeds = Command(folder), range(num_seeds)
    lines = []
    for name in names:
        tables.table(name)
        for epsilon in epsilons:
            found = list(pool.map(lambda seed: command.accuracy(name, epsilon, seed), seeds))
            lines.append({"table": name, "epsilon": epsilon, "default": found})
            print(f"| {name} | {epsilon} | {shown(found)} |", flush=True)
    return lines


def behind(line, kind):
    """Returns the difference in percentage points between the best tuned learner and the
    default."""
    best = max(np.mean(line[f"{learner}{kind}"]) for learner in LEARNERS)
    return 100 * (best - np.mean(line["default"]))


def describe(line):
    gaps = [behind(line, kind) for kind in ("", ", hindsight")]
    verdicts = " | ".join(f"{gap:4.1f} {'yes' if gap <= BAR else 'NO'}" for gap in gaps)
    columns = " | ".join(shown(line[key]) for key in ("default", *LEARNERS, "plain"))
    return f"| {line['table']} | {line['epsilon']} | {columns} | {verdicts} |"


def check_the_judge(names, lines, num_seeds, pool, folder):
    """Prints whether the judge detects smaller noise and meaningless labels."""
    command, seeds = Command(folder), range(num_seeds)
    gains = []
    for line in lines:
        if line["table"] in names and line["epsilon"] == 1:
            epsilon = epsilon_of_two_thirds(line["epsilon"])
            less = pool.map(lambda seed: command.accuracy(line["table"], epsilon, seed), seeds)
            gains += list(np.array(list(less)) - line["default"])
    gain, error = np.mean(gains), np.std(gains, ddof=1) / np.sqrt(len(gains))
    print(f"two thirds of the noise, epsilon 1: {100 * gain:+.2f} points, "
          f"standard error {100 * error:.2f}")
    is_seen = gain > CLEAR * error
    are_lost = True
    for name in names:
        labels = tables.table(name)[1]
        most = np.bincount(labels).max() / len(labels)
        lost = list(pool.map(lambda seed: command.accuracy(name, 8, seed, True), seeds))
        print(f"{name} with permuted labels: {shown(lost)}, most frequent label {100 * most:.1f}")
        error = np.std(lost, ddof=1) / np.sqrt(len(lost))
        are_lost = are_lost and np.mean(lost) < most + CLEAR * error + 0.02
    return is_seen and are_lost


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(tables.JUDGE + tables.FRESH + tables.UNSEEN))
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="splits at a time")
    parser.add_argument("--result", type=pathlib.Path, help="the accuracies of every split, as JSON")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--only-command", action="store_true",
                      help="measures the command alone, and checks nothing")
    only.add_argument("--fresh", type=int, default=0, metavar="N",
                      help="picks on the splits of --seeds, compares on N others, checks nothing")
    return parser.parse_args()


def main():
    options = read_options()
    folder = tables.ROOT / "build/learning"
    folder.mkdir(parents=True, exist_ok=True)
    names = options.tables.split(",")
    epsilons = [int(epsilon) for epsilon in options.epsilons.split(",")]
    pool = ThreadPoolExecutor(options.jobs)
    if options.only_command:
        lines = measure_command(names, epsilons, options.seeds, pool, folder)
    elif options.fresh:
        lines = measure_fresh(names, epsilons, options.seeds, options.fresh, pool, folder)
    else:
        print("| table | epsilon | default | " +
              " | ".join(f"{name}, tuned" for name in LEARNERS) +
              " | not private | behind tuned | behind hindsight |\n" + "|---" * 9 + "|", flush=True)
        lines = measure(names, epsilons, options.seeds, pool, folder)
    if options.result:
        options.result.write_text(json.dumps(lines))
    if options.only_command or options.fresh:
        return
    for kind in ("", ", hindsight"):
        within = sum(behind(line, kind) <= BAR for line in lines)
        print(f"within {BAR} points of the best{kind or ', tuned'}: {within} of {len(lines)}")
    if 1 in epsilons and not check_the_judge(names, lines, options.seeds, pool, folder):
        sys.exit("the judge does not see what it has to see")


if __name__ == "__main__":
    main()
