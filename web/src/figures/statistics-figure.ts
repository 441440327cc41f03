// SPDX-License-Identifier: Apache-2.0

// Figure 6: mean and spread of a column, counts of categories, or several sums, after every step.
// Each number has a small chart with the interval that the library returns and the value without
// noise.

import type { Settings } from '../controls/settings.ts';
import { wordsOf } from '../controls/workload.ts';
import { CsvError } from '../data/csv.ts';
import { limitOf } from '../controls/data-panel.ts';
import { Wanting, type StatisticTable } from '../data/statistic-choice.ts';
import type { Analyst } from '../base/analyst.ts';
import { byId, h, setText } from '../base/dom.ts';
import { messageOf } from '../run/failures.ts';
import { count, counted, percent, quantity, scientific } from '../base/format.ts';
import { Lazily } from '../base/lazily.ts';
import type { Lane } from '../run/run.ts';
import { hiddenReason } from '../base/secrets.ts';
import { GrowingRange } from './axis.ts';
import { Chart } from './chart.ts';
import { Decimated } from './decimate.ts';
import { Legend, type KeyEntry } from './legend.ts';
import { STEP_AXIS, type Panel as PicturePanel } from './picture.ts';
import type { Released, Track } from './statistic-release.ts';
import { makeTable, type TableColumn } from './tables.ts';

/** Confidence of the intervals, the default of the library. */
const confidence = 0.95;
/**
 * Share of the first steps that the axes ignore, as their intervals may be as wide as the range.
 */
const early: Record<Settings['statistic'], number> = { moments: 0.1, histogram: 0.1, sums: 0 };
const colour = 'private';

const ends = ({ low, high }: { low: number; high: number }): string =>
  `${quantity(low, 3)} to ${quantity(high, 3)}`;

/** Chart of one number, with its legend. */
class Panel {
  readonly element: HTMLElement;
  readonly chart: Chart;
  private readonly legend: Legend;
  private readonly points: Decimated;
  private readonly hint: HTMLElement | null;

  constructor(
    readonly track: Track,
    private readonly deployed: boolean,
    range: GrowingRange,
    { width, from }: { width: number; from: number },
    moved: (step: number | null) => void,
  ) {
    const { numSteps } = this;
    this.points = new Decimated(numSteps, ['line', 'upper', 'lower', 'line'], width);
    this.chart = new Chart({
      name: `${track.name}: cursor over the steps`,
      lines: [
        { colour, width: 1.5, shown: true },
        { shown: true },
        { shown: true },
        { colour: 'secret', width: 1.5, dash: [6, 4], shown: !deployed },
      ],
      bands: [{ upper: 1, lower: 2, colour }],
      numSteps,
      describe: (step) => this.describe(step),
      moved,
      range: () => range.get(),
    });
    const published: KeyEntry[] = [
      { name: 'release', colour, kind: 'line' },
      { name: 'interval', colour, kind: 'band' },
    ];
    this.legend = new Legend(
      published,
      deployed ? [] : [{ name: 'without noise', colour: 'secret', kind: 'dash' }],
    );
    const title = h('h3', {}, track.name);
    const { errors, share } = track;
    this.hint =
      errors === undefined && share === undefined ? null : h('p', { class: 'hint' }, errors ?? '');
    this.element = h(
      'div',
      { class: 'panel', 'data-key': track.key },
      title,
      this.hint,
      this.legend.element,
      this.chart.element,
    );
    for (let step = 1; step <= numSteps; ++step) {
      const { value, low, high, truth } = this.at(step);
      this.points.push([value, high, low, truth]);
      if (step < from * numSteps) continue;
      for (const shown of [value, low, high, ...(deployed ? [] : [truth])])
        if (Number.isFinite(shown)) range.include(shown);
    }
  }

  /** Draws the chart; called when the range covers all panels that share it. */
  draw(): void {
    this.chart.setData(this.points.data());
    this.setCursor(null);
  }

  get numSteps(): number {
    return this.track.estimates.length;
  }

  setCursor(step: number | null): void {
    this.chart.setCursor(step);
    const shown = Math.min(step ?? this.numSteps, this.numSteps);
    const at = this.at(shown);
    this.legend.update(`step ${count(shown)}`, [
      { text: quantity(at.value), value: at.value },
      { text: ends(at) },
      { text: quantity(at.truth), value: at.truth },
    ]);
    if (this.track.share !== undefined) setText(this.hint!, this.shareText(shown));
  }

  /** Describes a count as a share of all records. */
  private shareText(step: number): string {
    const { value, low, high } = this.track.share!.estimates[step - 1]!;
    return `Share of all records: ${percent(value)}, ${percent(low)} to ${percent(high)}`;
  }

