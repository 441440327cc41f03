// SPDX-License-Identifier: Apache-2.0

// The form of settings: the controls, and which of them apply.

import type { StrategyInfo, Certificate, MechanismName } from 'dp-ftrl';
import type { BudgetMeter } from '../controls/budget.ts';
import type { Controls } from '../controls/controls.ts';
import type { HalfLifeField } from '../controls/half-life.ts';
import { hints, lambdaText, statisticText, workloadText } from '../controls/explain.ts';
import { foldText, type FoldName } from '../controls/folds.ts';
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
import { participationText, sensitivityText } from '../controls/participation.ts';
import { rules, type SettingKey, type Settings } from '../controls/settings.ts';
import { learnsFrom } from '../controls/workload.ts';
import type { DataPanel } from '../controls/data-panel.ts';
import { byId, h, setText } from '../base/dom.ts';
import { counted } from '../base/format.ts';
import type { RunLearner } from '../run/run.ts';
import { numberColumns } from '../data/contributions.ts';

/** Parameters of individual mechanisms, without the variants that apply to any mechanism. */
const ownParameters = parameterNames.filter((name) => !variants.includes(name));

/** Settings in the bar above the figures; their help is in the folds of the other settings. */
const pinned = [
  'mechanism',
  'compare',
  'epsilon',
  'numSteps',
] as const satisfies readonly SettingKey[];

/** Marks elements that are not shown beside counts of active people. */
function ofTotals(elements: readonly HTMLElement[]): readonly HTMLElement[] {
  for (const element of elements) element.classList.add('of-totals');
  return elements;
}

export class Form {
  private readonly takes: ReadonlyMap<MechanismName, readonly ParameterName[]>;
  private readonly folds = new Map<FoldName, { element: HTMLElement; said: HTMLElement }>();

  constructor(
    private readonly controls: Controls,
    private readonly data: DataPanel,
    private readonly halfLife: HalfLifeField,
    budget: BudgetMeter,
    catalogue: readonly StrategyInfo[],
  ) {
    this.takes = new Map(catalogue.map(({ name, parameters }) => [name, parameters]));
    const { controls: all } = this;
    const [mechanism, compare, epsilon, horizon] = all.fields(pinned);
    ofTotals([mechanism!, compare!, horizon!]);
    byId('pinned').append(mechanism!, compare!, epsilon!, horizon!);
    for (const id of ['pinned', 'controls'])
      byId(id).addEventListener('submit', (event) => event.preventDefault());
    const [ofMechanism, ofCompared, ofEpsilon, ofHorizon] = pinned.map((key) => all.help(key));
    const user = ['participation', 'participations', 'minSeparation'] as const;
    byId('controls').append(
      this.fold('data', 'Data', [
        data.element,
        ...all.fields(['stream', 'dimension', 'streamSeed']),
        ...ofTotals([ofHorizon!]),
      ]),
      this.fold('sum', 'Sum', all.fields(['workload', 'window', 'decay', 'sumMomentum'])),
      this.fold('mechanism', 'Mechanism', this.mechanismFields(ofMechanism!, ofCompared!)),
      this.fold('privacy', 'Privacy', [
        ofEpsilon!,
        ...all.fields(['delta', 'neighbours']),
        ...ofTotals(all.fields(['clipNorm', ...user])),
      ]),
      this.fold('budget', 'Budget', [...all.fields(['budget', 'releases']), budget.element]),
      this.fold('learner', 'Learner', all.fields(['rule', 'momentum', 'loss', 'lambda'])),
      this.fold('noise', 'Noise', all.fields(['noiseSeed'])),
    );
    const named = ['mechanism', 'budget', 'learner'] as const;
    ofTotals(named.map((name) => this.folds.get(name)!.element));
    all.follow('workload', [this.halfLife.element]);
    byId('statistics-controls').append(
      ...all.fields(['statistic', 'measured', 'range', 'category', 'domain', 'together']),
    );
  }

  /** Removes parameters that the mechanism does not have, and returns a message for each. */
  dropForeign(settings: Settings): string[] {
    const messages: string[] = [];
    for (const key of parameterKeys) {
      const { side, name } = partsOf(key);
      if (settings[key] === null || this.applies(side, settings, name)) continue;
      const mechanism = side === 'a' ? settings.mechanism : settings.compare;
      const why =
        mechanism === 'none' ? 'nothing is compared' : `${mechanism} has no such parameter`;
      messages.push(`“${rules[key].name}” has no effect here: ${why}`);
      settings[key] = null;
    }
    return messages;
  }

