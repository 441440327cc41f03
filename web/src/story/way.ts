// SPDX-License-Identifier: Apache-2.0

// Shows in the menu where the reader is, and restores the position after a reload.

import { byId } from '../base/dom.ts';
import { markInMenu } from '../base/menu.ts';
import { anchor } from './anchor.ts';

const storageKey = 'dp-ftrl-place';

interface Place {
  readonly id: string;
  /** Distance of the scene's top from the top of the window. */
  readonly offset: number;
}

export class Way {
  private waiting = false;

  constructor(
    private readonly scenes: readonly HTMLElement[],
    private readonly isShown: () => boolean,
  ) {
    addEventListener('scroll', () => this.wait(), { passive: true });
    addEventListener('pagehide', () => this.remember());
  }

  /** Restores the position that this tab had before a reload; false if none is stored. */
  restore(): boolean {
    const [navigation] = performance.getEntriesByType('navigation');
    const { type } = navigation as PerformanceNavigationTiming;
    if (type !== 'reload' && type !== 'back_forward') return false;
    const text = sessionItem();
    if (text === null) return false;
    const { id, offset } = JSON.parse(text) as Place;
    const scene = this.scenes.find((one) => one.id === id);
    if (scene === undefined) return false;
    anchor(scene, offset);
    return true;
  }

  private remember(): void {
    if (!this.isShown()) return;
    const scene = this.current;
    const place: Place = { id: scene.id, offset: scene.getBoundingClientRect().top };
    try {
      sessionStorage.setItem(storageKey, JSON.stringify(place));
    } catch {
      // Without storage, a reload begins at the scene in the address.
    }
  }

  private get current(): HTMLElement {
    const middle = innerHeight / 2;
    const passed = this.scenes.filter((one) => one.getBoundingClientRect().top < middle);
    return passed.at(-1) ?? this.scenes[0]!;
  }

  /** Shows the position in the next frame. */
  wait(): void {
    if (this.waiting || !this.isShown()) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.show();
    });
  }

  private show(): void {
    const room = document.documentElement.scrollHeight - innerHeight;
    const read = room > 0 ? Math.min(1, scrollY / room) : 0;
    byId('way').style.setProperty('--read', read.toFixed(4));
    const here = `#scene=${this.current.id.replace('scene-', '')}`;
    markInMenu((link) => link.hash === here);
  }
}

function sessionItem(): string | null {
  try {
    return sessionStorage.getItem(storageKey);
  } catch {
    return null; // Storage is disabled.
  }
}
