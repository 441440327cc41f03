// SPDX-License-Identifier: Apache-2.0

// Compares all mechanisms.

import { outOfRange, Reader, readOptions, wrongType } from '../core/check.js';
import type { Core, CoreComparedError, CoreFactorization, CoreProblem } from '../core/core.js';
import { asErrorsOf, inWords, makeError, refusalOf } from '../core/errors.js';
import type { Instance } from '../core/handle.js';
import { DEFAULT_CLIP, NEIGHBOURS, OBJECTIVES } from '../shared/defaults.js';
import type { StrategyInfo, ComparedMechanism, Comparison } from '../types/all.js';
import type { MechanismName, MechanismParameters, Search } from '../types/all.js';
import type { PureComparison, Refusal } from '../types/all.js';
import { ofEncoder, readParameters, readSaved } from './options.js';
import { PROBLEM_WORDS, readProblem } from './problem.js';
import { PiecewiseSearch } from './search.js';
import { quickLimit } from './searches.js';
import { readStrategy } from './strategy.js';

const OPTIONS = [...PROBLEM_WORDS, 'objective', 'epsilon', 'strategies'];

/** Largest horizon at which column-normalised variants are compared: they need dense matrices. */
const MAX_NORMALIZED_STEPS = 256;
/**
 * Errors within this relative distance are taken as errors of the same factorization, up to scale.
 */
export const SAME = 1e-9;

interface Candidate {
  entry: StrategyInfo;
  parameters: MechanismParameters;
  /** Index among the given strategies, if it is one of them. */
  index?: number;
}

/** Variants besides the defaults. Parameters that a mechanism does not take are skipped later. */
function variantsOf(name: MechanismName, problem: CoreProblem): MechanismParameters[] {
  const { steps, participation } = problem;
  const variants: MechanismParameters[] = [];
  if (name === 'tree-k') variants.push({ arity: 4 });
  if (name === 'banded-square-root' && participation.kind !== 'single') {
    // With at most this many bands, no two columns that one user contributes to overlap.
    variants.push({ bands: Math.min(participation.separation, steps) });
  }
  if (steps <= MAX_NORMALIZED_STEPS) variants.push({ normalizeColumns: true });
  return variants;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

/** Reason why there is no such mechanism at this size, from an error; rethrows any other error. */
function reasonOf(error: unknown): Refusal {
  const expected = ['unsupported', 'invalid_argument', 'wrong_length', 'resource_exhausted'];
  if (!(error instanceof Error) || !expected.includes(String(codeOf(error)))) throw error;
  return refusalOf(error);
}

function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= SAME * Math.abs(b);
}

class ComparisonTable {
  readonly rows: ComparedMechanism[] = [];
  readonly leftOut: Comparison['leftOut'] = [];
  readonly raisedByNormalizing: MechanismName[] = [];

  constructor(
    private readonly core: Core,
    private readonly problem: CoreProblem,
    private readonly lowerBound: number | null,
    private readonly objective: Comparison['objective'],
  ) {}

  addDefault(entry: StrategyInfo): void {
    const { objective } = this;
    const takesObjective = objective === 'mean' && entry.parameters.includes('objective');
    const parameters: MechanismParameters = takesObjective ? { objective } : {};
    const candidate = { entry, parameters };
    const reason = this.reasonInAdvance(entry);
    if (reason !== undefined) {
      this.leaveOut(candidate, { constraint: reason });
      return;
    }
    try {
      this.add(candidate, this.errorOf(candidate));
    } catch (error) {
      this.leaveOut(candidate, reasonOf(error));
    }
  }

  /** Adds a variant, unless the mechanism rejects its parameters or they change nothing. */
  addVariant(candidate: Candidate): void {
    if (this.reasonInAdvance(candidate.entry) !== undefined) return;
    try {
      const error = this.errorOf(candidate);
      if (this.isUseful(candidate, error)) this.add(candidate, error);
      else if (this.isRaised(candidate, error)) this.raisedByNormalizing.push(candidate.entry.name);
    } catch (error) {
      const reason = reasonOf(error);
      if (codeOf(error) !== 'invalid_argument') this.leaveOut(candidate, reason);
    }
  }

