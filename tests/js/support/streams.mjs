// SPDX-License-Identifier: Apache-2.0

// Streams of every kind, of records and of people, for laws that hold in every place.

const ROWS = [
  [3, 4],
  [1, 1],
  [0, 0],
  [-1, 2],
  [0.5, 0.25],
  [1, 0],
  [0, 1],
  [2, 2],
];
/** Features and labels of examples. */
const EXAMPLES = ROWS.map((features, i) => [features, i % 3 === 0 ? 1 : 0]);
const BAD_EXAMPLES = [
  [[[1, Number.NaN], 1], 'features[1]'],
  [[[1], 1], 'features'],
  [[7, 1], 'features'],
  [[[1, 2], 0.5], 'label'],
  [[[1, 2], '1'], 'label'],
  [[[1, 2]], 'label'],
];
/** The slopes and losses of half a squared error. */
const squares = (scores, labels) => {
  const slopes = scores.map((score, i) => score - labels[i]);
  return { slopes, values: slopes.map((slope) => slope ** 2 / 2) };
};
const BAD_GRADIENTS = [
  [[1, Number.NaN], 'gradient[1]'],
  [[1], 'gradient'],
  [7, 'gradient'],
];

/**
 * Kinds of streams: options, records, and records that are refused with the parameter at fault.
 * Kinds `ofRecordsOnly` refuse people.
 */
export const KINDS = {
  counter: {
    kind: 'counter',
    options: { clip: 3 },
    records: [3, 1, 0, 2.5, 1, 1, 2, 0.5],
    bad: [
      [Number.NaN, 'amount'],
      [Number.NEGATIVE_INFINITY, 'amount'],
      ['1', 'amount'],
      [null, 'amount'],
      [[1], 'amount'],
    ],
  },
  'counter without a delta': {
    kind: 'counter',
    options: { delta: 0, strategy: { name: 'tree-k', arity: 3 }, clip: 3 },
    records: [3, 1, 0, 2.5, 1, 1, 2, 0.5],
    bad: [[Number.NaN, 'amount']],
  },
  'counter on a lattice': {
    kind: 'counter',
    options: { lattice: 'discrete-gaussian', strategy: 'honaker', clip: 3 },
    records: [3, 1, 0, 2.5, 1, 1, 2, 0.5],
    bad: [[Number.NaN, 'amount']],
  },
  'counter of a window': {
    kind: 'counter',
    options: { workload: { window: 3 }, neighbours: 'replace-one' },
    records: [1, 1, 0, 0.5, 1, 1, 1, 0.5],
    bad: [[Number.NaN, 'amount']],
  },
  totals: {
    kind: 'totals',
    options: { dimension: 2, clip: 5 },
    records: ROWS,
    flat: true,
    bad: [
      [[1, Number.NaN], 'record[1]'],
      [[Number.POSITIVE_INFINITY, 0], 'record[0]'],
      [[1], 'record'],
      [[1, 2, 3], 'record'],
      [[], 'record'],
      [['1', 2], 'record[0]'],
      [7, 'record'],
    ],
  },
  sums: {
    kind: 'sums',
    options: { workloads: { all: 'prefix', week: { window: 2 } }, importance: { all: 1, week: 2 } },
    records: [1, 0.5, 1, 0, 0.25, 1, 1, 0],
    bad: [[Number.NaN, 'amount']],
  },
  'sums of rows': {
    kind: 'sums',
    options: { workloads: { all: 'prefix', week: { window: 2 } }, dimension: 2 },
    records: [
      [0.6, 0.8],
      [0, 1],
      [1, 0],
      [0, 0],
      [0.1, 0.2],
      [0, 1],
      [1, 0],
      [0.6, 0.8],
    ],
    flat: true,
    bad: [
      [[1, Number.NaN], 'record[1]'],
      [[1], 'record'],
    ],
  },
  moments: {
    kind: 'moments',
    options: { columns: { age: [0, 100], height: [1, 2] }, covariance: true },
    records: [30, 70, 200, -5, 18, 41, 55, 99].map((age, i) => ({ age, height: 1 + i / 8 })),
    bad: [
      [{ age: Number.NaN, height: 1 }, 'record.age'],
      [{ age: 1, height: Number.POSITIVE_INFINITY }, 'record.height'],
      [{ age: 1 }, 'record.height'],
      [{ age: '1', height: 1 }, 'record.age'],
      [[1, 2], 'record'],
      [null, 'record'],
      [Object.create({ age: 1, height: 1 }), 'record.age'],
    ],
  },
  histogram: {
    kind: 'histogram',
    options: { categories: ['tea', 'coffee'], other: 'else' },
    records: ['tea', 'milk', 'coffee', 'coffee', 'else', '', 'tea', 'tea'],
    bad: [
      [1, 'category'],
      [undefined, 'category'],
    ],
  },
  increments: {
    kind: 'increments',
    options: { dimension: 2, clip: 5 },
    records: ROWS,
    flat: true,
    bad: [
      [[1, Number.NaN], 'record[1]'],
      [[1], 'record'],
    ],
  },
  'increments that come clipped': {
    kind: 'increments',
    options: { dimension: 2, clippedTo: 0.5 },
    records: ROWS,
    flat: true,
    ofRecordsOnly: true,
    bad: [
      [[1, Number.NaN], 'record[1]'],
      [[1, 1e300], 'record'],
    ],
  },
  gradientLearner: {
    kind: 'gradientLearner',
    options: { dimension: 2, clip: 5, rate: 0.1, momentum: 0.5, radius: 2, start: [1, -1] },
    records: ROWS,
    flat: true,
    bad: BAD_GRADIENTS,
    learns: true,
  },
  learner: {
    kind: 'learner',
    options: { dimension: 2, clip: 0.5, radius: 2, doubling: true },
    records: EXAMPLES,
    parts: true,
    bad: BAD_EXAMPLES,
    learns: true,
  },
  'learner of classes by descent': {
    kind: 'learner',
    options: {
      dimension: 2,
      domain: 'whole-space',
      loss: { softmax: 2 },
      descent: { momentum: 0.5, rates: [1, 0.5, 0.25] },
    },
    records: EXAMPLES,
    parts: true,
    bad: BAD_EXAMPLES.slice(0, 3),
    learns: true,
  },
  "learner by the caller's loss": {
    kind: 'learner',
    options: { dimension: 2, loss: squares, lattice: 'rounded-gaussian', strategy: 'honaker' },
    records: EXAMPLES,
    parts: true,
    bad: BAD_EXAMPLES.slice(1, 3),
    learns: true,
  },
  'gradientLearner by Adam': {
    kind: 'gradientLearner',
    options: { dimension: 2, rate: 0.1, rule: { adam: { beta1: 0.8 } } },
    records: ROWS,
    flat: true,
    bad: BAD_GRADIENTS,
    learns: true,
  },
};

