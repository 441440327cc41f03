// SPDX-License-Identifier: Apache-2.0

// Budgets, in memory and in a store.

import { outOfRange, readOptions, wrongType } from '../../core/check.js';
import type { Core } from '../../core/core.js';
import { asErrorsOf, DpError, makeError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { NEIGHBOURS } from '../../shared/defaults.js';
import { openHeld, type HeldStore } from '../../stores/stored.js';
import type { Budget, Charge, Cost } from '../../types/budget.js';
import type { PrivacyTarget } from '../../types/streams/options.js';
import type { Async } from '../../types/async.js';
import { readCall, Turns } from '../streams/turns.js';
import { readLosses } from './cost.js';
import { acceptPayments, type Payment } from '../payment.js';
import { Shares, type Loss } from './shares.js';
import { bytesOf, chargesIn, type BudgetTerms } from './text.js';

const ACCOUNTS = ['mu', 'rho'] as const;
const MOST_NAME = 200;

/** Digits with which a message states what is left, rounded down. */
const SHOWN_DIGITS = 6;

function shownDown(given: number): string {
  if (given === 0) return '0';
  // Shows a full limit as given, although it was rounded down before.
  const value = given * (1 + 2 ** -38);
  const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - SHOWN_DIGITS);
  return String(Number((Math.floor(value / unit) * unit).toPrecision(SHOWN_DIGITS)));
}

/** The options, charges and acceptance rule of a budget, in memory or in a store. */
class Account {
  readonly epsilon: number;
  readonly delta: number;
  readonly account: BudgetTerms['account'];
  readonly pure: number;
  readonly neighbours: BudgetTerms['neighbours'];
  readonly fixedTimes: boolean;
  protected isDisposed = false;
  protected readonly all: Charge[];
  private readonly shares: Shares;

  constructor(
    private readonly core: Core,
    protected readonly fixed: BudgetTerms,
    charges: readonly Charge[],
  ) {
    this.epsilon = fixed.epsilon;
    this.delta = fixed.delta;
    this.account = fixed.account;
    this.pure = fixed.pure;
    this.neighbours = fixed.neighbours;
    this.fixedTimes = fixed.fixedTimes;
    this.shares = new Shares(core, fixed);
    this.all = charges.map((charge) => Object.freeze({ ...charge }));
  }

  get disposed(): boolean {
    return this.isDisposed;
  }

  get charges(): readonly Charge[] {
    return Object.freeze([...this.all]);
  }

  get spent(): Budget['spent'] {
    return Object.freeze(this.shares.spent(this.all));
  }

  get left(): Readonly<PrivacyTarget> {
    const { epsilon } = this.shares.left(this.all);
    return Object.freeze({ epsilon, delta: this.delta });
  }

  get pureLeft(): number {
    return this.shares.pureLeft(this.all);
  }

  protected requireOpen(): void {
    if (this.isDisposed) throw new DpError('disposed', 'this budget was disposed of');
  }

  protected shareOf(fraction: unknown): PrivacyTarget {
    const where = 'share';
    if (typeof fraction !== 'number') throw wrongType(where, 'fraction', 'a number', fraction);
    if (!(fraction > 0 && fraction <= 1)) {
      throw outOfRange(where, 'fraction', 'above 0 and at most 1', fraction);
    }
    const share = this.shares.share(fraction);
    if (share.epsilon > 0) return share;
    const wanted = `large enough for an epsilon above 0 at delta ${share.delta}`;
    throw outOfRange(where, 'fraction', wanted, fraction);
  }

  protected isRoomFor(where: string, cost: unknown): boolean {
    return this.shares.isWithin([...this.all, this.lossOf(where, cost, 'cost')]);
  }

  /** Adds a charge if it fits. */
  protected add(where: string, name: unknown, cost: unknown): void {
    if (typeof name !== 'string') throw wrongType(where, 'name', 'a string', name);
    if (name.length > MOST_NAME) {
      throw outOfRange(where, 'name', `at most ${MOST_NAME} characters`, name);
    }
    this.addLoss(where, 'cost', { name, ...this.lossOf(where, cost, 'cost') });
  }

  /** Charges a new stream, or requires that a reopened one was charged. */
  protected addStream({ where, certificate, stream, isReopened }: Payment): void {
    this.requireNeighbours(where, certificate);
    const loss = this.lossOf(where, certificate, 'budget');
    if (!isReopened) {
      this.addLoss(where, 'epsilon', { name: where, ...loss, ...(stream && { stream }) });
      return;
    }
    const { part, cost } = loss;
    if (this.all.some((it) => it.stream === stream && it.part === part && it.cost === cost)) return;
    throw makeError('bad_state', where, {
      parameter: 'budget',
      constraint: 'must be the one that the stored stream was charged to when it was made',
      value: 'one that does not list it',
    });
  }

  /** Losses under different neighbouring relations cannot be added. */
  private requireNeighbours(where: string, certificate: Payment['certificate']): void {
    const { neighbours, fixedTimes } = certificate;
    const isLess = fixedTimes === true && !this.fixedTimes;
    if (neighbours === this.neighbours && !isLess) return;
    throw makeError('invalid_argument', where, {
      parameter: isLess ? 'fixedTimes' : 'neighbours',
      constraint: 'must be as in {budget}, because losses of other neighbours do not add up',
      value: isLess ? 'true' : neighbours,
    });
  }

  private lossOf(where: string, cost: unknown, parameter: string): Loss {
    const loss = this.shares.lossOf(readLosses(this.core, where, cost));
    if (loss !== undefined) return loss;
    throw makeError('unsupported', where, {
      parameter,
      constraint: "must have a mu, which discrete Gaussian noise has not: use {account} 'rho'",
    });
  }

