// SPDX-License-Identifier: Apache-2.0

import type { MapPanel } from '../../figures/picture.ts';
import { h } from '../../base/dom.ts';
import { NAMES } from './answers.ts';
import { NUM_PIXELS } from './numbers/image.ts';
import { NOISES, type Noise } from './numbers/learners.ts';
import { NUM_CLASSES, NUM_WEIGHTS } from './numbers/softmax.ts';
import { digitsPanel, largestIn, Picture } from './picture.ts';

/** Pictures of the ten rows of weights of one learner at a time. */
export class WeightPictures {
  readonly element: HTMLElement;
  private readonly pictures: Picture[] = [];
  private models: ReadonlyMap<Noise, Float64Array> = new Map();
  private noise: Noise = 'optimal';

  constructor() {
    const choices = NOISES.map((noise) =>
      h(
        'label',
        { class: noise },
        h('input', {
          type: 'radio',
          name: 'handwriting-noise',
          value: noise,
          checked: noise === this.noise,
          onchange: () => this.choose(noise),
        }),
        ` ${NAMES[noise]}`,
      ),
    );
    const items = Array.from({ length: NUM_CLASSES }, (_, digit) => {
      const picture = new Picture(`What counts for and against a ${digit}`);
      this.pictures.push(picture);
      return h('li', {}, picture.element, h('span', {}, String(digit)));
    });
    this.element = h(
      'div',
      { class: 'weights' },
      h(
        'fieldset',
        { class: 'switch' },
        h('legend', {}, 'What the model looks for, with'),
        ...choices,
      ),
      h('ol', { class: 'ten' }, ...items),
      h(
        'p',
        { class: 'hint' },
        'One picture for each digit: ink on blue speaks for that digit, ink on yellow against it. ',
        'Switch the noise to see how much of it is left in the pictures.',
      ),
    );
  }

  show(models: ReadonlyMap<Noise, Float64Array>): void {
    this.models = models;
    this.draw();
  }

  panels(): MapPanel[] {
    return NOISES.flatMap((noise) => {
      const weights = this.models.get(noise);
      return weights === undefined
        ? []
        : [digitsPanel(`What counts, with ${NAMES[noise]}`, weights)];
    });
  }

  private choose(noise: Noise): void {
    this.noise = noise;
    this.draw();
  }

  private draw(): void {
    const weights = this.models.get(this.noise) ?? new Float64Array(NUM_WEIGHTS);
    const full = largestIn(weights) || 1;
    this.pictures.forEach((picture, digit) => {
      picture.show(weights.subarray(digit * NUM_PIXELS, (digit + 1) * NUM_PIXELS), full);
    });
  }
}
