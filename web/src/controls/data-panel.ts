// SPDX-License-Identifier: Apache-2.0

// The choice of records: synthetic records, an example, or the user's own CSV, which never leaves
// the tab.

import { QuestionBox } from './question.ts';
import { unfold, type Control, type Controls } from './controls.ts';
import { defaults, noStatistic, SettingError, type Settings } from './settings.ts';
import { countsPeople, learnsFrom, noLabel } from './workload.ts';
import type { Table } from 'dp-ftrl';
import { byId, h } from '../base/dom.ts';
import { counted, percent } from '../base/format.ts';
import { hiddenNote, hiddenReason } from '../base/secrets.ts';
import { clipButtons, recordNorms } from '../data/clip-guide.ts';
import { ColumnsField } from '../data/columns-field.ts';
import {
  fittingBucket,
  fittingFormat,
  numberColumns,
  peopleByDay,
  readFor,
  recordsOf,
  RoleError,
  suggestPerson,
  suggestQuantity,
  suggestTime,
  withTimes,
  type DayPeople,
  type Limit,
  type StepRecords,
  type Roles,
} from '../data/contributions.ts';
import {
  CsvError,
  csvText,
  findColumn,
  firstUnfit,
  labelColumn,
  makeTable,
  numClipped,
  offered,
  parseCsv,
  suggestColumns,
  withRows,
  type Csv,
} from '../data/csv.ts';
import { CsvBox } from '../data/csv-box.ts';
import type { ColumnReading } from '../data/csv-repair.ts';
import { examples, exampleText } from '../data/examples.ts';
import { knownTables } from '../data/known-tables.ts';
import { visitors } from '../data/made-up.ts';
import { noMarks, readMissing } from '../data/missing-cells.ts';
import { MissingField, missingText } from '../data/missing-field.ts';
import { randomSeed } from '../data/random.ts';
import { RolesField, type RoleChoice } from '../data/roles-field.ts';
import { choiceOf, maxStatisticSteps, type StatisticTable } from '../data/statistic-choice.ts';
import { unitOf } from '../data/units.ts';
import type { SnippetSource } from '../data/source.ts';
import type { SimulationInfo } from '../base/engine.ts';

/**
 * Choices for the user's own data before its clip norm is chosen; until then, nothing runs on the
 * data.
 */
interface Draft extends RoleChoice {
  columns: string[];
}

/** Settings in which no column has a role. */
const noRoles = {
  person: '',
  ids: 'texts',
  time: '',
  timeFormat: 'any',
  bucket: 'day',
  timeZone: 'UTC',
  from: '',
  to: '',
} as const;

export interface DataEvents {
  /** Called with the settings that a choice changes. */
  changed(settings: Partial<Settings>): void;
  /** Called with the settings of a table that has just been chosen. */
  opened(settings: Partial<Settings>): void;
  /** Called when a question replaces the figures. */
  asked(): void;
  /** Called when the user leaves the question without an answer. */
  left(): void;
}

export class DataPanel {
  readonly element: HTMLElement;
  private readonly source = h('select', {
    id: 'set-source',
    'aria-describedby': 'set-source-error set-source-hint',
  });
  private readonly box: CsvBox;
  /** True if the user's own data was requested but is not loaded yet. */
  private asking = false;
  private draft: Draft | null = null;
  private readonly columns = new ColumnsField({
    chosen: (names) => this.chooseColumns(names),
    measured: (name, unit) => this.measure(name, unit),
    repaired: (reading) => this.repair(reading),
  });
  private readonly label = h('select', {
    id: 'set-label',
    'aria-describedby': 'set-label-error set-label-hint',
  });
  private readonly roles = new RolesField({
    chosen: (patch) => this.chooseRoles(patch),
    refused: (message) => this.controls.error('person', message),
  });
  private readonly missing = new MissingField(
    {
      chosen: (patch) => this.chooseRoles(patch),
      refused: (message) => this.controls.error('missing', message),
    },
    { prefix: 'set', describedBy: 'set-missing-error set-missing-hint' },
  );
  private readonly missingField: HTMLElement;
  private readonly labelField: HTMLElement;
  private readonly personField: HTMLElement;
  private readonly timeField: HTMLElement;
  private readonly columnsField: HTMLElement;
  private readonly clipped = h('p', { class: 'hint' });
  /** Records, clip norm and simulation of the current run; null before the first. */
  private clipping: Parameters<typeof clippedText> | null = null;
  private readonly guide = h('div', { class: 'guide', id: 'clip-guide' });
  private wasHidden = false;
  private own: Csv | null = null;
  /** File name of the user's own table, or of a table that was refused. */
  private ownName = '';
  private refusal: string | null = null;
  /**
   * The table of the current run, to which the user returns from a question about another table.
   */
  private inForce: { csv: Csv; name: string } | null = null;
  private readonly question = new QuestionBox(() => this.leave());
  private csv: Csv | null = null;
  private csvSource = 'synthetic';
  private settings: Settings | null = null;
  private visitors: { key: string; csv: Csv } | null = null;
  private made: { key: string; csv: Csv; records: StepRecords } | null = null;
  private active: { key: string; csv: Csv; people: DayPeople } | null = null;

