// SPDX-License-Identifier: Apache-2.0

// The only table of what a worker does for its client: names and numbers of arguments. Types follow
// from the library.

import type * as api from '../types/all.js';
import type { MemoryStream } from '../api/streams/stream.js';

/** Functions and properties of the library by their path, with the number of their arguments. */
export const FUNCTIONS = {
  ...{ strategies: 0, liveHandles: 0, calibrate: 1, bounds: 1, learn: 1, learnPlan: 1, predict: 2 },
  ...{ error: 1, compare: 1, optimize: 1, certificate: 1, 'study.regretBounds': 2 },
  ...{ 'queries.randomizedResponse': 1, 'queries.estimateCount': 1 },
  ...{ 'queries.choose': 1, 'queries.winner': 1, 'queries.quantile': 1 },
} as const satisfies { [path: string]: number };
export type FunctionName = keyof typeof FUNCTIONS;

/** The last name of a path, by which errors refer to a function. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

export function placeAt(root: object, path: string): { object: object; name: string } {
  const [name, ...folders] = path.split('.').reverse();
  const object = folders.reverse().reduce((at, it) => (at as Record<string, object>)[it]!, root);
  return { object, name: name! };
}

export type StreamPath = keyof api.Streams;

/**
 * For each function that makes streams, the parts of its readings that are keyed by the caller's
 * names, and the nesting depth of these names.
 */
export const NAMED_PARTS: Readonly<Record<StreamPath, Readonly<Record<string, number>>>> = {
  counter: {},
  totals: {},
  sums: { sums: 1 },
  moments: { mean: 1, variance: 1, standardDeviation: 1, covariance: 2 },
  histogram: { count: 1, share: 1 },
  increments: {},
  active: { active: 1 },
  learner: {},
  gradientLearner: {},
};
export const STREAMS = Object.keys(NAMED_PARTS) as StreamPath[];

/** A stream, with the internal members of the library's own streams. */
type AnyStream = MemoryStream<never, unknown>;

/** Objects that can live in a worker, by the path of the function that makes them. */
interface Objects extends Record<StreamPath, AnyStream> {
  'study.twin': api.Twin;
  'study.comparator': api.Comparator;
  'queries.linear': api.LinearQueries;
  noise: api.Noise;
  'study.simulation': api.Simulation;
}
export type ObjectPath = keyof Objects;
export type WorkerObject = Objects[ObjectPath];

/** Members of an object, as far as its client needs to know them. */
export interface Members {
  /** Whether a property can change; a fixed one is sent once. */
  readonly properties: Readonly<Record<string, 'fixed' | 'changing'>>;
  /** Methods, with the number of their arguments. */
  readonly methods: Readonly<Record<string, number>>;
}

type MethodOf<T> = keyof {
  [Name in Exclude<keyof T, keyof api.Handle> as T[Name] extends (...args: never[]) => unknown
    ? Name
    : never]: T[Name];
};
type PropertyOf<T> = Exclude<keyof T, keyof api.Handle | MethodOf<T>>;

/** All members of an object: a table that lacks one does not compile. */
interface MemberTable<T> {
  properties: Record<PropertyOf<T>, 'fixed' | 'changing'>;
  methods: Record<MethodOf<T>, number>;
}

const ofExamples = { dimension: 'fixed', numScores: 'fixed' } as const;

const MEMBERS: { readonly [Each in Exclude<ObjectPath, StreamPath>]: MemberTable<Objects[Each]> } =
  {
    'study.twin': { properties: ofExamples, methods: { learn: 2, endBatch: 0, weights: 0 } },
    'study.comparator': { properties: ofExamples, methods: { append: 2, best: 0 } },
    'queries.linear': {
      properties: {
        ...{ numQueries: 'fixed', numValues: 'fixed', numMeasurements: 'fixed', noise: 'fixed' },
        ...{ neighbours: 'fixed', mu: 'fixed', unitError: 'fixed', lowerBound: 'fixed' },
        ...{ ratio: 'fixed', textbookRatio: 'fixed', standardErrors: 'fixed' },
      },
      methods: { label: 1, labels: 0, bounds: 0, matrices: 0, release: 2 },
    },
    noise: {
      properties: { dimension: 'fixed', steps: 'fixed', step: 'changing' },
      methods: { seek: 1, rounded: 2, checkpoint: 0, restore: 1 },
    },
    'study.simulation': {
      properties: {
        ...{ certificate: 'fixed', dimension: 'fixed', steps: 'fixed', grid: 'fixed' },
        ...{ learns: 'fixed', classifies: 'fixed', clippingImpossible: 'fixed', lambda: 'fixed' },
        ...{ regretBound: 'fixed', step: 'changing', finished: 'changing' },
      },
      methods: { advance: 2, heldOutRisk: 1 },
    },
  };

/** Kinds of objects that are not streams. */
export const OBJECTS = Object.keys(MEMBERS) as Exclude<ObjectPath, StreamPath>[];

const OF_STREAMS: Members['properties'] = {
  ...{ steps: 'fixed', certificate: 'fixed', grid: 'fixed', insecure: 'fixed' },
  ...{ step: 'changing', records: 'changing', waiting: 'changing', dropped: 'changing' },
};
/**
 * Methods of all streams, with the number of their arguments; undefined for methods that take a
 * record, or lists of records.
 */
const VERBS = {
  ...{ add: undefined, addMany: undefined, release: undefined, releaseBatch: undefined },
  ...{ releaseMany: undefined, end: 0, endMany: 1, stddev: 1, halfWidth: 1 },
} as const;

export function isStreamName(kind: ObjectPath): kind is StreamPath {
  return kind in NAMED_PARTS;
}

/** Members of an object that a client can use. */
export function membersOf(kind: ObjectPath, object: WorkerObject): Members {
  if (!isStreamName(kind)) return MEMBERS[kind];
  const { given, members } = object as AnyStream;
  const own = Object.entries(members).map(([name, { arity }]) => [name, arity] as const);
  const methods = [...Object.entries(VERBS), ...own].map(([name, arity]) => [
    name,
    arity ?? given.arity,
  ]);
  return { properties: OF_STREAMS, methods: Object.fromEntries(methods) };
}
