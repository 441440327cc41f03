// SPDX-License-Identifier: Apache-2.0

import { h } from '../../base/dom.ts';
import type { DigitSet } from './numbers/digits.ts';
import { featuresOf, NUM_PIXELS, NUM_SHADES, reduce } from './numbers/image.ts';
import { NUM_CLASSES } from './numbers/softmax.ts';
import { imageOf, type Stroke } from './numbers/strokes.ts';
import { Pad } from './pad.ts';
import { DigitPicture } from './picture.ts';

/** A drawing area, and images from which to choose. */
export class Reading {
  readonly drawing: HTMLElement;
  readonly offered: HTMLElement;
  private readonly pad: Pad;
  private readonly seen = new DigitPicture('The digit as the models see it');
  private readonly chooser: HTMLElement;
  private firstChoice = 0;

  /** `asked` is called with the features of each image to read; null if there is no image. */
  constructor(
    private readonly digits: DigitSet,
    private readonly asked: (features: Float64Array | null) => void,
  ) {
    this.pad = new Pad((strokes) => this.draw(strokes));
    const clear = (): void => {
      this.pad.clear();
      this.draw([]);
    };
    const label = 'Images that no model has learned from';
    this.chooser = h('div', { class: 'images', role: 'group', 'aria-label': label });
    const more = (): void => {
      this.firstChoice = (this.firstChoice + NUM_CLASSES) % digits.heldOut.images.length;
      this.offer();
    };
    this.drawing = h(
      'div',
      { class: 'drawing' },
      this.pad.element,
      h(
        'div',
        { class: 'seen' },
        this.seen.element,
        h('span', {}, 'what they see'),
        h('button', { type: 'button', class: 'clear', onclick: clear }, 'Clear'),
      ),
    );
    this.offered = h(
      'div',
      { class: 'offered' },
      h('span', {}, 'or choose one'),
      this.chooser,
      h('button', { type: 'button', class: 'more', onclick: more }, 'Others'),
    );
    this.offer();
    this.take(digits.heldOut.images[0]!);
  }

  private offer(): void {
    const { images, labels } = this.digits.heldOut;
    const buttons = Array.from({ length: NUM_CLASSES }, (_, i) => {
      const at = this.firstChoice + i;
      const picture = new DigitPicture(null);
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
    this.asked(image === null ? null : featuresOf(image));
  }
}
