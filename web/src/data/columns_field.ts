// SPDX-License-Identifier: Apache-2.0

// The columns of a table: which are summed, what each comes to, and what keeps one from being summed.

import { h } from '../page/dom.ts';
import { count, quantity } from '../page/format.ts';
import { offered, type Column, type Csv } from './csv.ts';
import { faultsText, readingsOf, type Reading } from './csv_repair.ts';

export interface ColumnsEvents {
  chosen(names: string[]): void;
  /** A way to read faulty cells was taken. */
  repaired(reading: Reading): void;
}

/** The sum of a column as it stands, before anything is clipped. */
function unclippedTotal(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}

export class ColumnsField {
  readonly list = h('fieldset', {
    class: 'columns',
    'aria-describedby': 'set-columns-error',
  });
  readonly faults = h('ul', { class: 'faults' });

  constructor(private readonly events: ColumnsEvents) {}

  show(csv: Csv, chosen: readonly string[], label: string): void {
    this.list.replaceChildren(h('legend', { class: 'visually-hidden' }, 'Columns to sum'));
    for (const column of offered(csv)) {
      this.list.append(this.box(column, chosen.includes(column.name), label));
    }
    const faulty = csv.columns
      .map((column) => ({ column, readings: readingsOf(csv, column) }))
      .filter(({ readings }) => readings.length > 0);
    this.faults.replaceChildren(
      ...faulty.map(({ column, readings }) =>
        h(
          'li',
          {},
          h('p', {}, faultsText(csv, column)),
          ...readings.map((reading) => this.offer(reading)),
        ),
      ),
    );
    this.faults.hidden = faulty.length === 0;
  }

  /** How many columns have no number yet, but something that can be read as one. */
  numRepairable(csv: Csv): number {
    return csv.columns.filter((column) => readingsOf(csv, column).length > 0).length;
  }

  /** How many columns are texts, and stay out of the list. */
  numTexts(csv: Csv): number {
    return csv.columns.length - offered(csv).length;
  }

  private box({ name, values, faults }: Column, checked: boolean, label: string): HTMLElement {
    const box = h('input', { type: 'checkbox', value: name });
    box.checked = checked;
    box.disabled = name === label;
    box.addEventListener('change', () => {
      const boxes = [...this.list.querySelectorAll('input')];
      this.events.chosen(boxes.filter((b) => b.checked && !b.disabled).map((b) => b.value));
    });
    const total = unclippedTotal(values);
    const words = faults.length > 0 ? `${count(faults.length)} faulty` : `total ${quantity(total, 6)}`;
    return h('label', {}, box, h('span', {}, ` ${name}`), h('data', { value: total }, words));
  }

  private offer(reading: Reading): HTMLElement {
    const text = reading.text[0]!.toUpperCase() + reading.text.slice(1);
    return h('button', { type: 'button', onclick: () => this.events.repaired(reading) }, text);
  }
}