  constructor(
    private readonly controls: Controls,
    private readonly events: DataEvents,
  ) {
    this.box = new CsvBox(
      {
        taken: (csv, name) => this.take(csv, name),
        refused: (message, name) => this.refuse(message, name),
      },
      { id: 'csv', describedBy: 'set-source-error set-source-hint', anywhere: true },
    );
    const source = this.field('source', 'Records', this.source);
    source.classList.add('wide');
    this.columnsField = this.field('columns', 'Columns', this.columns.list);
    this.columnsField.classList.add('wide');
    this.columnsField.append(this.columns.faults);
    this.missingField = this.field('missing', 'Missing cells', this.missing.policy);
    this.missingField.append(this.missing.marks);
    this.labelField = this.field('label', 'Label', this.label);
    this.personField = this.field('person', 'Persons', this.roles.person);
    this.timeField = this.field('time', 'Time', this.roles.time);
    this.personField.append(this.roles.limits);
    this.timeField.append(this.roles.bucketLine);
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
      this.missingField,
      this.personField,
      this.timeField,
      this.guide,
      this.labelField,
    );
  }

  /** The records to sum; null for a synthetic stream. */
  records(settings: Settings): StepRecords | null {
    this.load(settings.source);
    const role = (['person', 'time'] as const).find((key) => settings[key] !== '');
    if (this.csv === null) {
      if (role === undefined) return null;
      throw new SettingError(role, 'synthetic records have no user and no time column');
    }
    const csv = this.csv;
    const label = this.labelOf(settings);
    const { deployed } = settings;
    if (label === noLabel) {
      const limit = limitOf(settings);
      const columns = this.columnsOf(settings);
      return attempt(() => this.makeRecords(csv, columns, settings, limit), { deployed });
    }
    if (role !== undefined) {
      throw new SettingError(role, 'a learner protects rows, so it takes no user or time column');
    }
    const columns = this.columnsOf(settings);
    const read = readMissing(csv, { numbers: columns, texts: [label] }, settings);
    const labels = attempt(() => labelColumn(read, label, settings.loss), {
      key: 'label',
      deployed,
    });
    return learned(attempt(() => makeTable(read, columns, labels), { deployed }));
  }

  /**
   * Events by day, for counts of active people. The same object is returned until the roles change.
   */
  people(settings: Settings): DayPeople {
    this.load(settings.source);
    const role = (['person', 'time'] as const).find((key) => settings[key] === '');
    if (this.csv === null || role !== undefined) {
      const what = 'active people need the columns of persons and of times';
      throw new SettingError(role ?? 'workload', `${what}: choose them under Data`);
    }
    const csv = this.csv;
    return attempt(() => this.makePeople(csv, settings), { deployed: settings.deployed });
  }

  private makePeople(csv: Csv, roles: Roles): DayPeople {
    const only = rolesOf(roles);
    const key = JSON.stringify(only);
    if (this.active?.key !== key || this.active.csv !== csv) {
      this.active = { key, csv, people: peopleByDay(csv, only) };
    }
    return this.active.people;
  }

  /** Builds the records, and caches them until the columns, roles or limits change. */
  private makeRecords(
    csv: Csv,
    columns: readonly string[],
    roles: Roles,
    limit: Limit,
  ): StepRecords {
    const only = rolesOf(roles);
    const key = JSON.stringify([columns, only, limit]);
    if (this.made?.key !== key || this.made.csv !== csv) {
      this.made = { key, csv, records: recordsOf(csv, columns, only, limit) };
    }
    return this.made.records;
  }

  show(settings: Settings): void {
    this.settings = settings;
    const { source } = settings;
    this.box.hide(settings.deployed);
    if (settings.deployed && !this.wasHidden) this.clearErrors();
    this.wasHidden = settings.deployed;
    this.sayClipped();
    const shown = this.asking || this.draft !== null ? 'own' : source;
    this.source.value = shown;
    this.box.element.hidden = shown !== 'own';
    this.controls.hint('source', this.sourceText(shown));
    if (this.draft !== null) this.showColumns(this.own!, this.draft, noLabel, null);
    else if (this.csv !== null && this.csvSource === source && countsPeople(settings)) {
      this.showPeople(this.csv, settings);
    } else if (this.csv !== null && this.csvSource === source) {
      const label = this.labelOf(settings);
      const choice = { ...settings, columns: this.columnsOf(settings) };
      this.showColumns(this.csv, choice, label, settings.clipNorm);
    } else this.showNothing();
    this.showQuestion();
    // The style sheet shows either the elements about totals or those about active people.
    const isOfPeople = countsPeople(settings) && !this.question.isOpen;
    document.documentElement.dataset['counts'] = isOfPeople ? 'people' : 'totals';
  }

  /**
   * Shows the question or the refusal in place of the figures, and moves the input for a table or
   * the clip norms there. Without a question, both are among the settings.
   */
  private showQuestion(): void {
    const isAsking = this.asking || this.refusal !== null;
    const answers = isAsking ? this.box.element : this.guide;
    if (isAsking || this.draft !== null) {
      this.box.element.hidden &&= !isAsking;
      const title = this.ownName || 'Your own table';
      this.question.ask({ title, reason: this.refusal, answers });
      this.events.asked();
    } else this.question.close();
    if (!isAsking) this.columnsField.before(this.box.element);
    if (isAsking || this.draft === null) this.labelField.before(this.guide);
  }

  /** Asks for the table of an address if the table is missing; returns whether it asked. */
  asksAgain(settings: Settings): boolean {
    this.forgetQuestion();
    this.asking = settings.source === 'own' && this.own === null;
    if (!this.asking) return false;
    this.settings = settings;
    this.ownName = '';
    this.refusal = this.hides
      ? null
      : 'The table is not part of the address, and this tab forgot it: drop or choose it again.';
    this.show(settings);
    return true;
  }

  /** Returns from the question to the figures. */
  private leave(): void {
    this.forgetQuestion();
    this.events.left();
  }

  private forgetQuestion(): void {
    this.draft = null;
    this.asking = false;
    this.refusal = null;
    this.own = this.inForce?.csv ?? null;
    this.ownName = this.inForce?.name ?? '';
    this.controls.error('source', null);
  }

  /** Name of the user's own table; '' for other records. */
  titleOf({ source }: Settings): string {
    return source === 'own' ? this.ownName : '';
  }

  /** Number of steps in the table; null for a synthetic stream, or if unknown. */
  numSteps(settings: Settings): number | null {
    if (this.csvSource !== settings.source || this.csv === null) return null;
    try {
      if (countsPeople(settings)) return this.people(settings).days.length;
      return this.records(settings)!.numSteps;
    } catch (error) {
      if (error instanceof SettingError) return null;
      throw error;
    }
  }

  /**
   * Shows the effect of the clip norm on the records, or on the gradients if there is a learner.
   */
  showClipped(records: StepRecords | null, clipNorm: number, info: SimulationInfo): void {
    this.clipping = records === null ? null : [records, clipNorm, info];
    this.sayClipped();
  }

  private sayClipped(): void {
    const isShown = this.clipping !== null && !this.hides;
    this.clipped.textContent = isShown ? clippedText(...this.clipping!) : '';
  }

  /** True while secrets are hidden. */
  private get hides(): boolean {
    return this.settings?.deployed === true;
  }

  /** Removes messages about the table, which may quote its cells. */
  private clearErrors(): void {
    for (const key of ['source', 'columns', 'missing', 'label', 'person', 'time'] as const)
      this.controls.error(key, null);
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
      const csv = parseCsv(text);
      this.csv = offered(csv).length > 0 ? csv : withRows(csv);
    }
    this.csvSource = source;
  }

  private labelOf(settings: Settings): string {
    return settings.label === '' ? noLabel : settings.label;
  }

  tableOf(settings: Settings): StatisticTable | null {
    const { source, numSteps, streamSeed, stream } = settings;
    let csv = this.csvSource === source ? this.csv : null;
    if (source === 'synthetic') {
      const key = [numSteps, streamSeed, stream].join();
      if (this.visitors?.key !== key) {
        this.visitors = {
          key,
          csv: visitors(Math.min(numSteps, maxStatisticSteps), streamSeed, stream),
        };
      }
      ({ csv } = this.visitors);
    }
    return csv === null ? null : { csv, choice: choiceOf(settings, csv, knownTables[source]) };
  }

  columnsOf(settings: Settings): string[] {
    if (this.csv === null) return [];
    const taken = [this.labelOf(settings), settings.person, settings.time];
    const chosen = settings.columns.filter((name) => !taken.includes(name));
    return chosen.length === 0 ? suggestColumns(this.csv, taken) : chosen;
  }

  /** The file for generated programs; null for synthetic records. */
  fileOf(settings: Settings): SnippetSource['file'] {
    const { csv } = this;
    if (settings.source === 'synthetic' || csv === null) return null;
    const roles = rolesOf(settings);
    const { person, ids, time } = roles;
    const columns = countsPeople(settings) ? [] : this.columnsOf(settings);
    const read = readFor(csv, columns, roles);
    const isSaved = settings.source === 'own' || roles.timeFormat !== 'any' || read !== csv;
    const how = { person, areNumbers: ids === 'numbers', hasTimes: time !== '' };
    return {
      name: isSaved ? 'data.csv' : `examples/${settings.source}.csv`,
      columns,
      label: learnsFrom(settings) ? settings.label : '',
      ...roles,
      hasGaps: time === '' && read.skipped.size > 0,
      text: isSaved ? () => csvText(withTimes(read, roles), how) : null,
    };
  }

  private choose(source: string): void {
    const example = examples.find(({ name }) => name === source);
    // The seed of the user's own data stays out of addresses.
    const noiseSeed =
      this.settings?.source === 'own' ? defaults.noiseSeed : this.settings!.noiseSeed;
    this.draft = null;
    this.refusal = null;
    this.controls.error('source', null);
    this.asking = source === 'own' && this.own === null;
    if (this.asking) {
      this.ownName = '';
      this.show(this.settings!);
      this.box.focus();
      return;
    }
    const workload = summedBy(this.settings!);
    if (example) {
      const csv = parseCsv(exampleText(source) ?? '');
      const { columns, label, clipNorm, sums, people } = example;
      const roles = { ...noRoles, ...noMarks, ...people };
      this.events.changed({
        source,
        columns: columns.length > 0 ? columns : suggestColumns(csv, [label]),
        label,
        clipNorm,
        loss: 'logistic',
        numSteps: people === undefined ? csv.numRows : peopleByDay(csv, roles).days.length,
        sums,
        noiseSeed,
        workload: people === undefined ? workload : 'active',
        ...roles,
        ...noStatistic,
      });
    } else if (source === 'own') {
      this.begin(this.own!);
    } else {
      const { clipNorm, numSteps, sums } = defaults;
      const made = {
        columns: [],
        label: '',
        clipNorm,
        numSteps,
        sums,
        noiseSeed,
        workload,
        ...noRoles,
        ...noMarks,
        ...noStatistic,
      };
      this.events.changed({ source, ...made });
    }
  }

  /** Takes a table; if it has no numbers, its rows are counted. */
  private take(csv: Csv, name: string): void {
    this.ownName = name;
    const hasNumbers = offered(csv).length > 0 || this.columns.numRepairable(csv) > 0;
    this.begin(hasNumbers ? csv : withRows(csv));
  }

  /** Begins a draft for a table; the figures wait until the user chooses a clip norm. */
  private begin(csv: Csv): void {
    this.own = csv;
    this.asking = false;
    this.refusal = null;
    this.draft = draftOf(csv, this.settings);
    for (const key of ['columns', 'missing', 'person', 'time'] as const)
      this.controls.error(key, null);
    if (this.settings !== null) this.show(this.settings);
    unfold(this.element);
    byId('stage').scrollIntoView({ block: 'nearest' });
  }

  private chooseColumns(names: string[]): void {
    if (names.length === 0) this.controls.error('columns', 'choose at least one column to sum');
    else if (this.draft === null) this.events.changed({ columns: names });
    else {
      this.controls.error('columns', this.faultOf(names));
      this.draft = { ...this.draft, columns: names };
      this.show(this.settings!);
    }
  }

  /** Sets the unit of a column; in the address, the unit follows the name of the column. */
  private measure(name: string, unit: string): void {
    const settings = this.settings!;
    const units = { ...settings.units, [name]: unit };
    const isNamed = settings.columns.length > 0 || this.draft !== null;
    this.events.changed({ units, ...(isNamed ? {} : { columns: this.columnsOf(settings) }) });
  }

  /**
   * Changes the roles or limits. A run follows at once, whereas a draft waits for its clip norm.
   */
  private chooseRoles(choice: Partial<RoleChoice>): void {
    for (const key of ['columns', 'missing', 'person', 'time'] as const)
      this.controls.error(key, null);
    const patch = { ...choice };
    if (choice.time) {
      const roles = this.draft ?? this.settings!;
      const csv = (this.draft === null ? this.csv : this.own)!;
      patch.timeFormat = fittingFormat(csv, choice.time, roles);
      patch.bucket = fittingBucket(csv, choice.time, roles.bucket);
    }
    if (this.draft !== null) {
      this.draft = { ...this.draft, ...patch };
      const { person, time } = this.draft;
      const isTaken = (name: string) => name === person || name === time;
      this.draft.columns = this.draft.columns.filter((name) => !isTaken(name));
      if (this.draft.columns.length === 0) this.draft.columns = suggestSum(this.own!, this.draft);
      this.show(this.settings!);
      return;
    }
    const chosen = { ...this.settings!, ...patch };
    const wanted = { ...patch, ...participationFor(chosen) };
    const numSteps = this.numSteps({ ...chosen, ...wanted });
    this.events.changed({ ...wanted, ...(numSteps === null ? {} : { numSteps }) });
  }

  /** Why these columns of the user's own data cannot be summed; null if they can be. */
  private faultOf(names: string[]): string | null {
    try {
      const read = readFor(this.own!, names, this.draft!);
      for (const name of names) findColumn(read, name);
      return null;
    } catch (error) {
      if (error instanceof CsvError) return this.hides ? hiddenReason : error.message;
      throw error;
    }
  }

  /** Chooses a label; a label with values other than 0, 1 and -1 needs the squared loss. */
  private chooseLabel(label: string): void {
    const values = this.csv?.columns.find(({ name }) => name === label)?.values;
    const isClass = values === undefined || firstUnfit(values) < 0;
    const roles = label === noLabel ? {} : noRoles;
    this.events.changed({ label, ...roles, ...(isClass ? {} : { loss: 'squared' as const }) });
  }

  private chooseClip(clipNorm: number): void {
    if (this.draft === null) {
      this.events.changed({ clipNorm });
      return;
    }
    const { draft } = this;
    const limit = { ...this.settings!, ...draft, ...participationFor(draft) };
    const { numSteps } = this.makeRecords(this.own!, draft.columns, draft, limitOf(limit));
    this.openOwn(draft, { clipNorm, numSteps, workload: summedBy(this.settings!) });
  }

  /** Counts the active people of the user's own data, if persons and times can be read. */
  private countPeople(draft: Draft): void {
    try {
      const { days } = this.makePeople(this.own!, draft);
      this.openOwn({ ...draft, columns: [] }, { numSteps: days.length, workload: 'active' });
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      const role = error instanceof RoleError ? error.role : 'columns';
      this.controls.error(role, this.hides ? hiddenReason : error.message);
    }
  }

  private openOwn(draft: Draft, patch: Partial<Settings>): void {
    this.draft = null;
    this.csvSource = '';
    this.inForce = { csv: this.own!, name: this.ownName };
    this.events.opened({
      ...draft,
      ...participationFor(draft),
      source: 'own',
      label: noLabel,
      sums: 1,
      // A known seed lets anyone subtract the noise, and everyone knows the default seed.
      noiseSeed: randomSeed(),
      ...noStatistic,
      ...patch,
    });
  }

  /** Applies a chosen way to read faulty cells of the user's own data. */
  private repair(reading: ColumnReading): void {
    if ('choice' in reading) {
      this.chooseRoles(reading.choice);
      return;
    }
    const isInUse = this.draft === null;
    this.own = reading.apply(this.own!);
    this.controls.error('columns', null);
    this.draft ??= { ...roleChoiceOf(this.settings!), columns: this.columnsOf(this.settings!) };
    if (this.draft.columns.length === 0) {
      this.draft.columns = suggestQuantity(this.own, this.draft);
    }
    if (isInUse) this.chooseClip(this.settings!.clipNorm);
    else this.show(this.settings!);
  }

  private refuse(message: string | null, name: string): void {
    const said = message === null || !this.hides ? message : hiddenReason;
    this.controls.error('source', said);
    this.refusal = said;
    if (said === null) return;
    this.ownName = name;
    this.draft = null;
    this.show(this.settings!);
    byId('stage').scrollIntoView({ block: 'nearest' });
  }

  private sourceText(source: string): string {
    if (source === 'synthetic') {
      return (
        'Unit vectors with labels, drawn from a seed. ' +
        'Figure 1 then shows the learner’s gradients.'
      );
    }
    const promise = 'It is read in this tab, and the page sends nothing.';
    if (source === 'own') return `A header row, then one record per row. ${promise}`;
    return 'From the examples that come with the page.';
  }

  private showNothing(): void {
    const { columnsField, missingField, labelField, personField, timeField, guide } = this;
    for (const one of [columnsField, missingField, labelField, personField, timeField, guide])
      one.hidden = true;
    this.columns.clear();
    guide.replaceChildren();
    for (const key of ['person', 'time'] as const) this.controls.hint(key, '');
  }

  /** `clipNorm` is null until the user chooses it. */
  private showColumns(csv: Csv, choice: Draft, label: string, clipNorm: number | null): void {
    const { columns: chosen } = choice;
    this.columnsField.hidden = false;
    this.labelField.hidden = clipNorm === null;
    if (clipNorm === null) this.clipped.textContent = ''; // The text describes the current run.
    const { units } = this.settings!;
    this.columns.show(csv, chosen, label, { roles: choice, units, isHidden: this.hides });
    this.showMissing(csv, choice);
    const skipped = this.columns.numTexts(csv);
    const unnamed = csv.unnamed === null ? '' : `The table ${csv.unnamed}. `;
    const note = `${unnamed}${skipped > 0 ? `${skipped} more without numbers. ` : ''}`;
    this.controls.hint('columns', `${note}Several columns are clipped together, in ℓ₂.`);
    const options = offered(csv).map(({ name }) => h('option', { value: name }, name));
    this.label.replaceChildren(h('option', { value: noLabel }, 'none'), ...options);
    this.label.value = label;
    this.controls.hint(
      'label',
      'The column to learn from the others. Without one, only totals are shown.',
    );
    const records = this.showRoles(csv, choice, label, clipNorm === null);
    this.showGuide(records, choice, clipNorm);
  }

  /** Shows the roles of the columns; counts of active people depend on no other columns. */
  private showPeople(csv: Csv, settings: Settings): void {
    this.showNothing();
    for (const field of [this.personField, this.timeField]) field.hidden = false;
    this.showMissing(csv, { ...settings, columns: [] });
    this.roles.show(csv, settings, null);
    let people: DayPeople | null = null;
    try {
      people = this.people(settings);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
    }
    const effects = this.roles.effectsOnPeople(settings, { people, isHidden: this.hides });
    this.controls.hint('person', effects.person);
    this.controls.hint('time', effects.time);
  }

  private showMissing(csv: Csv, choice: Draft): void {
    this.missingField.hidden = csv !== this.own && choice.missing === 'refuse';
    this.missing.show(choice);
    const { size } = readFor(csv, choice.columns, choice).skipped;
    this.controls.hint('missing', missingText(choice, this.hides ? null : size));
  }

  /**
   * Shows the roles, and returns the records; null if the choices do not give records, and for a
   * learner.
   */
  private showRoles(csv: Csv, choice: Draft, label: string, isDraft: boolean): StepRecords | null {
    const learns = label !== noLabel;
    this.personField.hidden = learns || csv.columns.length === 1;
    this.timeField.hidden = learns || !this.roles.hasTimes(csv, choice);
    this.roles.show(csv, choice, choice.columns);
    let records: StepRecords | null = null;
    try {
      const limit = limitOf({ ...this.settings!, ...choice, ...participationFor(choice) });
      if (!learns) records = this.makeRecords(csv, choice.columns, choice, limit);
    } catch (error) {
      if (!(error instanceof CsvError || error instanceof SettingError)) throw error;
      if (isDraft && error instanceof RoleError) {
        this.controls.error(error.role, this.hides ? hiddenReason : error.message);
      }
    }
    const read = readFor(csv, choice.columns, choice);
    const { person, time } = this.roles.effects(read, choice, { records, isHidden: this.hides });
    this.controls.hint('person', person);
    this.controls.hint('time', time);
    return records;
  }

  private showGuide(
    records: StepRecords | null,
    { person, columns }: Draft,
    clipNorm: number | null,
  ): void {
    const asks = clipNorm === null;
    if (asks && columns.length === 0) {
      this.askColumn(this.draft!);
      return;
    }
    this.guide.hidden = records === null;
    if (records === null || this.hides) {
      const what = asks
        ? 'Clip norms to choose from are'
        : 'Other clip norms, and their effect on the rows, are';
      this.guide.replaceChildren(hiddenNote(what));
      return;
    }
    const unit = unitOf(columns, this.settings!.units);
    const noun = person === '' ? 'row' : 'record';
    const one = person === '' ? 'one row' : 'one person in a step';
    const summed = columns.length === 1 ? ` of “${columns[0]}”` : '';
    const say = asks
      ? `How much${summed} may ${one} add? Longer ${noun}s are shortened to it, and the noise is ` +
        'proportional to it.'
      : `How much${summed} ${one} may add:`;
    this.guide.replaceChildren(
      h('p', { class: asks ? 'ask' : 'hint' }, say),
      clipButtons(recordNorms(records), { noun, unit, inForce: clipNorm }, (clip) =>
        this.chooseClip(clip),
      ),
      h(
        'p',
        { class: 'hint' },
        'These suggestions depend on the data. For a real release, choose the clip norm without looking at it.',
      ),
    );
  }

  /** Asks which column to sum, because none is clearly a quantity. */
  private askColumn(draft: Draft): void {
    const csv = this.own!;
    const { person, time } = draft;
    const taken = [person, time, csv.rows];
    const names = numberColumns(csv, draft).filter((name) => !taken.includes(name));
    const button = (text: string, act: () => void, more = ''): HTMLElement =>
      h('li', {}, h('button', { type: 'button', onclick: act }, h('b', {}, text), more));
    const countRows = (): void => {
      const counted = withRows(csv);
      this.own = counted;
      this.chooseColumns([counted.rows]);
    };
    const active = 'of each day, week and month';
    this.guide.hidden = false;
    this.guide.replaceChildren(
      h('p', { class: 'ask' }, 'No column is plainly a quantity. What is summed or counted?'),
      h(
        'ul',
        { class: 'clips', 'aria-label': 'Columns to choose from' },
        hasPeople(draft) && button('Count active people', () => this.countPeople(draft), active),
        button('Count the rows', countRows),
        ...names.map((name) => button(`Sum “${name}”`, () => this.chooseColumns([name]))),
      ),
    );
  }

  private field(
    key: 'source' | 'columns' | 'missing' | 'label' | 'person' | 'time',
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

/** The workload for a table of quantities that follows these settings. */
const summedBy = ({ workload }: Settings): Settings['workload'] =>
  workload === 'active' ? 'total' : workload;

/** True if rows have a person and a time, which are needed to count active people. */
const hasPeople = ({ person, time }: Roles): boolean => person !== '' && time !== '';

/** Suggests the column to sum; none if the user is to be asked. */
function suggestSum(csv: Csv, roles: Roles): string[] {
  const found = suggestQuantity(csv, roles);
  return hasPeople(roles) && found[0] === csv.rows ? [] : found;
}

/** Suggests columns and roles for data that the user has just loaded. */
function draftOf(csv: Csv, settings: Settings | null): Draft {
  const { participations, minSeparation } = settings ?? defaults;
  const person = suggestPerson(csv);
  const time = person === '' ? '' : suggestTime(csv);
  const columns = suggestSum(csv, { ...noRoles, ...noMarks, person, time });
  const bucket = fittingBucket(csv, time, noRoles.bucket);
  return { ...noRoles, ...noMarks, columns, person, time, bucket, participations, minSeparation };
}

function roleChoiceOf(settings: Settings): RoleChoice {
  const { participations, minSeparation } = settings;
  return { ...rolesOf(settings), participations, minSeparation };
}

function rolesOf(roles: Roles): Roles {
  const { person, ids, time, timeFormat, bucket, timeZone, from, to, missing, na } = roles;
  return { person, ids, time, timeFormat, bucket, timeZone, from, to, missing, na };
}

/**
 * With a user column, the rows of each person are limited; with only a time column, single rows are
 * protected.
 */
function participationFor({ person, time }: Roles): Pick<Settings, 'participation'> | undefined {
  if (person !== '') return { participation: 'separated' };
  return time === '' ? undefined : { participation: 'single' };
}

/** Limit on the rows of each person that count. */
export function limitOf(settings: Settings): Limit {
  const { participation, participations, minSeparation, person, time } = settings;
  if (person === '' && time !== '' && participation !== 'single') {
    const what = 'without a user column, steps of time protect a row';
    throw new SettingError('participation', `${what}: here each user has one record`);
  }
  if (person !== '' && participation === 'epochs') {
    const what = 'a user column limits how many records of a person count';
    throw new SettingError('participation', `${what}; it cannot be combined with epochs`);
  }
  return participation === 'single'
    ? { maxContributions: 1, minSeparation: 1 }
    : { maxContributions: participations, minSeparation };
}

/** Records of a learner: every row is a step. */
function learned(table: Table): StepRecords {
  const { numRows, values } = table;
  return {
    table,
    batchSize: 1,
    raw: values,
    numSteps: numRows,
    numContributions: numRows,
    numDropped: 0,
    numPersons: null,
    span: null,
  };
}

function clippedText(records: StepRecords, clipNorm: number, info: SimulationInfo): string {
  const { table, numContributions, numPersons } = records;
  const [noun, plural] =
    numPersons === null ? ['row'] : ['record of a person', 'records of persons'];
  const rows = counted(numContributions, noun!, plural);
  if (info.learns) {
    return info.clippingImpossible
      ? `${rows}; no gradient can be longer than the clip norm.`
      : `${rows}; gradients longer than the clip norm are scaled down.`;
  }
  const clipped = numClipped(table, clipNorm);
  if (clipped === 0) return `${rows}, none longer than the clip norm.`;
  const share = percent(clipped / numContributions);
  return `${rows}; ${share} are longer than the clip norm and are scaled down.`;
}

/**
 * Runs `make`, and turns a fault in the data into an error of the control `key`, or of the control
 * of the role at fault. While secrets are hidden, the reason is hidden, too.
 */
function attempt<T>(
  make: () => T,
  { key = 'columns', deployed }: { key?: 'columns' | 'label'; deployed: boolean },
): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const control = error instanceof RoleError ? error.role : key;
    throw new SettingError(control, deployed ? hiddenReason : error.message);
  }
}