  picture(): PicturePanel {
    const [x, value, high, low, truth] = this.points.data().map((column) => [...column]);
    const of = 'release';
    return {
      title: this.track.name,
      x: STEP_AXIS,
      y: { label: 'value', log: false },
      series: [
        { name: of, x: x!, y: value!, colour },
        { name: 'interval', of, x: x!, y: high!, to: low!, colour },
        ...(this.deployed
          ? []
          : [
              {
                name: 'without noise',
                x: x!,
                y: truth!,
                colour: 'secret' as const,
                look: 'dashed' as const,
              },
            ]),
      ],
    };
  }

  private at(step: number) {
    const { estimates, truth } = this.track;
    return { ...estimates[step - 1]!, truth: truth[step - 1]! };
  }

  private describe(step: number): string {
    const at = this.at(step);
    const secret = this.deployed ? '' : `; secret: without noise ${quantity(at.truth)}`;
    const share = this.track.share === undefined ? '' : `. ${this.shareText(step)}`;
    return `step ${step}, ${this.track.name}: release ${quantity(at.value)}, interval ${ends(at)}${share}${secret}`;
  }
}

/** A table, and the settings and mechanism of the run that are used for it. */
interface Shown {
  settings: Settings;
  lane: Lane;
  table: StatisticTable;
}

export class StatisticsFigure {
  private readonly host = byId('statistics');
  private readonly note = byId('statistics-note');
  private readonly details = byId<HTMLDetailsElement>('statistics-numbers');
  private readonly lazily = new Lazily(this.host, () => this.update());
  private shown: Shown | null = null;
  private asked = '';
  private askedLane: Lane | null = null;
  private released: Released | null = null;
  private drawn = '';
  private failure: unknown = null;
  private panels: Panel[] = [];

  constructor(
    private readonly analyst: Analyst,
    private readonly moved: (step: number | null) => void,
  ) {
    this.details.addEventListener('toggle', () => this.fillTable());
  }

  show(settings: Settings, lanes: readonly Lane[], table: StatisticTable | null): void {
    if (table === null) return;
    this.shown = { settings: { ...settings }, lane: lanes[0]!, table };
    // Hides secrets at once, even while the figure is off screen.
    if (settings.deployed && this.drawn !== 'true') {
      if (this.panels.length > 0) this.draw(settings);
      else if (this.failure !== null) this.fail(this.failure);
    }
    this.lazily.request();
  }

  restyle(): void {
    for (const { chart } of this.panels) chart.restyle();
  }

  /** Redraws with as many points as pixels for a new width. */
  resize(): void {
    this.drawn = '';
    this.lazily.request();
  }

  setCursor(step: number | null): void {
    for (const panel of this.panels) panel.setCursor(step);
  }

  /** Returns the charts as drawn; empty before they are. */
  pictures(): PicturePanel[] {
    return this.panels.map((panel) => panel.picture());
  }

  /** Returns the numbers shown in the charts; null before they are drawn. */
  numbers(deployed: boolean): StatisticNumbers | null {
    const { released, shown, panels } = this;
    if (released === null || panels.length === 0) return null;
    const { timeOf, tracks } = released;
    const numSteps = tracks[0]!.estimates.length;
    return { settings: shown!.settings, numSteps, timeOf, columns: allColumns(released, deployed) };
  }

  private async update(): Promise<void> {
    if (this.shown === null) return;
    const { settings, lane, table } = this.shown;
    // Another lane means another run, with other records or other noise.
    const asked = JSON.stringify([settings.statistic, table.choice]);
    const isSame = lane === this.askedLane && asked === this.asked;
    const drawn = String(settings.deployed);
    if (isSame && drawn === this.drawn) return;
    this.host.setAttribute('aria-busy', 'true');
    try {
      if (!isSame) {
        const [engine, { releaseStatistic }] = await Promise.all([
          this.analyst.engine(),
          import('./statistic-release.ts'),
        ]);
        this.released = await releaseStatistic(engine, {
          settings,
          lane,
          table,
          limit: limitOf(settings),
        });
      }
      [this.asked, this.askedLane] = [asked, lane];
      // The user may have hidden secrets meanwhile.
      this.draw({ ...settings, deployed: this.shown.settings.deployed });
    } catch (error) {
      this.fail(error);
    }
    this.host.removeAttribute('aria-busy');
  }

  private fail(error: unknown): void {
    this.failure = error;
    this.askedLane = null;
    this.released = null;
    this.clear();
    setText(this.note, '');
    const role = error instanceof Wanting ? 'status' : 'alert';
    // A fault of the table may quote its cells.
    const isSecret = error instanceof CsvError && this.shown?.settings.deployed === true;
    const text = isSecret ? hiddenReason : messageOf(error);
    this.host.replaceChildren(h('p', { class: 'plot nothing', role }, text));
    this.fillTable();
  }

  private clear(): void {
    for (const { chart } of this.panels) chart.destroy();
    this.panels = [];
  }

