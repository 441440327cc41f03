// SPDX-License-Identifier: Apache-2.0

// Ties the parts together: settings make runs, the player advances them, the figures show them.

import 'uplot/dist/uPlot.min.css';
import type { StrategyInfo, MechanismName } from 'dp-ftrl';
import { DEFAULT_MECHANISM, defaultMechanism } from '../../../wasm/src/shared/defaults.ts';
import { Answer } from '../figures/answer.ts';
import { BudgetMeter } from '../controls/budget.ts';
import { Controls } from '../controls/controls.ts';
import { HalfLifeField } from '../controls/half-life.ts';
import { parameterKey, parameterNames, type Side } from '../controls/parameters.ts';
import { Player } from '../run/player.ts';
import { PlayerBar } from '../run/player-bar.ts';
import { SearchBar } from '../controls/search-bar.ts';
import {
  checkTogether,
  choose,
  complete,
  defaults,
  IncompleteError,
  isListed,
  isView,
  opening,
  restOf,
  rules,
  SettingError,
  viewsOf,
  type SettingKey,
  type Settings,
} from '../controls/settings.ts';
import { Strategies } from '../controls/strategies.ts';
import { TargetFields } from '../controls/target-fields.ts';
import { readAddress, writeAddress, writeQueriesAddress } from '../controls/url.ts';
import { countsPeople, noLabel } from '../controls/workload.ts';
import { DataPanel } from '../controls/data-panel.ts';
import type { StatisticChoice } from '../data/statistic-choice.ts';
import { randomSeed } from '../data/random.ts';
import { unitOf } from '../data/units.ts';
import { connectExport } from '../share/export-dialog.ts';
import { connectKeys } from '../share/keys.ts';
import { Address, connectShare } from '../base/address.ts';
import { Analyst } from '../base/analyst.ts';
import { byId } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { markPreset } from '../base/menu.ts';
import { clearNotice, Failures, messageOf, showNotice } from '../run/failures.ts';
import { Form } from './form.ts';
import { PeopleView } from './people-view.ts';
import type { Run } from '../run/run.ts';
import { Runs, type RunRequest } from '../run/runs.ts';
import { Views } from './views.ts';
import { keepInPlace, keepStageInReach, watchVisibility } from './visibility.ts';

/** Lists the unknown parts of an address. */
function tellOf(messages: string[]): void {
  if (messages.length === 0) clearNotice();
  else showNotice('Part of this address was not understood; the rest applies.', messages);
}

/** Messages about settings before the # of the address, which have no effect. */
const misplaced = (): string[] =>
  [...new URLSearchParams(location.search).keys()].map(
    (name) => `“?${name}” has no effect: settings follow the #`,
  );

export class App {
  private wanted: Settings = { ...defaults };
  private run: Run | null = null;
  /** Settings with which active people are counted in place of a run; null if none are counted. */
  private counted: Settings | null = null;
  private isOpen = false;
  /** True if the first run failed and the defaults were tried instead. */
  private fellBack = false;
  /** The last entry of the user, which triggered the run now being prepared. */
  private typed: { key: SettingKey; text: string } | null = null;
  /** Names of the settings that the user changed since the address was last written. */
  private changed = '';
  private readonly player: Player;
  private readonly controls: Controls;
  private readonly data: DataPanel;
  private readonly targets: TargetFields;
  private readonly budget: BudgetMeter;
  private readonly answer: Answer;
  private readonly form: Form;
  private readonly views: Views;
  private readonly people: PeopleView;
  private readonly runs: Runs;
  private readonly failures: Failures;
  private readonly address = new Address(writeAddress, restOf);
  private readonly calm = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(engine: Engine, catalogue: readonly StrategyInfo[]) {
    this.player = new Player({
      draw: () => this.views.draw(),
      changed: () => this.playerChanged(),
      failed: (error) => this.failures.show(error, null, '', this.wanted.deployed),
    });
    this.bar = new PlayerBar(this.player, {
      restart: (playing) => this.start(0, playing),
    });
    this.controls = new Controls((key, text) => this.enter(key, text));
    byId('mini-epsilon').append(this.controls.makeSlider(byId('mini-said')));
    this.failures = new Failures(this.controls);
    this.data = new DataPanel(this.controls, {
      changed: (patch) => this.change(patch),
      opened: (patch) => this.openTable(patch),
      asked: () => this.player.pause(),
      left: () => this.leaveQuestion(),
    });
    this.budget = new BudgetMeter(engine, {
      chosen: (epsilon) => this.enterNumber('epsilon', epsilon),
    });
    this.answer = new Answer(engine);
    const halfLife = new HalfLifeField((decay) => this.enterNumber('decay', decay));
    this.form = new Form(this.controls, this.data, halfLife, this.budget, catalogue);
    this.targets = new TargetFields({
      epsilonOf: async (target) => (await engine.calibrate(target)).epsilon,
      chosen: (epsilon) => this.enterNumber('epsilon', epsilon),
    });
    this.controls.follow('delta', this.targets.elements);
    const analyst = new Analyst();
    this.people = new PeopleView(analyst);
    this.views = new Views(this.player, this.bar, analyst, {
      changed: (patch) => this.change(patch),
      drawn: () => this.drawAgain(),
      chosen: (mechanism, parameters) =>
        this.changeMechanism('a', choose('a', mechanism, parameters)),
    });
    this.runs = new Runs(engine, new Strategies(engine, catalogue), new SearchBar(), {
      busy: (isBusy) => this.player.suspend('preparing', isBusy),
      made: (run, request) => this.show(run, request),
      failed: (error) => this.fail(error),
      givenUp: () => this.giveUp(),
    });
    this.connectShare(engine);
    this.address.watch(() => this.isOpen && this.open());
    watchVisibility(this.player);
    keepStageInReach();
  }

