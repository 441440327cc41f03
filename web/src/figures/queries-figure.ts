// SPDX-License-Identifier: Apache-2.0

// Figure of many counting queries on one histogram: with noise on each answer, and with noise on
// the best measurements for the queries.

import type { Async, LinearQueries, QueryMatrices, QueryWorkload } from 'dp-ftrl';
import type { Analyst } from '../base/analyst.ts';
import { GrowingRange } from './axis.ts';
import { Chart, type Line } from './chart.ts';
import { byId, h, setText } from '../base/dom.ts';
import { count, counted, percent, quantity } from '../base/format.ts';
import { HeatMap } from './heat-map.ts';
import { queryKinds, queryNames, readCounts, resized, sizes } from '../data/histogram.ts';
import { workloadOf, writeCounts } from '../data/histogram.ts';
import { HistogramBars } from './histogram-bars.ts';
import { HistogramSource } from '../data/histogram-source.ts';
import { randomSeed } from '../data/random.ts';
import { Lazily } from '../base/lazily.ts';
import { Legend, type KeyEntry } from './legend.ts';
import { extentOf, type Matrix } from '../data/matrix.ts';
import type { ColouredPicture } from './picture.ts';
import { queriesPanels, type QueryAnswer } from './queries-picture.ts';
import { SecretPart } from '../base/secrets.ts';
import { defaults, type Settings } from '../controls/settings.ts';

/** Largest number of queries in the table. */
const maxTableRows = 40;

/**
 * Mechanisms for one workload and privacy target: measuring each query directly, and the best
 * factorization.
 */
interface QueryFactorizations {
  each: Async<LinearQueries>;
  best: Async<LinearQueries>;
  labels: string[];
  matrices: QueryMatrices;
}

export interface QueriesEvents {
  changed(patch: Partial<Settings>): void;
}

function rms(values: ArrayLike<number>): number {
  const squares = Array.from(values, (value) => value * value);
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length);
}

/** True answers F h. */
function trueAnswers({ queries, numQueries, numValues }: QueryMatrices, counts: number[]) {
  return Float64Array.from({ length: numQueries }, (_, i) =>
    counts.reduce((sum, one, v) => sum + queries[i * numValues + v]! * one, 0),
  );
}

export class QueriesFigure {
  private readonly host = byId('queries');
  private readonly details = byId<HTMLDetailsElement>('queries-numbers');
  private readonly lazily = new Lazily(this.host, () => this.update());
  private readonly workload = byId<HTMLSelectElement>('queries-workload');
  private readonly view = byId<HTMLSelectElement>('queries-view');
  private readonly size = h('select', { id: 'histogram-size' });
  private readonly bars: HistogramBars;
  private readonly source: HistogramSource;
  private readonly histogram: SecretPart;
  private readonly note = h('p', { class: 'hint', id: 'queries-note', role: 'status' });
  private readonly plot = h('div', { class: 'queries-plot' });
  private readonly maps = h('div', { class: 'maps' });
  private settings: Settings | null = null;
  /** Counts of the user's own table, which are not in the address. */
  private own: number[] | null = null;
  private asked = '';
  private found: QueryFactorizations | null = null;
  private controller: AbortController | null = null;
  private answers: QueryAnswer[] = [];
  private heatMaps: HeatMap[] = [];
  private chart: Chart | null = null;
  private legend: Legend | null = null;

  constructor(
    private readonly analyst: Analyst,
    private readonly events: QueriesEvents,
  ) {
    this.bars = new HistogramBars({ changed: (counts) => this.draw(counts) });
    this.source = new HistogramSource((counts, isOther) => this.useOwn(counts, isOther));
    this.histogram = new SecretPart('The histogram and its source are', [
      this.bars.element,
      this.source.element,
    ]);
    for (const size of sizes) this.size.append(h('option', { value: size }, String(size)));
    for (const kind of queryKinds) {
      this.workload.append(h('option', { value: kind }, queryNames[kind]));
    }
    const reset = h('button', { type: 'button', id: 'histogram-reset' }, 'Example');
    reset.addEventListener('click', () => {
      const isOwn = this.hasOwn;
      this.own = null;
      this.source.forget();
      // The seed of the user's own table stays out of addresses.
      events.changed({
        histogram: defaults.histogram,
        ...(isOwn ? { noiseSeed: defaults.noiseSeed } : {}),
      });
    });
    this.size.addEventListener('change', () => this.resize(Number(this.size.value)));
    this.workload.addEventListener('change', () =>
      events.changed({ queries: this.workload.value as Settings['queries'] }),
    );
    this.view.addEventListener('change', () =>
      events.changed({ queriesView: this.view.value as Settings['queriesView'] }),
    );
    this.details.addEventListener('toggle', () => this.fillTable());
    const head = h('label', { class: 'inline' }, 'number of values ', this.size);
    this.host.replaceChildren(
      h(
        'div',
        { class: 'histogram' },
        h('div', { class: 'histogram-head' }, head, reset),
        this.histogram.element,
      ),
      h('div', { class: 'queries-result' }, this.note, this.plot),
      this.maps,
    );
    setText(this.note, 'Computed when scrolled into view…');
  }

