// SPDX-License-Identifier: Apache-2.0

// --state: a release that goes on in the next run.

import { FileStore } from '../file-store.js';
import { IN_NO_FOLDER } from '../files.js';
import { KEY_BYTES } from '../key.js';
import { unpack } from '../stored.js';
import type { Certificate, DpFtrl, LedgerOptions, ReleaseLedger } from '../types.js';
import type { Args, Known } from './args.js';
import { Misuse } from './failure.js';
import { memoOfNothing, orderOf, readMemo, requireSame, writeMemo } from './state-memo.js';
import type { Continued, Memo } from './state-memo.js';

export const STATE_OPTIONS: Known = { state: 'value', 'first-step': 'value' };

export interface StateSettings {
  path: string;
  /** Of the first row, 0-based; default: the first that was not released. */
  firstStep: number | undefined;
}

/** Of these a repeated row would have to count as it did before, which nobody remembers. */
const NOT_REPEATED = ['user-column', 'time-column'];

export function readState(args: Args): StateSettings | undefined {
  const path = args.text('state');
  const step = args.count('first-step');
  if (path === undefined) {
    if (step !== undefined) throw new Misuse('--first-step goes with --state');
    return undefined;
  }
  if (args.has('show-nonprivate')) throw new Misuse('--state does not go with --show-nonprivate');
  const other = NOT_REPEATED.find((name) => args.has(name));
  if (other !== undefined && step !== undefined) {
    throw new Misuse(`--first-step does not go with --${other}`);
  }
  if (!args.has('steps') && !args.has('strategy')) {
    throw new Misuse('--state needs --steps, the horizon of all runs together');
  }
  return { path, firstStep: step === undefined ? undefined : step - 1 };
}

interface Opening {
  stored: Uint8Array | undefined;
  store: FileStore;
  options: Omit<LedgerOptions, 'store'>;
  wanted: Continued;
}

/** The ledger that was stored, if it is of the same columns, persons and times. */
async function goOn(dp: DpFtrl, { stored, store, options, wanted }: Opening) {
  if (stored?.length === 0) throw new Misuse('it is empty');
  const bytes = stored && unpack(stored.subarray(KEY_BYTES)).memo;
  const memo = bytes && readMemo(bytes);
  if (stored) requireSame(memo, wanted);
  const columns = orderOf(memo, wanted.columns);
  const ledger = await dp.ledger({ ...options, store });
  if (memo && memo.step !== ledger.step) {
    ledger.dispose();
    throw new Misuse('its parts are of different runs');
  }
  return { ledger, memo, columns };
}

const OPTIONS =
  'another --mechanism or parameter of it, --steps, --epsilon, --delta, --clip, --neighbours, ' +
  '--mode, number of columns or kind of participation';

/** What the core says of bytes, in the words of the command. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  [/mechanism, dimension and coordinates/, `it was begun with ${OPTIONS}`],
  [/ must (begin with|be of (version|kind)) /, 'it is damaged, or no state of this version'],
];

/** Seeded states have a key of zeros. */
function otherKey(stored: Uint8Array, isSeeded: boolean): string {
  const wasSeeded = stored.subarray(0, KEY_BYTES).every((byte) => byte === 0);
  if (wasSeeded && isSeeded) return 'it was begun with another --seed';
  if (wasSeeded) return 'it was begun with --seed, this run has none';
  return isSeeded ? 'it was begun without --seed' : 'it is damaged';
}

/** Why what is stored is refused, with the name of the file. */
function inWords(error: unknown, path: string, { stored, options }: Opening): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (error instanceof Misuse) return new Misuse(`--state ${path}: ${message}`, error.fault);
  if (code !== 'bad_state' || !stored) return error;
  const known = REWORDED.find(([pattern]) => pattern.test(message))?.[1];
  const isKey = / be of this key/.test(message);
  const why = isKey ? otherKey(stored, options.insecureSeed !== undefined) : known;
  return new Misuse(`--state ${path}: ${why ?? 'it is damaged or cut short'}`, { code });
}

