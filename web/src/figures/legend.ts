// SPDX-License-Identifier: Apache-2.0

// Legend of a figure: the lines, their values at the cursor, and whether they are published or
// secret. Secret lines are dashed and carry a lock, here and in the drawing.

import { h, icon, setText } from '../base/dom.ts';
import type { Colour } from './colours.ts';

export interface KeyEntry {
  name: string;
  colour: Colour;
  kind: 'line' | 'dash' | 'dot' | 'band' | 'wide' | 'none';
}

export class Legend {
  readonly element: HTMLElement;
  private readonly at = h('span', { class: 'key-at' });
  private readonly values: HTMLElement[] = [];
  /** Longest text of each value so far, in characters; the value keeps that width. */
  private readonly widths: number[] = [];

  constructor(published: KeyEntry[], secret: KeyEntry[]) {
    this.element = h('div', { class: 'key' }, h('div', { class: 'key-head' }, this.at));
    if (published.length > 0) this.element.append(this.group('published', published));
    if (secret.length > 0) this.element.append(this.group('secret', secret));
  }

  /** Shows the step and the values in the order of the entries, published ones first. */
  update(at: string, values: { text: string; value?: number }[]): void {
    setText(this.at, at);
    for (const [i, cell] of this.values.entries()) {
      const text = values[i]?.text ?? '';
      setText(cell, text);
      if (text.length > (this.widths[i] ?? 0)) {
        this.widths[i] = text.length;
        cell.style.minWidth = `${text.length}ch`;
      }
      const value = values[i]?.value;
      if (value === undefined) cell.removeAttribute('value');
      else cell.setAttribute('value', String(value));
    }
  }

  private group(kind: 'published' | 'secret', entries: KeyEntry[]): HTMLElement {
    const title = h('span', { class: 'key-title' }, kind === 'secret' && icon('lock'), kind);
    const list = h('ul', { 'aria-label': kind === 'secret' ? 'secret in a deployment' : kind });
    for (const entry of entries) {
      const value = h('data');
      this.values.push(value);
      list.append(
        h(
          'li',
          {},
          h('span', { class: `swatch ${entry.kind} ${entry.colour}` }),
          entry.name,
          value,
        ),
      );
    }
    return h('div', { class: `key-group ${kind}` }, title, list);
  }
}
