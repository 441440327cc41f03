// SPDX-License-Identifier: Apache-2.0

// The form: one control per setting, with its explanation beside it and its error below it.

import { NEIGHBOURS, OBJECTIVES } from '../../../wasm/src/shared/defaults.ts';
import { h, setText } from '../base/dom.ts';
import { quantity } from '../base/format.ts';
import { aboutMechanism, hints, privacyText, streamText } from './explain.ts';
import { listedName, mechanismGroups, textOf } from './mechanisms.ts';
import { parameterKeys, parameterSpecs, partsOf } from './parameters.ts';
import type { ParameterKey } from './parameters.ts';
import {
  isListed,
  publicTexts,
  rules,
  type SettingKey,
  type PublicText,
  type Settings,
} from './settings.ts';

type FieldRule = { read(text: string): unknown; write(value: unknown): string };

export interface Control {
  element: HTMLElement;
  input: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement | HTMLFieldSetElement;
  hint: HTMLElement;
  error: HTMLElement;
}

const labels: Partial<Record<SettingKey, string>> = {
  mechanism: 'Mechanism',
  compare: 'Compare with',
  epsilon: 'ε',
  delta: 'δ',
  neighbours: 'Neighbours',
  participation: 'One user has',
  participations: 'Times',
  minSeparation: 'Separation',
  workload: 'Sum',
  window: 'Window',
  decay: 'Decay',
  sumMomentum: 'Momentum',
  budget: 'Total ε',
  releases: 'Releases',
  clipNorm: 'Clip norm',
  stream: 'Stream',
  numSteps: 'Horizon',
  dimension: 'Dimension',
  streamSeed: 'Stream seed',
  loss: 'Loss',
  rule: 'Rule',
  momentum: 'Momentum',
  lambda: 'λ',
  noiseSeed: 'Noise seed',
  statistic: 'Released',
  measured: 'Column',
  range: 'Range',
  category: 'Column',
  domain: 'Categories',
  together: 'Sums',
  ...Object.fromEntries(parameterKeys.map((key) => [key, parameterSpecs[partsOf(key).name].label])),
};

const isParameter = (key: SettingKey): key is ParameterKey => /^[ab]_/.test(key);

/** Controls whose options depend on the data; their values are set together with the options. */
const ofData: ReadonlySet<SettingKey> = new Set([
  'source',
  'label',
  'person',
  'time',
  'missing',
  'measured',
  'category',
]);

const spoken: Partial<Record<SettingKey, string>> = {
  epsilon: 'epsilon',
  budget: 'epsilon of the budget',
  delta: 'delta',
  lambda: 'lambda',
};

const choices: Partial<Record<SettingKey, readonly (readonly [string, string])[]>> = {
  mechanism: [],
  compare: [['none', 'nothing']],
  neighbours: NEIGHBOURS.map((text) => [text, text] as const),
  participation: [
    ['single', 'one record'],
    ['epochs', 'one per epoch'],
    ['separated', 'several'],
  ],
  workload: [
    ['total', 'running total'],
    ['window', 'sliding window'],
    ['decay', 'decaying sum'],
    ['momentum', 'momentum'],
    ['active', 'active people'],
  ],
  stream: [
    ['stationary', 'stationary'],
    ['drifting', 'drifting'],
    ['switching', 'switching'],
  ],
  loss: [
    ['logistic', 'logistic'],
    ['squared', 'squared'],
  ],
  rule: [
    ['ftrl', 'FTRL'],
    ['descent', 'gradient descent'],
    ['both', 'both'],
  ],
  statistic: [
    ['moments', 'mean and spread'],
    ['histogram', 'counts of categories'],
    ['sums', 'several sums at once'],
  ],
  measured: [],
  category: [],
  ...Object.fromEntries(
    parameterKeys
      .filter((key) => parameterSpecs[partsOf(key).name].kind === 'flag')
      .map((key) => [key, ['auto', 'yes', 'no'].map((text) => [text, text] as const)]),
  ),
  ...Object.fromEntries(
    parameterKeys
      .filter((key) => parameterSpecs[partsOf(key).name].kind === 'objective')
      .map((key) => [key, ['auto', ...OBJECTIVES].map((text) => [text, text] as const)]),
  ),
};

function mechanismOptions(): HTMLElement[] {
  return mechanismGroups.map(({ title, names }) =>
    h(
      'optgroup',
      { label: title },
      ...names.map((value) => h('option', { value }, listedName(value))),
    ),
  );
}

/** Milliseconds without a keystroke after which a text counts as entered. */
const typingPause = 350;

interface Slider {
  input: HTMLInputElement;
  /** Element that displays the value; null if a field displays it. */
  said: HTMLElement | null;
}

export class Controls {
  private readonly controls = new Map<SettingKey, Control>();
  private readonly hidden = new Set<SettingKey>();
  private readonly sliders: Slider[] = [];

