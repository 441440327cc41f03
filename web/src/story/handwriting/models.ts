// SPDX-License-Identifier: Apache-2.0

// The three models, one row each: the weights of every digit as a picture, and below it how sure
// the model is of that digit.

import type { MapPanel } from '../../figures/picture.ts';
import { h, setText, svg } from '../../base/dom.ts';
import { roundPercent } from '../../base/format.ts';
import { NUM_PIXELS } from './numbers/image.ts';
import { NOISES, type NoiseName } from './numbers/learners.ts';
import { answer, largestOf, NUM_CLASSES, NUM_WEIGHTS } from './numbers/softmax.ts';
import { digitsPanel, largestIn, DigitPicture } from './picture.ts';

/** Names of the learners, used everywhere. */
export const NAMES: Readonly<Record<NoiseName, string>> = {
  optimal: 'noise taken back',
  independent: 'fresh noise',
  none: 'no noise',
};

interface DigitCell {
  element: HTMLElement;
  picture: DigitPicture;
  bar: SVGRectElement;
}

function makeCell(noise: NoiseName, digit: number): DigitCell {
  const picture = new DigitPicture(`${NAMES[noise]}: what counts for and against a ${digit}`);
  const bar = svg('rect', { height: 1, width: 0 });
  const share = svg(
    'svg',
    { class: 'share', viewBox: '0 0 1 1', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    bar,
  );
  const element = h('li', {}, picture.element, share, h('span', {}, String(digit)));
  return { element, picture, bar };
}

/** The row of one model. */
class ModelRow {
  readonly element: HTMLElement;
  private readonly guess: HTMLElement;
  private readonly reads = h('span', {});
  private readonly sure = h('span', {});
  private readonly cells: DigitCell[];

  constructor(noise: NoiseName) {
    this.guess = h('b', { class: 'guess', 'data-noise': noise }, '–');
    this.cells = Array.from({ length: NUM_CLASSES }, (_, digit) => makeCell(noise, digit));
    const head = h(
      'p',
      {},
      h('strong', {}, NAMES[noise]),
      h('span', {}, this.reads, this.guess, this.sure),
    );
    const pictures = this.cells.map(({ element }) => element);
    this.element = h(
      'div',
      { class: `model ${noise}` },
      head,
      h('ol', { class: 'ten' }, ...pictures),
    );
  }

  /** Marks the pixel that belongs to a weight. */
  mark(weight: number): void {
    this.cells[Math.floor(weight / NUM_PIXELS)]!.picture.mark(weight % NUM_PIXELS);
  }

  /** Explains why there is no answer yet. */
  wait(isLearning: boolean): void {
    setText(this.reads, '');
    setText(this.guess, '');
    setText(this.sure, isLearning ? 'learning…' : 'learns next');
  }

  show(weights: Float64Array): void {
    const full = largestIn(weights) || 1;
    this.cells.forEach(({ picture }, digit) => {
      picture.show(weights.subarray(digit * NUM_PIXELS, (digit + 1) * NUM_PIXELS), full);
    });
  }

  /** Lights up the digit with the largest share, and returns the digit. */
  light(shares: Float64Array | null): number | null {
    const guess = shares === null ? null : largestOf(shares);
    setText(this.guess, guess === null ? '–' : String(guess));
    setText(this.sure, guess === null ? '' : `, ${roundPercent(shares![guess]!)} sure`);
    setText(this.reads, 'reads ');
    this.cells.forEach(({ element, bar }, digit) => {
      bar.setAttribute('width', (shares?.[digit] ?? 0).toFixed(4));
      element.classList.toggle('guessed', digit === guess);
    });
    return guess;
  }
}

export class Models {
  readonly element: HTMLElement;
  private readonly rows = new Map<NoiseName, ModelRow>();
  private models: ReadonlyMap<NoiseName, Float64Array> = new Map();
  private features: Float64Array | null = null;
  /** The answers as a sentence, for users who cannot see the rows. */
  private readonly said = h('p', { class: 'visually-hidden', 'aria-live': 'polite' });

  /** `watched` is the weight to mark in every row. */
  constructor(watched: number) {
    for (const noise of NOISES) {
      const row = new ModelRow(noise);
      row.mark(watched);
      row.show(new Float64Array(NUM_WEIGHTS));
      this.rows.set(noise, row);
    }
    const elements = [...this.rows.values()].map(({ element }) => element);
    this.element = h('div', { class: 'models' }, ...elements, this.said);
  }

  /** `learning` is the learner in training. */
  show(models: ReadonlyMap<NoiseName, Float64Array>, learning: NoiseName): void {
    for (const [noise, row] of this.rows) {
      const weights = models.get(noise) ?? new Float64Array(NUM_WEIGHTS);
      if (models.get(noise) !== this.models.get(noise)) row.show(weights);
    }
    this.models = models;
    this.ask(this.features);
    for (const [noise, row] of this.rows) if (!models.has(noise)) row.wait(noise === learning);
  }

  /** Shows the answers of the models for some features; a model still in training has no answer. */
  ask(features: Float64Array | null): void {
    this.features = features;
    const said: string[] = [];
    for (const [noise, row] of this.rows) {
      const weights = this.models.get(noise);
      const guess = row.light(weights && features ? answer(weights, features) : null);
      if (guess !== null) said.push(`${NAMES[noise]}: ${guess}`);
    }
    setText(this.said, said.join('; '));
  }

  panels(): MapPanel[] {
    return NOISES.flatMap((noise) => {
      const weights = this.models.get(noise);
      return weights === undefined
        ? []
        : [digitsPanel(`What counts, with ${NAMES[noise]}`, weights)];
    });
  }
}
