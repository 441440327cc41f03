// SPDX-License-Identifier: Apache-2.0

// A histogram of a column of a CSV, over an editable range that the data suggest at first.

import { h, setText } from '../base/dom.ts';
import { counted, quantity } from '../base/format.ts';
import { parseNumber } from '../../../wasm/src/shared/number.ts';
import { faultsOf, numRead, valuesOf, type Csv } from './csv.ts';
import { CsvBox } from './csv-box.ts';
import { binned } from './histogram.ts';
import { noMarks, readMissing, type MissingChoice } from './missing-cells.ts';
import { MissingField } from './missing-field.ts';

/** A column whose cell is a number in every row that is read. */
export interface NumberColumn {
  name: string;
  values: Float64Array;
}

/** Numeric columns, with missing cells read as chosen. */
export function numbersIn(csv: Csv, choice: MissingChoice): NumberColumn[] {
  return csv.columns.flatMap(({ name }) => {
    const read = readMissing(csv, { numbers: [name], texts: [] }, choice);
    const column = read.columns.find((one) => one.name === name)!;
    const isGood = numRead(read) > 0 && faultsOf(read, column).length === 0;
    return isGood ? [{ name, values: valuesOf(read, column) }] : [];
  });
}

export class HistogramSource {
  readonly element: HTMLElement;
  private readonly box: CsvBox;
  private readonly column = h('select', { id: 'histogram-column' });
  private readonly low = h('input', { id: 'histogram-low', type: 'text', inputmode: 'decimal' });
  private readonly high = h('input', { id: 'histogram-high', type: 'text', inputmode: 'decimal' });
  private readonly range: HTMLElement;
  private readonly note = h('p', { class: 'hint', id: 'histogram-note', role: 'status' });
  private readonly error = h('p', { class: 'error', id: 'histogram-error', role: 'alert' });
  private readonly missing = new MissingField(
    {
      chosen: (patch) => this.read(this.csv!, { ...this.choice, ...patch }),
      refused: (message) => this.refuse(message),
    },
    { prefix: 'histogram', describedBy: 'histogram-error' },
  );
  private readonly missingChoice: HTMLElement;
  private csv: Csv | null = null;
  private choice = noMarks;
  private columns: NumberColumn[] = [];
  private size = 0;

  /**
   * `taken` receives counts for the size requested last; `isOther` is true for counts of other rows
   * or over another range.
   */
  constructor(private readonly taken: (counts: number[], isOther: boolean) => void) {
    this.box = new CsvBox(
      { taken: (csv) => this.read(csv, noMarks), refused: (message) => this.refuse(message) },
      { id: 'histogram-csv', describedBy: 'histogram-error', anywhere: false },
    );
    this.box.element.hidden = false;
    this.column.addEventListener('change', () => this.suggest());
    for (const input of [this.low, this.high]) input.addEventListener('change', () => this.count());
    this.range = h(
      'div',
      { class: 'histogram-range', hidden: true },
      h('label', { class: 'inline' }, 'column ', this.column),
      h('label', { class: 'inline' }, 'from ', this.low),
      h('label', { class: 'inline' }, 'to ', this.high),
    );
    this.missingChoice = h(
      'div',
      { class: 'histogram-range', hidden: true },
      h('label', { class: 'inline' }, 'missing cells ', this.missing.policy),
      this.missing.marks,
    );
    this.element = h(
      'details',
      { class: 'histogram-source' },
      h('summary', {}, 'From a CSV of your own'),
      this.box.element,
      this.missingChoice,
      this.range,
      this.error,
      this.note,
    );
    this.error.hidden = true;
  }

  get hasData(): boolean {
    return this.columns.length > 0;
  }

  /** Counts again, with another number of values. */
  resize(size: number): void {
    this.size = size;
    if (this.hasData) this.count(false);
  }

  forget(): void {
    this.columns = [];
    this.csv = null;
    this.missingChoice.hidden = true;
    this.range.hidden = true;
    this.error.hidden = true;
    setText(this.note, '');
  }

  private read(csv: Csv, choice: MissingChoice): void {
    [this.csv, this.choice] = [csv, choice];
    this.missingChoice.hidden = false;
    this.missing.show(choice);
    const before = this.column.selectedOptions[0]?.textContent;
    const columns = numbersIn(csv, choice);
    if (columns.length === 0) {
      this.columns = [];
      this.range.hidden = true;
      const rows = choice.missing === 'skip' ? 'every row that is read' : 'every row';
      this.refuse(`no column has a number in ${rows}`);
      return;
    }
    this.columns = columns;
    this.column.replaceChildren(...columns.map(({ name }, i) => h('option', { value: i }, name)));
    this.column.value = String(
      Math.max(
        0,
        columns.findIndex(({ name }) => name === before),
      ),
    );
    this.range.hidden = false;
    this.suggest();
  }

  private refuse(message: string | null): void {
    setText(this.error, message ?? '');
    this.error.hidden = message === null;
  }

  private get chosen(): NumberColumn {
    return this.columns[Number(this.column.value)]!;
  }

  private suggest(): void {
    const { values } = this.chosen;
    const least = values.reduce((low, value) => Math.min(low, value), Infinity);
    const most = values.reduce((high, value) => Math.max(high, value), -Infinity);
    this.low.value = String(least);
    this.high.value = String(most > least ? most : least + 1);
    this.count();
  }

  private count(isOther = true): void {
    const [low, high] = [this.low, this.high].map(
      ({ value }) => parseNumber(value.trim()) ?? NaN,
    ) as [number, number];
    if (!(low < high && Number.isFinite(high - low))) {
      this.refuse('“from” must be a number below “to”');
      return;
    }
    this.error.hidden = true;
    const { counts, numOutside } = binned(this.chosen, { low, high, size: this.size });
    const width = quantity((high - low) / this.size);
    const outside =
      numOutside === 0
        ? ''
        : ` ${counted(numOutside, 'row')} ${numOutside === 1 ? 'lies' : 'lie'} outside and ${numOutside === 1 ? 'counts' : 'count'} in the last bars.`;
    setText(
      this.note,
      `Value 0 is from ${quantity(low)} on, each ${width} wide.${outside} The suggested range ` +
        'depends on the data. For a real release, choose the range without looking at it.',
    );
    this.taken(counts, isOther);
  }
}