  private readonly bar: PlayerBar;

  /**
   * Applies the settings in the address and reports settings that cannot be used. Going back to an
   * address that the page wrote undoes a change and keeps the current step.
   */
  open(): void {
    this.isOpen = true;
    const undoes = this.shown !== null && this.address.isOwn;
    this.fellBack = false;
    if (this.asksForTable()) return;
    this.takeAddress();
    if (undoes) this.startAsBefore();
    else this.begin();
  }

  restyle(): void {
    this.views.restyle();
    this.people.restyle();
  }

  /**
   * Hides all secrets while another view is open, because that view may state that the page shows
   * none.
   */
  leave(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.wanted.deployed = true;
    this.forgetMessages();
    this.form.show(this.wanted);
    if (this.run !== null) this.showMeasured(this.run);
    if (this.counted !== null) this.count({ ...this.wanted });
  }

  /** Settings of what is shown; null before the first run. */
  private get shown(): Settings | null {
    return this.run?.settings ?? this.counted;
  }

  /**
   * Starts a run with the wanted settings, or shows its end, paused, for users who prefer reduced
   * motion.
   */
  private begin(): void {
    this.start(this.calm.matches ? Infinity : 0, !this.calm.matches);
  }

  /** Asks for the table to which the address refers, if this document does not have it. */
  private asksForTable(): boolean {
    const { settings, refused, unknown } = readAddress(location.hash);
    if (!this.data.asksAgain(settings)) return false;
    this.runs.abandon();
    this.wanted = settings;
    this.controls.restore(settings);
    this.form.show(settings);
    for (const [key, { text, message }] of refused) this.controls.error(key, message, text);
    tellOf([...unknown, ...[...refused.values()].map(({ message }) => message)]);
    delete document.documentElement.dataset['loading'];
    return true;
  }

  /** Runs a table that the user has just opened, from the first step. */
  private openTable(patch: Partial<Settings>): void {
    this.typed = null;
    this.changed = Object.keys(patch).join();
    Object.assign(this.wanted, patch);
    this.begin();
  }

  /** Returns to the run before a question or, if there was none, to synthetic records. */
  private leaveQuestion(): void {
    if (this.shown !== null) this.goBackTo(this.shown);
    else {
      this.wanted = { ...opening, columns: [] };
      this.begin();
    }
  }

  private takeAddress(): void {
    const { settings, refused, unknown } = readAddress(location.hash);
    complete(settings, this.address.read());
    const messages = [...misplaced(), ...unknown];
    for (const { message } of refused.values()) messages.push(message);
    messages.push(...this.form.dropForeign(settings));
    try {
      const dimension = this.data.records(settings)?.table.numColumns ?? settings.dimension;
      if (settings.sums > dimension) {
        messages.push(`sums must be at most the dimension ${dimension}, got ${settings.sums}`);
      }
    } catch (error) {
      Object.assign(settings, readAddress(location.hash).settings);
      messages.push(messageOf(error));
      if (error instanceof SettingError) {
        refused.set(error.key, { text: '', message: error.message });
      }
      Object.assign(settings, {
        ...{ source: 'synthetic', columns: [], label: '' },
        ...{ person: '', ids: defaults.ids, time: '', from: '', to: '' },
      });
    }
    this.wanted = settings;
    if (settings.deployed) this.forgetMessages();
    this.controls.restore(settings);
    this.form.show(settings);
    for (const [key, { text, message }] of refused) this.controls.error(key, message, text);
    tellOf(messages);
  }

