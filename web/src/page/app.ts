// SPDX-License-Identifier: Apache-2.0

// Ties the parts together: settings make runs, the player advances them, the figures show them.

import 'uplot/dist/uPlot.min.css';
import type { CatalogueEntry, MechanismName } from 'dp-ftrl';
import { Analyst } from './analyst.ts';
import { CertificateTable } from '../figures/certificate.ts';
import { Controls } from '../controls/controls.ts';
import { DataPanel } from '../data/data_panel.ts';
import { byId, h, setText } from './dom.ts';
import type { Engine } from './engine.ts';
import { ErrorsFigure } from '../figures/errors_figure.ts';
import { lambdaText } from '../controls/explain.ts';
import { FactorizationFigure } from '../figures/factorization_figure.ts';
import { LearningFigure } from '../figures/learning_figure.ts';
import { showNotice } from './notice.ts';
import {
  parameterKey,
  parameterKeys,
  parameterNames,
  partsOf,
  sides,
  variants,
  type ParameterName,
  type Side,
} from '../controls/parameters.ts';
import { Player } from '../controls/player.ts';
import { PlayerBar } from '../controls/player_bar.ts';
import { QueriesFigure } from '../figures/queries_figure.ts';
import { Ranking } from '../figures/ranking.ts';
import { LaneError, Run } from './run.ts';
import {
  checkTogether,
  choose,
  defaults,
  rules,
  SettingError,
  type Key,
  type Settings,
} from '../controls/settings.ts';
import { SearchBar } from '../controls/search_bar.ts';
import { Strategies } from '../controls/strategies.ts';
import { SumsFigure } from '../figures/sums_figure.ts';
import { learningTable, sumsTable } from '../figures/tables.ts';
import { readAddress, writeAddress } from '../controls/url.ts';
import { keepStageInReach, watchVisibility } from './visibility.ts';
import { factsOf, summaryOf } from './words.ts';

/** Start of another run: a step to go to at once, and whether time then goes on. */
interface Request {
  step: number;
  playing: boolean;
}

/** Settings that change what is drawn, not what is computed. */
const viewKeys: ReadonlySet<Key> = new Set([
  'speed',
  'sums',
  'learning',
  'deployed',
  'errors',
  'ranking',
  'histogram',
  'queries',
  'queriesView',
]);

/** Parameters of single mechanisms, those that vary any mechanism left out. */
const ownParameters = parameterNames.filter((name) => !variants.includes(name));

/** Option of the library -> control. */
const controlOf: Record<string, Key> = {
  epsilon: 'epsilon',
  delta: 'delta',
  numSteps: 'numSteps',
  clipNorm: 'clipNorm',
  neighbours: 'neighbours',
  mechanism: 'mechanism',
  dimension: 'dimension',
  stream: 'stream',
  streamSeed: 'streamSeed',
  noiseSeed: 'noiseSeed',
  loss: 'loss',
  lambda: 'lambda',
  label: 'label',
  labels: 'label',
  values: 'columns',
  table: 'columns',
};

/** The search of a mechanism was given up. */
function isAbort(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return error instanceof LaneError && cause instanceof DOMException && cause.name === 'AbortError';
}

/** Milliseconds between two updates of an open table while time goes on. */
const tableInterval = 500;

