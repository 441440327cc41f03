// SPDX-License-Identifier: Apache-2.0

import { DpError } from '../core/errors.js';
import { CoreHandle, type Instance } from '../core/handle.js';
import { TimeSlices as Slices } from '../shared/turns.js';
import type { Progress, Search, SearchCall } from '../types/all.js';
import { abortedError, readCall } from './streams/turns.js';

/** The handle of a search of the core. */
export class SearchHandle extends CoreHandle {
  constructor(instance: Instance, id: number) {
    super(instance, id, 'search');
  }

  override get id(): number {
    return super.id;
  }
}

/** A computation that a search runs in pieces. */
export interface Work<T> {
  /** Runs one piece. */
  step(): Progress & { done: boolean };
  /** Result of all pieces. */
  finish(): T;
  dispose(): void;
}

export class PiecewiseSearch<T> implements Search<T> {
  // Defined by the constructor where the symbol exists; not every browser has it yet.
  declare readonly [Symbol.dispose]: () => void;
  private isDone = false;
  private isDisposed = false;
  private outcome: { value: T } | undefined;

  constructor(
    private readonly call: string,
    private readonly work: Work<T>,
  ) {
    if (typeof Symbol.dispose === 'symbol') {
      Object.defineProperty(this, Symbol.dispose, { value: () => this.dispose() });
    }
  }

  get disposed(): boolean {
    return this.isDisposed;
  }

  [Symbol.iterator](): Iterator<Progress> {
    return {
      next: () => {
        const value = this.advance();
        return value ? { value, done: false } : { value, done: true };
      },
    };
  }

  result(): T {
    while (this.advance());
    this.outcome ??= { value: this.disposing(() => this.work.finish()) };
    this.dispose();
    return this.outcome.value;
  }

  async run(call?: SearchCall): Promise<T> {
    const { signal, onProgress } = readCall(this.call, call) as SearchCall;
    const slices = new Slices();
    for (const progress of this) {
      onProgress?.(progress);
      await slices.pass();
      if (signal?.aborted) throw abortedError(this.call, signal);
    }
    return this.result();
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.work.dispose();
  }

  /** Runs one piece and returns the progress; undefined if none was left. */
  private advance(): Progress | undefined {
    if (this.isDone) return undefined;
    if (this.isDisposed) throw new DpError('disposed', 'this search was disposed of');
    const { done, iterations, fraction } = this.disposing(() => this.work.step());
    this.isDone = done;
    return { iterations, fraction };
  }

  /** Runs `act`, and disposes of the search if it fails. */
  private disposing<Result>(act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      this.dispose();
      throw error;
    }
  }
}
