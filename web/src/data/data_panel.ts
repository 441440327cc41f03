// SPDX-License-Identifier: Apache-2.0

// The choice of records: made up, an example, or one's own CSV, which stays here.

import type { Control, Controls } from '../controls/controls.ts';
import { SettingError, type Settings } from '../controls/settings.ts';
import { h } from '../page/dom.ts';
import { count, percent } from '../page/format.ts';
import {
  CsvError,
  labelColumn,
  makeTable,
  numClipped,
  offered,
  parseCsv,
  suggestColumns,
  type Csv,
} from './csv.ts';
import { CsvBox } from './csv_box.ts';
import { examples, exampleText } from './examples.ts';
import type { Table } from 'dp-ftrl';
import type { SimulationInfo } from 'dp-ftrl/worker-client';

/** No column is learned. */
export const noLabel = '-';

export interface DataEvents {
  /** Settings that a choice here changes. */
  changed(settings: Partial<Settings>): void;
}

export class DataPanel {
  readonly element: HTMLElement;
  private readonly source = h('select', {
    id: 'set-source',
    'aria-describedby': 'set-source-error set-source-hint',
  });
  private readonly box: CsvBox;
  /** Own data was asked for and is not there yet. */
  private asking = false;
  private readonly columns = h('fieldset', {
    class: 'columns',
    'aria-describedby': 'set-columns-error',
  });
  private readonly label = h('select', {
    id: 'set-label',
    'aria-describedby': 'set-label-error set-label-hint',
  });
  private readonly labelField: HTMLElement;
  private readonly columnsField: HTMLElement;
  private readonly clipped = h('p', { class: 'hint' });
  private own: Csv | null = null;
  private csv: Csv | null = null;
  private csvSource = 'synthetic';

  constructor(
    private readonly controls: Controls,
    private readonly events: DataEvents,
  ) {
    this.box = new CsvBox(
      { text: (text) => this.take(text), refused: (message) => this.refuse(message) },
      { id: 'csv', describedBy: 'set-source-error set-source-hint', anywhere: true },
    );
    const source = this.field('source', 'Records', this.source);
    source.classList.add('wide');
    this.columnsField = this.field('columns', 'Columns', this.columns);
    this.labelField = this.field('label', 'Label', this.label);
    this.controls.hint(
      'label',
      'The column to learn from the others. Without one, only totals are shown.',
    );
    this.source.append(
      h('option', { value: 'synthetic' }, 'made up by the page, from a seed'),
      ...examples.map(({ name, title }) => h('option', { value: name }, title)),
      h('option', { value: 'own' }, 'your own CSV'),
    );
    this.source.addEventListener('change', () => this.choose(this.source.value));
    this.label.addEventListener('change', () => this.events.changed({ label: this.label.value }));
    this.element = h(
      'div',
      { class: 'data' },
      source,
      this.box.element,
      this.columnsField,
      this.labelField,
    );
  }

  /** The table that the settings describe; null for a synthetic stream. */
  table(settings: Settings): Table | null {
    this.load(settings.source);
    if (this.csv === null) return null;
    const csv = this.csv;
    const label = this.labelOf(settings);
    const labels =
      label === noLabel ? null : attempt('label', () => labelColumn(csv, label, settings.loss));
    return attempt('columns', () => makeTable(csv, this.columnsOf(settings), labels));
  }

  show(settings: Settings): void {
    const { source } = settings;
    const shown = this.asking ? 'own' : source;
    this.source.value = shown;
    this.box.element.hidden = shown !== 'own';
    this.controls.hint('source', this.sourceText(shown));
    const csv = this.csvSource === source ? this.csv : null;
    this.columnsField.hidden = csv === null;
    this.labelField.hidden = csv === null;
    if (csv !== null) this.showColumns(csv, settings);
  }

  /** Says what the clip norm does to the records, or to the gradients if they are learned from. */
  showClipped(table: Table | null, clipNorm: number, info: SimulationInfo): void {
    this.clipped.textContent = table === null ? '' : clippedText(table, clipNorm, info);
  }

  private load(source: string): void {
    if (this.csvSource === source && source !== 'own') return;
    if (source === 'synthetic') this.csv = null;
    else if (source === 'own') {
      if (this.own === null) {
        throw new SettingError(
          'source',
          'your own CSV is not part of the address, and never left the place where it was used: ' +
            'drop or paste it again',
        );
      }
      this.csv = this.own;
    } else {
      const text = exampleText(source);
      if (text === undefined) {
        const names = ['synthetic', ...examples.map(({ name }) => name), 'own'].join(', ');
        throw new SettingError('source', `data must be one of ${names}, got “${source}”`);
      }
      this.csv = parseCsv(text);
    }
    this.csvSource = source;
  }

  private labelOf(settings: Settings): string {
    return settings.label === '' ? noLabel : settings.label;
  }

  /** Names of the columns in use; none for a synthetic stream. */
  columnsOf(settings: Settings): string[] {
    if (this.csv === null) return [];
    const label = this.labelOf(settings);
    const chosen = settings.columns.filter((name) => name !== label);
    return chosen.length === 0 ? suggestColumns(this.csv, label) : chosen;
  }

