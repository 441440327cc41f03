// SPDX-License-Identifier: Apache-2.0

// Calls of a client that are waiting for the worker's answers.

import { DpError, makeError, recalled } from '../core/errors.js';
import type { Call } from '../types/async.js';
import { listen, type Port } from './port.js';
import type { Failure, Methods, Response } from './protocol.js';

interface PendingCall {
  epoch: number;
  onProgress: Call['onProgress'];
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A call, and the function that its errors name. */
interface Transmission extends Call {
  where?: string;
  /** Whether the worker still answers the call after an abort, with the results so far. */
  isAnswered?: boolean;
  epoch?: number;
}

export function errorOf({ code, message, refusal }: Failure): Error {
  return recalled(code, message, refusal);
}

/** True for the platform's error about an argument that cannot be cloned. */
function saysWhatCannotBeSent(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'DataCloneError';
}

export class Connection {
  private readonly pending = new Map<number, PendingCall>();
  private lastId = 0;
  private closed: DpError | undefined;
  private readonly collected: FinalizationRegistry<number> | undefined;
  epoch = 0;

  constructor(private readonly port: Port) {
    listen(port, 'message', (data) => this.receive(data as Response));
    for (const type of ['error', 'messageerror']) {
      listen(port, type, (event) => {
        const why = (event as { message?: string })?.message || 'its script could not be loaded';
        this.close(new DpError('load_failed', `worker: it failed: ${why}`, { cause: event }));
      });
    }
    // Last events of a worker in Node and of a port.
    for (const type of ['exit', 'close']) {
      listen(port, type, (code) => {
        const how = typeof code === 'number' ? ` with exit code ${code}` : '';
        this.close(new DpError('disposed', `worker: it has ended${how}`));
      });
    }
    port.start?.();
    if (typeof FinalizationRegistry !== 'function') return;
    this.collected = new FinalizationRegistry((id) => this.disposeOf(id));
  }

  /** Disposes of the object in the worker when its remote is garbage-collected here. */
  watch(remote: object, id: number): void {
    this.collected?.register(remote, id, remote);
  }

  forget(remote: object): void {
    this.collected?.unregister(remote);
  }

  disposeOf(id: number): void {
    this.call('dispose', { id }).catch(() => {}); // If the worker is gone, so is the object.
  }

  call<M extends keyof Methods>(
    method: M,
    argument: Methods[M][0],
    { where = method, epoch = this.epoch, signal, onProgress, isAnswered }: Transmission = {},
  ): Promise<Methods[M][1]> {
    if (this.closed) return Promise.reject(this.closed);
    if (signal?.aborted && !isAnswered) return Promise.reject(signal.reason);
    const id = ++this.lastId;
    const onAbort = (): void => {
      if (isAnswered) this.port.postMessage({ dpFtrl: 'stop', id }, []);
      else this.abort(id, signal?.reason);
    };
    const answer = new Promise<Methods[M][1]>((resolve, reject) => {
      this.pending.set(id, {
        epoch,
        onProgress,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        this.port.postMessage({ dpFtrl: 'call', id, epoch, method, argument }, []);
      } catch (cause) {
        // A part of the argument cannot be sent, such as a function.
        this.pending.delete(id);
        // The platform's message may contain the text of a function, so it appears as the cause
        // only.
        const constraint = 'must be something that can be sent to a worker';
        const value = saysWhatCannotBeSent(cause)
          ? 'a function, a proxy or the like'
          : String(cause);
        reject(makeError('wrong_type', where, { parameter: 'options', constraint, value }, cause));
      }
    });
    return signal ? answer.finally(() => signal.removeEventListener('abort', onAbort)) : answer;
  }

  private abort(id: number, reason: unknown): void {
    const waiting = this.pending.get(id);
    if (!waiting) return;
    this.pending.delete(id);
    this.port.postMessage({ dpFtrl: 'abort', id }, []);
    waiting.reject(reason);
  }

  cancel(): void {
    ++this.epoch;
    if (!this.closed) this.port.postMessage({ dpFtrl: 'cancel', epoch: this.epoch }, []);
    this.rejectOlderThan(this.epoch, new DpError('cancelled', 'this call was cancelled'));
  }

  terminate(): void {
    if (this.port.terminate) void this.port.terminate();
    else this.port.close?.();
    this.close(new DpError('disposed', 'the worker was terminated'));
  }

  private close(error: DpError): void {
    this.closed ??= error;
    this.rejectOlderThan(undefined, error);
  }

  private rejectOlderThan(epoch: number | undefined, error: DpError): void {
    for (const [id, waiting] of this.pending) {
      if (epoch !== undefined && waiting.epoch >= epoch) continue;
      this.pending.delete(id);
      waiting.reject(error);
    }
  }

  private receive(response: Response): void {
    if (!['result', 'failure', 'progress'].includes(response?.dpFtrl)) return;
    const waiting = this.pending.get(response.id);
    if (!waiting) return;
    if (response.dpFtrl === 'progress') {
      waiting.onProgress?.(response.progress);
      return;
    }
    this.pending.delete(response.id);
    if (response.dpFtrl === 'result') waiting.resolve(response.value);
    else waiting.reject(errorOf(response.failure));
  }
}