  /** `prefix` begins the ids, and must differ between two forms in one document. */
  constructor(
    private readonly changed: (key: SettingKey, text: string) => void,
    private readonly prefix = 'set',
  ) {}

  /** Creates a titled group of controls. */
  group(title: string, keys: readonly SettingKey[], ...extra: Node[]): HTMLElement {
    const legend = h('legend', {}, title);
    return h('fieldset', {}, legend, ...extra, ...this.fields(keys));
  }

  fields(keys: readonly SettingKey[]): HTMLElement[] {
    return keys.map((key) => this.make(key).element);
  }

  /** Removes the help of a control from its field, so that it can be put elsewhere. */
  help(key: SettingKey): HTMLElement {
    const { hint } = this.controls.get(key)!;
    const name = h('b', {}, labels[key] ?? key);
    return h('div', { class: 'help' }, name, hint);
  }

  /** Inserts elements below a control. */
  follow(key: SettingKey, elements: readonly HTMLElement[]): void {
    this.controls.get(key)?.element.after(...elements);
  }

  /** Registers a control created elsewhere, so that it can show errors. */
  adopt(key: SettingKey, control: Control): void {
    this.controls.set(key, control);
  }

  /** Resets every control to its current value, and discards text that was typed or refused. */
  restore(settings: Settings): void {
    for (const [key, control] of this.controls) {
      if (isListed(key) || control.input instanceof HTMLFieldSetElement) continue;
      this.error(key, null);
      if (!ofData.has(key) && !this.hidden.has(key))
        control.input.value = (rules[key] as FieldRule).write(settings[key]);
    }
    this.show(settings);
  }

  /** Shows the current values, except where a refused text still waits to be corrected. */
  show(settings: Settings): void {
    for (const [key, control] of this.controls) {
      if (isListed(key) || ofData.has(key) || this.hidden.has(key)) continue;
      if (control.input instanceof HTMLFieldSetElement) continue;
      if (control.input.getAttribute('aria-invalid') === 'true') continue;
      // Does not overwrite a text while it is being typed.
      if (control.input === document.activeElement && control.input.type === 'text') continue;
      const text = (rules[key] as FieldRule).write(settings[key]);
      const same = control.input.value !== '' && sameValue(key, control.input.value, text);
      if (!same) control.input.value = text;
    }
    for (const slider of this.sliders) setSlider(slider, settings.epsilon);
    const { mechanism, compare } = settings;
    const about = aboutMechanism(settings);
    this.hint('mechanism', textOf(mechanism) + about);
    this.hint('compare', compare === 'none' ? hints.compare! : textOf(compare) + about);
    this.hint('stream', streamText[settings.stream]);
    for (const key of ['epsilon', 'delta', 'neighbours'] as const)
      this.hint(key, privacyText(key, settings));
  }

  /** Fills a select with the columns of a table. */
  offer(key: 'measured' | 'category', names: readonly string[], chosen: string): void {
    const { input } = this.controls.get(key)!;
    const texts = names.includes(chosen) ? names : [chosen, ...names];
    const isSame =
      texts.join() === [...(input as HTMLSelectElement).options].map(({ value }) => value).join();
    if (!isSame)
      input.replaceChildren(...texts.map((value) => h('option', { value }, value || 'none')));
    (input as HTMLSelectElement).value = chosen;
  }

  /** Shows the value that applies while the field is empty. */
  placeholder(key: PublicText, text: string): void {
    (this.controls.get(key)!.input as HTMLInputElement).placeholder = text;
  }

  /** Hides the value of a setting, or allows it to be shown again. */
  hide(key: 'noiseSeed', isHidden: boolean): void {
    const input = this.controls.get(key)!.input as HTMLInputElement;
    if (isHidden) this.hidden.add(key);
    else this.hidden.delete(key);
    if (isHidden) input.value = '';
    input.disabled = isHidden;
    input.placeholder = isHidden ? 'hidden' : '';
  }

  hint(key: SettingKey, text: string): void {
    const control = this.controls.get(key);
    if (control) setText(control.hint, text);
  }

  /** Shows or hides a control; hiding clears its error. */
  setShown(key: SettingKey, shown: boolean): void {
    const control = this.controls.get(key);
    if (!control) return;
    if (!shown) this.error(key, null);
    control.element.hidden = !shown;
  }

  /** Sets or clears the error of a control; false if the control is missing or hidden. */
  error(key: SettingKey, message: string | null, text?: string): boolean {
    const control = this.controls.get(key);
    if (!control || (message !== null && control.element.hidden)) return false;
    if (text !== undefined && control.input instanceof HTMLInputElement) control.input.value = text;
    if (message === null) control.input.removeAttribute('aria-invalid');
    else control.input.setAttribute('aria-invalid', 'true');
    setText(control.error, message ?? '');
    control.error.hidden = message === null;
    if (message !== null) unfold(control.element);
    return true;
  }