  /** Changes the mechanism, and discards settings and errors of the previous one. */
  private changeMechanism(side: Side, patch: Partial<Settings>): void {
    for (const name of parameterNames) this.controls.error(parameterKey(side, name), null, '');
    this.change(patch);
  }

  /**
   * Changes the column; errors about the range or the categories of the previous column are
   * cleared.
   */
  private changeColumn(patch: Partial<StatisticChoice>): void {
    for (const key of ['range', 'domain'] as const)
      if (key in patch) this.controls.error(key, null, '');
    this.change(patch);
  }

  /** Changes the workload. Learning needs running totals, so other sums of a table turn it off. */
  private changeWorkload(workload: Settings['workload']): void {
    const { source, label, mechanism, numSteps, window } = this.wanted;
    const isData = source !== 'synthetic';
    const summed = { workload, label: isData && workload !== 'total' ? noLabel : label };
    // Searching for the best mechanism of windows or momentum is slow on a long stream, so another
    // mechanism is the default there.
    const isLong = workload === 'momentum' || (workload === 'window' && window < numSteps);
    const quick = defaultMechanism(numSteps, !isLong);
    const isSlow = isData && mechanism === DEFAULT_MECHANISM && quick !== mechanism;
    if (isSlow) this.changeMechanism('a', { ...choose('a', quick), ...summed });
    else this.change(summed);
  }

  private drawAgain(): void {
    const { source, noiseSeed } = this.wanted;
    this.change({ noiseSeed: source === 'own' ? randomSeed() : noiseSeed + 1 });
  }

  /** Enters a number derived from another field, such as epsilon from a noise or error target. */
  private enterNumber(key: SettingKey, value: number): void {
    this.controls.error(key, null, String(value));
    this.enter(key, String(value));
  }

  private connectShare(engine: Engine): void {
    connectShare(byId('share'), () => (this.wanted.source === 'own' ? ', without your data' : ''));
    connectKeys();
    let version = '';
    void engine.ready.then((loaded) => (version = loaded));
    connectExport(() => {
      const { run, shown } = this;
      if (shown === null) return null;
      const { deployed } = this.wanted;
      const file = this.data.fileOf(shown);
      const common = { deployed, version, address: location.hash };
      if (run === null) {
        const [pictures, numbers] = [this.people.pictures(), this.people.numbers(deployed)];
        return numbers && { ...common, file: file!, pictures, numbers };
      }
      const pictures = this.views.pictures();
      const { simultaneousBands } = this.views;
      const statistics = this.views.statisticNumbers(deployed);
      return { ...common, run, file, pictures, simultaneousBands, statistics };
    });
  }

  private enter(key: SettingKey, text: string): void {
    if (isListed(key)) return;
    try {
      const value = rules[key].read(text);
      this.controls.error(key, null);
      if (this.wanted[key] === value) {
        this.failures.clear();
        return;
      }
      this.typed = { key, text };
      if (key === 'mechanism') this.changeMechanism('a', choose('a', value as MechanismName));
      else if (key === 'compare') {
        this.changeMechanism('b', choose('b', value as Settings['compare']));
      } else if (key === 'workload') this.changeWorkload(value as Settings['workload']);
      else if (key === 'measured') this.changeColumn({ measured: value as string, range: '' });
      else if (key === 'category') this.changeColumn({ category: value as string, domain: '' });
      else this.change({ [key]: value } as Partial<Settings>);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      this.controls.error(key, error.message);
    }
  }

  private change(patch: Partial<Settings>): void {
    const keys = Object.keys(patch) as SettingKey[];
    if (this.typed !== null && !keys.includes(this.typed.key)) this.typed = null;
    this.changed = keys.join();
    Object.assign(this.wanted, patch);
    if (patch.deployed === true) this.forgetMessages();
    if (keys.every(isView) && this.run !== null) {
      this.form.show(this.wanted);
      this.budget.show(this.wanted, this.run.first.info.certificate);
      this.showMeasured(this.run);
      this.writeAddress();
    } else this.startAsBefore();
  }

  /** Removes messages, which may quote records. */
  private forgetMessages(): void {
    this.failures.clear();
    clearNotice();
  }

  /** Starts another run at the step of the current one. */
  private startAsBefore(): void {
    const finished = this.player.state === 'finished';
    const step = finished ? Infinity : (this.run?.step ?? 0);
    this.start(step, this.player.state === 'playing');
  }

