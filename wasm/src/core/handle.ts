// SPDX-License-Identifier: Apache-2.0

// Handles own an object of the core. Callers dispose of them explicitly; the garbage collector is
// only a backstop.

import type { Core } from './core.js';
import { DpError } from './errors.js';
import type { StrategyInfo, Handle, MechanismName } from '../types/all.js';

/** Frees the objects of handles that were never disposed of. One registry per instance. */
export class Backstop {
  private readonly registry: FinalizationRegistry<number> | undefined;

  constructor(core: Core) {
    if (typeof FinalizationRegistry !== 'function') return;
    this.registry = new FinalizationRegistry((id) => {
      if (!core.aborted) core.call('dispose', id);
    });
  }

  watch(handle: object, id: number): void {
    this.registry?.register(handle, id, handle);
  }

  forget(handle: object): void {
    this.registry?.unregister(handle);
  }
}

/** A core, and the data that its objects share. */
export interface Instance {
  readonly core: Core;
  readonly backstop: Backstop;
  readonly catalogue: readonly StrategyInfo[];
  readonly mechanisms: readonly MechanismName[];
}

export abstract class CoreHandle implements Handle {
  private gone = false;
  // Defined by the constructor where the symbol exists; not every browser has it yet.
  declare readonly [Symbol.dispose]: () => void;

  protected constructor(
    protected readonly instance: Instance,
    private readonly handleId: number,
    private readonly kind: string,
  ) {
    instance.backstop.watch(this, handleId);
    if (typeof Symbol.dispose === 'symbol') {
      Object.defineProperty(this, Symbol.dispose, { value: () => this.dispose() });
    }
  }

  protected get core(): Core {
    return this.instance.core;
  }

  get disposed(): boolean {
    return this.gone;
  }

  dispose(): void {
    if (this.gone) return;
    this.gone = true;
    this.instance.backstop.forget(this);
    if (!this.core.aborted) this.core.call('dispose', this.handleId);
  }

  protected get id(): number {
    if (this.gone) throw new DpError('disposed', `this ${this.kind} was disposed of`);
    return this.handleId;
  }
}
