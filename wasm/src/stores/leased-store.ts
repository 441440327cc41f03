// SPDX-License-Identifier: Apache-2.0

// A store as seen by the stream or budget that loaded it: every call carries its lease, and every
// error has a code.

import { isBytes, wrongType } from '../core/check.js';
import { DpError, makeError, type ErrorPlace } from '../core/errors.js';
import type { Store } from '../types/all.js';

/** True for an error of this package, which needs no explanation. */
function isOurs(error: unknown): boolean {
  return error instanceof DpError || (error instanceof Error && 'constraint' in error);
}

export class LeasedStore {
  private readonly lease = Object.freeze({});

  constructor(
    private readonly store: Store,
    private readonly where: ErrorPlace,
  ) {}

  get appends(): boolean {
    return this.store.append !== undefined;
  }

  async load(): Promise<Uint8Array | undefined> {
    const bytes = await this.coded('loaded', () => this.store.load(this.lease));
    if (bytes === undefined || bytes === null || isBytes(bytes)) return bytes ?? undefined;
    throw wrongType(this.where, 'store', 'one that loads a Uint8Array', bytes);
  }

  async save(bytes: Uint8Array): Promise<void> {
    return this.coded('saved', () => this.store.save(bytes, this.lease));
  }

  async append(bytes: Uint8Array): Promise<void> {
    return this.coded('saved', () => this.store.append!(bytes, this.lease));
  }

  private async coded<T>(what: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (cause) {
      if (isOurs(cause)) throw cause;
      const isInUse = (cause as { code?: unknown } | undefined)?.code === 'store_in_use';
      const reason = cause instanceof Error ? cause.message : String(cause);
      const about = { parameter: 'store', constraint: `could not be ${what} (${reason})` };
      throw makeError(isInUse ? 'store_in_use' : 'store_failed', this.where, about, cause);
    }
  }
}