export class App {
  private wanted: Settings = { ...defaults };
  private run: Run | null = null;
  private request: Request | null = null;
  private working = false;
  private epoch = 0;
  private cursor: number | null = null;
  private lastTables = 0;
  private quarter = -1;
  /** The first run could not be made, and the one of the defaults was tried. */
  private fellBack = false;
  private readonly player: Player;
  private readonly bar: PlayerBar;
  private readonly controls: Controls;
  private readonly data: DataPanel;
  private readonly sums: SumsFigure;
  private readonly learning: LearningFigure;
  private readonly certificate: CertificateTable;
  private readonly factorization: FactorizationFigure;
  private readonly errors: ErrorsFigure;
  private readonly ranking: Ranking;
  private readonly queries: QueriesFigure;
  private readonly strategies: Strategies;
  private readonly searchBar = new SearchBar();
  private readonly takes: ReadonlyMap<MechanismName, readonly ParameterName[]>;
  private readonly calm = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(
    private readonly engine: Engine,
    catalogue: readonly CatalogueEntry[],
  ) {
    this.takes = new Map(catalogue.map(({ name, parameters }) => [name, parameters]));
    this.strategies = new Strategies(engine, catalogue);
    const analyst = new Analyst();
    this.certificate = new CertificateTable(analyst);
    this.factorization = new FactorizationFigure(analyst);
    this.errors = new ErrorsFigure(analyst);
    this.ranking = new Ranking(analyst, {
      chosen: (mechanism, parameters) => this.changeMechanism('a', choose('a', mechanism, parameters)),
    });
    this.queries = new QueriesFigure(analyst, { changed: (patch) => this.change(patch) });
    const moved = (step: number | null): void => this.moveCursor(step);
    this.sums = new SumsFigure(byId('sums'), moved);
    this.learning = new LearningFigure(byId('learning'), moved);
    this.player = new Player({
      draw: () => this.draw(),
      changed: () => this.playerChanged(),
      failed: (error) => this.fail(error),
    });
    this.bar = new PlayerBar(this.player, {
      restart: (playing) => this.rerun({ step: 0, playing }),
    });
    this.controls = new Controls((key, text) => this.enter(key, text));
    this.data = new DataPanel(this.controls, { changed: (patch) => this.change(patch) });
    this.buildControls();
    this.connectViews();
    watchVisibility(this.player);
    keepStageInReach();
    this.connectShare();
  }

  /** Starts with the settings in the address, and reports those that cannot be used. */
  open(): void {
    const { settings, refused, unknown } = readAddress(location.hash);
    const messages = unknown.map((name) => `there is no setting “${name}”`);
    for (const [key, { text, message }] of refused) {
      this.controls.error(key, message, text);
      messages.push(message);
    }
    messages.push(...this.dropForeign(settings));
    this.wanted = settings;
    try {
      this.data.table(settings);
    } catch (error) {
      messages.push(error instanceof Error ? error.message : String(error));
      if (error instanceof SettingError) this.controls.error(error.key, error.message);
      Object.assign(this.wanted, { source: 'synthetic', columns: [], label: '' });
    }
    showNotice(messages);
    this.rerun({ step: this.calm.matches ? Infinity : 0, playing: !this.calm.matches });
  }

  private takesParameter(side: Side, settings: Settings, name: ParameterName): boolean {
    const mechanism = side === 'a' ? settings.mechanism : settings.compare;
    if (mechanism === 'none') return false;
    return variants.includes(name) || this.takes.get(mechanism)?.includes(name) === true;
  }

  /** Takes out parameters that the mechanism does not have, and names them. */
  private dropForeign(settings: Settings): string[] {
    const messages: string[] = [];
    for (const key of parameterKeys) {
      const { side, name } = partsOf(key);
      if (settings[key] === null || this.takesParameter(side, settings, name)) continue;
      const mechanism = side === 'a' ? settings.mechanism : settings.compare;
      const why =
        mechanism === 'none' ? 'nothing is compared' : `${mechanism} has no such parameter`;
      messages.push(`“${rules[key].name}” is no use here: ${why}`);
      settings[key] = null;
    }
    return messages;
  }

  private buildControls(): void {
    const form = byId('controls');
    form.addEventListener('submit', (event) => event.preventDefault());
    form.append(
      this.mechanismGroup(),
      this.controls.group('Privacy', ['epsilon', 'delta', 'neighbours', 'clipNorm']),
      this.controls.group(
        'Stream',
        ['stream', 'dimension', 'numSteps', 'streamSeed'],
        this.data.element,
      ),
      this.controls.group('Learner', ['loss', 'lambda']),
      this.controls.group('Noise', ['noiseSeed']),
    );
  }