  private choose(source: string): void {
    const example = examples.find(({ name }) => name === source);
    this.asking = source === 'own' && this.own === null;
    if (this.asking) {
      this.box.element.hidden = false;
      this.controls.hint('source', this.sourceText('own'));
      this.box.focus();
      return;
    }
    if (example) {
      const csv = parseCsv(exampleText(source) ?? '');
      const { columns, label, clipNorm, sums } = example;
      this.events.changed({
        source,
        columns: columns.length > 0 ? columns : suggestColumns(csv, label),
        label,
        clipNorm,
        loss: 'logistic',
        numSteps: csv.numRows,
        sums,
      });
    } else if (source === 'own') {
      this.useOwn(this.own!);
    } else {
      this.events.changed({ source, columns: [], label: '', clipNorm: 1, numSteps: 1024, sums: 1 });
    }
  }

  private useOwn(csv: Csv): void {
    this.events.changed({
      source: 'own',
      columns: suggestColumns(csv, noLabel),
      label: noLabel,
      numSteps: csv.numRows,
      sums: 1,
    });
  }

  /** Takes a text in, or says what is wrong with it. */
  private take(text: string): void {
    try {
      const csv = parseCsv(text);
      if (offered(csv).length === 0) throw new CsvError('no column has a number in it');
      this.own = csv;
      this.asking = false;
      this.controls.error('source', null);
      this.csvSource = '';
      this.useOwn(csv);
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      this.refuse(error.message);
    }
  }

  private refuse(message: string): void {
    this.box.element.hidden = false;
    this.controls.error('source', message);
  }

  private sourceText(source: string): string {
    if (source === 'synthetic') {
      return (
        'Unit vectors with labels, drawn from a seed. ' +
        'Figure 1 then shows the learner’s gradients.'
      );
    }
    const promise = 'It is read in this tab and goes nowhere else.';
    if (source === 'own') return `A header row, then a record a row. ${promise}`;
    return 'From the examples that come with the page.';
  }

  private showColumns(csv: Csv, settings: Settings): void {
    const chosen = this.columnsOf(settings);
    const label = this.labelOf(settings);
    this.columns.replaceChildren(h('legend', { class: 'visually-hidden' }, 'Columns to sum'));
    for (const column of offered(csv)) {
      const box = h('input', { type: 'checkbox', value: column.name });
      box.checked = chosen.includes(column.name);
      box.disabled = column.name === label;
      box.addEventListener('change', () => {
        const boxes = [...this.columns.querySelectorAll('input')];
        const names = boxes.filter((b) => b.checked && !b.disabled).map((b) => b.value);
        if (names.length > 0) this.events.changed({ columns: names });
        else this.controls.error('columns', 'choose at least one column to sum');
      });
      const mark = column.fault === null ? '' : ' (has gaps)';
      this.columns.append(h('label', {}, box, ` ${column.name}${mark}`));
    }
    const skipped = csv.columns.length - offered(csv).length;
    const note = skipped > 0 ? `${skipped} more without numbers. ` : '';
    this.controls.hint('columns', `${note}Several columns are clipped together, in ℓ₂.`);
    this.label.replaceChildren(
      h('option', { value: noLabel }, 'none'),
      ...offered(csv).map(({ name }) => h('option', { value: name }, name)),
    );
    this.label.value = label;
  }

  private field(
    key: 'source' | 'columns' | 'label',
    title: string,
    input: HTMLSelectElement | HTMLFieldSetElement,
  ): HTMLElement {
    const hint = h('p', { class: 'hint', id: `set-${key}-hint` });
    const error = h('p', { class: 'error', id: `set-${key}-error`, role: 'alert', hidden: true });
    const name =
      input instanceof HTMLSelectElement
        ? h('label', { for: input.id }, title)
        : h('span', { class: 'label', 'aria-hidden': 'true' }, title);
    const beside = h('div', { class: 'beside' }, hint, error);
    if (key === 'columns') beside.append(this.clipped);
    const element = h('div', { class: 'field' }, h('div', { class: 'entry' }, name, input), beside);
    const control: Control = { element, input, hint, error };
    this.controls.adopt(key, control);
    return element;
  }
}

function clippedText(table: Table, clipNorm: number, info: SimulationInfo): string {
  const rows = `${count(table.numRows)} rows`;
  if (info.learns) {
    return info.clippingImpossible
      ? `${rows}; no gradient can be longer than the clip norm.`
      : `${rows}; gradients longer than the clip norm are scaled down.`;
  }
  const clipped = numClipped(table, clipNorm);
  if (clipped === 0) return `${rows}, none longer than the clip norm.`;
  const share = percent(clipped / table.numRows);
  return `${rows}; ${share} are longer than the clip norm and are scaled down.`;
}

/** Runs `make`, and shows faults of the data at the control `key`. */
function attempt<T>(key: 'columns' | 'label', make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof CsvError) throw new SettingError(key, error.message);
    throw error;
  }
}