  show(settings: Settings): void {
    this.settings = { ...settings };
    this.histogram.hide(settings.deployed);
    const { counts } = this;
    this.workload.value = settings.queries;
    this.view.value = settings.queriesView;
    this.size.value = String(counts.length);
    this.source.resize(counts.length);
    this.bars.show(this.counts);
    if (settings.deployed && this.chart !== null) {
      // Secrets are hidden at once, even while the figure is off screen.
      this.drawAnswers();
      this.fillTable();
    }
    if (this.wanted() !== this.asked) this.controller?.abort();
    this.lazily.request();
  }

  /** True if the counts come from the user's own table, which is not in the address. */
  get hasOwn(): boolean {
    return this.own !== null;
  }

  restyle(): void {
    for (const map of this.heatMaps) map.restyle();
    this.chart?.restyle();
  }

  /** Histogram, answers and matrices as drawn; null before they are drawn. */
  picture(): ColouredPicture | null {
    const { settings, answers, counts } = this;
    if (settings === null || this.chart === null) return null;
    const { queries, queriesView, deployed } = settings;
    const title = queryNames[queries];
    const given = { counts, answers, isError: queriesView === 'errors', deployed };
    return { title, panels: queriesPanels(given, this.matrices(), title), perRow: 2 };
  }

  private get counts(): number[] {
    return this.own ?? readCounts(this.settings!.histogram)!;
  }

  /**
   * Handles a drawn bar. Drawn counts are written to the address, unless they come from the user's
   * own table.
   */
  private draw(counts: number[]): void {
    if (this.own === null) {
      this.events.changed({ histogram: writeCounts(counts) });
      return;
    }
    this.own = counts;
    this.lazily.request();
  }

  private useOwn(counts: number[], isOther: boolean): void {
    this.own = counts;
    this.size.value = String(counts.length);
    this.bars.show(counts);
    // A known seed lets anyone subtract the noise, and everyone knows the default seed.
    if (isOther) this.events.changed({ noiseSeed: randomSeed() });
    else this.lazily.request();
  }

  private resize(size: number): void {
    if (this.own !== null) this.own = resized(this.own, size);
    if (this.own !== null && this.source.hasData) this.source.resize(size);
    const drawn = resized(readCounts(this.settings!.histogram)!, size);
    this.events.changed({ histogram: writeCounts(drawn) });
  }

  private wanted(): string {
    const { queries, epsilon, delta, neighbours } = this.settings!;
    return JSON.stringify([queries, this.counts.length, epsilon, delta, neighbours]);
  }

  private async update(): Promise<void> {
    if (this.settings === null) return;
    this.host.setAttribute('aria-busy', 'true');
    try {
      const asked = this.wanted();
      if (asked !== this.asked) {
        await this.search(asked);
        this.drawMaps();
      }
      await this.release();
      this.drawAnswers();
      this.fillTable();
    } catch (error) {
      const isAborted = error instanceof DOMException && error.name === 'AbortError';
      if (!isAborted) this.fail(error instanceof Error ? error.message : String(error));
    }
    this.host.removeAttribute('aria-busy');
  }

  private fail(message: string): void {
    this.asked = '';
    this.clear();
    this.maps.replaceChildren();
    this.plot.replaceChildren(h('p', { class: 'plot nothing', role: 'alert' }, message));
  }

