// SPDX-License-Identifier: Apache-2.0

// Field for the half-life of a decaying sum, as an alternative to its decay.

import { h, setText } from '../base/dom.ts';
import { quantity } from '../base/format.ts';
import type { Settings } from './settings.ts';
import { decayOf, halfLifeOf, learnsFrom } from './workload.ts';

const ids = { input: 'half-life', hint: 'half-life-hint', error: 'half-life-error' };

export class HalfLifeField {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly error = h('p', { class: 'error', id: ids.error, role: 'alert', hidden: true });

  /** `chosen` is called with the decay of the entered half-life. */
  constructor(private readonly chosen: (decay: number) => void) {
    this.input = h('input', {
      id: ids.input,
      type: 'text',
      inputmode: 'decimal',
      spellcheck: 'false',
      'aria-describedby': `${ids.error} ${ids.hint}`,
      onchange: () => this.enter(),
    });
    const hint = 'Steps after which a record counts half as much as when it came.';
    this.element = h(
      'div',
      { class: 'field' },
      h('div', { class: 'entry' }, h('label', { for: ids.input }, 'Half-life'), this.input),
      h('div', { class: 'beside' }, h('p', { class: 'hint', id: ids.hint }, hint), this.error),
    );
  }

  show(settings: Settings): void {
    this.element.hidden = learnsFrom(settings) || settings.workload !== 'decay';
    if (this.input === document.activeElement) return;
    this.input.value = quantity(halfLifeOf(settings.decay)).replaceAll(',', '');
    this.refuse(null);
  }

  private enter(): void {
    const text = this.input.value.trim();
    const decay = text === '' ? NaN : decayOf(Number(text));
    if (!(decay > 0 && decay < 1)) {
      this.refuse(
        `must be a number of steps above 0, at which the decay is below 1, got “${text}”`,
      );
      return;
    }
    this.refuse(null);
    this.chosen(decay);
  }

  private refuse(message: string | null): void {
    setText(this.error, message ?? '');
    this.error.hidden = message === null;
    if (message === null) this.input.removeAttribute('aria-invalid');
    else this.input.setAttribute('aria-invalid', 'true');
  }
}