  /**
   * True if no row has these errors yet and, for a variant with normalised columns, they are lower
   * than without normalisation.
   */
  private isUseful({ entry, parameters }: Candidate, error: CoreComparedError): boolean {
    const isNew = this.rows.every(
      (row) => !isClose(row.maxError, error.maxError) || !isClose(row.meanError, error.meanError),
    );
    const plain = this.rows.find((row) => row.mechanism === entry.name);
    if (!isNew || !parameters.normalizeColumns || plain === undefined) return isNew;
    return this.aim(error) < this.aim(plain) * (1 - SAME);
  }

  /** True if normalised columns raise the error; the variant then gets no row. */
  private isRaised({ entry, parameters }: Candidate, error: CoreComparedError): boolean {
    const plain = this.rows.find((row) => row.mechanism === entry.name);
    if (!parameters.normalizeColumns || plain === undefined) return false;
    return this.aim(error) > this.aim(plain) * (1 + SAME);
  }

  private aim(error: { maxError: number; meanError: number }): number {
    return this.objective === 'max' ? error.maxError : error.meanError;
  }

  /** Reason to exclude this mechanism without computing its error, or undefined. */
  private reasonInAdvance(entry: StrategyInfo): string | undefined {
    const { maxSteps } = entry;
    const { steps } = this.problem;
    const limit = quickLimit(entry.name, this.problem, this.core.call('limits'), this.objective);
    if (limit !== undefined && steps > limit) {
      const advice = 'optimize it once, and give what was saved';
      return `beyond ${limit} steps its search takes long: ${advice}`;
    }
    return steps > maxSteps ? `its formulas end at ${maxSteps} steps` : undefined;
  }

  private errorOf({ entry, parameters }: Candidate): CoreComparedError {
    return asErrorsOf('compare', () =>
      this.core.call('unitError', {
        ...this.problem,
        strategy: entry.name,
        parameters: readParameters(new Reader('compare', { ...parameters })),
      }),
    );
  }

  /** Adds a given strategy, evaluated for the problem of the table. */
  addSaved(entry: StrategyInfo, factorization: CoreFactorization, index: number): void {
    const error = this.core.call('unitError', factorization);
    this.add({ entry, parameters: {}, index }, error);
  }

  private add({ entry, parameters, index }: Candidate, error: CoreComparedError): void {
    const { sensitivity, sensitivityExactness, maxError, meanError, optimisedFor } = error;
    this.rows.push({
      mechanism: entry.name,
      parameters,
      saved: index !== undefined,
      ...(index !== undefined && { index }),
      ...(optimisedFor !== undefined && { optimisedFor }),
      sensitivity,
      sensitivityExactness,
      maxError,
      meanError,
      meanSquaredError: meanError ** 2,
      ratio: this.lowerBound === null ? null : this.aim(error) / this.lowerBound,
      stepCost: error.stepCost ?? entry.stepCost,
      memoryCost: error.memoryCost ?? entry.memoryCost,
      causal: error.causal,
      pureDp: entry.pureDp,
    });
  }

  /** Adds one entry to `leftOut` for all normalised variants at horizons beyond their limit. */
  leaveOutNormalized(catalogue: readonly StrategyInfo[]): void {
    if (this.problem.steps <= MAX_NORMALIZED_STEPS) return;
    const entry = catalogue.find(({ name }) => name === 'square-root')!;
    const constraint =
      `normalised columns are tried up to ${MAX_NORMALIZED_STEPS} steps, of every mechanism; ` +
      'normalized-square-root is there at any';
    this.leaveOut({ entry, parameters: { normalizeColumns: true } }, { constraint });
  }

  private leaveOut({ entry, parameters }: Candidate, why: Refusal): void {
    const { call, part, ...rest } = why;
    const refusal = part === undefined || part === entry.name ? rest : { part, ...rest };
    this.leftOut.push({ mechanism: entry.name, parameters, reason: inWords(refusal), refusal });
  }
}

/** Sorts best first. The sort is stable, so equal rows stay in the order of the catalogue. */
function sort(rows: ComparedMechanism[], objective: Comparison['objective']): void {
  const aim = objective === 'max' ? 'maxError' : 'meanError';
  const other = objective === 'max' ? 'meanError' : 'maxError';
  rows.sort((a, b) => a[aim] - b[aim] || a[other] - b[other]);
}

