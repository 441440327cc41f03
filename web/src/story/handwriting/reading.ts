// SPDX-License-Identifier: Apache-2.0

import { h } from '../../base/dom.ts';
import { Answers } from './answers.ts';
import type { DigitSet } from './numbers/digits.ts';
import { featuresOf, NUM_PIXELS, NUM_SHADES, reduce } from './numbers/image.ts';
import type { Noise } from './numbers/learners.ts';
import { NUM_CLASSES } from './numbers/softmax.ts';
import { imageOf, type Stroke } from './numbers/strokes.ts';
import { Pad } from './pad.ts';
import { Picture } from './picture.ts';

/** Drawing area, images to choose from, and the learners' answers. */
export class Reading {
  readonly element: HTMLElement;
  private readonly pad: Pad;
  private readonly seen = new Picture('The digit as the models see it');
  private readonly answers = new Answers();
  private readonly chooser: HTMLElement;
  private models: ReadonlyMap<Noise, Float64Array> = new Map();
  private features: Float64Array | null = null;
  private firstChoice = 0;

  constructor(private readonly digits: DigitSet) {
    this.pad = new Pad((strokes) => this.draw(strokes));
    const clear = (): void => {
      this.pad.clear();
      this.draw([]);
    };
    this.chooser = h('div', { class: 'choices', role: 'group', 'aria-label': 'Held-out images' });
    const more = (): void => {
      this.firstChoice = (this.firstChoice + NUM_CLASSES) % digits.heldOut.images.length;
      this.offer();
    };
    this.element = h(
      'div',
      { class: 'reading-room' },
      h(
        'div',
        { class: 'drawing' },
        h('h3', {}, 'Draw a digit'),
        this.pad.element,
        h('button', { type: 'button', class: 'clear', onclick: clear }, 'Clear'),
      ),
      h(
        'div',
        { class: 'chosen-image' },
        h('h3', {}, 'What they see'),
        this.seen.element,
        h(
          'p',
          { class: 'hint' },
          '14 × 14 pixels, moved and scaled like the images they learned from.',
        ),
      ),
      this.answers.element,
      h(
        'div',
        { class: 'held-out' },
        h('h3', {}, 'Or choose an image that none of them has learned from'),
        this.chooser,
        h('button', { type: 'button', class: 'more', onclick: more }, 'Other images'),
      ),
    );
    this.offer();
    this.take(digits.heldOut.images[0]!);
  }

  show(models: ReadonlyMap<Noise, Float64Array>): void {
    this.models = models;
    this.answers.ask(models, this.features);
  }

  private offer(): void {
    const { images, labels } = this.digits.heldOut;
    const buttons = Array.from({ length: NUM_CLASSES }, (_, i) => {
      const at = this.firstChoice + i;
      const picture = new Picture(null);
      picture.show(images[at]!, NUM_SHADES - 1);
      const choose = (): void => {
        this.pad.clear();
        this.take(images[at]!);
      };
      const label = `Held-out image ${at + 1}, a handwritten ${labels[at]}`;
      return h('button', { type: 'button', 'aria-label': label, onclick: choose }, picture.element);
    });
    this.chooser.replaceChildren(...buttons);
  }

  private draw(strokes: readonly Stroke[]): void {
    const full = imageOf(strokes);
    this.take(full === undefined ? null : reduce(full));
  }

  private take(image: Uint8Array | null): void {
    this.seen.show(image ?? new Uint8Array(NUM_PIXELS), NUM_SHADES - 1);
    this.features = image === null ? null : featuresOf(image);
    this.answers.ask(this.models, this.features);
  }
}