  /** Clears errors after a successful run, except for texts that still cannot be read. */
  clearResolved(): void {
    for (const [key, { input }] of this.controls) {
      if (isListed(key) || input instanceof HTMLFieldSetElement) this.error(key, null);
      else if (readable(key, input.value)) this.error(key, null);
    }
  }

  private make(key: SettingKey): Control {
    const id = `${this.prefix}-${key}`;
    const options = choices[key];
    const attributes = { id, name: key, 'aria-describedby': `${id}-error ${id}-hint` };
    const input = options
      ? h('select', attributes, ...options.map(([value, text]) => h('option', { value }, text)))
      : h('input', { ...attributes, type: 'text', inputmode: 'decimal', spellcheck: 'false' });
    if (key === 'mechanism' || key === 'compare') input.append(...mechanismOptions());
    if (input instanceof HTMLInputElement) this.allowText(key, input);
    this.listen(key, input);
    const hint = h('p', { class: 'hint', id: `${id}-hint` }, hints[key] ?? '');
    const error = h('p', { class: 'error', id: `${id}-error`, role: 'alert', hidden: true });
    const word = spoken[key];
    const label = h('label', { for: id }, labels[key] ?? key);
    if (word) label.append(h('span', { class: 'word' }, ` ${word}`));
    const extra = key === 'epsilon' ? this.makeSlider() : null;
    const entry = h('div', { class: 'entry' }, label, input, extra);
    const isList = isParameter(key) && parameterSpecs[partsOf(key).name].kind === 'numbers';
    const wide = isList || key === 'together';
    const beside = h('div', { class: 'beside' }, hint, error);
    const element = h('div', { class: wide ? 'field wide' : 'field' }, entry, beside);
    const control = { element, input, hint, error };
    this.controls.set(key, control);
    return control;
  }

  private allowText(key: SettingKey, input: HTMLInputElement): void {
    if (isParameter(key)) {
      input.placeholder = 'auto';
      if (parameterSpecs[partsOf(key).name].kind === 'numbers') input.inputMode = 'text';
    }
    if (key === 'lambda') input.inputMode = 'text';
    if (key === 'budget') input.placeholder = 'none';
    if ((publicTexts as readonly SettingKey[]).includes(key)) input.inputMode = 'text';
  }

  private listen(key: SettingKey, input: HTMLInputElement | HTMLSelectElement): void {
    let timer = 0;
    const send = (): void => {
      clearTimeout(timer);
      this.changed(key, input.value);
    };
    input.addEventListener('change', send);
    if (input instanceof HTMLInputElement) {
      input.addEventListener('input', () => {
        clearTimeout(timer);
        timer = window.setTimeout(send, typingPause);
      });
    }
  }

  /**
   * Creates a slider for epsilon, from 0.05 to 20 in equal ratios; all such sliders move together.
   * `said` displays the value if no field displays it.
   */
  makeSlider(said: HTMLElement | null = null): HTMLInputElement {
    const input = h('input', {
      type: 'range',
      min: Math.log10(0.05),
      max: Math.log10(20),
      step: 0.05, // Neighbours at a smaller step could round to the same two digits.
      'aria-label': 'epsilon, on a logarithmic scale',
    });
    input.addEventListener('input', () => {
      const epsilon = Number((10 ** Number(input.value)).toPrecision(2));
      for (const other of this.sliders) setSlider(other, epsilon, other.input !== input);
      this.error('epsilon', null, String(epsilon));
      this.changed('epsilon', String(epsilon));
    });
    this.sliders.push({ input, said });
    return input;
  }
}

/** Opens every fold that contains an element. */
export function unfold(element: Element): void {
  const fold = element.closest('details');
  if (fold === null) return;
  fold.open = true;
  if (fold.parentElement !== null) unfold(fold.parentElement);
}

/**
 * Sets a slider. Screen readers announce the text, because the logarithm would mean nothing to
 * users.
 */
function setSlider({ input, said }: Slider, epsilon: number, moves = true): void {
  if (moves) input.value = String(Math.log10(epsilon));
  input.setAttribute('aria-valuetext', `epsilon ${quantity(epsilon)}`);
  if (said !== null) setText(said, `ε = ${quantity(epsilon)}`);
}

function readable(key: Exclude<SettingKey, 'columns' | 'units'>, text: string): boolean {
  try {
    rules[key].read(text);
    return true;
  } catch {
    return false;
  }
}

/** True if two texts spell the same value; the typed text is then kept. */
function sameValue(key: SettingKey, typed: string, text: string): boolean {
  if (isListed(key)) return false;
  try {
    const rule = rules[key] as FieldRule;
    return rule.write(rule.read(typed)) === text;
  } catch {
    return false;
  }
}