/** Reads the given strategies, each with its entry in the catalogue. */
function readStrategies(
  reader: Reader,
  problem: CoreProblem,
  catalogue: readonly StrategyInfo[],
): [StrategyInfo, CoreFactorization][] {
  const { where } = reader;
  if (!reader.has('strategies')) return [];
  const given = reader.raw('strategies');
  if (!Array.isArray(given)) throw wrongType(where, 'strategies', 'an array', given);
  // Counts defaults as stated; options left out would otherwise be taken from the strategy.
  const stated = { ...problem, states: { workload: true, participation: true } };
  return given.map((value: unknown, i) => {
    if (typeof value !== 'object' || value === null) {
      throw wrongType(where, `strategies[${i}]`, 'a saved strategy or an encoder', value);
    }
    const known = catalogue.map(({ name }) => name);
    const factorization =
      'encoder' in value
        ? ofEncoder(where, value, { problem, known, name: `strategies[${i}]` })
        : readSaved(where, readStrategy(where, value, known), stated);
    return [catalogue.find(({ name }) => name === factorization.strategy)!, factorization];
  });
}

/** Adds all rows of the table, one at a time. */
function* tableRows(
  table: ComparisonTable,
  catalogue: readonly StrategyInfo[],
  problem: CoreProblem,
  strategies: readonly [StrategyInfo, CoreFactorization][],
): Generator<void, void, void> {
  for (const entry of catalogue) {
    table.addDefault(entry);
    yield;
  }
  for (const entry of catalogue) {
    for (const parameters of variantsOf(entry.name, problem)) {
      table.addVariant({ entry, parameters });
    }
    yield;
  }
  table.leaveOutNormalized(catalogue);
  for (const [index, [entry, factorization]] of strategies.entries()) {
    table.addSaved(entry, factorization, index);
    yield;
  }
}

/** Compares pure-DP totals with the best of the rows. */
function besidePure(
  core: Core,
  {
    problem,
    objective,
    epsilon,
  }: Pick<Comparison, 'objective'> & { problem: CoreProblem; epsilon: number },
  best: ComparedMechanism,
): PureComparison {
  const unitError = objective === 'max' ? best.maxError : best.meanError;
  const records = { clip: DEFAULT_CLIP, neighbours: NEIGHBOURS[0], parameters: {} };
  const options = { ...problem, ...records, epsilon, objective, unitError };
  return { epsilon, ...asErrorsOf('compare', () => core.call('pureError', options)) };
}

/** Epsilon of pure-DP totals, if they are to be compared. */
function readEpsilon(reader: Reader, problem: CoreProblem): number | undefined {
  if (!reader.has('epsilon')) return undefined;
  const epsilon = reader.number('epsilon');
  if (!(epsilon > 0 && epsilon < Infinity)) {
    throw outOfRange(reader.where, 'epsilon', 'positive and finite', epsilon);
  }
  const { kind } = problem.workload;
  if (kind === 'prefix') return epsilon;
  const constraint = 'must be prefix with {epsilon}: no other is released without a delta';
  const refusal = { parameter: 'workload', constraint, value: kind };
  throw makeError('invalid_argument', reader.where, refusal);
}

export function compare(instance: Instance, options: unknown): Search<Comparison> {
  const reader = readOptions('compare', options, OPTIONS);
  return asErrorsOf('compare', () => begin(instance, reader));
}

function begin(instance: Instance, reader: Reader): Search<Comparison> {
  const { core, catalogue } = instance;
  const objective = reader.oneOfOr('objective', OBJECTIVES);
  const problem = readProblem(reader);
  const epsilon = readEpsilon(reader, problem);
  // Refuses faults in the problem itself, which would otherwise leave out every mechanism.
  const { workload, participation, ...bound } = core.call('problem', { ...problem, objective });
  const strategies = readStrategies(reader, problem, catalogue);
  const table = new ComparisonTable(core, problem, bound.lowerBound, objective);
  const rows = tableRows(table, catalogue, problem, strategies);
  const numPieces = 2 * catalogue.length + strategies.length;
  let iterations = 0;
  return new PiecewiseSearch<Comparison>('compare', {
    step() {
      const done = rows.next().done ?? false;
      if (!done) ++iterations;
      return { done, iterations, fraction: iterations / numPieces };
    },
    finish() {
      const mechanisms = [...table.rows];
      sort(mechanisms, objective);
      return {
        numSteps: problem.steps,
        workload,
        participation,
        objective,
        ...bound,
        mechanisms,
        leftOut: [...table.leftOut],
        raisedByNormalizing: [...table.raisedByNormalizing],
        ...(epsilon !== undefined && {
          pure: besidePure(core, { problem, objective, epsilon }, mechanisms[0]!),
        }),
      };
    },
    dispose() {},
  });
}
