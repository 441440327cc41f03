// SPDX-License-Identifier: Apache-2.0

// Code shared by private running totals of both privacy units, a record and a person.

import { float64s, newFloat64s, outOfRange, overwrite, requireCount } from '../../core/check.js';
import { Scratch, writableLength, wrongType, type Reader } from '../../core/check.js';
import type { Core, CoreMechanism, CorePrefixSum } from '../../core/core.js';
import { asErrorsOf, atRow, makeError, type Partway } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { LATTICE_NOISES, MODES, PURE_PARAMETERS } from '../../shared/defaults.js';
import { PARAMETER_NAMES } from '../../shared/parameters.js';
import type { Certificate, LatticeNoise, MechanismName } from '../../types/all.js';
import type { NoiseProbability, Totals } from '../../types/all.js';
import { countRecords, MECHANISM_OPTIONS, readOptions } from '../options.js';
import { readSumsMechanism, requireLength } from '../options.js';

/** Options for the way totals are released. */
export const MODE_OPTIONS = ['mode', 'latticeNoise', 'precisionBits'];
export const TOTALS_OPTIONS = [
  ...MECHANISM_OPTIONS,
  ...MODE_OPTIONS,
  'pure',
  'dimension',
  'grid',
  'insecureSeed',
];

/** Names of the core's functions for one kind of totals. */
interface Names {
  kind: string;
  step: 'prefixSumStep' | 'peopleSumStep';
  stddev: 'prefixSumStddev' | 'peopleSumStddev';
  halfWidth: 'prefixSumHalfWidth' | 'peopleSumHalfWidth';
  endSteps: 'prefixSumEndSteps' | 'peopleSumEndSteps';
}

/** Returns the half width of the noise of totals without a delta, from a function of the core. */
export function halfWidthOf(
  { core, id, certificate }: { core: Core; id: number; certificate: Certificate },
  name: Names['halfWidth'] | 'ledgerHalfWidth',
  wanted: unknown,
): number {
  const where = 'halfWidth';
  if (!certificate.laplace) {
    const constraint = 'must be true: other noise has no tail here but its std';
    throw makeError('unsupported', where, { parameter: 'pure', constraint });
  }
  const reader = readOptions(where, wanted, ['step', 'probability']);
  const probability = reader.number('probability');
  const step = reader.raw('step');
  if (step !== undefined) requireCount(where, 'step', step, certificate.numSteps - 1);
  return asErrorsOf(where, () => core.call(name, id, step as number | undefined, probability));
}

export abstract class NoisyTotals extends CoreHandle implements Totals {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly grid: number;
  readonly insecure: boolean;
  private readonly names: Names;
  private readonly scratch = new Scratch();

  constructor(
    instance: Instance,
    made: CorePrefixSum,
    { dimension, insecure, names }: { dimension: number; insecure: boolean; names: Names },
  ) {
    super(instance, made.id, names.kind);
    this.certificate = Object.freeze(made.certificate);
    this.dimension = dimension;
    this.grid = made.grid;
    this.insecure = insecure;
    this.names = names;
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.core.call(this.names.step, this.id);
  }

  stddev(step: number): number {
    requireCount('stddev', 'step', step, this.numSteps - 1);
    return this.core.call(this.names.stddev, this.id, step);
  }

  halfWidth(wanted: NoiseProbability): number {
    const { core, id, certificate } = this;
    return halfWidthOf({ core, id, certificate }, this.names.halfWidth, wanted);
  }

  endSteps(numSteps = 1, out?: Float64Array): Float64Array {
    const where = 'endSteps';
    if (typeof numSteps !== 'number') throw wrongType(where, 'numSteps', 'a number', numSteps);
    if (!Number.isSafeInteger(numSteps) || numSteps < 0) {
      throw outOfRange(where, 'numSteps', 'an integer of at least 0', numSteps);
    }
    const length = numSteps * this.dimension;
    this.requireOut(where, out, length);
    const totals =
      out === undefined
        ? newFloat64s(where, 'totals', length)
        : this.scratch.array(where, 'totals', length);
    try {
      this.core.call(this.names.endSteps, this.id, totals);
    } catch (error) {
      throw this.nameReleased(where, error, totals, out);
    }
    return this.handOut(totals, out);
  }

