// SPDX-License-Identifier: Apache-2.0

// Shows in the menu where the reader is, and brings them back there after a reload.

import { byId } from '../base/dom.ts';
import { anchor } from './anchor.ts';

const storageKey = 'dp-ftrl-place';

interface Place {
  readonly id: string;
  /** Distance of the scene's top from the top of the window. */
  readonly offset: number;
}

export class Way {
  private waiting = false;
  private readonly links = [...document.querySelectorAll<HTMLAnchorElement>('.menu a')];

  constructor(
    private readonly scenes: readonly HTMLElement[],
    private readonly isShown: () => boolean,
  ) {
    addEventListener('scroll', () => this.wait(), { passive: true });
    addEventListener('pagehide', () => this.remember());
  }

  /** Returns to the place of this tab before it was reloaded; false if it was not. */
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
      // Without storage a reload begins at the address.
    }
  }

  private get current(): HTMLElement {
    const middle = innerHeight / 2;
    const passed = this.scenes.filter((one) => one.getBoundingClientRect().top < middle);
    return passed.at(-1) ?? this.scenes[0]!;
  }

  private wait(): void {
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
    for (const link of this.links) {
      const isHere = link.hash === here && link.dataset['part'] === undefined;
      if (isHere) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }
}

function sessionItem(): string | null {
  try {
    return sessionStorage.getItem(storageKey);
  } catch {
    return null; // Storage is switched off.
  }
}
