// SPDX-License-Identifier: Apache-2.0

// Rows of noise without a sum, for shards and for callers who add integers themselves; and noise
// for sums of gradients that the caller clips.

import { float64s, optionsObject, outOfRange, overwrite, Reader } from '../core/check.js';
import { requireCount, roomFor, Scratch, writableLength, wrongType } from '../core/check.js';
import type { CoreFactorization } from '../core/core.js';
import { asErrorsOf, makeError } from '../core/errors.js';
import { CoreHandle, type Instance } from '../core/handle.js';
import { KEY_BYTES, withKey } from '../core/key.js';
import type { Certificate, GradientNoise, MechanismName, Noise } from '../types/all.js';
import { readFactorization, readMechanism, readOptions, requireLength } from './options.js';
import { readProblemWords, STRATEGY_WORDS } from './problem.js';
import { inWords } from './streams/words.js';

/** Options of a privacy target, which `addNoiseTo` needs. */
const TARGET_OPTIONS = ['epsilon', 'delta', 'clip', 'neighbours', 'grid'];
const OWN = ['dimension', 'firstCoordinate', 'increments', 'key', 'insecureSeed'];
const OPTIONS = [...STRATEGY_WORDS, ...TARGET_OPTIONS, ...OWN];
const MAX_SCALE = 2 ** 40;

function requireBytes(where: string, name: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw wrongType(where, name, 'a Uint8Array', value);
}

class CoreNoise extends CoreHandle implements Noise {
  constructor(
    instance: Instance,
    id: number,
    readonly dimension: number,
    readonly numSteps: number,
  ) {
    super(instance, id, 'noise');
  }

  get step(): number {
    return this.core.call('noiseStep', this.id);
  }

  seek(step: number): void {
    this.core.call('noiseSeek', this.id, requireCount('seek', 'step', step, this.numSteps));
  }

  rounded(options: { numRows: number; scale: number }, out?: Float64Array): Float64Array {
    const where = 'rounded';
    const reader = new Reader(where, optionsObject(where, options, ['numRows', 'scale']));
    const scale = reader.number('scale');
    if (!(scale >= 0 && scale <= MAX_SCALE)) {
      throw outOfRange(where, 'scale', 'between 0 and 2^40', scale);
    }
    const left = this.numSteps - this.step;
    const numRows = requireCount(where, 'numRows', reader.number('numRows'), left);
    const { rows, view } = roomFor(where, numRows * this.dimension, Float64Array, out);
    this.core.call('noiseRounded', this.id, view, numRows, scale);
    return rows;
  }

  checkpoint(): Uint8Array {
    return this.core.call('noiseCheckpoint', this.id);
  }

  restore(bytes: Uint8Array): void {
    this.core.call('noiseRestore', this.id, requireBytes('restore', 'bytes', bytes));
  }
}

/** Facts of noise with a privacy target. */
interface Facts {
  dimension: number;
  numSteps: number;
  certificate: Certificate;
  grid: number;
  insecure: boolean;
}

class CoreGradientNoise extends CoreNoise implements GradientNoise {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly insecure: boolean;
  private readonly scratch = new Scratch();

  constructor(instance: Instance, id: number, facts: Facts) {
    super(instance, id, facts.dimension, facts.numSteps);
    this.certificate = Object.freeze({ ...facts.certificate, clipping: 'by the caller' as const });
    this.grid = facts.grid;
    this.insecure = facts.insecure;
  }

  addNoiseTo(sum: ArrayLike<number>, step: number, out?: Float64Array): Float64Array {
    const where = 'addNoiseTo';
    const name = 'sum';
    const values =
      out === undefined ? float64s(where, name, sum) : this.scratch.copy(where, name, sum);
    requireLength(where, name, values.length, this.dimension);
    if (out !== undefined) {
      requireLength(where, 'out', writableLength(where, 'out', out), this.dimension);
    }
    requireCount(where, 'step', step, Number.MAX_SAFE_INTEGER);
    asErrorsOf(where, () => this.core.call('noiseAddTo', this.id, values, step));
    if (out === undefined) return values;
    overwrite(out, values);
    return out;
  }
}

function readKey(reader: Reader): Uint8Array | undefined {
  if (!reader.has('key')) return undefined;
  const key = requireBytes('noise', 'key', reader.raw('key'));
  if (key.length === KEY_BYTES) return key;
  throw makeError('wrong_length', reader.where, {
    parameter: 'key',
    constraint: `must have ${KEY_BYTES} bytes`,
    value: String(key.length),
  });
}

/** Reads the privacy target, if one is given. It is for increments of all coordinates. */
function readTarget(reader: Reader, mechanisms: readonly MechanismName[]) {
  const given = TARGET_OPTIONS.find((name) => reader.has(name));
  if (given === undefined) return undefined;
  const { where } = reader;
  if (!reader.flagOr('increments', false)) {
    throw outOfRange(where, given, 'left out, or {increments} true', reader.raw(given));
  }
  if (reader.countOr('firstCoordinate', 0) !== 0) {
    throw outOfRange(
      where,
      'firstCoordinate',
      'left out with {epsilon}: a shard has no norm',
      reader.raw('firstCoordinate'),
    );
  }
  const mechanism = readMechanism(readProblemWords(reader), mechanisms);
  return { ...mechanism, grid: reader.numberOr('grid', undefined) };
}

function begin(instance: Instance, reader: Reader): Noise {
  const { core, mechanisms } = instance;
  const target = readTarget(reader, mechanisms);
  const complete = {
    ...(target ?? readFactorization(readProblemWords(reader), mechanisms)),
    dimension: reader.countOr('dimension', 1),
    firstCoordinate: reader.countOr('firstCoordinate', 0),
    increments: reader.flagOr('increments', false),
    insecureSeed: reader.seedOr('insecureSeed', undefined),
  };
  const insecure = complete.insecureSeed !== undefined;
  if (insecure && reader.has('key')) {
    const constraint = 'must be given, or else {insecureSeed}, and only one of them';
    throw makeError('wrong_type', 'noise', { parameter: 'key', constraint, value: 'both' });
  }
  const { dimension, numSteps } = complete;
  const make = (given: CoreFactorization & object): Noise => {
    const { id, certificate, grid } = core.call('noiseCreate', given);
    if (certificate === undefined) return new CoreNoise(instance, id, dimension, numSteps);
    const facts = { dimension, numSteps, certificate, grid: grid!, insecure };
    return new CoreGradientNoise(instance, id, facts);
  };
  return withKey('noise', complete, make, readKey(reader));
}

export function makeNoise(instance: Instance, options: unknown): Noise {
  const reader = readOptions('noise', options, OPTIONS);
  return inWords('noise', () => begin(instance, reader));
}