export const NAMES = ['ann', 'bob', 'ann', 'carl', 'ann', 'bob', 'ann', 'bob'];
/**
 * Options of streams of people: the earliest steps of each person that fit this bound are counted.
 */
export const PEOPLE = { people: { times: 2, apart: 2 } };

export const TARGET = {
  steps: 8,
  epsilon: 1,
  delta: 1e-6,
  strategy: 'square-root',
  insecureSeed: 3,
};

/** Records of `active`: people and nothing else, each of them once. */
const SOMEBODY = ['ann', 'bob', 'carl', 'dora', 'emil', 'fay', 'gus', 'hal'];
const { strategy: _, ...OF_ACTIVE } = TARGET;
const ACTIVE = {
  name: 'active',
  kind: 'active',
  options: { ...OF_ACTIVE, windows: { day: 1, week: 3 } },
  numRecords: SOMEBODY.length,
  one: (i) => [SOMEBODY[i]],
  many: (from, to) => [SOMEBODY.slice(from, to)],
  bad: [
    { args: [''], parameter: 'person' },
    { args: [7], parameter: 'person' },
    { args: [], parameter: 'person' },
    { args: ['\ud800'], parameter: 'person' },
  ],
  isOfPeople: true,
  learns: false,
  nothing: [[]],
};

const OF_RECORDS = Object.entries(KINDS).flatMap(([name, row]) =>
  (row.ofRecordsOnly ? [false] : [false, true]).map((isOfPeople) => {
    const { kind, options, records, flat = false, parts = false, bad, learns = false } = row;
    const listed = (from, to) => {
      const part = records.slice(from, to);
      const lists = parts
        ? [part.flatMap(([features]) => features), part.map(([, label]) => label)]
        : [flat ? part.flat() : part];
      return isOfPeople ? [NAMES.slice(from, to), ...lists] : lists;
    };
    const argsOf = (person, record) => [
      ...(isOfPeople ? [person] : []),
      ...(parts ? record : [record]),
    ];
    return {
      name: isOfPeople ? `${name} of people` : name,
      kind,
      options: { ...TARGET, ...options, ...(isOfPeople && PEOPLE) },
      numRecords: records.length,
      one: (i) => argsOf(NAMES[i], records[i]),
      many: listed,
      bad: bad.map(([record, parameter]) => ({
        args: argsOf('ann', record),
        parameter,
      })),
      isOfPeople,
      learns,
      /** No records. */
      nothing: listed(0, 0),
    };
  }),
);

/** All kinds, of records and of people, with the arguments of their verbs. */
export const CASES = [...OF_RECORDS, ACTIVE];

/** One case of each kind, of records and of people, in their order. */
export const EACH_KIND = CASES.filter(({ name, kind }) => name.replace(' of people', '') === kind);

/** First number of a reading, with its deviation. */
export function firstOf(reading) {
  const { count, sums, stddev, total, active } = reading;
  if (stddev !== undefined) return reading;
  if (active !== undefined) return Object.values(active)[0];
  if (sums !== undefined) return Object.values(sums)[0];
  return total ?? count;
}

export function estimatesOf(value) {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  if ('stddev' in value && typeof value.stddev === 'number') return [value];
  return Object.values(value).flatMap(estimatesOf);
}
