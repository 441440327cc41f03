// SPDX-License-Identifier: Apache-2.0

// Connects the figures to a run and shares one cursor among them.

import type { MechanismName, MechanismParameters } from 'dp-ftrl';
import type { PlayerBar } from '../run/player-bar.ts';
import type { Player } from '../run/player.ts';
import { rules, type Settings } from '../controls/settings.ts';
import { wordsOf } from '../controls/workload.ts';
import { CertificateTable } from '../figures/certificate.ts';
import { DeltaFigure } from '../figures/delta-figure.ts';
import { ErrorsFigure } from '../figures/errors-figure.ts';
import { FactorizationFigure } from '../figures/factorization-figure.ts';
import { Ghosts, maxGhostSteps } from '../figures/ghosts.ts';
import { LearningFigure } from '../figures/learning-figure.ts';
import { MiniChart } from '../figures/mini-chart.ts';
import type { PicturePanel, ColouredPicture } from '../figures/picture.ts';
import { Ranking } from '../figures/ranking.ts';
import { bandsText, SimultaneousBands, type SimultaneousBand } from '../figures/simultaneous.ts';
import { SumsFigure, type Additions } from '../figures/sums-figure.ts';
import { statistics, type StatisticView } from '../figures/statistics-figure.ts';
import type { StatisticRelease } from '../figures/statistic-release.ts';
import { learningTable, sumsTable } from '../figures/tables.ts';
import { TracksFigure, type TrackNumbers } from '../figures/tracks-figure.ts';
import type { Analyst } from '../base/analyst.ts';
import type { StatisticTable } from '../data/statistic-choice.ts';
import { unitOf } from '../data/units.ts';
import { byId, h, setText } from '../base/dom.ts';
import { messageOf } from '../run/failures.ts';
import type { Run } from '../run/run.ts';
import { watchMini } from './visibility.ts';
import { factsOf, recordsText, summaryOf } from './words.ts';

export interface ViewsEvents {
  changed(patch: Partial<Settings>): void;
  /** Called when the user asks for fresh noise. */
  drawn(): void;
  chosen(mechanism: MechanismName, parameters: MechanismParameters): void;
}

/** The run on the page, with its display settings. */
export interface RunOnView {
  run: Run;
  settings: Settings;
  /** Names of the entries of a record; empty for a synthetic stream. */
  names: string[];
  /** Table for the statistics; null if there is none. */
  table: StatisticTable | null;
  /** Name of the user's own table; '' for other records. */
  file: string;
}

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** Milliseconds between two updates of an open table while playing. */
const tableInterval = 500;

export class Views {
  private shown: RunOnView | null = null;
  private cursor: number | null = null;
  private lastTables = 0;
  private quarter = -1;
  private readonly mini = new MiniChart(document.querySelector<SVGSVGElement>('#mini-chart')!);
  private readonly sums: SumsFigure;
  private readonly ghosts: Ghosts;
  private readonly simultaneous: SimultaneousBands;
  private added: Additions = {};
  private readonly learning: LearningFigure;
  private readonly certificate: CertificateTable;
  private readonly factorization: FactorizationFigure;
  private readonly errors: ErrorsFigure;
  private readonly deltas: DeltaFigure;
  private readonly ranking: Ranking;
  private readonly statistics: TracksFigure<StatisticView, StatisticRelease>;

  constructor(
    private readonly player: Player,
    private readonly bar: PlayerBar,
    analyst: Analyst,
    private readonly events: ViewsEvents,
  ) {
    this.ghosts = new Ghosts(analyst);
    this.simultaneous = new SimultaneousBands(analyst);
    this.certificate = new CertificateTable(analyst);
    this.factorization = new FactorizationFigure(analyst);
    this.errors = new ErrorsFigure(analyst, (step) => this.moveCursor(step));
    this.deltas = new DeltaFigure(analyst);
    this.ranking = new Ranking(analyst, events);
    const moved = (step: number | null): void => this.moveCursor(step);
    this.statistics = new TracksFigure('statistics', analyst, statistics, moved);
    this.sums = new SumsFigure(byId('sums'), byId('sum-errors'), moved);
    this.learning = new LearningFigure(byId('learning'), moved);
    this.connect();
    watchMini(() => this.drawMini());
  }

  /** Resets the cursor and the summary for another run. */
  take(run: Run): void {
    if (this.shown?.run === run) return;
    this.quarter = -1;
    this.cursor = null;
  }

