// SPDX-License-Identifier: Apache-2.0

// The two parts of a scene: a figure, which stays in sight, and words beside it (below it on narrow
// screens), some of which put the figure into a state when they are read.

import { h } from '../base/dom.ts';

export class Stage {
  /** Holds the steps, the controls outside the picture, and the small print. */
  readonly words = h('div', { class: 'scene-steps' });
  /** The steps that show something, in order, and those among them that the reader has reached. */
  private readonly shows = new Map<Element, () => void>();
  private readonly reached = new Set<Element>();
  private current: Element | undefined;
  private readonly watch = new IntersectionObserver((entries) => this.read(entries), {
    // A step is reached in the middle of the words, which on narrow screens are below the figure;
    // it stays reached when it leaves the window at the top.
    rootMargin: `${1e6}px 0px ${matchMedia('(max-width: 1099px)').matches ? '-28%' : '-50%'} 0px`,
  });

  /** `figure` holds the picture and its parts; it stays in sight while the words scroll. */
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
      if (isIntersecting) this.reached.add(target);
      else this.reached.delete(target);
    }
    const last = [...this.shows.keys()].filter((step) => this.reached.has(step)).at(-1);
    if (last === this.current) return;
    this.current = last;
    if (last !== undefined) this.shows.get(last)!();
  }

  dispose(): void {
    this.watch.disconnect();
  }
}
