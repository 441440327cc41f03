// SPDX-License-Identifier: Apache-2.0

// Statistics that survive restarts. The memo of the ledger begins with a description of its sums.

import { wrongType } from '../../core/check.js';
import { makeError, told, type RefusalError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { joined } from '../../shared/joined.js';
import { readMemo, STORE_OPTIONS } from '../../stores/stored.js';
import type { HistogramLedger, StatisticLedger, SumsLedger } from '../../types/all.js';
import { readOptions } from '../options.js';
import { hasFirstStep, indexed, openLedgerOf, type CoreReleaseLedger } from '../sums/ledger.js';
import { headOf } from './about.js';
import { StatisticHandle, type Columns } from './columns.js';
import { inGiven, readStatistic, statisticOptions } from './kinds.js';

/** Refuses a memo that describes other sums. */
export function requireAbout(where: string, head: Uint8Array, memo: Uint8Array | undefined): void {
  if (head.every((byte, i) => byte === memo?.[i])) return;
  throw makeError('bad_state', where, {
    parameter: 'store.statistic',
    constraint: 'must be of this statistic, with these ranges, categories or workloads',
  });
}

const WHERE = 'statisticLedger';

class CoreStatisticLedger<Reading> extends StatisticHandle<CoreReleaseLedger, Reading> {
  private readonly head: Uint8Array;

  constructor(instance: Instance, columns: Columns<Reading>, sums: CoreReleaseLedger) {
    super(instance, columns, sums);
    this.head = headOf(columns.about);
  }

  get identity(): string {
    return this.sums.identity;
  }

  get memo(): Uint8Array | undefined {
    const own = this.sums.memo?.subarray(this.head.length);
    return own?.length ? own : undefined;
  }

  async release(...args: [unknown] | [number | undefined, unknown]): Promise<Reading> {
    const [step, record] = indexed<[unknown]>(args, args.length > 1);
    const columns = this.columns.one('release', record);
    const total = await this.sums.release(step, columns);
    return this.readingsOf(total, total.step)[0]!;
  }

  async releaseMany(...args: [unknown] | [number | undefined, unknown]): Promise<Reading[]> {
    const [firstStep, records] = indexed<[unknown]>(args, args.length > 1);
    const columns = this.columns.many('releaseMany', 'records', records);
    return this.readings(await this.sums.releaseMany(firstStep, columns));
  }

  async releaseSteps(
    ...args:
      | [steps: readonly unknown[], memo?: Uint8Array | undefined]
      | [firstStep: number | undefined, steps: readonly unknown[], memo?: Uint8Array | undefined]
  ): Promise<Reading[]> {
    const where = 'releaseSteps';
    const [firstStep, steps, memo] = indexed<[unknown, unknown]>(args, hasFirstStep(args));
    if (!Array.isArray(steps)) throw wrongType(where, 'steps', 'an array', steps);
    const own = readMemo(where, memo);
    const columns = steps.map((records: unknown, i) => {
      const part = firstStep === undefined ? `steps[${i}]` : `step ${firstStep + i}`;
      try {
        return this.columns.many(where, `steps[${i}]`, records);
      } catch (error) {
        throw told(error as RefusalError, { call: where, part });
      }
    });
    const kept = own && joined([this.head, own]);
    return this.readings(await this.sums.releaseSteps(firstStep, columns, kept));
  }

  /** Stores the description of a new state, and refuses a state with another one. */
  async begin(): Promise<void> {
    const { memo, step } = this.sums;
    if (memo === undefined && step === 0) {
      await this.sums.releaseSteps(0, [], this.head);
    } else {
      requireAbout(WHERE, this.head, memo);
    }
  }
}

type Every = StatisticLedger & HistogramLedger & SumsLedger;

export async function makeStatisticLedger(instance: Instance, options: unknown): Promise<Every> {
  const reader = readOptions(WHERE, options, [...statisticOptions(), ...STORE_OPTIONS]);
  const { columns, complete } = readStatistic(instance, reader);
  let sums: CoreReleaseLedger;
  try {
    sums = await openLedgerOf(instance, reader, complete, 'statistic', (given, { memo }) => {
      // Checked before the core reads a state of other sums, which it might take for a damaged one.
      if (memo) requireAbout(WHERE, headOf(columns.about), memo);
      return columns.ledger?.(given) ?? instance.core.call('ledgerCreate', given);
    });
  } catch (error) {
    columns.drop();
    throw inGiven(error, complete);
  }
  const ledger = new CoreStatisticLedger(instance, columns, sums);
  try {
    await ledger.begin();
    // Its records and readings are of the kind that the options name.
    return ledger as unknown as Every;
  } catch (error) {
    ledger.dispose();
    throw error;
  }
}