  /** Shows the settings, and the controls that apply to them. */
  show(settings: Settings): void {
    this.controls.hide('noiseSeed', settings.deployed && settings.source === 'own');
    this.controls.show(settings);
    this.data.show(settings);
    const synthetic = settings.source === 'synthetic';
    const learns = learnsFrom(settings);
    for (const key of ['stream', 'dimension', 'streamSeed'] as const) {
      this.controls.setShown(key, synthetic);
    }
    for (const key of ['rule', 'loss', 'lambda'] as const) this.controls.setShown(key, learns);
    this.controls.setShown('momentum', learns && settings.rule !== 'ftrl');
    this.folds.get('learner')!.element.hidden = !learns;
    for (const [name, { said }] of this.folds) setText(said, foldText(name, settings));
    this.controls.setShown('releases', settings.budget !== null);
    this.controls.setShown('participations', settings.participation !== 'single');
    this.controls.setShown('minSeparation', settings.participation === 'separated');
    this.controls.hint('workload', workloadText(settings));
    const ofSums = { window: 'window', decay: 'decay', sumMomentum: 'momentum' } as const;
    for (const key of ['window', 'decay', 'sumMomentum'] as const) {
      this.controls.setShown(key, !learns && settings.workload === ofSums[key]);
    }
    this.halfLife.show(settings);
    this.showStatistic(settings);
    for (const side of sides) this.showParameters(side, settings);
    const rows = this.data.numSteps(settings);
    const ends =
      rows !== null && settings.numSteps > rows
        ? ` The data ends after ${counted(rows, settings.time === '' ? 'row' : 'step')}; the noise is ` +
          `made for ${counted(settings.numSteps, 'step')}, so it is larger than needed.`
        : '';
    this.controls.hint('numSteps', `${hints.numSteps}${ends}`);
  }

  /** Explains the participation bound and what it costs. */
  showParticipation(settings: Settings, certificates: readonly Certificate[]): void {
    const text = participationText(settings, settings.numSteps, settings.person !== '');
    this.controls.hint('participation', `${text}${sensitivityText(certificates)}`);
  }

  /** Shows the value to which “auto” resolved. */
  showLambda(settings: Settings, learners: readonly RunLearner[]): void {
    if (!learnsFrom(settings)) return;
    const used = learners.map(({ history }) => history.info.lambda);
    this.controls.hint('lambda', lambdaText(settings.lambda, used));
  }

  /** Offers the columns of the table, and shows the defaults derived from it as placeholders. */
  private showStatistic(settings: Settings): void {
    const isHistogram = settings.statistic === 'histogram';
    for (const key of ['measured', 'range'] as const) this.controls.setShown(key, !isHistogram);
    for (const key of ['category', 'domain'] as const) this.controls.setShown(key, isHistogram);
    this.controls.setShown('together', settings.statistic === 'sums');
    this.controls.hint('statistic', statisticText(settings));
    const table = this.data.tableOf(settings);
    if (table === null) return;
    const { measured, category } = table.choice;
    const numbers = numberColumns(table.csv, settings);
    this.controls.offer('measured', numbers, measured);
    this.controls.offer(
      'category',
      table.csv.columns.map(({ name }) => name),
      category,
    );
    this.controls.placeholder('range', table.choice.range || 'lowest:highest');
    this.controls.placeholder('domain', table.choice.domain || 'one,two,three');
    this.controls.placeholder('together', table.choice.together);
  }

  private applies(side: Side, settings: Settings, name: ParameterName): boolean {
    const mechanism = side === 'a' ? settings.mechanism : settings.compare;
    if (mechanism === 'none') return false;
    return variants.includes(name) || this.takes.get(mechanism)?.includes(name) === true;
  }

  /** Creates a fold of settings with a summary of their values. */
  private fold(name: FoldName, title: string, fields: readonly HTMLElement[]): HTMLElement {
    const said = h('span', { class: 'said' });
    const summary = h('summary', {}, h('span', { class: 'title' }, title), said);
    const element = h('details', { class: 'fold', id: `fold-${name}` }, summary, ...fields);
    this.folds.set(name, { element, said });
    return element;
  }

  private mechanismFields(help: HTMLElement, comparedHelp: HTMLElement): HTMLElement[] {
    const own = (side: Side): SettingKey[] => ownParameters.map((name) => parameterKey(side, name));
    const box = (side: Side): HTMLElement =>
      h(
        'details',
        { class: 'variants', id: `variants-${side}` },
        h('summary', {}, side === 'a' ? 'Variants' : 'Variants of the second'),
        ...this.controls.fields(variants.map((name) => parameterKey(side, name))),
      );
    const first = [help, ...this.controls.fields(own('a')), box('a')];
    return [...first, comparedHelp, ...this.controls.fields(own('b')), box('b')];
  }

  private showParameters(side: Side, settings: Settings): void {
    for (const name of parameterNames) {
      const epochs = name !== 'completeEpochs' || settings[`${side}_epochLength`] !== null;
      const shown = epochs && this.applies(side, settings, name);
      this.controls.setShown(parameterKey(side, name), shown);
    }
    const box = byId<HTMLDetailsElement>(`variants-${side}`);
    box.hidden = side === 'b' && settings.compare === 'none';
    if (variants.some((name) => settings[parameterKey(side, name)] !== null)) box.open = true;
  }
}
