// SPDX-License-Identifier: Apache-2.0

// Prints certificates over the catalogue, workloads and participation at small horizons, one JSON
// object per line: {title, document, workload?, strategy?}. For tests/certificates/check.py.
//
//   usage: node tests/certificates/generate.mjs [COUNT]      (evenly spaced; default: all of them)
//
// A few of every kind come besides.

import { importEntry } from '../js/support/consumer.mjs';
import { WORKLOADS } from '../js/support/mechanisms.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const names = dp.strategies.map(({ name }) => name);

const HORIZONS = [1, 2, 3, 5, 6, 8];
/** Strategies with parameters. */
const VARIANTS = [
  ...names.map((name) => ({ name })),
  ...['tree', 'honaker', 'haar', 'square-root', 'tree-k', 'lambda-cgd'].map((name) => ({
    name,
    normalizeColumns: true,
  })),
  ...['tree', 'honaker', 'square-root', 'haar'].map((name) => ({ name, epochLength: 3 })),
  ...['tree', 'honaker'].map((name) => ({ name, epochLength: 3, completeEpochs: true })),
  { name: 'tree-k', arity: 3 },
  { name: 'tree-k', arity: 3, subtractive: true },
  { name: 'tree-k', arity: 2 },
  { name: 'banded-square-root', bands: 2 },
  { name: 'banded-inverse-square-root', bands: 3 },
  { name: 'blt', decays: [0.97, 0.66], weights: [0.21, 0.28] },
  { name: 'blt-rational', buffers: 3 },
  { name: 'nu', nu: 0.1 },
  { name: 'lambda-cgd', lambda: 0.5 },
];
/** Mechanisms with as many numbers as steps, whose certificates need the saved strategy. */
const SEARCHED = ['optimal', 'banded', 'blt', 'blt-normalized', 'blt-scaled', 'banded-toeplitz'];

function participations(steps) {
  return [
    'once',
    ...[2, 3, 4].filter((k) => steps % k === 0 && steps > k).map((epochs) => ({ epochs })),
    { times: 2, apart: 2 },
    { times: 3, apart: 1 },
  ];
}

/** The participation of a mechanism with the same options. */
function ofMechanism(participation) {
  if (participation === 'once') return 'single';
  const { epochs, times, apart } = participation;
  return epochs ? { epochs } : { participations: times, minSeparation: apart };
}

/** Returns what is made, or undefined if a value is refused. */
function fits(make) {
  try {
    return make();
  } catch (error) {
    if (['invalid_argument', 'unsupported'].includes(error.code)) return undefined;
    throw error;
  }
}

/** Formats typed arrays as lists in JSON. */
function text(value) {
  return JSON.stringify(value, (_, it) => (ArrayBuffer.isView(it) ? [...it] : it));
}

function plainOf(value) {
  return JSON.parse(text(value));
}

const documents = [];

function add(title, document, rest = {}) {
  if (document !== undefined) documents.push({ title, document, ...rest });
}

/** Adds the JSON that `dp-ftrl error` prints, and a certificate. */
function addMechanism(options, rest = {}) {
  add(
    `error ${text(options)}`,
    fits(() => dp.error(options)),
    rest,
  );
}

let turn = 0;
const PRIVACY = [
  { epsilon: 1, delta: 1e-6 },
  { epsilon: 0.1, delta: 1e-5, neighbours: 'replace-one' },
  { epsilon: 8, delta: 1e-9, clip: 2.5 },
  { epsilon: 3, delta: 0.01, clip: 0.1, neighbours: 'replace-one' },
];
/** The same for mechanisms. */
const OF_MECHANISMS = PRIVACY.map(({ clip, ...rest }) =>
  clip === undefined ? rest : { ...rest, clipNorm: clip },
);

// Documents of every kind come whatever the count.

/** Adds the JSON of `dp-ftrl error`, which names the steps and repeats the parameters. */
function addOfCommand({ name, ...parameters }) {
  for (const steps of [4, 7])
    for (const neighbours of ['zero-out', 'replace-one']) {
      const { mechanism, numSteps, ...rest } = dp.error({
        steps,
        neighbours,
        strategy: { name, ...parameters },
      });
      add(`error of the command ${text({ name, ...parameters })}`, {
        mechanism,
        parameters,
        steps: numSteps,
        ...rest,
      });
    }
}
addOfCommand({ name: 'tree' });
addOfCommand({ name: 'haar', normalizeColumns: true });
addOfCommand({ name: 'banded-square-root', bands: 2 });

/** Adds the certificate of sums. */
function addSums(options) {
  const sums = dp.prefixSum(options);
  add(`sums ${text(options)}`, sums.certificate);
  sums.dispose();
}
for (const target of PRIVACY.slice(0, 2)) {
  for (const latticeNoise of ['discrete-gaussian', 'rounded-gaussian'])
    addSums({ mechanism: 'blt', numSteps: 6, ...target, mode: 'lattice', latticeNoise });
  addSums({ mechanism: 'tree', numSteps: 8, ...target });
  const { delta, ...pure } = target;
  addSums({ numSteps: 8, ...pure, pure: true });
  addSums({ numSteps: 8, workload: { window: 1 }, ...pure, pure: true });
  const options = { strategy: 'square-root', steps: 6, ...target };
  add(`certificate ${text(options)}`, dp.certificate(options));
}

for (const target of PRIVACY.slice(0, 2)) {
  const noise = dp.noise({ strategy: 'tree', steps: 6, dimension: 2, increments: true, ...target });
  add(`certificate of noise ${text(target)}`, noise.certificate);
  noise.dispose();
}

