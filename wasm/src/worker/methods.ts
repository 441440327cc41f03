// SPDX-License-Identifier: Apache-2.0

// The only table of what a worker does for its client: names and numbers of arguments. Their types
// follow from the library's.

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

/** A stream, with what the library's own streams have besides. */
type Stream = MemoryStream<never, unknown>;

/** Objects that can live in a worker, by the path of the function that makes them. */
interface Objects extends Record<StreamName, Stream> {
  'study.twin': api.Twin;
  'study.comparator': api.Comparator;
  'queries.linear': api.LinearQueries;
  noise: api.Noise;
  'study.simulation': api.Simulation;
}
export type Kind = keyof Objects;
export type Held = Objects[Kind];

/** Members of an object, as its client needs to know them. */
export interface Members {
  /** Whether a property never changes, so that it is sent once. */
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

/** All members of an object: one that is left out does not compile. */
interface All<T> {
  properties: Record<PropertyOf<T>, 'fixed' | 'changing'>;
  methods: Record<MethodOf<T>, number>;
}

const ofExamples = { dimension: 'fixed', numScores: 'fixed' } as const;

const MEMBERS: { readonly [Each in Exclude<Kind, StreamName>]: All<Objects[Each]> } = {
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
    properties: { dimension: 'fixed', numSteps: 'fixed', step: 'changing' },
    methods: { seek: 1, rounded: 2, checkpoint: 0, restore: 1 },
  },
  'study.simulation': {
    properties: {
      ...{ certificate: 'fixed', dimension: 'fixed', numSteps: 'fixed', grid: 'fixed' },
      ...{ learns: 'fixed', classifies: 'fixed', clippingImpossible: 'fixed', lambda: 'fixed' },
      ...{ regretBound: 'fixed', step: 'changing', finished: 'changing' },
    },
    methods: { advance: 2, heldOutRisk: 1 },
  },
};

/** Kinds of objects that are not streams. */
export const OBJECTS = Object.keys(MEMBERS) as Exclude<Kind, StreamName>[];

const OF_STREAMS: Members['properties'] = {
  ...{ steps: 'fixed', certificate: 'fixed', grid: 'fixed', insecure: 'fixed' },
  ...{ step: 'changing', records: 'changing', waiting: 'changing', dropped: 'changing' },
};
/** Verbs of all streams; undefined for those that take a record, or lists of records. */
const VERBS = {
  ...{ add: undefined, addMany: undefined, release: undefined, releaseBatch: undefined },
  ...{ releaseMany: undefined, end: 0, endMany: 1, stddev: 1, halfWidth: 1 },
} as const;

export function isStreamName(kind: Kind): kind is StreamName {
  return (STREAMS as readonly string[]).includes(kind);
}

/** Returns the members of an object that a client can use. */
export function membersOf(kind: Kind, object: Held): Members {
  if (!isStreamName(kind)) return MEMBERS[kind];
  const { given, members } = object as Stream;
  const own = Object.entries(members).map(([name, { arity }]) => [name, arity] as const);
  const methods = [...Object.entries(VERBS), ...own].map(([name, arity]) => [
    name,
    arity ?? given.arity,
  ]);
  return { properties: OF_STREAMS, methods: Object.fromEntries(methods) };
}
