// SPDX-License-Identifier: Apache-2.0

// Confidence of each model in each digit: a table with a bar in every cell.

import { h, setText, svg } from '../../base/dom.ts';
import { roundPercent } from '../../base/format.ts';
import { NOISES, type Noise } from './numbers/learners.ts';
import { answer, largestOf, NUM_CLASSES } from './numbers/softmax.ts';

/** Names of the learners, used everywhere. */
export const NAMES: Readonly<Record<Noise, string>> = {
  optimal: 'noise taken back',
  independent: 'fresh noise',
  none: 'no noise',
};

interface Cell {
  element: HTMLElement;
  bar: SVGRectElement;
  text: HTMLElement;
}

function makeCell(): Cell {
  const bar = svg('rect', { height: 1, width: 0 });
  const text = h('span', {});
  const room = svg(
    'svg',
    {
      class: 'share',
      viewBox: '0 0 1 1',
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    bar,
  );
  return { element: h('td', {}, room, text), bar, text };
}

export class Answers {
  readonly element: HTMLElement;
  private readonly heads = new Map<Noise, HTMLElement>();
  private readonly cells = new Map<Noise, Cell[]>();
  /** The answers as a sentence, for users who cannot see the bars. */
  private readonly said = h('p', { class: 'visually-hidden', 'aria-live': 'polite' });

  constructor() {
    for (const noise of NOISES) {
      this.heads.set(noise, h('b', { class: 'guess', 'data-noise': noise }, '–'));
      this.cells.set(noise, Array.from({ length: NUM_CLASSES }, makeCell));
    }
    const head = NOISES.map((noise) =>
      h('th', { scope: 'col', class: noise }, h('span', {}, NAMES[noise]), this.heads.get(noise)),
    );
    const rows = Array.from({ length: NUM_CLASSES }, (_, digit) =>
      h(
        'tr',
        {},
        h('th', { scope: 'row' }, String(digit)),
        ...NOISES.map((noise) => {
          const { element } = this.cells.get(noise)![digit]!;
          element.className = noise;
          return element;
        }),
      ),
    );
    this.element = h(
      'div',
      { class: 'answers' },
      h(
        'table',
        {},
        h('caption', {}, 'What the three models read, and how sure they are'),
        h('thead', {}, h('tr', {}, h('td', {}), ...head)),
        h('tbody', {}, ...rows),
      ),
      this.said,
    );
  }

  /** Shows the models' answers for some features; a model still in training has none. */
  ask(models: ReadonlyMap<Noise, Float64Array>, features: Float64Array | null): void {
    const said: string[] = [];
    for (const noise of NOISES) {
      const weights = models.get(noise);
      const shares = weights && features ? answer(weights, features) : null;
      const guess = shares === null ? null : largestOf(shares);
      setText(this.heads.get(noise)!, guess === null ? '–' : String(guess));
      this.cells.get(noise)!.forEach(({ element, bar, text }, digit) => {
        const share = shares?.[digit] ?? 0;
        bar.setAttribute('width', share.toFixed(4));
        setText(text, shares === null ? '' : roundPercent(share));
        element.classList.toggle('guessed', digit === guess);
      });
      if (guess !== null) {
        said.push(`${NAMES[noise]}: ${guess}, ${roundPercent(shares![guess]!)} sure`);
      }
    }
    setText(this.said, said.join('; '));
  }
}
