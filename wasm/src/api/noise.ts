// SPDX-License-Identifier: Apache-2.0

// Rows of noise without a sum: for shards, and for those who add integers themselves.

import { optionsObject, outOfRange, Reader, requireCount, wrongType } from '../core/check.js';
import type { Core, CoreFactorization } from '../core/core.js';
import { makeError } from '../core/errors.js';
import { CoreHandle, type Backstop } from '../core/handle.js';
import { KEY_BYTES, withKey } from '../core/key.js';
import type { MechanismName, Noise } from '../types/all.js';
import { ERROR_OPTIONS, readFactorization, readOptions } from './options.js';

const OPTIONS = [
  ...ERROR_OPTIONS,
  'dimension',
  'firstCoordinate',
  'increments',
  'key',
  'insecureSeed',
];
const MAX_SCALE = 2 ** 40;

function requireBytes(where: string, name: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw wrongType(where, name, 'a Uint8Array', value);
}

class CoreNoise extends CoreHandle implements Noise {
  constructor(
    core: Core,
    backstop: Backstop,
    id: number,
    readonly dimension: number,
    readonly numSteps: number,
  ) {
    super(core, backstop, id, 'noise');
  }

  get step(): number {
    return this.core.call('noiseStep', this.id);
  }

  seek(step: number): void {
    this.core.call('noiseSeek', this.id, requireCount('seek', 'step', step, this.numSteps));
  }

  rounded(options: { numRows: number; scale: number }): Float64Array {
    const where = 'rounded';
    const reader = new Reader(where, optionsObject(where, options, ['numRows', 'scale']));
    const scale = reader.number('scale');
    if (!(scale >= 0 && scale <= MAX_SCALE)) {
      throw outOfRange(where, 'scale', 'between 0 and 2^40', scale);
    }
    const left = this.numSteps - this.step;
    const numRows = requireCount(where, 'numRows', reader.number('numRows'), left);
    return this.core.call('noiseRounded', this.id, numRows, scale);
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

export function makeNoise(
  core: Core,
  backstop: Backstop,
  mechanisms: readonly MechanismName[],
  options: unknown,
): Noise {
  const reader = readOptions('noise', options, OPTIONS);
  const complete = {
    ...readFactorization(reader, mechanisms),
    dimension: reader.countOr('dimension', 1),
    firstCoordinate: reader.countOr('firstCoordinate', 0),
    increments: reader.has('increments') && reader.flag('increments'),
    insecureSeed: reader.has('insecureSeed') ? reader.seed('insecureSeed') : undefined,
  };
  if (complete.insecureSeed !== undefined && reader.has('key')) {
    const constraint = 'must be given, or else {insecureSeed}, and only one of them';
    throw makeError('wrong_type', 'noise', { parameter: 'key', constraint, value: 'both' });
  }
  const make = (given: CoreFactorization & object) => {
    const id = core.call('noiseCreate', given);
    return new CoreNoise(core, backstop, id, complete.dimension, complete.numSteps);
  };
  return withKey('noise', complete, make, readKey(reader));
}
