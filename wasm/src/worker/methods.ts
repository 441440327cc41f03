// SPDX-License-Identifier: Apache-2.0

// The only table of what a worker does for its client. Messages, worker, client and types follow
// it.

import type * as api from '../types/all.js';

/**
 * Functions of the library by their path, with the number of their arguments, grouped by what a call
 * takes in addition: nothing, a signal, or a signal and `onProgress`.
 */
export const FUNCTIONS = {
  plain: {
    ...{ strategies: 0, liveHandles: 0, calibrate: 1 },
    ...{ 'queries.randomizedResponse': 1, 'queries.estimateCount': 1, learnPlan: 1 },
  },
  abortable: {
    ...{ bounds: 1, learn: 1, 'study.regretBounds': 2, predict: 2 },
    ...{ 'queries.choose': 1, 'queries.winner': 1, 'queries.quantile': 1 },
  },
  searching: {
    ...{ error: 1, errorPerStep: 1, incrementStddevs: 1, matrices: 1 },
    ...{ compare: 1, optimize: 1, certificate: 1 },
  },
} as const satisfies Record<string, { [path: string]: number }>;

/** The last name of a path, by which errors call a function. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** Returns the object of a path, and the name of its member there. */
export function placeAt(root: object, path: string): { object: object; name: string } {
  const [name, ...folders] = path.split('.').reverse();
  const object = folders.reverse().reduce((at, it) => (at as Record<string, object>)[it]!, root);
  return { object, name: name! };
}

/** Functions that make streams, whose verbs are the same. */
export const STREAMS = [
  'counter',
  'totals',
  'sums',
  'moments',
  'histogram',
  'learner',
  'gradientLearner',
] as const;
export type StreamName = (typeof STREAMS)[number];

/**
 * Verbs of streams, with the number of their arguments; undefined for those that take a record, or
 * lists of records.
 */
export const VERBS = {
  ...{ add: undefined, addMany: undefined, release: undefined, releaseBatch: undefined },
  ...{ releaseMany: undefined, end: 0, endMany: 1, stddev: 1, halfWidth: 1 },
} as const;
export type Verb = keyof typeof VERBS;

/** Kinds of calls, by the options they take. */
export type Takes = keyof typeof FUNCTIONS;
export type FunctionName = { [Each in Takes]: keyof (typeof FUNCTIONS)[Each] }[Takes];

/** Objects that can live in a worker, by the path of the function that makes them. */
export interface Objects {
  'study.twin': api.Twin;
  'study.comparator': api.Comparator;
  'queries.linear': api.LinearQueries;
  noise: api.Noise;
  'study.simulation': api.Simulation;
}
export type Kind = keyof Objects;

/** Contents of an argument with many rows: `dimension` numbers per row, or one entry per row. */
type Column = 'record' | 'entry';

interface Members<T> {
  /** Properties that are sent with the object, and never change. */
  facts: readonly (keyof T)[];
  /** Other properties and short methods, with the number of arguments. */
  asks: { [Name in keyof T]?: number };
  /** Methods that also take a signal, with the number of their other arguments. */
  calls?: { [Name in keyof T]?: number };
  /** Methods on many rows, with their arguments. They run in pieces and report progress. */
  batches?: { [Name in keyof T]?: readonly Column[] };
}

const ofHindsight = ['dimension', 'numScores'] as const;

export const OBJECTS = {
  'study.twin': {
    facts: ofHindsight,
    asks: { endBatch: 0, weights: 0 },
    batches: { learn: ['record', 'entry'] },
  },
  'study.comparator': {
    facts: ofHindsight,
    asks: {},
    calls: { best: 0 },
    batches: { append: ['record', 'entry'] },
  },
  'queries.linear': {
    facts: [
      'numQueries',
      'numValues',
      'numMeasurements',
      'neighbours',
      'noise',
      'mu',
      'unitError',
      'lowerBound',
      'ratio',
      'textbookRatio',
      'standardErrors',
    ],
    asks: { label: 1, labels: 0 },
    calls: { bounds: 0, matrices: 0, release: 2 },
  },
  noise: {
    facts: ['dimension', 'numSteps'],
    asks: { step: 0, seek: 1, checkpoint: 0 },
    calls: { rounded: 1 },
  },
  'study.simulation': {
    facts: [
      'certificate',
      'dimension',
      'numSteps',
      'learns',
      'classifies',
      'clippingImpossible',
      'grid',
      'lambda',
      'regretBound',
    ],
    asks: {},
    calls: { heldOutRisk: 1 },
  },
} as const satisfies { [Each in Kind]: Members<Objects[Each]> };

type Table = typeof OBJECTS;
type KeysOf<K extends Kind, Part extends keyof Members<never>> = Table[K] extends {
  [Each in Part]: infer Names;
}
  ? keyof Names
  : never;

/** Facts of an object, as they are when it is made. */
export type Info<K extends Kind> = Pick<Objects[K], Table[K]['facts'][number] & keyof Objects[K]>;
/** Names of the properties and methods that a client can use. */
export type Asked<K extends Kind> = KeysOf<K, 'asks'> | KeysOf<K, 'calls'> | KeysOf<K, 'batches'>;
/** Names of the methods on many rows. */
export type BatchMethod = { [Each in Kind]: KeysOf<Each, 'batches'> }[Kind];
/** Kinds of objects that have methods on many rows. */
export type StreamKind = {
  [Each in Kind]: Table[Each] extends { batches: unknown } ? Each : never;
}[Kind];
export type Stream = Objects[StreamKind];

/** Returns the columns of a batch. */
export function columnsOf(kind: Kind, method: BatchMethod): readonly Column[] {
  const { batches } = OBJECTS[kind] as { batches?: Record<string, readonly Column[]> };
  return batches?.[method] ?? [];
}
