// SPDX-License-Identifier: Apache-2.0

// List of the columns of a table: which of them are summed, their totals, and the faults that
// prevent summing.

import { h, setText } from '../base/dom.ts';
import { count, quantity } from '../base/format.ts';
import { faultsOf, offered, valuesOf, type Column, type Csv } from './csv.ts';
import { readFor, type Roles } from './contributions.ts';
import { faultsText, readingsOf, type ColumnReading } from './csv-repair.ts';
import { noMarks } from './missing-cells.ts';
import { maxUnit, unitOf, type Units } from './units.ts';

export interface ColumnsEvents {
  chosen(names: string[]): void;
  /** Called when a column gets a unit of measure; '' for none. */
  measured(name: string, unit: string): void;
  /** Called when the user accepts a way to read faulty cells. */
  repaired(reading: ColumnReading): void;
}

function unclippedTotal(csv: Csv, column: Column): number {
  return valuesOf(csv, column).reduce((sum, value) => sum + value, 0);
}

function totalText(csv: Csv, column: Column): string {
  const { length } = faultsOf(csv, column);
  return length > 0
    ? `${count(length)} faulty`
    : `total ${quantity(unclippedTotal(csv, column), 6)}`;
}

function unitLabel(name: string, field: HTMLInputElement): HTMLElement {
  const whose = h('span', { class: 'visually-hidden' }, ` of ${name}`);
  return h('label', { class: 'unit' }, h('span', {}, 'in the unit', whose), field);
}

interface ColumnsLook {
  roles: Roles;
  units: Units;
  isHidden: boolean;
}

/** A column of the table, as it is read. */
interface ReadColumn {
  csv: Csv;
  column: Column;
}

/** Reads a column together with the chosen columns or, if it is not one of them, alone. */
function readColumn(csv: Csv, name: string, chosen: readonly string[], roles: Roles): ReadColumn {
  const read = readFor(csv, chosen.includes(name) ? chosen : [name], roles);
  return { csv: read, column: read.columns.find((one) => one.name === name)! };
}

/** A column in the list. */
interface ColumnRow {
  name: string;
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
  show(
    csv: Csv,
    chosen: readonly string[],
    label: string,
    { roles, units, isHidden }: ColumnsLook,
  ): void {
    // Keeps the list while a unit is typed, so that its field or the next one keeps the focus.
    const taken = [label, roles.person, roles.time];
    const choice = JSON.stringify([chosen, taken]);
    if (csv !== this.csv || choice !== this.choice) this.fill(csv, chosen, taken);
    [this.csv, this.choice] = [csv, choice];
    for (const { name, box, said, field } of this.rows) {
      box.checked = chosen.includes(name);
      const unit = unitOf([name], units);
      const { csv: read, column } = readColumn(csv, name, chosen, roles);
      if (field !== null && field !== document.activeElement) field.value = unit;
      if (isHidden) said.removeAttribute('value');
      else said.setAttribute('value', String(unclippedTotal(read, column)));
      const total = isHidden ? 'total hidden' : totalText(read, column);
      setText(said, `${total} ${field === null || isHidden ? '' : unit}`.trim());
    }
    const faulty = (isHidden ? [] : csv.columns)
      .map(({ name }) => readColumn(csv, name, chosen, roles))
      .map((one) => ({ ...one, readings: readingsOf(one.csv, one.column, roles) }))
      .filter(({ readings }) => readings.length > 0);
    this.faults.replaceChildren(
      ...faulty.map(({ csv: read, column, readings }) =>
        h(
          'li',
          {},
          h('p', {}, faultsText(read, column, roles)),
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

  private fill(csv: Csv, chosen: readonly string[], taken: readonly string[]): void {
    const { activeElement } = document;
    const focused = activeElement instanceof HTMLInputElement ? activeElement.value : null;
    const isInside = this.list.contains(activeElement);
    this.rows = [];
    this.list.replaceChildren(h('legend', { class: 'visually-hidden' }, 'Columns to sum'));
    for (const { name } of offered(csv)) {
      const isChosen = chosen.includes(name) && !taken.includes(name);
      const said = h('data');
      const field = isChosen ? this.unitField(name) : null;
      const box = this.box(name, taken.includes(name));
      this.rows.push({ name, box, said, field });
      this.list.append(h('label', {}, box, h('span', {}, ` ${name}`), said));
      if (field !== null) this.list.append(unitLabel(name, field));
      if (isInside && box.value === focused) box.focus();
    }
  }

  numRepairable(csv: Csv): number {
    return csv.columns.filter((column) => readingsOf(csv, column, noMarks).length > 0).length;
  }

  /** Number of text columns, which are not in the list. */
  numTexts(csv: Csv): number {
    return csv.columns.length - offered(csv).length;
  }

  private box(name: string, isTaken: boolean): HTMLInputElement {
    const box = h('input', { type: 'checkbox', value: name });
    box.disabled = isTaken;
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

  private offer(reading: ColumnReading): HTMLElement {
    const text = reading.text[0]!.toUpperCase() + reading.text.slice(1);
    return h('button', { type: 'button', onclick: () => this.events.repaired(reading) }, text);
  }
}