  private addLoss(where: string, parameter: string, charge: Charge): void {
    if (this.shares.isWithin([...this.all, charge])) {
      this.all.push(Object.freeze(charge));
      return;
    }
    throw makeError('budget_spent', where, {
      parameter,
      constraint: `must fit what is left of the budget, ${this.leftInWords(charge.part)}`,
      value: `${charge.part === 'pure' ? 'epsilon' : charge.part} ${charge.cost}`,
    });
  }

  private leftInWords(part: Charge['part']): string {
    if (part === 'pure') return `epsilon ${shownDown(this.pureLeft)} at delta 0`;
    const { loss, epsilon } = this.shares.left(this.all);
    return `${part} ${shownDown(loss)} (epsilon ${shownDown(epsilon)} at delta ${this.delta})`;
  }
}

class MemoryBudget extends Account implements Budget {
  // Defined by the constructor where the symbol exists; not every host has it yet.
  declare readonly [Symbol.dispose]: () => void;

  constructor(core: Core, fixed: BudgetTerms) {
    super(core, fixed, []);
    const pay = (payment: Payment): void => {
      this.requireOpen();
      this.addStream(payment);
    };
    acceptPayments(this, { isStored: false, pay });
    if (typeof Symbol.dispose === 'symbol') {
      Object.defineProperty(this, Symbol.dispose, { value: () => this.dispose() });
    }
  }

  fits(cost: Cost): boolean {
    this.requireOpen();
    return this.isRoomFor('fits', cost);
  }

  charge(name: string, cost: Cost): void {
    this.requireOpen();
    this.add('charge', name, cost);
  }

  share(fraction: number): PrivacyTarget {
    return this.shareOf(fraction);
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

class StoredBudget extends Account implements Async<Budget> {
  declare readonly [Symbol.asyncDispose]: () => Promise<void>;
  private readonly turns = new Turns();
  /** Whether the store may lack charges. */
  private isBehind = false;

  constructor(
    core: Core,
    fixed: BudgetTerms,
    private readonly held: HeldStore,
  ) {
    super(core, fixed, held.bytes ? chargesIn('budget', held.bytes, fixed) : []);
    const pay = (payment: Payment): Promise<void> =>
      this.act(payment.where, undefined, () => this.addStream(payment));
    acceptPayments(this, { isStored: true, pay });
    if (typeof Symbol.asyncDispose === 'symbol') {
      Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.dispose() });
    }
  }

  /** Stores all charges. A charge that could not be stored is kept, and the next call stores it. */
  async write(): Promise<void> {
    this.isBehind = true;
    await this.held.store.save(bytesOf({ fixed: this.fixed, charges: this.all }));
    this.isBehind = false;
  }

  async fits(cost: Cost, call?: unknown): Promise<boolean> {
    return this.act('fits', call, () => this.isRoomFor('fits', cost));
  }

  async charge(name: string, cost: Cost, call?: unknown): Promise<void> {
    return this.act('charge', call, () => this.add('charge', name, cost));
  }

  async share(fraction: number, call?: unknown): Promise<PrivacyTarget> {
    return this.act('share', call, () => this.shareOf(fraction));
  }

  async dispose(call?: unknown): Promise<void> {
    await this.turns.take('dispose', readCall('dispose', call), () => {
      if (!this.isDisposed) this.held.hold.release();
      this.isDisposed = true;
    });
  }

  /** Runs after all earlier calls, and stores the charges. */
  private act<T>(where: string, call: unknown, act: () => T): Promise<T> {
    return this.turns.take(where, readCall(where, call), async () => {
      this.requireOpen();
      if (this.isBehind) await this.write();
      const { length } = this.all;
      const result = act();
      if (this.all.length > length) await this.write();
      return result;
    });
  }
}

const STORE_ONLY = 'mustExist';
const OPTIONS = ['epsilon', 'delta', 'account', 'pure', 'neighbours', 'fixedTimes', 'store'];

/** Makes a budget, or a promise of one in a store. */
export function makeBudget(
  { core }: Instance,
  options: unknown,
): MemoryBudget | Promise<StoredBudget> {
  const where = 'budget';
  const read = () => {
    const reader = readOptions(where, options, [...OPTIONS, STORE_ONLY]);
    const fixed: BudgetTerms = {
      epsilon: reader.number('epsilon'),
      delta: reader.number('delta'),
      account: reader.oneOfOr('account', ACCOUNTS),
      pure: reader.numberOr('pure', 0),
      neighbours: reader.oneOfOr('neighbours', NEIGHBOURS),
      fixedTimes: reader.flagOr('fixedTimes', false),
    };
    const { epsilon, delta, account, pure } = fixed;
    asErrorsOf(where, () => core.call('compose', account, new Float64Array(), epsilon, delta));
    if (!(pure >= 0 && pure <= epsilon)) {
      throw outOfRange(where, 'pure', `from 0 to {epsilon} = ${epsilon}`, pure);
    }
    return { reader, fixed };
  };
  const given = options as { store?: unknown } | null | undefined;
  if (given?.store === undefined) {
    const { reader, fixed } = read();
    if (reader.has(STORE_ONLY)) {
      throw outOfRange(where, STORE_ONLY, 'left out without {store}', reader.raw(STORE_ONLY));
    }
    if (typeof given === 'object' && given !== null && 'store' in given) {
      throw wrongType(where, 'store', 'defined or left out', undefined);
    }
    return new MemoryBudget(core, fixed);
  }
  return Promise.resolve().then(() => {
    const { reader, fixed } = read();
    return openHeld(reader, 'budget', async (held) => {
      const budget = new StoredBudget(core, fixed, held);
      if (!held.bytes) await budget.write();
      return budget;
    });
  });
}