  private async search(asked: string): Promise<void> {
    const settings = this.settings!;
    const { epsilon, delta, neighbours } = settings;
    const workload: QueryWorkload = workloadOf(settings.queries, this.counts.length);
    const engine = await this.analyst.engine();
    this.controller = new AbortController();
    const { signal } = this.controller;
    this.asked = asked;
    try {
      const privacy = { workload, epsilon, delta, neighbours };
      const each = await engine.queries.linear({ ...privacy, measurements: 'queries' }, { signal });
      const best = await engine.queries.linear(privacy, {
        signal,
        onProgress: ({ fraction }) => setText(this.note, `Searching… ${percent(fraction)}`),
      });
      const [labels, matrices] = await Promise.all([best.labels(), best.matrices()]);
      this.found?.each.dispose();
      this.found?.best.dispose();
      this.found = { each, best, labels, matrices };
    } catch (error) {
      this.asked = '';
      throw error;
    }
  }

  private async release(): Promise<void> {
    const { each, best, labels, matrices } = this.found!;
    const { counts } = this;
    if (counts.length !== matrices.numValues) return;
    const options = { insecureSeed: this.settings!.noiseSeed };
    const [noisyEach, noisyBest] = await Promise.all(
      [each, best].map(async (one) => (await one.release(counts, options)).answers),
    );
    const truth = trueAnswers(matrices, counts);
    this.answers = labels.map((label, i) => ({
      label,
      truth: truth[i]!,
      each: noisyEach![i]!,
      eachStd: each.standardErrors[i]!,
      best: noisyBest![i]!,
      bestStd: best.standardErrors[i]!,
    }));
  }

  private matrices(): Matrix[] {
    const { matrices } = this.found!;
    const { numQueries, numValues, numMeasurements } = matrices;
    const [ofQueries, ofValues, ofBoth] = [
      { numRows: numQueries, numColumns: numMeasurements },
      { numRows: numMeasurements, numColumns: numValues },
      { numRows: numQueries, numColumns: numValues },
    ];
    return [
      { symbol: 'F', name: 'queries', values: matrices.queries, ...ofBoth },
      { symbol: 'R', name: 'decoder', values: matrices.decoder, ...ofQueries },
      { symbol: 'M', name: 'what is measured', values: matrices.encoder, ...ofValues },
    ];
  }

  private drawMaps(): void {
    const shown = this.matrices();
    const of = queryNames[this.settings!.queries];
    this.heatMaps = shown.map((matrix) => new HeatMap(matrix, extentOf([matrix]), of));
    this.maps.replaceChildren(...this.heatMaps.map(({ element }) => element));
  }

  private clear(): void {
    this.chart?.destroy();
    this.chart = null;
    this.legend = null;
  }

  private drawAnswers(): void {
    this.clear();
    const { answers } = this;
    const { queriesView, deployed } = this.settings!;
    const isError = queriesView === 'errors';
    const range = new GrowingRange([0, 1]);
    const columns = isError ? this.errorColumns() : this.answerColumns();
    const lines: Line[] = isError
      ? [
          { colour: 'fresh', width: 1.5, shown: true },
          { colour: 'private', width: 1.5, shown: true },
          { colour: 'fresh', marks: true, shown: !deployed },
          { colour: 'private', marks: true, shown: !deployed },
        ]
      : [
          { colour: 'fresh', marks: true, shown: true },
          { colour: 'private', marks: true, shown: true },
          { colour: 'secret', width: 1.5, dash: [4, 3], shown: !deployed },
        ];
    range.include(0);
    for (const [i, column] of columns.entries()) {
      if (lines[i]!.shown) for (const value of column) range.include(value);
    }
    this.chart = new Chart({
      name: `${isError ? 'Errors' : 'Answers'}: cursor over the queries`,
      unit: 'query',
      lines,
      bands: [],
      numSteps: answers.length,
      describe: (query) => this.describe(query),
      moved: (query) => this.moveCursor(query),
      range: () => range.get(),
    });
    this.legend = this.makeLegend(isError, deployed);
    this.plot.replaceChildren(this.legend.element, this.chart.element);
    this.chart.setData([answers.map((_, i) => i + 1), ...columns]);
    this.read(null);
    this.summarise();
  }

  private answerColumns(): number[][] {
    const { answers } = this;
    return [
      answers.map(({ each }) => each),
      answers.map(({ best }) => best),
      answers.map(({ truth }) => truth),
    ];
  }

  private errorColumns(): number[][] {
    const { answers } = this;
    return [
      answers.map(({ eachStd }) => eachStd),
      answers.map(({ bestStd }) => bestStd),
      answers.map(({ each, truth }) => Math.abs(each - truth)),
      answers.map(({ best, truth }) => Math.abs(best - truth)),
    ];
  }