  /** Requests a run of the wanted settings; the current one stays until it is ready. */
  private start(step: number, playing: boolean): void {
    try {
      const settings = { ...this.wanted };
      if (countsPeople(settings)) {
        this.count(settings);
        return;
      }
      const records = this.data.records(settings);
      checkTogether(settings, records?.table.numColumns ?? settings.dimension);
      this.runs.start({ settings, records, step, playing });
    } catch (error) {
      // A run still being prepared would overwrite this message and whatever has been typed since.
      if (this.shown !== null) this.runs.abandon();
      this.fail(error);
    }
  }

  /** Counts active people in place of a run. */
  private count(settings: Settings): void {
    const people = this.data.people(settings);
    this.runs.abandon();
    this.player.unload();
    if (this.run !== null) {
      this.run.dispose();
      this.run = null;
      this.views.conceal();
    }
    this.counted = settings;
    this.typed = null;
    this.failures.clear();
    keepInPlace(() => {
      this.controls.clearResolved();
      this.form.show(this.wanted);
      this.people.show({ settings, people }, this.data.titleOf(settings));
    });
    this.writeAddress();
    delete document.documentElement.dataset['loading'];
  }

  private show(run: Run, { settings, records, playing }: RunRequest): void {
    this.run?.dispose();
    this.run = run;
    this.counted = null;
    this.typed = null;
    this.failures.clear();
    this.wanted = { ...settings, ...viewsOf(this.wanted) };
    this.wanted.sums = Math.min(this.wanted.sums, run.first.info.dimension);
    keepInPlace(() => {
      this.data.showClipped(records, settings.clipNorm, run.first.info);
      this.controls.clearResolved();
      this.form.show(this.wanted);
      this.targets.show(run.first.info.certificate);
      this.budget.show(this.wanted, run.first.info.certificate);
      this.form.showParticipation(
        settings,
        run.lanes.map(({ history }) => history.info.certificate),
      );
      this.form.showLambda(settings, run.lanes[0]!.learners);
      this.showMeasured(run);
    });
    this.writeAddress();
    this.player.load(run, playing);
    // The settings are shown only now, in their final place.
    delete document.documentElement.dataset['loading'];
  }

  /** Draws the run and shows its targets, in the units of the columns. */
  private showMeasured(run: Run): void {
    const { wanted } = this;
    const columns = this.data.columnsOf(wanted);
    const unit = run.first.info.learns ? '' : unitOf(columns, wanted.units);
    this.targets.measure(unit);
    this.answer.show(run, wanted.sums, unit);
    this.views.show({
      run,
      settings: wanted,
      names: columns,
      table: this.data.tableOf({ ...run.settings, ...viewsOf(wanted) }),
      file: this.data.titleOf(wanted),
    });
  }

  /**
   * Handles a cancelled search: returns to the previous run or, if there was none, runs a mechanism
   * that needs no search.
   */
  private giveUp(): void {
    if (this.shown !== null) {
      this.goBackTo(this.shown);
      return;
    }
    showNotice('The search was cancelled; the square root, which needs none, is shown instead.');
    Object.assign(this.wanted, choose('a', 'square-root'), choose('b', 'none'));
    this.form.show(this.wanted);
    this.begin();
  }

  /** Resets the controls to what the figures show. */
  private goBackTo(settings: Settings): void {
    this.wanted = { ...settings, ...viewsOf(this.wanted) };
    this.controls.restore(this.wanted);
    this.budget.restore();
    this.form.show(this.wanted);
    this.changed = '';
    this.writeAddress();
  }

  /** Reports an error; the figures and the controls keep the previous run. */
  private fail(error: unknown): void {
    if (this.shown === null && !this.fellBack) {
      this.fellBack = true;
      showNotice('Nothing can be run from this address; the defaults are shown instead.', [
        messageOf(error),
      ]);
      this.wanted = { ...defaults, columns: [] };
      this.form.show(this.wanted);
      this.begin();
      return;
    }
    const { typed, shown } = this;
    const waits = error instanceof IncompleteError;
    if (shown !== null && !waits) this.goBackTo(shown);
    const remains = shown === null || waits ? '' : 'The controls again show the current run.';
    this.failures.show(error, typed, remains, this.wanted.deployed);
    this.typed = null;
  }

  private writeAddress(): void {
    if (!this.isOpen) return;
    this.address.write(this.wanted, this.changed);
    markPreset(location.hash);
    byId<HTMLAnchorElement>('to-queries').hash = writeQueriesAddress(this.wanted);
    this.changed = '';
  }

  private playerChanged(): void {
    this.bar.showState();
    if (this.run !== null && this.player.state !== 'playing') this.views.rest();
  }
}
