// SPDX-License-Identifier: Apache-2.0

// Rows of noise alone, for shards and for callers who add them to integers themselves.

import { optionsObject, outOfRange, Reader, readOptions } from '../core/check.js';
import { requireCount, roomFor, wrongType } from '../core/check.js';
import type { CoreFactorization } from '../core/core.js';
import { asErrorsOf, makeError } from '../core/errors.js';
import { CoreHandle, type Instance } from '../core/handle.js';
import { KEY_BYTES, withKey } from '../core/key.js';
import type { Noise } from '../types/all.js';
import { readFactorization } from './options.js';
import { STRATEGY_WORDS } from './problem.js';

const OWN = ['dimension', 'firstCoordinate', 'increments', 'key', 'insecureSeed'];
const OPTIONS = [...STRATEGY_WORDS, ...OWN];
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
    readonly steps: number,
  ) {
    super(instance, id, 'noise');
  }

  get step(): number {
    return this.core.call('noiseStep', this.id);
  }

  seek(step: number): void {
    this.core.call('noiseSeek', this.id, requireCount('seek', 'step', step, this.steps));
  }

  rounded(options: { numRows: number; scale: number }, out?: Float64Array): Float64Array {
    const where = 'rounded';
    const reader = new Reader(where, optionsObject(where, options, ['numRows', 'scale']));
    const scale = reader.number('scale');
    if (!(scale >= 0 && scale <= MAX_SCALE)) {
      throw outOfRange(where, 'scale', 'between 0 and 2^40', scale);
    }
    const left = this.steps - this.step;
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

function begin(instance: Instance, reader: Reader): Noise {
  const { core, mechanisms } = instance;
  const complete = {
    ...readFactorization(reader, mechanisms),
    dimension: reader.countOr('dimension', 1),
    firstCoordinate: reader.countOr('firstCoordinate', 0),
    increments: reader.flagOr('increments', false),
    insecureSeed: reader.seedOr('insecureSeed', undefined),
  };
  if (complete.insecureSeed !== undefined && reader.has('key')) {
    const constraint = 'must be given, or else {insecureSeed}, and only one of them';
    throw makeError('wrong_type', 'noise', { parameter: 'key', constraint, value: 'both' });
  }
  const { dimension, steps } = complete;
  const make = (given: CoreFactorization & object): Noise =>
    new CoreNoise(instance, core.call('noiseCreate', given), dimension, steps);
  return withKey('noise', complete, make, readKey(reader));
}

export function makeNoise(instance: Instance, options: unknown): Noise {
  const reader = readOptions('noise', options, OPTIONS);
  return asErrorsOf('noise', () => begin(instance, reader));
}
