// SPDX-License-Identifier: Apache-2.0

import { outOfRange, Reader, wrongType } from '../../core/check.js';
import type { CoreSimulation } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { MECHANISM_OPTIONS, readOptions, readPrefixMechanism } from '../options.js';
import { readTable, withOwnLambda } from '../options.js';
import { LOSS_OPTIONS, readLoss, readSteps } from './loss.js';
import type { HeldOutRisk, Simulation } from '../../types/all.js';
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
  ...MECHANISM_OPTIONS,
  'dimension',
  'stream',
  'streamSeed',
  'noiseSeed',
  'table',
  ...LOSS_OPTIONS,
  'doubling',
  'batchSize',
  'mechanismLambda',
  'numRegretPrefixes',
];

/** Declares the facts, which the constructor copies unchanged. */
interface CoreSimulationHandle extends Omit<CoreSimulation, 'id'> {}

class CoreSimulationHandle extends CoreHandle implements Simulation {
  constructor(instance: Instance, { id, ...facts }: CoreSimulation) {
    super(instance, id, 'simulation');
    Object.freeze(facts.certificate);
    Object.assign(this, facts);
  }

  get step(): number {
    return this.core.call('simulationStep', this.id);
  }

  get finished(): boolean {
    return this.step === this.numSteps;
  }

  advance(maxSteps: number): SimulationChunk {
    if (typeof maxSteps !== 'number') throw wrongType('advance', 'maxSteps', 'a number', maxSteps);
    if (!Number.isSafeInteger(maxSteps) || maxSteps < 1) {
      throw outOfRange('advance', 'maxSteps', 'an integer of at least 1', maxSteps);
    }
    return this.core.call('simulationAdvance', this.id, maxSteps);
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
  const mechanism = readPrefixMechanism(reader, instance.mechanisms);
  const complete = {
    ...mechanism,
    parameters: withOwnLambda(reader, mechanism, instance.catalogue),
    dimension,
    stream: reader.oneOfOr('stream', STREAMS),
    streamSeed: reader.seedOr('streamSeed', 1n),
    noiseSeed: reader.seedOr('noiseSeed', 1n),
    table,
    ...readLoss(reader),
    ...readSteps(reader),
    numRegretPrefixes: reader.countOr('numRegretPrefixes', 64),
  };
  return new CoreSimulationHandle(instance, instance.core.call('simulationCreate', complete));
}