  /**
   * Copies the input: into a buffer reused by the next call if the totals go to `out`, else into a
   * new array, which becomes the result.
   */
  protected input(
    where: string,
    name: string,
    value: unknown,
    out: Float64Array | undefined,
  ): Float64Array {
    return out === undefined ? float64s(where, name, value) : this.scratch.copy(where, name, value);
  }

  protected records(where: string, records: unknown, out: Float64Array | undefined): Float64Array {
    const values = this.input(where, 'records', records, out);
    countRecords(where, values, this.dimension);
    return values;
  }

  protected requireOut(where: string, out: Float64Array | undefined, length: number): void {
    if (out === undefined) return;
    requireLength(where, 'out', writableLength(where, 'out', out), length);
  }

  protected handOut(values: Float64Array, out: Float64Array | undefined): Float64Array {
    if (out === undefined) return values;
    overwrite(out, values);
    return out;
  }

  /**
   * Names the refused record in the error. The error and `out` get the totals before that record.
   */
  protected nameReleased(
    where: string,
    error: unknown,
    values: Float64Array,
    out: Float64Array | undefined,
  ): unknown {
    const records = { kind: 'record', width: this.dimension } as const;
    const refused = atRow(error as Partway, where, records);
    if (!refused.row) return refused;
    const released = values.slice(0, refused.row.index * this.dimension);
    if (out) overwrite(out, released);
    return Object.assign(refused, { released });
  }

  /** Names the refused contribution in the error, and the number of contributions before it. */
  protected nameContributed(error: unknown): unknown {
    const records = { kind: 'record', width: this.dimension } as const;
    const refused = atRow(error as Partway, 'contribute', records);
    return refused.row ? Object.assign(refused, { contributed: refused.row.index }) : refused;
  }
}

export interface CompleteMode {
  mode: 'grid' | 'lattice';
  latticeNoise: LatticeNoise;
  precisionBits: number | undefined;
}

/** Reads the mode, and refuses options of mode lattice with any other mode. */
export function readMode(reader: Reader): CompleteMode {
  const mode = reader.oneOfOr('mode', MODES);
  const given = ['latticeNoise', 'precisionBits'].find((name) => reader.has(name));
  if (mode === 'grid' && given !== undefined) {
    throw outOfRange(reader.where, given, "left out in mode 'grid'", reader.raw(given));
  }
  return {
    mode,
    latticeNoise: reader.oneOfOr('latticeNoise', LATTICE_NOISES),
    precisionBits: reader.countOr('precisionBits', undefined),
  };
}

/** True if totals are without a delta; refuses options that then have no meaning. */
function readPure(reader: Reader): boolean {
  if (!reader.has('pure') || !reader.flag('pure')) return false;
  const others = PARAMETER_NAMES.filter((name) => !PURE_PARAMETERS.includes(name));
  const given = ['delta', ...MODE_OPTIONS, ...others].find((name) => reader.has(name));
  const isSaved = typeof reader.raw('mechanism') === 'object';
  if (isSaved)
    throw outOfRange(reader.where, 'mechanism', 'a name with {pure}', 'a saved strategy');
  if (given === undefined) return true;
  throw outOfRange(reader.where, given, 'left out with {pure}', reader.raw(given));
}

/** Options of a running total, completed with defaults and of the right types. */
export interface CompleteOptions extends CoreMechanism, CompleteMode {
  pure: boolean;
  dimension: number;
  grid: number | undefined;
  insecureSeed: bigint | undefined;
}

export function readTotals(reader: Reader, mechanisms: readonly MechanismName[]): CompleteOptions {
  const pure = readPure(reader);
  return {
    pure,
    ...readSumsMechanism(reader, mechanisms, pure),
    ...readMode(reader),
    dimension: reader.countOr('dimension', 1),
    grid: reader.numberOr('grid', undefined),
    insecureSeed: reader.seedOr('insecureSeed', undefined),
  };
}
