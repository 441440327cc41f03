// SPDX-License-Identifier: Apache-2.0

// List of the columns of a table: which are summed, their totals, and the faults that prevent
// summing.

import { h, setText } from '../base/dom.ts';
import { count, quantity } from '../base/format.ts';
import { offered, type Column, type Csv } from './csv.ts';
import { faultsText, readingsOf, type Reading } from './csv_repair.ts';
import { maxUnit, unitOf, type Units } from './units.ts';

export interface ColumnsEvents {
  chosen(names: string[]): void;
  /** Called when a column gets a unit of measure; '' for none. */
  measured(name: string, unit: string): void;
  /** Called when the user accepts a way to read faulty cells. */
  repaired(reading: Reading): void;
}

/** Returns the sum of a column before clipping. */
function unclippedTotal(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function totalText({ values, faults }: Column): string {
  return faults.length > 0
    ? `${count(faults.length)} faulty`
    : `total ${quantity(unclippedTotal(values), 6)}`;
}

function unitLabel(name: string, field: HTMLInputElement): HTMLElement {
  const whose = h('span', { class: 'visually-hidden' }, ` of ${name}`);
  return h('label', { class: 'unit' }, h('span', {}, 'in the unit', whose), field);
}

interface ColumnsLook {
  units: Units;
  isHidden: boolean;
}

/** A column in the list. */
interface ColumnRow {
  column: Column;
  box: HTMLInputElement;
  said: HTMLElement;
  /** Unit field; null if the column is not summed. */
  field: HTMLInputElement | null;
}

export class ColumnsField {
  readonly list = h('fieldset', {
    class: 'columns',
    'aria-describedby': 'set-columns-error',
  });
  readonly faults = h('ul', { class: 'faults' });

  private rows: ColumnRow[] = [];
  /** Table and choice for which the list was made. */
  private csv: Csv | null = null;
  private choice = '';

  constructor(private readonly events: ColumnsEvents) {}

  /** `isHidden` leaves out what depends on the cells. */
  show(csv: Csv, chosen: readonly string[], label: string, { units, isHidden }: ColumnsLook): void {
    // Keeps the list while a unit is typed, so that it or the next field keeps the focus.
    const choice = JSON.stringify([chosen, label]);
    if (csv !== this.csv || choice !== this.choice) this.fill(csv, chosen, label);
    [this.csv, this.choice] = [csv, choice];
    for (const { column, box, said, field } of this.rows) {
      box.checked = chosen.includes(column.name);
      const unit = unitOf([column.name], units);
      if (field !== null && field !== document.activeElement) field.value = unit;
      if (isHidden) said.removeAttribute('value');
      else said.setAttribute('value', String(unclippedTotal(column.values)));
      const total = isHidden ? 'total hidden' : totalText(column);
      setText(said, `${total} ${field === null || isHidden ? '' : unit}`.trim());
    }
    const faulty = (isHidden ? [] : csv.columns)
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

  clear(): void {
    this.rows = [];
    this.csv = null;
    this.list.replaceChildren();
    this.faults.replaceChildren();
  }

  private fill(csv: Csv, chosen: readonly string[], label: string): void {
    const { activeElement } = document;
    const focused = activeElement instanceof HTMLInputElement ? activeElement.value : null;
    const isInside = this.list.contains(activeElement);
    this.rows = [];
    this.list.replaceChildren(h('legend', { class: 'visually-hidden' }, 'Columns to sum'));
    for (const column of offered(csv)) {
      const isChosen = chosen.includes(column.name) && column.name !== label;
      const said = h('data');
      const field = isChosen ? this.unitField(column.name) : null;
      const box = this.box(column.name, label);
      this.rows.push({ column, box, said, field });
      this.list.append(h('label', {}, box, h('span', {}, ` ${column.name}`), said));
      if (field !== null) this.list.append(unitLabel(column.name, field));
      if (isInside && box.value === focused) box.focus();
    }
  }

  /** Returns the number of columns with faulty cells that can be read in some way. */
  numRepairable(csv: Csv): number {
    return csv.columns.filter((column) => readingsOf(csv, column).length > 0).length;
  }

  /** Returns the number of text columns, which are not in the list. */
  numTexts(csv: Csv): number {
    return csv.columns.length - offered(csv).length;
  }

  private box(name: string, label: string): HTMLInputElement {
    const box = h('input', { type: 'checkbox', value: name });
    box.disabled = name === label;
    box.addEventListener('change', () => {
      const boxes = [...this.list.querySelectorAll<HTMLInputElement>('input[type=checkbox]')];
      this.events.chosen(boxes.filter((b) => b.checked && !b.disabled).map((b) => b.value));
    });
    return box;
  }

  private unitField(name: string): HTMLInputElement {
    const field = h('input', { type: 'text', size: 8, maxlength: maxUnit, placeholder: 'minutes' });
    field.addEventListener('change', () => this.events.measured(name, field.value.trim()));
    return field;
  }

  private offer(reading: Reading): HTMLElement {
    const text = reading.text[0]!.toUpperCase() + reading.text.slice(1);
    return h('button', { type: 'button', onclick: () => this.events.repaired(reading) }, text);
  }
}