/** Steps count from 1 on here. */
function ofStep(error: unknown, path: string): unknown {
  const { code, message } = error as { code?: string; message: string };
  const step = / step (\d+) was released for/.exec(message)?.[1];
  if (code !== 'already_released' || step === undefined) return error;
  const what = `step ${Number(step) + 1} was released for another row`;
  return new Misuse(`--state ${path}: ${what}`, { code });
}

/** The file, for this process alone. */
async function openStore(path: string): Promise<FileStore> {
  try {
    return await FileStore.open(path);
  } catch (error) {
    const { code = 'internal', message, cause } = error as Error & { code?: string };
    const why = message.replace(`FileStore: ${path} `, '');
    if (why === IN_NO_FOLDER) throw new Misuse(`--state ${path}: the folder does not exist`);
    if (code === 'store_failed') throw new Error(`--state ${path} ${why}`, { cause });
    throw new Misuse(`--state ${path} ${why}`, { code });
  }
}

/** A ledger as a running total whose next step is that of the next row. */
export class LedgerTotals {
  private constructor(
    private readonly path: string,
    private readonly store: FileStore,
    private readonly ledger: ReleaseLedger,
    private next: number,
    /** What the last run left; undefined of a new state, and of an old one of rows alone. */
    readonly memo: Memo | undefined,
    /** In the order of the first run. */
    readonly columns: readonly string[],
    /** What a new state begins with. */
    private first: Uint8Array | undefined,
  ) {}

  static async open(
    dp: DpFtrl,
    { path, firstStep }: StateSettings,
    { options, wanted }: { options: Omit<LedgerOptions, 'store'>; wanted: Continued },
  ): Promise<LedgerTotals> {
    const store = await openStore(path);
    try {
      const stored = await store.load();
      const opening = { stored, store, options, wanted };
      const { ledger, memo, columns } = await goOn(dp, opening).catch((error: unknown) => {
        throw inWords(error, path, opening);
      });
      if (stored && memo?.columns === undefined) {
        const what = 'does not say which columns it sums: they are taken in the order of this run';
        process.stderr.write(`dp-ftrl release: warning: --state ${path} ${what}\n`);
      }
      const next = firstStep ?? ledger.step;
      if (next > ledger.step) {
        const what = `at most ${ledger.step + 1}, the first step without a release`;
        throw new Misuse(`--first-step must be ${what}, got ${next + 1}`);
      }
      const first = stored ? undefined : memoOfNothing({ ...wanted, columns });
      return new LedgerTotals(path, store, ledger, next, memo, columns, first);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get certificate(): Certificate {
    return this.ledger.certificate;
  }
  get dimension(): number {
    return this.ledger.dimension;
  }
  get numSteps(): number {
    return this.ledger.numSteps;
  }
  get step(): number {
    return this.next;
  }

  /** Steps that are released: more than `step` where steps are repeated. */
  get numReleased(): number {
    return this.ledger.step;
  }

  /** Tells this state from others, wherever its file is. */
  get identity(): string {
    return this.ledger.identity;
  }

  stddev(step: number): number {
    return this.ledger.stddev(step);
  }

  /** Stores a new state before its first step: its key is that of the next run from then on. */
  async begin(): Promise<void> {
    if (this.first) await this.ledger.releaseSteps(0, [], this.first);
    this.first = undefined;
  }

  /** A step of each row. */
  async releaseMany(rows: Float64Array): Promise<Float64Array> {
    const { dimension } = this;
    const steps = Array.from({ length: rows.length / dimension }, (_, i) =>
      rows.subarray(i * dimension, (i + 1) * dimension),
    );
    const step = Math.max(this.numReleased, this.next + steps.length);
    const columns = [...this.columns];
    return this.releaseSteps(
      steps,
      writeMemo({ step, columns, people: null, time: null, counted: [] }),
    );
  }

  async releaseSteps(steps: Float64Array[], memo: Uint8Array): Promise<Float64Array> {
    const noisy = await this.ledger.releaseSteps(this.next, steps, memo).catch((error: unknown) => {
      throw ofStep(error, this.path);
    });
    this.next += steps.length;
    return noisy;
  }

  async close(): Promise<void> {
    this.ledger.dispose();
    await this.store.close();
  }
}
