// SPDX-License-Identifier: Apache-2.0

// The turns of asynchronous calls: each begins after all earlier ones have settled.

import { optionsObject, wrongType } from '../../core/check.js';
import { makeError } from '../../core/errors.js';
import type { Call } from '../../types/async.js';

/** Checks and returns the last argument of a call. */
export function readCall(where: string, given: unknown): Call {
  const call: Call = optionsObject(where, given ?? {}, ['signal', 'onProgress']);
  const { signal, onProgress } = call;
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw wrongType(where, 'signal', 'an AbortSignal', signal);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw wrongType(where, 'onProgress', 'a function', onProgress);
  }
  return call;
}

/** The error of a call that was stopped by its signal, with the signal's reason as its cause. */
export function abortedError(where: string, signal: Call['signal']): Error {
  const constraint = 'was aborted by its signal';
  return makeError('aborted', where, { constraint }, signal?.reason);
}

export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs after all earlier calls. The signal cancels a call that has not begun. */
  take<T>(where: string, { signal }: Call, act: () => T | Promise<T>): Promise<T> {
    let hasBegun = false;
    const turn = this.last.then(() => {
      if (signal?.aborted) throw abortedError(where, signal);
      hasBegun = true;
      return act();
    });
    this.last = turn.catch(() => undefined);
    if (!signal) return turn;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        if (!hasBegun) reject(abortedError(where, signal));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const end = (): void => signal.removeEventListener('abort', onAbort);
      turn.then(resolve, reject).finally(end);
    });
  }
}