  /** Shows a run with these settings and redraws every figure. */
  show(shown: RunOnView): void {
    const { run, settings, table } = shown;
    this.take(run);
    this.shown = { ...shown };
    // Secrets may have been hidden, so earlier drawings are discarded.
    this.quarter = -1;
    this.lastTables = -Infinity;
    this.fillSumsView(this.shown);
    byId<HTMLSelectElement>('speed').value = rules.speed.write(settings.speed);
    byId<HTMLSelectElement>('learning-view').value = settings.learning;
    byId<HTMLInputElement>('deployed').checked = settings.deployed;
    byId<HTMLSelectElement>('errors-view').value = settings.errors;
    byId<HTMLInputElement>('local').checked = settings.local;
    for (const id of ['ranking-view', 'deltas-view'])
      byId<HTMLSelectElement>(id).value = settings.ranking;
    this.player.speed = settings.speed;
    this.added = {};
    this.showSums(this.shown);
    this.showGhosts(this.shown);
    this.showSimultaneous(this.shown);
    const { learns } = run.first.info;
    for (const id of ['learning-figure', 'learning-numbers']) byId(id).hidden = !learns;
    this.learning.show(run, settings.learning, settings.deployed);
    this.certificate.show(run);
    this.factorization.show(run.settings);
    const { errors, local, ranking } = settings;
    this.errors.show({ ...run.settings, errors, local }, run.lanes);
    this.deltas.show({ ...run.settings, ranking }, run.lanes);
    this.ranking.show({ ...run.settings, ranking });
    const { statistic, deployed } = settings;
    if (table !== null) {
      const view = { ...run.settings, statistic, deployed };
      this.statistics.show({ settings: view, lane: run.lanes[0]!, table });
    }
    this.draw();
  }

  /** Hides the secrets of a run that leaves the page. */
  conceal(): void {
    if (this.shown === null) return;
    this.show({ ...this.shown, settings: { ...this.shown.settings, deployed: true } });
  }

  /** Draws new steps. */
  draw(): void {
    if (this.shown === null) return;
    const { run, settings } = this.shown;
    this.sums.draw(this.cursor);
    this.learning.draw(this.cursor);
    this.drawMini();
    this.bar.showProgress(run);
    const facts = byId('facts');
    facts.hidden = settings.deployed || run.step === 0;
    setText(facts.querySelector('span')!, facts.hidden ? '' : factsOf(run, this.sums));
    this.drawTables(false);
    const quarter = Math.floor((4 * run.step) / run.numSteps);
    if (quarter !== this.quarter || this.player.state !== 'playing') this.summarise();
    this.quarter = quarter;
  }

  /** Simultaneous bands by lane; undefined while none are shown. */
  get simultaneousBands(): readonly SimultaneousBand[] | undefined {
    return this.added.simultaneous;
  }

  /** Pictures of the figures drawn so far, by file name. */
  pictures(): Map<string, ColouredPicture> {
    const { totals, errors } = this.sums.pictures();
    const matrices = this.factorization.pictures();
    const { plural, noun } = wordsOf(this.shown!.settings);
    const some = (panel: PicturePanel | null): PicturePanel[] => (panel === null ? [] : [panel]);
    const all: [string, string, ColouredPicture['panels']][] = [
      ['totals', plural, some(totals)],
      ['errors', `Errors of the ${noun}s`, some(errors)],
      ['learning', 'Learning', some(this.learning.picture())],
      ['matrices', 'Factorizations', matrices],
      ['deviations', 'Error of each step', some(this.errors.picture())],
      ['deltas', 'What a δ buys', some(this.deltas.picture())],
      ['statistics', 'Statistics', this.statistics.pictures()],
    ];
    return new Map(
      all
        .filter(([, , panels]) => panels.length > 0)
        .map(([name, title, panels]) => [
          name,
          { title, panels, perRow: name === 'matrices' ? 4 : 2 },
        ]),
    );
  }

  statisticNumbers(deployed: boolean): TrackNumbers | null {
    return this.statistics.numbers(deployed);
  }

  /** Updates the summary and the tables when playback stops. */
  rest(): void {
    this.summarise();
    this.drawTables(true);
  }

  restyle(): void {
    for (const figure of [
      this.sums,
      this.learning,
      this.factorization,
      this.errors,
      this.deltas,
      this.statistics,
    ]) {
      figure.restyle();
    }
  }

  private showSums({ run, settings, names, file }: RunOnView): void {
    const { sums: view, deployed, units } = settings;
    const columns = view === 0 ? names : names.slice(view - 1, view);
    const unit = run.first.info.learns ? '' : unitOf(columns, units);
    const title = lowered(wordsOf(settings).title);
    setText(byId('sums-name'), file === '' ? `The ${title}` : `${file}: the ${title}`);
    this.sums.show(run, { view, deployed, unit }, this.added);
  }

  /** Draws an addition once it is ready, unless the view has changed by then. */
  private add(shown: RunOnView, addition: Additions): void {
    if (shown !== this.shown) return;
    Object.assign(this.added, addition);
    this.showSums(shown);
    this.draw();
  }

