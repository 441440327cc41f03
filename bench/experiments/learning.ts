// SPDX-License-Identifier: Apache-2.0

// Compares the settings that `learn` chooses with the best settings in hindsight.

import { passOver } from '../../wasm/src/api/learning/learn.ts';
import type { DpFtrl } from '../../wasm/src/types/all.ts';
import type { Panel } from '../../wasm/src/plot/picture.ts';
import { repeated, result } from './experiment.ts';
import type { Experiment, Size } from './experiment.ts';
import { mean, standardError, type Finding, type Result } from './result.ts';
import { classOf, KINDS, makeTable, type Examples, type Kind } from './tables.ts';

const EPSILONS = [1, 4, 8];
const DELTA = 1e-5;
/** Largest acceptable gap of the defaults, in percentage points. */
const BAR = 1.5;
/** Factors on the chosen clip norm and on the distance the weights can move. */
const TRIED = [
  { clip: 1, way: 1 },
  { clip: 1, way: 1 / 4 },
  { clip: 1, way: 1 / 2 },
  { clip: 1, way: 2 },
  { clip: 1, way: 4 },
  { clip: 1 / 3, way: 1 },
  { clip: 3, way: 1 },
];

/** Accuracies, one per seed. */
interface Measured {
  chosen: number[];
  /** Accuracies for each of `TRIED`. */
  tried: number[][];
  lessNoise: number[];
  permuted: number[];
  /** Relative frequencies of the most frequent label. */
  majority: number[];
}

const lossOf = ({ numClasses }: Kind) =>
  numClasses === 2 ? ({ loss: 'logistic' } as const) : { loss: { softmax: numClasses } };

/** Returns the fraction of rows whose label has the largest score. */
function accuracyOf(weights: readonly number[], { features, labels }: Examples): number {
  const numFeatures = features.length / labels.length;
  const width = numFeatures + 1;
  const read = labels.filter((label, i) => {
    const scores = Array.from({ length: weights.length / width }, (_, k) => {
      const own = weights.slice(k * width, (k + 1) * width);
      const row = features.subarray(i * numFeatures, (i + 1) * numFeatures);
      return row.reduce((sum, value, j) => sum + value * own[j]!, own[numFeatures]!);
    });
    return classOf(scores) === label;
  });
  return read.length / labels.length;
}

/** Returns the weights of a learner whose chosen settings are scaled by these factors. */
function learnTried(
  dp: DpFtrl,
  kind: Kind,
  table: Examples,
  { epsilon, seed, clip, way }: { epsilon: number; seed: number; clip: number; way: number },
): number[] {
  const { features, labels } = table;
  const batchSize = labels.length;
  const width = kind.numFeatures + 1;
  const rows = new Float64Array(batchSize * width).fill(1);
  for (let i = 0; i < batchSize; ++i) {
    const own = features.subarray(i * kind.numFeatures, (i + 1) * kind.numFeatures);
    rows.set(own, i * width);
  }
  const facts = { setup: 'table', rows: batchSize, dimension: width } as const;
  const { options: chosen } = dp.learnPlan({ ...lossOf(kind), ...facts, epsilon, delta: DELTA });
  const learner = dp.learner({
    ...chosen,
    clip: clip * chosen.clip!,
    lambda: (clip / way) * chosen.lambda!,
    insecureSeed: seed,
  });
  try {
    return passOver({ learner, how: chosen }, () => learner.learn(rows, labels));
  } finally {
    learner.dispose();
  }
}

/** Returns the examples with the labels shifted by half the table. */
function permuted({ features, labels }: Examples): Examples {
  const half = Math.floor(labels.length / 2);
  return { features, labels: labels.map((_, i) => labels[(i + half) % labels.length]!) };
}

