// SPDX-License-Identifier: Apache-2.0

// Prints certificates over the catalogue, workloads and participation at small horizons, one JSON
// object per line: {title, document, workload?, strategy?}. For tests/certificates/check.py.
//
//   usage: node tests/certificates/generate.mjs [COUNT]      (evenly spaced; default: all of them)
//
// A few documents of every kind are added in any case.

import { importEntry } from '../js/support/consumer.mjs';
import { WORKLOADS } from '../js/support/mechanisms.mjs';
import { EACH_KIND } from '../js/support/streams.mjs';

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
/** Mechanisms whose numbers a search finds, so that their certificates need the saved strategy. */
const SEARCHED = ['optimal', 'banded', 'blt', 'blt-normalized', 'blt-scaled', 'banded-toeplitz'];

function participations(steps) {
  return [
    'once',
    ...[2, 3, 4].filter((k) => steps % k === 0 && steps > k).map((epochs) => ({ epochs })),
    { times: 2, apart: 2 },
    { times: 3, apart: 1 },
  ];
}

/** Result of `make`; undefined if it refuses its options. */
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

/** Adds the result of `error`, unless it is refused. */
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
// Documents of every kind are added whatever the count.

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

/** Adds the certificate of a stream, unless it is refused. */
function addStream(kind, options) {
  const stream = fits(() => dp[kind](options));
  if (stream === undefined) return;
  // The errors of several workloads stand beside the claims of all.
  const { workloads, ...certificate } = stream.certificate;
  add(`certificate of ${kind} ${text(options)}`, certificate);
  stream.dispose();
}
/** Kinds of streams whose certificates the verifier does not read. */
const UNREAD = ['active', 'learner'];
for (const { kind, options, isOfPeople } of EACH_KIND)
  if (!isOfPeople && !UNREAD.includes(kind)) addStream(kind, options);
for (const target of PRIVACY.slice(0, 2)) {
  for (const lattice of ['discrete-gaussian', 'rounded-gaussian'])
    addStream('counter', { strategy: 'blt', steps: 6, ...target, lattice });
  addStream('counter', { strategy: 'tree', steps: 8, ...target });
  addStream('counter', { steps: 8, ...target, delta: 0 });
  addStream('counter', { steps: 8, workload: { window: 1 }, ...target, delta: 0 });
  const options = { strategy: 'square-root', steps: 6, ...target };
  add(`certificate ${text(options)}`, dp.certificate(options));
}

for (const target of PRIVACY.slice(0, 2))
  addStream('increments', { strategy: 'tree', steps: 6, dimension: 2, clippedTo: 1, ...target });

for (const fixedTimes of [false, true]) {
  const what = { categories: ['a', 'b'], neighbours: 'replace-one', fixedTimes };
  const how = { strategy: 'square-root', workload: { window: 3 }, steps: 8 };
  addStream('histogram', { ...what, ...how, epsilon: 1, delta: 1e-6 });
}

const searched = plainOf(dp.optimize({ strategy: 'optimal', steps: 6 }).result());
add(
  'certificate with a saved strategy',
  dp.certificate({ strategy: searched, steps: 6, ...PRIVACY[0] }),
  { strategy: searched },
);
const encoder = [[1], [0.5, 1], [-0.25, 0.5, 2], [0.125, 0.25, 0.5, 1]];
add(
  'certificate with an encoder',
  dp.certificate({ strategy: { encoder }, steps: 4, ...PRIVACY[0] }),
  { encoder },
);
const always = documents.splice(0);

for (const steps of HORIZONS)
  for (const strategy of VARIANTS)
    for (const participation of participations(steps)) {
      const options = { strategy, steps, participation };
      // One document of three is a certificate, the others are errors.
      if (++turn % 3 !== 0) addMechanism(options);
      else {
        const target = PRIVACY[turn % PRIVACY.length];
        add(
          `certificate ${text({ ...options, ...target })}`,
          fits(() => dp.certificate({ ...options, ...target })),
        );
      }
    }

for (const steps of [1, 5, 8, 30])
  for (const tree of [{}, { arity: 2 }, { arity: 3, subtractive: true }])
    for (const participation of participations(steps)) {
      const target = { ...PRIVACY[++turn % PRIVACY.length], delta: 0 };
      const strategy = { name: 'tree-k', ...tree };
      addStream('counter', { strategy, steps, participation, ...target });
    }

for (const steps of [2, 8, 30])
  for (const participation of participations(steps)) {
    const target = { ...PRIVACY[++turn % PRIVACY.length], delta: 0 };
    addStream('counter', { steps, workload: { window: 1 }, participation, ...target });
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
  ['moments', { columns: { x: [-1, 3] } }],
  ['histogram', { categories: ['a', 'b'] }],
];
const SUMS = [
  ['prefix', { window: 3 }],
  [{ window: 3 }, { window: 7 }],
  [{ window: 3 }, 'prefix'],
  [{ momentum: 0, decay: 0.5 }, 'prefix'],
].map(([first, second]) => ['sums', { workloads: { first, second } }]);
for (const [kind, what] of [...SUMS, ...STATISTICS])
  for (const steps of [1, 8])
    for (const { clip, ...privacy } of PRIVACY)
      addStream(kind, { ...what, steps, ...privacy, ...(kind === 'sums' && clip && { clip }) });
for (const [kind, what] of STATISTICS)
  for (const strategy of ['optimal', 'square-root'])
    for (const workload of ['prefix', { window: 3 }])
      for (const participation of ['once', { times: 2, apart: 1 }])
        for (const fixedTimes of [false, true]) {
          const how = { strategy, workload, participation, steps: 8 };
          const { clip: _, ...privacy } = PRIVACY[++turn % PRIVACY.length];
          addStream(kind, { ...what, ...how, ...privacy, neighbours: 'replace-one', fixedTimes });
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