  private draw(settings: Settings): void {
    this.clear();
    this.failure = null;
    const { tracks } = this.released!;
    const { deployed, statistic } = settings;
    const rangeOf = (): GrowingRange => new GrowingRange([0, 1]);
    const common = rangeOf();
    const width = Math.max(150, Math.round(this.host.clientWidth / 3));
    const look = { width, from: early[statistic] };
    const isShared = statistic === 'histogram';
    this.panels = tracks.map(
      (track) => new Panel(track, deployed, isShared ? common : rangeOf(), look, this.moved),
    );
    this.host.replaceChildren(...this.panels.map(({ element }) => element));
    for (const panel of this.panels) panel.draw();
    setText(this.note, noteOf(settings, this.released!));
    this.fillTable();
    this.drawn = String(deployed);
  }

  private fillTable(): void {
    const host = this.details.querySelector('.scroll')!;
    host.replaceChildren();
    if (!this.details.open) return;
    const { released, shown } = this;
    const table =
      released === null
        ? h('p', {}, 'Nothing is released here.')
        : tableOf(released, shown!.settings.deployed);
    host.replaceChildren(table);
  }
}

type Part = 'value' | 'low' | 'high' | 'stddev';

/**
 * Returns the table columns of a number: its estimate, and the value without noise, marked as
 * secret.
 */
function columnsOf(
  name: string,
  key: string,
  { estimates, truth }: Pick<Track, 'estimates' | 'truth'>,
  print: TableColumn['print'],
): TableColumn[] {
  const parts: Record<Part, string> = { value: '', low: ', from', high: ', to', stddev: ', std' };
  const published = (Object.keys(parts) as Part[]).map((part) => ({
    title: `${name}${parts[part]}`,
    secret: false,
    name: `${key}-${part}`,
    print,
    at: (step: number) => estimates[step - 1]![part],
  }));
  return [
    ...published,
    {
      title: `${name}, without noise`,
      secret: true,
      name: `${key}-truth`,
      print,
      at: (step) => truth[step - 1]!,
    },
  ];
}

function allColumns({ tracks }: Released, deployed: boolean): TableColumn[] {
  const columns = tracks.flatMap(({ name, key, share, ...count }) => [
    ...columnsOf(name, key, count, (value) => quantity(value, 5)),
    ...(share === undefined ? [] : columnsOf(`${name}, share`, `${key}-share`, share, percent)),
  ]);
  return deployed ? columns.filter(({ secret }) => !secret) : columns;
}

function tableOf(released: Released, deployed: boolean): HTMLElement {
  const numSteps = released.tracks[0]!.estimates.length;
  return makeTable({ numSteps, step: numSteps }, allColumns(released, deployed));
}

/** All numbers of all steps, in columns. */
export interface StatisticNumbers {
  settings: Settings;
  numSteps: number;
  timeOf: Released['timeOf'];
  columns: TableColumn[];
}

/** Describes whose records are protected, and which of their properties. */
function hiddenText({ neighbours, person, participation, participations }: Settings): string {
  const isOne = participation === 'single' || participations === 1;
  const counts = person === '' ? '' : isOne ? ' that counts' : ' that count';
  const records = `${isOne ? 'one record' : `up to ${counted(participations, 'record')}`}${counts}`;
  const who = person === '' ? 'user' : 'person';
  const says = isOne ? 'it says' : 'they say';
  const whose =
    isOne && person === ''
      ? 'any one record was there'
      : `any one ${who} was there, with ${records}`;
  return neighbours === 'zero-out'
    ? `whether ${whose}, and what ${says}`
    : `whether ${whose}, what ${says}, and which of any two it was`;
}

/** Explains what is protected, what the intervals mean, and the cost in addition to Figure 1. */
function noteOf(settings: Settings, { tracks, about, secret }: Released): string {
  const { epsilon, delta, deployed, source, statistic } = settings;
  const { counted: covered } = wordsOf(settings);
  const what = {
    moments: `Mean, standard deviation and number cover ${covered}`,
    histogram: `The counts of all categories cover ${covered}`,
    sums: `These ${tracks.length} sums come from one noisy measurement of the records`,
  }[statistic];
  const axes =
    statistic !== 'moments'
      ? ''
      : ' Early intervals may be as wide as the range; the axes fit the last nine tenths of the steps.';
  const twice =
    source === 'synthetic' ? '' : ' Publishing Figure 1 too would spend the same budget again.';
  const share = `1/${tracks.length}`;
  const comparison =
    statistic !== 'sums' ? '' : ` ${about} ${share} of the budget is ${share} of μ².`;
  const said = deployed || secret === '' ? '' : ` Secret: ${secret}`;
  return (
    `${what}, and are published after every step. All of them together hide ` +
    `${hiddenText(settings)}, at ε = ${quantity(epsilon)} and δ = ${scientific(delta)}. Each interval contains the value ` +
    `without noise with ${quantity(100 * confidence)} % confidence.${axes}${comparison}${twice}${said}`
  );
}
