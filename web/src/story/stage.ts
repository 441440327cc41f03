// SPDX-License-Identifier: Apache-2.0

// The two parts of a scene: a figure, which stays in sight, and words beside it (below it on narrow
// screens), some of which put the figure into a state when they are read.

import { h } from '../base/dom.ts';

export class Stage {
  /** Holds the steps, the controls that are not part of the picture, and the small print. */
  readonly words = h('div', { class: 'scene-steps' });
  private readonly watch = new IntersectionObserver((entries) => this.read(entries), {
    // A step is read when it crosses the middle of the window.
    rootMargin: '-50% 0px -50% 0px',
  });
  private readonly shows = new Map<Element, () => void>();

  /** `figure` holds the picture and what belongs to it; it stays in sight while the words pass. */
  constructor(readonly figure: HTMLElement = h('div', { class: 'scene-stage' })) {}

  /** Adds a step in words; `show` is called each time the reader comes to it. */
  step(show: (() => void) | null, ...content: (Node | string)[]): HTMLElement {
    const element = h('p', { class: 'step' }, ...content);
    this.words.append(element);
    if (show !== null) {
      this.shows.set(element, show);
      this.watch.observe(element);
    }
    return element;
  }

  /** Adds small print, folded. */
  curious(...content: (Node | string)[]): HTMLElement {
    const summary = h('summary', {}, 'For the curious');
    const element = h('details', { class: 'curious' }, summary, ...content);
    this.words.append(element);
    return element;
  }

  private read(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      target.classList.toggle('read', isIntersecting);
      if (isIntersecting) this.shows.get(target)!();
    }
  }

  dispose(): void {
    this.watch.disconnect();
  }
}
