// SPDX-License-Identifier: Apache-2.0

// The choice of records: made up, an example, or one's own CSV, which stays here.

import type { Control, Controls } from '../controls/controls.ts';
import { SettingError, type Settings } from '../controls/settings.ts';
import { h } from '../page/dom.ts';
import { count, percent } from '../page/format.ts';
import { clipButtons, rowNorms } from './clip_guide.ts';
import { ColumnsField } from './columns_field.ts';
import {
  CsvError,
  findColumn,
  firstUnfit,
  labelColumn,
  makeTable,
  numClipped,
  offered,
  parseCsv,
  suggestColumns,
  type Csv,
} from './csv.ts';
import { CsvBox } from './csv_box.ts';
import type { Reading } from './csv_repair.ts';
import { examples, exampleText } from './examples.ts';
import type { Table } from 'dp-ftrl';
import type { SimulationInfo } from 'dp-ftrl/worker-client';

/** No column is learned. */
export const noLabel = '-';

/** Whether a learner runs: on made-up records, and on a table with a label column. */
export function learnsFrom({ source, label }: Settings): boolean {
  return source === 'synthetic' || (label !== '' && label !== noLabel);
}

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
  /** Columns of own data whose clip has not been chosen yet: nothing runs on them. */
  private draft: string[] | null = null;
  private readonly columns = new ColumnsField({
    chosen: (names) => this.chooseColumns(names),
    repaired: (reading) => this.repair(reading),
  });
  private readonly label = h('select', {
    id: 'set-label',
    'aria-describedby': 'set-label-error set-label-hint',
  });
  private readonly labelField: HTMLElement;
  private readonly columnsField: HTMLElement;
  private readonly clipped = h('p', { class: 'hint' });
  private readonly guide = h('div', { class: 'guide', id: 'clip-guide' });
  private own: Csv | null = null;
  private csv: Csv | null = null;
  private csvSource = 'synthetic';
  private settings: Settings | null = null;

  constructor(
    private readonly controls: Controls,
    private readonly events: DataEvents,
  ) {
    this.box = new CsvBox(
      { taken: (csv) => this.take(csv), refused: (message) => this.refuse(message) },
      { id: 'csv', describedBy: 'set-source-error set-source-hint', anywhere: true },
    );
    const source = this.field('source', 'Records', this.source);
    source.classList.add('wide');
    this.columnsField = this.field('columns', 'Columns', this.columns.list);
    this.columnsField.classList.add('wide');
    this.columnsField.append(this.columns.faults, this.guide);
    this.labelField = this.field('label', 'Label', this.label);
    this.source.append(
      h('option', { value: 'synthetic' }, 'made up by the page, from a seed'),
      ...examples.map(({ name, title }) => h('option', { value: name }, title)),
      h('option', { value: 'own' }, 'your own CSV'),
    );
    this.source.addEventListener('change', () => this.choose(this.source.value));
    this.label.addEventListener('change', () => this.chooseLabel(this.label.value));
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
    this.settings = settings;
    const { source } = settings;
    const shown = this.asking || this.draft !== null ? 'own' : source;
    this.source.value = shown;
    this.box.element.hidden = shown !== 'own';
    this.controls.hint('source', this.sourceText(shown));
    if (this.draft !== null) this.showColumns(this.own!, this.draft, noLabel, null);
    else if (this.csv !== null && this.csvSource === source) {
      const label = this.labelOf(settings);
      this.showColumns(this.csv, this.columnsOf(settings), label, settings.clipNorm);
    } else this.showNothing();
  }

  /** Rows of the table in use; null for a synthetic stream. */
  numRows({ source }: Settings): number | null {
    return this.csvSource === source ? (this.csv?.numRows ?? null) : null;
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

  /** The file and columns that a run only sums; null for a learner and for made-up records. */
  fileOf(settings: Settings): { name: string; columns: string[] } | null {
    if (settings.source === 'synthetic' || learnsFrom(settings)) return null;
    const name = settings.source === 'own' ? 'data.csv' : `examples/${settings.source}.csv`;
    return { name, columns: this.columnsOf(settings) };
  }

  private choose(source: string): void {
    const example = examples.find(({ name }) => name === source);
    this.draft = null;
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
      this.begin(this.own!);
    } else {
      this.events.changed({ source, columns: [], label: '', clipNorm: 1, numSteps: 1024, sums: 1 });
    }
  }

  private take(csv: Csv): void {
    if (offered(csv).length === 0 && this.columns.numRepairable(csv) === 0) {
      this.refuse('no column has a number in it');
      return;
    }
    this.begin(csv);
  }

  /** Shows what the columns come to; the figures wait until someone has chosen a clip. */
  private begin(csv: Csv): void {
    this.own = csv;
    this.asking = false;
    this.draft = suggestColumns(csv, noLabel).slice(0, 1);
    this.controls.error('columns', null);
    if (this.settings !== null) this.show(this.settings);
    this.columnsField.scrollIntoView({ block: 'nearest' });
  }

  private chooseColumns(names: string[]): void {
    if (names.length === 0) this.controls.error('columns', 'choose at least one column to sum');
    else if (this.draft === null) this.events.changed({ columns: names });
    else {
      this.controls.error('columns', this.faultOf(names));
      this.draft = names;
      this.show(this.settings!);
    }
  }

  /** Why these columns of own data cannot be summed; null if they can. */
  private faultOf(names: string[]): string | null {
    try {
      for (const name of names) findColumn(this.own!, name);
      return null;
    } catch (error) {
      if (error instanceof CsvError) return error.message;
      throw error;
    }
  }

  /** Labels that are no classes can be learned by the squared loss alone. */
  private chooseLabel(label: string): void {
    const values = this.csv?.columns.find(({ name }) => name === label)?.values;
    const isClass = values === undefined || firstUnfit(values) < 0;
    this.events.changed({ label, ...(isClass ? {} : { loss: 'squared' as const }) });
  }

  private chooseClip(clipNorm: number): void {
    if (this.draft === null) {
      this.events.changed({ clipNorm });
      return;
    }
    const columns = this.draft;
    this.draft = null;
    this.csvSource = '';
    this.events.changed({
      source: 'own',
      columns,
      label: noLabel,
      clipNorm,
      numSteps: this.own!.numRows,
      sums: 1,
    });
  }

  /** Reads faulty cells of own data in a way that was chosen. */
  private repair(reading: Reading): void {
    const isInUse = this.draft === null;
    this.own = reading.apply(this.own!);
    this.controls.error('columns', null);
    this.draft ??= this.columnsOf(this.settings!);
    if (this.draft.length === 0) this.draft = suggestColumns(this.own, noLabel).slice(0, 1);
    if (isInUse) this.chooseClip(this.settings!.clipNorm);
    else this.show(this.settings!);
  }

  private refuse(message: string | null): void {
    if (message !== null) this.box.element.hidden = false;
    this.controls.error('source', message);
  }

  private sourceText(source: string): string {
    if (source === 'synthetic') {
      return (
        'Unit vectors with labels, drawn from a seed. ' +
        'Figure 1 then shows the learner’s gradients.'
      );
    }
    const promise = 'It is read in this tab, and no script of this page can upload it.';
    if (source === 'own') return `A header row, then a record a row. ${promise}`;
    return 'From the examples that come with the page.';
  }

  private showNothing(): void {
    this.columnsField.hidden = true;
    this.labelField.hidden = true;
  }

  /** `clipNorm`: null while it has not been chosen. */
  private showColumns(csv: Csv, chosen: string[], label: string, clipNorm: number | null): void {
    this.columnsField.hidden = false;
    this.labelField.hidden = clipNorm === null;
    if (clipNorm === null) this.clipped.textContent = ''; // It is about what runs.
    this.columns.show(csv, chosen, label);
    const skipped = this.columns.numTexts(csv);
    const note = skipped > 0 ? `${skipped} more without numbers. ` : '';
    this.controls.hint('columns', `${note}Several columns are clipped together, in ℓ₂.`);
    const options = offered(csv).map(({ name }) => h('option', { value: name }, name));
    this.label.replaceChildren(h('option', { value: noLabel }, 'none'), ...options);
    this.label.value = label;
    this.controls.hint(
      'label',
      'The column to learn from the others. Without one, only totals are shown.',
    );
    this.showGuide(csv, chosen, label, clipNorm);
  }

  private showGuide(csv: Csv, chosen: string[], label: string, clipNorm: number | null): void {
    const columns = csv.columns.filter(({ name }) => chosen.includes(name));
    const isReady = columns.length > 0 && columns.every(({ faults }) => faults.length === 0);
    this.guide.hidden = !isReady || label !== noLabel;
    if (!isReady) return;
    const asks = clipNorm === null;
    const norms = rowNorms(columns.map(({ values }) => values));
    const say = asks
      ? 'Now choose how much one row may count. Longer rows are shortened to it, and the noise is ' +
        'proportional to it.'
      : 'How much one row may count:';
    this.guide.replaceChildren(
      h('p', { class: asks ? 'ask' : 'hint' }, say),
      clipButtons(norms, clipNorm, (clip) => this.chooseClip(clip)),
      h(
        'p',
        { class: 'hint' },
        'These are read off the data, which a release must not do: it chooses its clip beforehand.',
      ),
    );
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