  private makeLegend(isError: boolean, deployed: boolean): Legend {
    const kind = isError ? 'line' : 'dot';
    const std = isError ? 'std, ' : '';
    const published: KeyEntry[] = [
      { name: `${std}noise on each`, colour: 'fresh', kind },
      { name: `${std}factorization`, colour: 'private', kind },
    ];
    const secret: KeyEntry[] = isError
      ? [
          { name: 'error, noise on each', colour: 'fresh', kind: 'dot' },
          { name: 'error, factorization', colour: 'private', kind: 'dot' },
        ]
      : [{ name: 'true answer', colour: 'secret', kind: 'dash' }];
    return new Legend(published, deployed ? [] : secret);
  }

  private moveCursor(query: number | null): void {
    this.chart?.setCursor(query);
    this.read(query);
  }

  /** Shows the values of the cursor's query, or of all queries together if there is no cursor. */
  private read(query: number | null): void {
    const isError = this.settings!.queriesView === 'errors';
    const columns = isError ? this.errorColumns() : this.answerColumns();
    const cells = columns.map((column) => (query === null ? NaN : column[query - 1]!));
    const overall = isError && query === null ? columns.map(rms) : cells;
    const none = isError ? 'root mean square' : counted(this.answers.length, 'query', 'queries');
    this.legend?.update(
      query === null ? none : this.answers[query - 1]!.label,
      overall.map((value) =>
        Number.isFinite(value) ? { text: quantity(value), value } : { text: '' },
      ),
    );
  }

  private describe(query: number): string {
    const { label, truth, each, eachStd, best, bestStd } = this.answers[query - 1]!;
    const noisy = (value: number, std: number): string =>
      `${quantity(value)}, plus or minus ${quantity(std)}`;
    const secret = this.settings!.deployed ? '' : `; secret: true answer ${quantity(truth)}`;
    const good = `factorization ${noisy(best, bestStd)}`;
    return `query ${label}: ${good}; noise on each ${noisy(each, eachStd)}${secret}`;
  }

  private summarise(): void {
    const { each, best } = this.found!;
    const [plain, good] = [rms(each.standardErrors), rms(best.standardErrors)];
    const publicTotal =
      best.neighbours === 'replace-one'
        ? ' The number of records is public: one row of M counts them, without noise.'
        : '';
    const gap = Number((100 * (best.ratio - 1)).toPrecision(2));
    const times = quantity(plain / good, 3);
    const less = times === '1' ? 'no less' : `${times} times less`;
    setText(
      this.note,
      `${counted(best.numQueries, 'query', 'queries')} about ${counted(best.numValues, 'value')}. Root mean square ` +
        `error: ${quantity(plain)} with noise on each answer; ${quantity(good)} with the ` +
        `factorization, ${less}, and provably at most ${quantity(gap)} % above that of the best ` +
        `factorization.${publicTotal}`,
    );
  }

  private fillTable(): void {
    const host = this.details.querySelector('.scroll')!;
    host.replaceChildren();
    if (!this.details.open || this.settings === null) return;
    const { deployed } = this.settings;
    const titles = ['Factorization', 'Std', 'Noise on each', 'Std'];
    const head = h('tr', {}, h('th', { scope: 'col' }, 'Query'));
    for (const title of titles) head.append(h('th', { scope: 'col' }, title));
    const secret = h('th', { scope: 'col' }, 'True answer', h('span', { class: 'note' }, 'secret'));
    if (!deployed) head.append(secret);
    const body = h('tbody');
    for (const answer of this.answers.slice(0, maxTableRows)) {
      const { label, truth, each, eachStd, best, bestStd } = answer;
      const values = [best, bestStd, each, eachStd, ...(deployed ? [] : [truth])];
      const cells = values.map((value) => h('td', {}, h('data', { value }, quantity(value, 5))));
      body.append(h('tr', {}, h('th', { scope: 'row' }, label), ...cells));
    }
    const more = this.answers.length - maxTableRows;
    const caption = more > 0 ? `The first ${maxTableRows} of ${count(this.answers.length)}` : 'All';
    const table = h('table', {}, h('caption', {}, caption), h('thead', {}, head), body);
    host.replaceChildren(table);
  }
}