  private mechanismGroup(): HTMLElement {
    const own = (side: Side): Key[] => ownParameters.map((name) => parameterKey(side, name));
    const box = (side: Side): HTMLElement =>
      h(
        'details',
        { class: 'variants', id: `variants-${side}` },
        h('summary', {}, side === 'a' ? 'Variants' : 'Variants of the second'),
        ...this.controls.fields(variants.map((name) => parameterKey(side, name))),
      );
    const group = this.controls.group('Mechanism', ['mechanism', ...own('a')]);
    group.append(box('a'), ...this.controls.fields(['compare', ...own('b')]), box('b'));
    return group;
  }

  /** Another mechanism: what was set or mistyped for the one before it is forgotten. */
  private changeMechanism(side: Side, patch: Partial<Settings>): void {
    for (const name of parameterNames) this.controls.error(parameterKey(side, name), null, '');
    this.change(patch);
  }

  private enter(key: Key, text: string): void {
    if (key === 'columns') return;
    try {
      const value = rules[key].read(text);
      this.controls.error(key, null);
      if (this.wanted[key] === value) return;
      if (key === 'mechanism') this.changeMechanism('a', choose('a', value as MechanismName));
      else if (key === 'compare') {
        this.changeMechanism('b', choose('b', value as Settings['compare']));
      } else this.change({ [key]: value } as Partial<Settings>);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      this.controls.error(key, error.message);
    }
  }

  private change(patch: Partial<Settings>): void {
    Object.assign(this.wanted, patch);
    if (Object.keys(patch).every((key) => viewKeys.has(key as Key)) && this.run !== null) {
      this.showViews();
      this.writeAddress();
      return;
    }
    const finished = this.player.state === 'finished';
    this.rerun({
      step: finished ? Infinity : (this.run?.step ?? 0),
      playing: this.player.state === 'playing',
    });
  }

  /** Makes a run of the wanted settings; the old one stays until it is there. */
  private rerun(request: Request): void {
    this.request = request;
    this.epoch += 1;
    this.searchBar.cancel();
    if (!this.working) void this.work();
  }

  private async work(): Promise<void> {
    this.working = true;
    this.player.suspend('preparing', true);
    while (this.request !== null) {
      const request = this.request;
      this.request = null;
      try {
        await this.attempt(request, this.epoch);
      } catch (error) {
        if (this.request === null) this.fail(error);
      }
    }
    this.working = false;
    this.player.suspend('preparing', false);
  }

  private async attempt(request: Request, epoch: number): Promise<void> {
    const settings = { ...this.wanted };
    const table = this.data.table(settings);
    checkTogether(settings, table?.numColumns ?? settings.dimension);
    let run: Run;
    try {
      run = await Run.create(this.engine, settings, table, (choice) => {
        const what = { mechanism: choice.mechanism, numSteps: settings.numSteps };
        return this.searchBar.watch(what, (options) =>
          this.strategies.find(choice, settings.numSteps, options),
        );
      });
    } catch (error) {
      if (!isAbort(error)) throw error;
      if (epoch === this.epoch) this.giveUp();
      return;
    }
    try {
      const target = Math.min(request.step, run.numSteps);
      while (run.step < target && epoch === this.epoch) await run.advance(target - run.step);
    } catch (error) {
      run.dispose();
      throw error;
    }
    if (epoch !== this.epoch) {
      run.dispose();
      return;
    }
    this.run?.dispose();
    this.run = run;
    this.quarter = -1;
    this.cursor = null;
    this.data.showClipped(table, settings.clipNorm, run.first.info);
    this.controls.clearResolved();
    setText(byId('run-error'), '');
    byId('run-error').hidden = true;
    this.showSettings();
    this.showViews();
    this.writeAddress();
    this.player.load(run, request.playing);
  }

  /** A search was cancelled: back to what was there before, or to what needs no search. */
  private giveUp(): void {
    if (this.run !== null) {
      this.wanted = { ...this.run.settings };
      this.controls.restore(this.wanted);
      this.showSettings();
      this.writeAddress();
      return;
    }
    showNotice(['the search was cancelled: square-root, which needs none, is shown instead']);
    Object.assign(this.wanted, choose('a', 'square-root'), choose('b', 'none'));
    this.rerun({ step: this.calm.matches ? Infinity : 0, playing: !this.calm.matches });
  }