  /** Draws the noise of other runs once it is ready; not for norms, and not for too many steps. */
  private showGhosts(shown: RunOnView): void {
    const { run, settings } = shown;
    const box = byId<HTMLInputElement>('ghosts');
    box.checked = settings.ghosts;
    box.disabled = settings.sums === 0 || run.numSteps > maxGhostSteps;
    if (!settings.ghosts || box.disabled) return;
    void this.ghosts.of(run).then((ghosts) => this.add(shown, { ghosts }));
  }

  /** Draws the simultaneous band once it is computed, and explains it. */
  private showSimultaneous(shown: RunOnView): void {
    const { run, settings } = shown;
    byId<HTMLInputElement>('simultaneous').checked = settings.simultaneous;
    const note = byId('simultaneous-note');
    note.hidden = !settings.simultaneous;
    if (!settings.simultaneous) return;
    const say = (text: string): void => {
      if (shown === this.shown) setText(note, text);
    };
    say('Computing the band for every step…');
    void this.simultaneous.of(run).then(
      (simultaneous) => {
        say(bandsText(run, settings.sums));
        this.add(shown, { simultaneous });
      },
      (error: unknown) => say(messageOf(error)),
    );
  }

  private drawMini(): void {
    if (this.shown === null) return;
    if (byId('mini').hidden) {
      this.mini.clear();
      return;
    }
    const { lines, range } = this.sums.miniature();
    this.mini.draw(lines, this.shown.run.numSteps, range);
  }

  private fillSumsView({ run, settings, names }: RunOnView): void {
    const select = byId<HTMLSelectElement>('sums-view');
    const { dimension, learns } = run.first.info;
    const what = run.sharesStart ? ' (gradient at the start)' : learns ? ' (gradient)' : '';
    const options = [h('option', { value: 'norm' }, 'the vector (its norm)')];
    for (let k = 1; k <= dimension; ++k) {
      const name = names[k - 1] ?? `coordinate ${k}`;
      const unit = learns ? '' : unitOf([name], settings.units);
      options.push(h('option', { value: k }, `${name}${what}${unit && ` (${unit})`}`));
    }
    select.replaceChildren(...options);
    select.value = rules.sums.write(settings.sums);
    const note = byId('sums-note');
    note.hidden = !learns;
    setText(note, recordsText(run));
  }

  /** Updates the live region, when paused and at each quarter rather than at every step. */
  private summarise(): void {
    if (this.shown === null) return;
    const { run, settings } = this.shown;
    setText(byId('summary'), summaryOf(run, this.sums, settings.deployed));
  }

  private drawTables(now: boolean): void {
    if (this.shown === null) return;
    const { run, settings } = this.shown;
    const playing = this.player.state === 'playing';
    if (!now && playing && performance.now() - this.lastTables < tableInterval) return;
    this.lastTables = performance.now();
    const { deployed } = settings;
    const tables: [string, () => HTMLElement][] = [
      ['sums-numbers', () => sumsTable(run, settings, this.added)],
      ['learning-numbers', () => learningTable(run, deployed)],
    ];
    for (const [id, make] of tables) {
      const details = byId<HTMLDetailsElement>(id);
      details
        .querySelector('.scroll')!
        .replaceChildren(...(details.open && !details.hidden ? [make()] : []));
    }
  }

  private moveCursor(step: number | null): void {
    if (step === this.cursor) return;
    this.cursor = step;
    this.sums.setCursor(step);
    this.learning.setCursor(step);
    this.factorization.setCursor(step);
    this.errors.setCursor(step);
    this.statistics.setCursor(step);
  }

  private connect(): void {
    type View = 'sums' | 'learning' | 'speed' | 'errors' | 'ranking';
    const view = (id: string, key: View): void => {
      const select = byId<HTMLSelectElement>(id);
      select.addEventListener('change', () =>
        this.events.changed({ [key]: rules[key].read(select.value) } as Partial<Settings>),
      );
    };
    view('sums-view', 'sums');
    view('learning-view', 'learning');
    view('speed', 'speed');
    view('errors-view', 'errors');
    view('ranking-view', 'ranking');
    view('deltas-view', 'ranking');
    for (const key of ['deployed', 'ghosts', 'simultaneous', 'local'] as const) {
      const box = byId<HTMLInputElement>(key);
      box.addEventListener('change', () => this.events.changed({ [key]: box.checked }));
    }
    for (const id of ['draw-again', 'statistics-again']) {
      byId(id).addEventListener('click', () => this.events.drawn());
    }
    for (const id of ['sums-numbers', 'learning-numbers']) {
      byId(id).addEventListener('toggle', () => this.drawTables(true));
    }
    this.watchWidth();
  }

  private watchWidth(): void {
    let timer = 0;
    let width = innerWidth;
    window.addEventListener('resize', () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (innerWidth !== width && this.shown !== null) {
          this.show(this.shown); // Redraws with as many points as pixels.
          this.errors.resize();
          this.statistics.resize();
        }
        width = innerWidth;
      }, 200);
    });
  }
}
