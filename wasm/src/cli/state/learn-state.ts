// SPDX-License-Identifier: Apache-2.0

// --state of dp-ftrl learn: a learner that is continued by the next run.

import type { DpFtrl, LearnerLedger, LearnerOptions, ModelInput } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { columnList } from '../input/header.js';
import type { Chosen } from '../options/strategy.js';
import { inWords, memoOf, openStore, requireBudget, requireStored } from './state-file.js';
import type { StateSettings } from './state-file.js';
import { orderOf, sealed, unsealed } from './state-memo.js';
import type { MarkedStore, PaidState, Runs } from './state-runs.js';

const FORMAT = 'dp-ftrl learn state 1';

/** Facts that must be the same in the next run. */
export interface Begun {
  /** Values by option, where known; the core checks the others, but cannot name the option. */
  options: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Columns of the table, including the label. */
  columns: readonly string[];
  inputs: readonly ModelInput[];
}

const OPTIONS =
  '--mechanism or parameter of it, parameter of --loss or --descent, --radius, --regularisation, ' +
  'order of the columns of --group or kind of participation';

/** Values of options by name; options from a strategy file have no name. */
export function optionsOf(
  how: LearnerOptions,
  {
    label,
    intercept,
    mode,
    penalty,
    chosen,
  }: {
    label: string;
    intercept: boolean;
    mode: string;
    penalty: { strength: number; groups: readonly string[] | undefined } | undefined;
    chosen: Chosen;
  },
): Begun['options'] {
  const { descent, participation = 'single' } = how;
  const pattern = participation === 'single' ? {} : participation;
  const { epochs, participations, minSeparation } = pattern as Record<string, number | undefined>;
  return {
    label,
    loss: how.loss as string,
    classes: how.numClasses,
    quantile: how.quantile,
    'huber-threshold': how.huberThreshold,
    'no-intercept': !intercept,
    mechanism: chosen.saved ? undefined : chosen.name,
    steps: how.numSteps,
    epsilon: how.epsilon,
    delta: how.delta,
    clip: how.clipNorm,
    neighbours: how.neighbours,
    epochs,
    participations,
    'min-separation': minSeparation,
    mode,
    'lattice-noise': how.latticeNoise,
    domain: how.domain,
    radius: how.radius,
    regularisation: how.lambda,
    doubling: how.doubling,
    l1: penalty && !penalty.groups ? penalty.strength : 0,
    'group-norm': penalty?.groups ? penalty.strength : 0,
    group: penalty?.groups?.join(' --group '),
    descent: descent !== undefined,
    momentum: descent?.momentum,
    rates: descent?.rates && Array.from(descent.rates).join(','),
    'momentum-through': descent?.through,
    batch: how.batchSize,
  };
}

function optionText(option: string, value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? `--${option}` : `no --${option}`;
  return `--${option} ${value}`;
}

function requireSameOptions(was: Begun['options'], is: Begun['options']): void {
  for (const [option, value] of Object.entries(is)) {
    const before = was[option];
    if (value === undefined || before === undefined || before === value) continue;
    const texts = [before, value].map((it) => optionText(option, it));
    throw new Misuse(`it was begun with ${texts[0]}, this run has ${texts[1]}`);
  }
}

/** Requires the features to have the same ranges as in the first run. */
function requireSameInputs(was: readonly ModelInput[], is: readonly ModelInput[]): void {
  const other = was.find(({ name, low, high }) => {
    const now = is.find((input) => input.name === name);
    return now?.low !== low || now?.high !== high;
  });
  if (other === undefined) return;
  throw new Misuse(`it was begun with another --range of the column ${columnList([other.name])}`);
}

/** Requires stored options, columns and ranges to equal those of this run; returns the stored. */
function requireSame(stored: Uint8Array, wanted: Begun): Begun {
  const bytes = memoOf(stored, 'learn');
  if (bytes === undefined) {
    throw new Misuse('it is damaged, or not a state of dp-ftrl learn: it names no columns');
  }
  const memo = unsealed(bytes, { format: FORMAT, about: 'options and columns' }) as Begun;
  requireSameOptions(memo.options, wanted.options);
  orderOf(memo.columns, wanted.columns, 'learns from');
  requireSameInputs(memo.inputs, wanted.inputs);
  return memo;
}

/** A learner in a file, with the columns of its first run. */
export class LearnerState implements PaidState {
  private constructor(
    private readonly store: MarkedStore,
    readonly learner: LearnerLedger,
    /** Columns in the order of the first run. */
    readonly columns: readonly string[],
    readonly inputs: readonly ModelInput[],
  ) {}

  static async open(
    dp: DpFtrl,
    { path, mustExist, hasBudget }: StateSettings,
    { how, wanted }: { how: LearnerOptions; wanted: Begun },
  ): Promise<LearnerState> {
    const store = await openStore(path);
    let stored: Uint8Array | undefined;
    try {
      stored = await store.load();
      requireStored(stored, mustExist);
      requireBudget(store, hasBudget);
      const { columns, inputs } = stored ? requireSame(stored, wanted) : wanted;
      const memo = sealed({ format: FORMAT, ...wanted });
      const learner = await dp.learnerLedger({ ...how, store, memo });
      return new LearnerState(store, learner, columns, inputs);
    } catch (error) {
      await store.close();
      const isSeeded = how.insecureSeed !== undefined;
      throw inWords(error, path, { stored, isSeeded, options: OPTIONS });
    }
  }

  get identity(): string {
    return this.learner.identity;
  }

  get numReleased(): number {
    return this.learner.step;
  }

  get runs(): Runs | undefined {
    return this.store.runs;
  }

  /** Stores a new state before its first step, so that the next run has the same key. */
  async begin(runs: Runs): Promise<void> {
    await this.store.mark(runs);
    await this.learner.model();
  }

  async close(): Promise<void> {
    this.learner.dispose();
    await this.store.close();
  }
}
