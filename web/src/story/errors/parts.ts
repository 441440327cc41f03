// SPDX-License-Identifier: Apache-2.0

// Small components shared by scenes.

import { h } from '../../base/dom.ts';

/** Creates a number within text, with all its digits as the machine-readable value. */
export function number(name: string, value: number, text: string): HTMLDataElement {
  return h('data', { class: name, value }, text);
}

/** Creates a table row: a swatch and a name, followed by cells. */
export function row(
  swatch: string,
  name: string,
  ...cells: (Node | string)[]
): HTMLTableRowElement {
  const head = h('th', { scope: 'row' }, h('span', { class: `swatch ${swatch}` }), name);
  return h('tr', {}, head, ...cells.map((cell) => h('td', {}, cell)));
}

export function headRow(...names: string[]): HTMLTableSectionElement {
  const cells = names.map((name) => (name === '' ? h('td') : h('th', { scope: 'col' }, name)));
  return h('thead', {}, h('tr', {}, ...cells));
}

/** A row of radio buttons. */
export class Choices<T extends string | number> {
  readonly element: HTMLFieldSetElement;
  private readonly inputs = new Map<T, HTMLInputElement>();

  constructor(
    legend: string,
    name: string,
    options: readonly { value: T; text: string }[],
    chosen: T,
    changed: (value: T) => void,
  ) {
    const labels = options.map(({ value, text }) => {
      const input = h('input', { type: 'radio', name, value });
      input.addEventListener('change', () => changed(value));
      this.inputs.set(value, input);
      return h('label', {}, input, text);
    });
    this.element = h('fieldset', { class: 'choices' }, h('legend', {}, legend), ...labels);
    this.put(chosen);
  }

  /** Selects a choice without an event. */
  put(value: T): void {
    this.inputs.get(value)!.checked = true;
  }
}
