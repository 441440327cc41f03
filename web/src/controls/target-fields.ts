// SPDX-License-Identifier: Apache-2.0

// Epsilon, the noise and the error determine one another: the user enters one, and the others
// follow.

import type { Certificate } from 'dp-ftrl';
import { inUnit } from '../data/units.ts';
import { h, setText } from '../base/dom.ts';
import { quantity } from '../base/format.ts';

/**
 * Standard deviation of the noise of one measurement, or twice the standard deviation of the worst
 * total.
 */
type Target = 'noise' | 'worst';

const texts: Readonly<Record<Target, { label: string; hint(unit: string): string }>> = {
  noise: {
    label: 'σ noise',
    hint: (unit) =>
      `Standard deviation of the noise of one measurement, in ${unit || 'units of the data'}.`,
  },
  worst: {
    label: '± worst total',
    hint: (unit) =>
      `Two standard deviations of the worst total${inUnit(unit)}. Enter an acceptable value: ε follows.`,
  },
};

export interface TargetEvents {
  /** The epsilon at which Gaussian noise has this mu and delta. */
  epsilonOf(target: { mu: number; delta: number }): Promise<number>;
  chosen(epsilon: number): void;
}

/** Two standard deviations of the noisiest total. */
export const worstTotal = ({ noiseStddev, sensitivity, maxError }: Certificate): number =>
  (2 * noiseStddev * maxError) / sensitivity;

/** The values of both targets, computed from a certificate. */
function targetsOf(certificate: Certificate): Record<Target, number> {
  const { noiseStddev } = certificate;
  return { noise: noiseStddev, worst: worstTotal(certificate) };
}

export class TargetFields {
  readonly elements: HTMLElement[];
  private readonly inputs: Record<Target, HTMLInputElement>;
  private readonly errors: Record<Target, HTMLElement>;
  private readonly hints: Record<Target, HTMLElement>;
  private certificate: Certificate | null = null;

  constructor(private readonly events: TargetEvents) {
    const input = (target: Target): HTMLInputElement =>
      h('input', {
        id: `target-${target}`,
        type: 'text',
        inputmode: 'decimal',
        spellcheck: 'false',
        'aria-describedby': `target-${target}-error target-${target}-hint`,
        onchange: () => void this.enter(target),
      });
    const error = (target: Target): HTMLElement =>
      h('p', { class: 'error', id: `target-${target}-error`, role: 'alert', hidden: true });
    this.inputs = { noise: input('noise'), worst: input('worst') };
    this.errors = { noise: error('noise'), worst: error('worst') };
    const hint = (target: Target): HTMLElement =>
      h('p', { class: 'hint', id: `target-${target}-hint` }, texts[target].hint(''));
    this.hints = { noise: hint('noise'), worst: hint('worst') };
    this.elements = (['worst', 'noise'] as const).map((target) => this.field(target));
  }

  show(certificate: Certificate): void {
    this.certificate = certificate;
    const targets = targetsOf(certificate);
    for (const target of ['noise', 'worst'] as const) {
      this.inputs[target].value = quantity(targets[target]).replaceAll(',', '');
      this.refuse(target, null);
    }
  }

  /** Shows the unit of the targets; '' if there is none. */
  measure(unit: string): void {
    for (const target of ['noise', 'worst'] as const) {
      setText(this.hints[target], texts[target].hint(unit));
    }
  }

  private async enter(target: Target): Promise<void> {
    const { certificate } = this;
    if (certificate === null || certificate.mu === null) return;
    const text = this.inputs[target].value.trim();
    const value = Number(text);
    if (text === '' || !(value > 0) || value === Infinity) {
      this.refuse(target, `must be a finite number > 0, got “${text}”`);
      return;
    }
    // Noise and error are proportional to 1 / mu.
    const mu = (certificate.mu * targetsOf(certificate)[target]) / value;
    try {
      const epsilon = await this.events.epsilonOf({ mu, delta: certificate.delta });
      this.refuse(target, null);
      this.events.chosen(Number(epsilon.toPrecision(5)));
    } catch (error) {
      this.refuse(target, error instanceof Error ? error.message : String(error));
    }
  }

  private refuse(target: Target, message: string | null): void {
    setText(this.errors[target], message ?? '');
    this.errors[target].hidden = message === null;
    this.inputs[target].toggleAttribute('aria-invalid', false);
    if (message !== null) this.inputs[target].setAttribute('aria-invalid', 'true');
  }

  private field(target: Target): HTMLElement {
    const { label } = texts[target];
    const id = `target-${target}`;
    return h(
      'div',
      { class: 'field of-totals' },
      h('div', { class: 'entry' }, h('label', { for: id }, label), this.inputs[target]),
      h('div', { class: 'beside' }, this.hints[target], this.errors[target]),
    );
  }
}
