// SPDX-License-Identifier: Apache-2.0

// A running total whose state outlives the process: decided by the core, saved by a store, and only
// then handed out.

import { float64s, requireCount, wrongType } from './check.js';
import type { Core, CorePrefixSum } from './core.js';
import { makeError } from './errors.js';
import { CoreHandle, type Backstop } from './handle.js';
import { KEY_BYTES, keyFromEntropy } from './key.js';
import { countRecords, readOptions, requireLength } from './options.js';
import { readTotals, TOTALS_OPTIONS } from './totals.js';
import type { Certificate, MechanismName, ReleaseLedger, ReleaseStore } from './types.js';

const OPTIONS = [...TOTALS_OPTIONS, 'store'];

interface Made {
  sums: CorePrefixSum;
  dimension: number;
  insecure: boolean;
  store: ReleaseStore;
  /** Goes in front of what is stored; zeros for a fixed seed. */
  key: Uint8Array<ArrayBuffer>;
}

class CoreReleaseLedger extends CoreHandle implements ReleaseLedger {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly dimension: number;
  readonly insecure: boolean;
  private readonly store: ReleaseStore;
  private readonly key: Uint8Array<ArrayBuffer>;
  /** Releases are made one after the other, in the order in which they were asked for. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(core: Core, backstop: Backstop, made: Made) {
    super(core, backstop, made.sums.id, 'release ledger');
    this.certificate = Object.freeze(made.sums.certificate);
    this.grid = made.sums.grid;
    this.dimension = made.dimension;
    this.insecure = made.insecure;
    this.store = made.store;
    this.key = made.key;
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.core.call('ledgerSteps', this.id).acknowledged;
  }

  stddev(step: number): number {
    requireCount('stddev', 'step', step, this.numSteps - 1);
    return this.core.call('ledgerStddev', this.id, step);
  }

  async release(step: number, record: ArrayLike<number>): Promise<Float64Array> {
    const values = float64s('release', 'record', record);
    requireLength('release', 'record', values.length, this.dimension);
    return this.inTurn('release', step, values);
  }

  async releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Float64Array> {
    const values = float64s('releaseMany', 'records', records);
    countRecords('releaseMany', values, this.dimension);
    return this.inTurn('releaseMany', firstStep, values);
  }

  override dispose(): void {
    this.key.fill(0);
    super.dispose();
  }

  private inTurn(where: string, step: number, values: Float64Array): Promise<Float64Array> {
    requireCount(where, 'step', step, this.numSteps - 1);
    const result = this.last.then(() => this.commit(step, values));
    this.last = result.catch(() => undefined);
    return result;
  }

  private async commit(step: number, values: Float64Array): Promise<Float64Array> {
    this.core.call('ledgerDecide', this.id, step, values);
    const { decided, acknowledged } = this.core.call('ledgerSteps', this.id);
    if (decided > acknowledged) {
      const state = this.core.call('ledgerState', this.id);
      const bytes = new Uint8Array(KEY_BYTES + state.length);
      bytes.set(this.key);
      bytes.set(state, KEY_BYTES);
      await this.store.save(bytes);
      this.core.call('ledgerAcknowledge', this.id, decided);
    }
    return this.core.call('ledgerReleased', this.id, step, values.length / this.dimension);
  }
}

function readStore(store: unknown): ReleaseStore {
  const methods = ['load', 'save', 'close'] as const;
  const given = store as Partial<ReleaseStore> | null | undefined;
  for (const name of methods) {
    if (typeof given?.[name] !== 'function') {
      throw wrongType('ledger', 'store', 'an object with load, save and close', store);
    }
  }
  return given as ReleaseStore;
}

export async function makeLedger(
  core: Core,
  backstop: Backstop,
  mechanisms: readonly MechanismName[],
  options: unknown,
): Promise<ReleaseLedger> {
  const reader = readOptions('ledger', options, OPTIONS);
  const complete = readTotals(reader, mechanisms);
  const store = readStore(reader.raw('store'));
  const insecure = complete.insecureSeed !== undefined;
  const stored = await store.load();
  if (stored !== undefined && stored.length < KEY_BYTES) {
    const what = `at least ${KEY_BYTES} bytes, got ${stored.length} (truncated?)`;
    throw makeError('bad_state', `ledger: what is stored must have ${what}`);
  }
  let key = new Uint8Array(KEY_BYTES);
  if (stored !== undefined) key = stored.slice(0, KEY_BYTES) as Uint8Array<ArrayBuffer>;
  else if (!insecure) key = keyFromEntropy('ledger');
  try {
    const state = stored?.subarray(KEY_BYTES);
    const given = { ...complete, key: insecure ? undefined : key, state };
    const sums = core.call('ledgerCreate', given);
    const { dimension } = complete;
    return new CoreReleaseLedger(core, backstop, { sums, dimension, insecure, store, key });
  } catch (error) {
    key.fill(0);
    throw error;
  }
}
