// SPDX-License-Identifier: Apache-2.0

// Legend of a figure: the lines, their values at the cursor, and whether they are published or
// secret. Secret lines form a group of their own, marked with a lock.

import { h, icon, setText } from '../base/dom.ts';
import type { Colour } from './colours.ts';

export interface KeyEntry {
  name: string;
  colour: Colour;
  kind: 'line' | 'dash' | 'dot' | 'band' | 'wide' | 'none';
}

/** The lines that the user has hidden; a figure keeps their names across runs. */
export interface Toggles {
  hidden: Set<string>;
  changed(): void;
}

const help = 'Hides it, or shows it again. A double click or Shift with Enter shows it alone.';

export class Legend {
  readonly element: HTMLElement;
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private readonly at = h('span', { class: 'key-at' });
  private readonly values: HTMLElement[] = [];
  /** Longest text of each value so far, in characters; the value keeps that width. */
  private readonly widths: number[] = [];

  /** With `toggles`, entries are buttons that hide their lines. */
  constructor(
    published: KeyEntry[],
    secret: KeyEntry[],
    private readonly toggles?: Toggles,
  ) {
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
      const swatch = h('span', { class: `swatch ${entry.kind} ${entry.colour}` });
      const name = this.toggles === undefined ? [swatch, entry.name] : [this.button(entry, swatch)];
      list.append(h('li', {}, ...name, value));
    }
    return h('div', { class: `key-group ${kind}` }, title, list);
  }

  private button({ name }: KeyEntry, swatch: HTMLElement): HTMLButtonElement {
    const { hidden } = this.toggles!;
    const button = h(
      'button',
      {
        type: 'button',
        class: 'toggle',
        title: help,
        'aria-pressed': String(!hidden.has(name)),
        onclick: (event: Event) => {
          if ((event as MouseEvent).shiftKey) this.isolate(name);
          else this.toggle(name);
        },
        ondblclick: () => this.isolate(name),
      },
      swatch,
      name,
    );
    this.buttons.set(name, button);
    return button;
  }

  private toggle(name: string): void {
    const { hidden } = this.toggles!;
    if (!hidden.delete(name)) hidden.add(name);
    this.showHidden();
  }

  /** Hides all other lines, or shows all of them if they are hidden already. */
  private isolate(name: string): void {
    const { hidden } = this.toggles!;
    const others = [...this.buttons.keys()].filter((one) => one !== name);
    const isAlone = !hidden.has(name) && others.every((one) => hidden.has(one));
    hidden.delete(name);
    for (const one of others) {
      if (isAlone) hidden.delete(one);
      else hidden.add(one);
    }
    this.showHidden();
  }

  private showHidden(): void {
    const { hidden, changed } = this.toggles!;
    for (const [name, button] of this.buttons)
      button.setAttribute('aria-pressed', String(!hidden.has(name)));
    changed();
  }
}
