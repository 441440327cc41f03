// SPDX-License-Identifier: Apache-2.0

import { outOfRange, Reader, readOptions, wrongType } from '../../core/check.js';
import type { CoreSimulation } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { readPrefixMechanism, readTable } from '../options.js';
import type { Piece } from '../streams/stream.js';
import { joinChunks } from './chunks.js';
import { requireNamedLoss } from './learner.js';
import { readLearnerLoss, RULE_OPTIONS } from './loss.js';
import type { AdvanceOptions, HeldOutRisk, Simulation } from '../../types/all.js';
import type { SimulationChunk } from '../../types/all.js';

const STREAMS = [
  'stationary',
  'drifting',
  'switching',
  'heavy-tailed',
  'sparse',
  'adversarial',
] as const;

const OPTIONS = [
  ...['steps', 'epsilon', 'delta', 'participation', 'neighbours', 'strategy', 'clip'],
  ...['dimension', 'stream', 'streamSeed', 'noiseSeed', 'table', 'numRegretPrefixes'],
  ...['loss', 'doubling', 'batchSize', ...RULE_OPTIONS],
];

const PIECE_MILLISECONDS = 8;

function readAdvance(maxSteps: unknown, options: unknown = {}) {
  const where = 'advance';
  if (typeof maxSteps !== 'number') throw wrongType(where, 'maxSteps', 'a number', maxSteps);
  if (!Number.isSafeInteger(maxSteps) || maxSteps < 1) {
    throw outOfRange(where, 'maxSteps', 'an integer of at least 1', maxSteps);
  }
  const reader = readOptions(where, options, ['maxMilliseconds']);
  const maxMilliseconds = reader.numberOr('maxMilliseconds', Infinity);
  if (maxMilliseconds >= 0) return { maxSteps, maxMilliseconds };
  throw outOfRange(where, 'maxMilliseconds', 'at least 0', maxMilliseconds);
}

/** Declares the properties that the constructor copies from the core. */
interface CoreSimulationHandle extends Omit<CoreSimulation, 'id'> {}

class CoreSimulationHandle extends CoreHandle implements Simulation {
  /** Steps per piece, adapted while running. */
  private pieceSteps = 1;

  constructor(instance: Instance, { id, ...facts }: CoreSimulation) {
    super(instance, id, 'simulation');
    Object.freeze(facts.certificate);
    Object.assign(this, facts);
  }

  get step(): number {
    return this.core.call('simulationStep', this.id);
  }

  get finished(): boolean {
    return this.step === this.steps;
  }

  advance(maxSteps: number, options?: AdvanceOptions): SimulationChunk {
    const { maxMilliseconds } = readAdvance(maxSteps, options);
    if (maxMilliseconds === Infinity) {
      return this.core.call('simulationAdvance', this.id, maxSteps);
    }
    const pieces = this.pieces('advance', [maxSteps, options]);
    for (;;) {
      const piece = pieces.next();
      if (piece.done) return piece.value;
    }
  }

  /** Advances in pieces, between which a worker handles messages. */
  *pieces(_: 'advance', args: readonly unknown[]): Generator<Piece<never>, SimulationChunk> {
    const { maxSteps, maxMilliseconds } = readAdvance(args[0], args[1]);
    const steps = Math.min(maxSteps, this.steps - this.step);
    const chunks: SimulationChunk[] = [];
    const start = performance.now();
    let left = maxSteps;
    do {
      const begin = performance.now();
      const size = Math.min(left, this.pieceSteps);
      chunks.push(this.core.call('simulationAdvance', this.id, size));
      left -= size;
      const spent = performance.now() - begin;
      if (spent < PIECE_MILLISECONDS / 2) this.pieceSteps = Math.min(2 ** 20, 2 * this.pieceSteps);
      else if (spent > PIECE_MILLISECONDS && this.pieceSteps > 1) this.pieceSteps >>>= 1;
      if (left > 0 && !this.finished) yield { readings: [], fraction: (maxSteps - left) / steps };
    } while (left > 0 && !this.finished && performance.now() - start < maxMilliseconds);
    return joinChunks(chunks);
  }

  heldOutRisk(numExamples: number): HeldOutRisk {
    const count = new Reader('heldOutRisk', { numExamples }).count('numExamples');
    return this.core.call('simulationHeldOutRisk', this.id, count);
  }
}

export function makeSimulation(instance: Instance, options: unknown): Simulation {
  const where = 'simulation';
  const reader = readOptions(where, options, OPTIONS);
  const table = reader.has('table') ? readTable(where, reader.raw('table')) : undefined;
  const dimension = reader.countOr('dimension', undefined);
  if (table && dimension !== undefined && dimension !== table.numColumns) {
    throw makeError('wrong_length', where, {
      parameter: 'dimension',
      constraint: `must be {numColumns} = ${table.numColumns} of the {table}`,
      value: String(dimension),
    });
  }
  const { batchLoss, ...loss } = readLearnerLoss(reader);
  requireNamedLoss(reader, batchLoss);
  const complete = {
    ...readPrefixMechanism(reader, instance.mechanisms),
    dimension,
    stream: reader.oneOfOr('stream', STREAMS),
    streamSeed: reader.seedOr('streamSeed', 1n),
    noiseSeed: reader.seedOr('noiseSeed', 1n),
    table,
    ...loss,
    doubling: reader.flagOr('doubling', false),
    batchSize: reader.countOr('batchSize', 1),
    numRegretPrefixes: reader.countOr('numRegretPrefixes', 64),
  };
  return new CoreSimulationHandle(instance, instance.core.call('simulationCreate', complete));
}