function measure(dp: DpFtrl, kind: Kind, epsilon: number, { steps, repeats }: Size): Measured {
  const seeds = repeated(repeats, (seed) => seed);
  const tables = seeds.map((seed) => makeTable(dp, kind, { numRows: steps, seed }));
  const { mu } = dp.calibrate({ epsilon, delta: DELTA });
  const { epsilon: less } = dp.calibrate({ mu: 1.5 * mu, delta: DELTA });
  const learn = (table: Examples, insecureSeed: number, target = epsilon) =>
    dp.learn({ ...lossOf(kind), ...table, epsilon: target, delta: DELTA, insecureSeed }).weights;
  const each = (weights: (table: Examples, seed: number) => number[]) =>
    tables.map(({ training, heldOut }, i) => accuracyOf(weights(training, seeds[i]!), heldOut));
  return {
    chosen: each(learn),
    tried: TRIED.map((factors) =>
      each((table, seed) => learnTried(dp, kind, table, { epsilon, seed, ...factors })),
    ),
    lessNoise: each((table, seed) => learn(table, seed, less)),
    permuted: each((table, seed) => learn(permuted(table), seed)),
    majority: tables.map(({ heldOut: { labels } }) => {
      const counts = Array.from(
        { length: kind.numClasses },
        (_, k) => labels.filter((label) => label === k).length,
      );
      return Math.max(...counts) / labels.length;
    }),
  };
}

/** Returns the accuracies of the best settings in hindsight, which is NOT private. */
const bestOf = ({ tried }: Measured) => tried.reduce((a, b) => (mean(b) > mean(a) ? b : a));

function panelOf({ name }: Kind, measured: readonly Measured[]): Panel {
  const curve = (label: string, of: (it: Measured) => number[]) => ({
    name: label,
    x: EPSILONS,
    y: measured.map((it) => mean(of(it))),
    spread: measured.map((it) => standardError(of(it))),
  });
  return {
    title: name,
    x: { label: 'epsilon', log: true },
    y: { label: 'accuracy', log: false },
    series: [
      curve('what learn chooses', (it) => it.chosen),
      curve('best settings in hindsight (NOT private)', bestOf),
      curve('two thirds of the noise', (it) => it.lessNoise),
      curve('permuted labels', (it) => it.permuted),
      curve('most frequent label', (it) => it.majority),
    ],
  };
}

function findingsOf({ name }: Kind, measured: readonly Measured[]): Finding[] {
  return measured.flatMap((it, i) => {
    const behind = 100 * (mean(bestOf(it)) - mean(it.chosen));
    const verdict = behind <= BAR ? 'within' : 'NOT within';
    const where = `${name}, epsilon ${EPSILONS[i]}`;
    return [
      { what: `${where}: accuracy`, value: mean(it.chosen) },
      { what: `${where}: its standard error`, value: standardError(it.chosen) },
      { what: `${where}: points behind the best settings, ${verdict} ${BAR}`, value: behind },
    ];
  });
}

/** Returns checks that the accuracies can distinguish better and worse learners. */
function checksOf(all: readonly Measured[]): Finding[] {
  const gains = all.flatMap((it) => it.lessNoise.map((value, i) => 100 * (value - it.chosen[i]!)));
  const beyond = all.flatMap((it) =>
    it.permuted.map((value, i) => 100 * (value - it.majority[i]!)),
  );
  return [
    { what: 'two thirds of the noise: points gained', value: mean(gains) },
    { what: 'two thirds of the noise: standard error', value: standardError(gains) },
    { what: 'permuted labels: points beyond the most frequent label', value: mean(beyond) },
    { what: 'permuted labels: standard error', value: standardError(beyond) },
  ];
}

function* run(dp: DpFtrl, size: Size): Generator<number, Result> {
  const measured: Measured[][] = [];
  for (const kind of KINDS) {
    const own: Measured[] = [];
    for (const epsilon of EPSILONS) {
      own.push(measure(dp, kind, epsilon, size));
      yield (measured.length + own.length / EPSILONS.length) / KINDS.length;
    }
    measured.push(own);
  }
  return result('learning', 'Learning from a table by default', {
    settings: { delta: DELTA, ...size },
    panels: KINDS.map((kind, i) => panelOf(kind, measured[i]!)),
    findings: [
      ...KINDS.flatMap((kind, i) => findingsOf(kind, measured[i]!)),
      ...checksOf(measured.flat()),
    ],
  });
}

export const learning: Experiment = {
  summary: 'what learn chooses against the best settings in hindsight, on synthetic tables',
  size: { steps: 1000, repeats: 10 },
  run,
};