  /** Shows an error beside the control it is about; the last good run stays. */
  private fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (this.run === null && !this.fellBack) {
      this.fellBack = true;
      showNotice([message]);
      this.wanted = { ...defaults, columns: [] };
      this.rerun({ step: this.calm.matches ? Infinity : 0, playing: !this.calm.matches });
      return;
    }
    if (this.controlsOf(error, message).some((key) => this.controls.error(key, message))) return;
    const box = byId('run-error');
    setText(box, message);
    box.hidden = false;
  }

  /** Controls beside which an error may be shown, best place first. */
  private controlsOf(error: unknown, message: string): Key[] {
    if (error instanceof SettingError) return [error.key];
    const [, name] = /^(?:[\w-]+: )+(\w+)/.exec(message) ?? [];
    const keys: Key[] = [];
    if (error instanceof LaneError) {
      const parameter = parameterNames.find((one) => one === name);
      if (parameter !== undefined) keys.push(parameterKey(sides[error.lane]!, parameter));
      if (error.lane === 1) keys.push('compare');
    }
    const control = name === undefined ? undefined : controlOf[name];
    if (control !== undefined) keys.push(control);
    return keys;
  }

  private writeAddress(): void {
    history.replaceState(null, '', `#${writeAddress(this.wanted)}`);
  }

  private showSettings(): void {
    const { wanted, run } = this;
    this.controls.show(wanted);
    this.data.show(wanted);
    const synthetic = wanted.source === 'synthetic';
    const learns = run === null || run.first.info.learns;
    for (const key of ['stream', 'dimension', 'streamSeed'] as const) {
      this.controls.setShown(key, synthetic);
    }
    for (const key of ['loss', 'lambda'] as const) this.controls.setShown(key, learns);
    byId('controls').classList.toggle('no-learner', !learns);
    for (const side of sides) this.showParameters(side);
    if (run !== null && learns) {
      this.controls.hint('lambda', lambdaText(wanted.lambda, run.first.info.lambda));
    }
  }

  private showParameters(side: Side): void {
    const { wanted } = this;
    for (const name of parameterNames) {
      const epochs = name !== 'completeEpochs' || wanted[`${side}_epochLength`] !== null;
      const shown = epochs && this.takesParameter(side, wanted, name);
      this.controls.setShown(parameterKey(side, name), shown);
    }
    const box = byId<HTMLDetailsElement>(`variants-${side}`);
    box.hidden = side === 'b' && wanted.compare === 'none';
    if (variants.some((name) => wanted[parameterKey(side, name)] !== null)) box.open = true;
  }

  /** Redraws everything that depends on what is shown rather than on what is computed. */
  private showViews(): void {
    const { run, wanted } = this;
    if (run === null) return;
    this.fillSumsView(run);
    byId<HTMLSelectElement>('speed').value = rules.speed.write(wanted.speed);
    byId<HTMLSelectElement>('learning-view').value = wanted.learning;
    byId<HTMLInputElement>('deployed').checked = wanted.deployed;
    this.player.speed = wanted.speed;
    this.sums.show(run, wanted.sums, wanted.deployed);
    this.learning.show(run, wanted.learning, wanted.deployed);
    byId<HTMLSelectElement>('errors-view').value = wanted.errors;
    byId<HTMLSelectElement>('ranking-view').value = wanted.ranking;
    this.certificate.show(run);
    this.factorization.show(run.settings);
    this.errors.show({ ...run.settings, errors: wanted.errors }, run.lanes);
    this.ranking.show({ ...run.settings, ranking: wanted.ranking });
    this.showQueries(run);
    this.draw();
  }

  private showQueries(run: Run): void {
    const { histogram, queries, queriesView, deployed } = this.wanted;
    this.queries.show({ ...run.settings, histogram, queries, queriesView, deployed });
  }

  private fillSumsView(run: Run): void {
    const select = byId<HTMLSelectElement>('sums-view');
    const { dimension, learns } = run.first.info;
    const names = this.data.columnsOf(this.wanted);
    const options = [h('option', { value: 'norm' }, 'the vector (its norm)')];
    for (let k = 1; k <= dimension; ++k) {
      const name = names[k - 1] ?? `coordinate ${k}`;
      options.push(h('option', { value: k }, learns ? `gradient, ${name}` : name));
    }
    select.replaceChildren(...options);
    if (this.wanted.sums > dimension) {
      showNotice([`sums must be at most the dimension ${dimension}, got ${this.wanted.sums}`]);
      this.wanted.sums = dimension;
    }
    select.value = rules.sums.write(this.wanted.sums);
  }

  private draw(): void {
    const { run } = this;
    if (run === null) return;
    this.sums.draw(this.cursor);
    this.learning.draw(this.cursor);
    this.bar.showProgress(run);
    const facts = byId('facts');
    facts.hidden = this.wanted.deployed || run.step === 0;
    if (!facts.hidden) setText(facts.querySelector('span')!, factsOf(run, this.sums));
    this.drawTables(false);
    const quarter = Math.floor((4 * run.step) / run.numSteps);
    if (quarter !== this.quarter || this.player.state !== 'playing') this.summarise(run);
    this.quarter = quarter;
  }

  /** The live region speaks at rest and at each quarter, not at every step. */
  private summarise(run: Run): void {
    setText(byId('summary'), summaryOf(run, this.sums, this.wanted.deployed));
  }

  private drawTables(now: boolean): void {
    const { run } = this;
    if (run === null) return;
    const playing = this.player.state === 'playing';
    if (!now && playing && performance.now() - this.lastTables < tableInterval) return;
    this.lastTables = performance.now();
    const { sums, deployed } = this.wanted;
    const tables: [string, () => HTMLElement][] = [
      ['sums-numbers', () => sumsTable(run, sums, deployed)],
      ['learning-numbers', () => learningTable(run, deployed)],
    ];
    for (const [id, make] of tables) {
      const details = byId<HTMLDetailsElement>(id);
      if (details.open) details.querySelector('.scroll')!.replaceChildren(make());
    }
  }

  private moveCursor(step: number | null): void {
    if (step === this.cursor) return;
    this.cursor = step;
    this.sums.setCursor(step);
    this.learning.setCursor(step);
  }

  restyle(): void {
    this.sums.restyle();
    this.learning.restyle();
    this.factorization.restyle();
    this.errors.restyle();
    this.queries.restyle();
  }

  private playerChanged(): void {
    this.bar.showState();
    if (this.run === null || this.player.state === 'playing') return;
    this.summarise(this.run);
    this.drawTables(true);
  }

  private connectViews(): void {
    type View = 'sums' | 'learning' | 'speed' | 'errors' | 'ranking';
    const view = (id: string, key: View): void => {
      const select = byId<HTMLSelectElement>(id);
      select.addEventListener('change', () =>
        this.change({ [key]: rules[key].read(select.value) } as Partial<Settings>),
      );
    };
    view('sums-view', 'sums');
    view('learning-view', 'learning');
    view('speed', 'speed');
    view('errors-view', 'errors');
    view('ranking-view', 'ranking');
    const deployed = byId<HTMLInputElement>('deployed');
    deployed.addEventListener('change', () => this.change({ deployed: deployed.checked }));
    for (const id of ['sums-numbers', 'learning-numbers']) {
      byId(id).addEventListener('toggle', () => this.drawTables(true));
    }
    let timer = 0;
    let width = innerWidth;
    window.addEventListener('resize', () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (innerWidth !== width) {
          this.showViews(); // As many points as pixels.
          this.errors.resize();
        }
        width = innerWidth;
      }, 200);
    });
  }

  private connectShare(): void {
    const button = byId('share');
    const label = button.textContent ?? '';
    let timer = 0;
    button.addEventListener('click', async () => {
      let done = this.wanted.source === 'own' ? 'Copied, without your data' : 'Copied';
      try {
        await navigator.clipboard.writeText(location.href);
      } catch {
        done = 'Copy it from the address bar';
      }
      setText(button, done);
      clearTimeout(timer);
      timer = window.setTimeout(() => setText(button, label), 2000);
    });
  }
}