/** Adds the certificate of a statistic. */
function addStatistic(options) {
  const statistic = fits(() => dp.statistic(options));
  add(`certificate of ${text(options)}`, statistic?.certificate);
  statistic?.dispose();
}
for (const fixedTimes of [false, true]) {
  const what = {
    statistic: 'histogram',
    categories: ['a', 'b'],
    neighbours: 'replace-one',
    fixedTimes,
  };
  const how = { mechanism: 'square-root', workload: { window: 3 }, numSteps: 8 };
  addStatistic({ ...what, ...how, epsilon: 1, delta: 1e-6 });
}

const searched = plainOf(dp.optimize({ strategy: 'optimal', steps: 6 }).result());
add(
  'certificate with a saved strategy',
  dp.certificate({ strategy: searched, steps: 6, ...PRIVACY[0] }),
  { strategy: searched },
);
const always = documents.splice(0);

for (const steps of HORIZONS)
  for (const strategy of VARIANTS)
    for (const participation of participations(steps)) {
      const options = { strategy, steps, participation };
      // The two forms alternate.
      if (++turn % 3 !== 0) addMechanism(options);
      else {
        const target = PRIVACY[turn % PRIVACY.length];
        add(
          `certificate ${text({ ...options, ...target })}`,
          fits(() => dp.certificate({ ...options, ...target })),
        );
      }
    }

for (const numSteps of [1, 5, 8, 30])
  for (const tree of [{}, { arity: 2 }, { arity: 3, subtractive: true }])
    for (const participation of participations(numSteps)) {
      const { delta, ...target } = OF_MECHANISMS[++turn % PRIVACY.length];
      const bound = ofMechanism(participation);
      const options = { ...tree, numSteps, participation: bound, ...target, pure: true };
      const sums = fits(() => dp.prefixSum(options));
      add(`pure ${text(options)}`, sums?.certificate);
      sums?.dispose();
    }

for (const numSteps of [2, 8, 30])
  for (const bound of participations(numSteps)) {
    const { delta, ...target } = OF_MECHANISMS[++turn % PRIVACY.length];
    const participation = ofMechanism(bound);
    const options = { numSteps, workload: { window: 1 }, participation, ...target, pure: true };
    const sums = fits(() => dp.prefixSum(options));
    add(`pure ${text(options)}`, sums?.certificate);
    sums?.dispose();
  }

for (const [workload] of WORKLOADS)
  for (const strategy of names)
    for (const participation of ['once', { epochs: 2 }])
      addMechanism(
        { strategy, steps: 8, workload, participation },
        { workload: plainOf(workload) },
      );

for (const name of SEARCHED)
  for (const steps of [3, 6, 8])
    for (const objective of ['max', 'mean'])
      for (const participation of participations(steps)) {
        const wanted = { strategy: { name, objective }, steps, participation };
        const saved = fits(() => dp.optimize(wanted).result());
        if (saved === undefined) continue;
        const strategy = plainOf(saved);
        add(`strategy ${text(wanted)}`, strategy);
        const target = PRIVACY[++turn % PRIVACY.length];
        add(
          `certificate of ${text({ ...wanted, ...target })}`,
          fits(() => dp.certificate({ strategy, steps, participation, ...target })),
          { strategy },
        );
      }

for (const [workload] of WORKLOADS)
  for (const objective of ['max', 'mean']) {
    const wanted = { strategy: { name: 'optimal', objective }, steps: 8, workload };
    const saved = fits(() => dp.optimize(wanted).result());
    if (saved) add(`strategy ${text(wanted)}`, plainOf(saved));
  }

const STATISTICS = [
  ...[
    ['prefix', { window: 3 }],
    [{ window: 3 }, { window: 7 }],
    [{ window: 3 }, 'prefix'],
    [{ momentum: 0, decay: 0.5 }, 'prefix'],
  ].map((workloads) => ({ statistic: 'sums', workloads })),
  { statistic: 'moments', ranges: [[-1, 3]] },
  { statistic: 'histogram', categories: ['a', 'b'] },
];
for (const what of STATISTICS)
  for (const numSteps of [1, 8])
    for (const target of OF_MECHANISMS) {
      const { clipNorm, ...rest } = target;
      addStatistic({ ...what, numSteps, ...rest, ...(what.workloads && clipNorm && { clipNorm }) });
    }
for (const what of STATISTICS.filter(({ statistic }) => statistic !== 'sums'))
  for (const mechanism of ['optimal', 'square-root'])
    for (const workload of ['prefix', { window: 3 }])
      for (const participation of ['single', { participations: 2, minSeparation: 1 }])
        for (const fixedTimes of [false, true]) {
          const how = { mechanism, workload, participation, numSteps: 8 };
          const { clipNorm: _, ...privacy } = OF_MECHANISMS[++turn % PRIVACY.length];
          addStatistic({ ...what, ...how, ...privacy, neighbours: 'replace-one', fixedTimes });
        }

for (const value of [0.01, 0.5, 1, 4, 20])
  for (const delta of [1e-12, 1e-6, 0.1])
    for (const kind of ['epsilon', 'mu', 'rho'])
      add(`calibrate ${kind} ${value} ${delta}`, dp.calibrate({ [kind]: value, delta }));

for (const document of always) process.stdout.write(`${text(document)}\n`);
const count = Math.min(Number(process.argv[2] ?? documents.length), documents.length);
for (let i = 0; i < count; ++i) {
  process.stdout.write(`${text(documents[Math.floor((i * documents.length) / count)])}\n`);
}
