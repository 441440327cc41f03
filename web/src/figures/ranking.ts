// SPDX-License-Identifier: Apache-2.0

// Table of all mechanisms at the current horizon, best first; a click on a mechanism selects it.

import type { ComparedMechanism, CompareOptions, Comparison } from 'dp-ftrl';
import type { MechanismName, MechanismParameters } from 'dp-ftrl';
import type { Analyst } from '../base/analyst.ts';
import { byId, h, setText } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { boundRecords, counted, digits, quantity } from '../base/format.ts';
import { Lazily } from '../base/lazily.ts';
import { laneColours } from './lane-colours.ts';
import { OwnEncoder } from './own-encoder.ts';
import { nameOf } from '../controls/mechanisms.ts';
import { parametersText } from '../controls/parameters.ts';
import { choicesOf, type Settings } from '../controls/settings.ts';
import { problemOf, wordsOf } from '../controls/workload.ts';

export interface RankingEvents {
  chosen(mechanism: MechanismName, parameters: MechanismParameters): void;
}

/** Values by which a heading sorts; null for texts that have no order. */
const headings: readonly {
  text: string;
  value: ((one: ComparedMechanism) => number | string) | null;
}[] = [
  { text: 'Mechanism', value: ({ mechanism }) => nameOf(mechanism) },
  { text: 'Worst step', value: ({ maxError }) => maxError },
  { text: 'Root mean square', value: ({ meanError }) => meanError },
  { text: '÷ lower bound', value: ({ ratio }) => ratio ?? Infinity },
  { text: 'Time per step', value: null },
  { text: 'Memory', value: null },
];

export class Ranking {
  /**
   * Heading by which the table is sorted, and whether in descending order; null for the order of
   * the library.
   */
  private sorted: { heading: number; falls: boolean } | null = null;
  private readonly host = byId('ranking');
  private readonly lazily = new Lazily(this.host, () => this.update());
  private settings: Settings | null = null;
  private asked = '';
  private comparison: Comparison | null = null;
  private readonly own = new OwnEncoder(() => this.settings !== null && this.show(this.settings));

  constructor(
    private readonly analyst: Analyst,
    private readonly events: RankingEvents,
  ) {}

  show(settings: Settings): void {
    this.settings = { ...settings };
    this.own.encoderFor(settings.numSteps);
    if (this.comparison !== null) this.mark(this.settings);
    this.lazily.request();
  }

  private async update(): Promise<void> {
    const settings = this.settings!;
    const options = { ...problemOf(settings), objective: settings.ranking };
    const asked = JSON.stringify([options, this.own.version]);
    if (asked === this.asked) return;
    this.host.setAttribute('aria-busy', 'true');
    setText(
      byId('ranking-note'),
      `Computing all errors for ${counted(settings.numSteps, 'step')}…`,
    );
    try {
      const engine = await this.analyst.engine();
      this.comparison = await this.compare(engine, options);
      this.sorted = null;
      this.asked = asked;
      this.draw(this.comparison);
      this.mark(this.settings ?? settings);
    } catch (error) {
      this.asked = '';
      this.comparison = null;
      const message = error instanceof Error ? error.message : String(error);
      setText(byId('ranking-note'), '');
      this.host.replaceChildren(h('p', { class: 'error', role: 'alert' }, message));
    }
    this.host.removeAttribute('aria-busy');
  }

  /**
   * Compares mechanisms and the user's own encoder, or leaves out an encoder that the library
   * refuses.
   */
  private async compare(engine: Engine, options: CompareOptions): Promise<Comparison> {
    const encoder = this.own.encoderFor(options.steps);
    if (encoder === undefined) return engine.compare(options);
    try {
      return await engine.compare({ ...options, strategies: [{ encoder }] });
    } catch (error) {
      this.own.refuse(error);
      this.own.encoderFor(options.steps);
      return engine.compare(options);
    }
  }

  private draw(comparison: Comparison): void {
    const { mechanisms, numSteps, workload, lowerBound, lowerBoundMinDimension, objective } =
      comparison;
    const worst = Math.max(1, ...mechanisms.map(({ ratio }) => ratio ?? 1));
    const body = h('tbody');
    for (const one of mechanisms) body.append(this.row(one, worst));
    body.addEventListener('click', (event) => {
      const index = (event.target as Element).closest('tr')?.dataset['index'];
      const one = mechanisms[Number(index ?? NaN)];
      if (one?.saved === false) this.events.chosen(one.mechanism, one.parameters);
    });
    for (const [i, row] of [...body.rows].entries()) row.dataset['index'] = String(i);
    const table = h(
      'table',
      {},
      h('thead', {}, h('tr', {}, ...headings.map((_, i) => this.heading(i)))),
      body,
    );
    this.host.replaceChildren(table);
    this.sort();
    const { title } = wordsOf(this.settings!);
    const summed = workload === 'prefix' ? '' : ` (${title})`;
    const aim = objective === 'mean' ? 'root mean square' : 'worst step';
    const bound =
      lowerBound === null
        ? ''
        : ` No factorization with Gaussian noise has a ${aim} below ` +
          `${quantity(lowerBound, 6)}${boundRecords(lowerBoundMinDimension ?? 1)}.`;
    setText(
      byId('ranking-note'),
      `Standard deviations of the releases of ${counted(numSteps, 'step')}${summed}, noise multiplier 1.` +
        `${bound} Click a mechanism to choose it. Bars are logarithmic. Memory is counted in vectors as ` +
        'long as a record; “buffers”, “bands” and so on are the parameters of that name. “Reads ' +
        'ahead” means that rows of C use later records; with Gaussian noise an equivalent C does ' +
        'not, so the mechanism can be streamed.',
    );
    this.fillLeftOut(comparison);
  }

  /** Pressing a heading sorts by its column; pressing it again reverses the order. */
  private heading(i: number): HTMLElement {
    const { text, value } = headings[i]!;
    if (value === null) return h('th', { scope: 'col', class: 'words' }, text);
    const act = (): void => {
      const isAgain = this.sorted?.heading === i;
      this.sorted = { heading: i, falls: isAgain && !this.sorted!.falls };
      this.sort();
    };
    return h('th', { scope: 'col' }, h('button', { type: 'button', onclick: act }, text));
  }

  private sort(): void {
    const { sorted, comparison } = this;
    if (sorted === null || comparison === null) return;
    const valueOf = headings[sorted.heading]!.value!;
    const body = this.host.querySelector('tbody')!;
    const rows = [...body.rows].map((row) => ({
      row,
      value: valueOf(comparison.mechanisms[Number(row.dataset['index'])]!),
    }));
    const sign = sorted.falls ? -1 : 1;
    rows.sort((a, b) => (a.value < b.value ? -sign : a.value > b.value ? sign : 0));
    body.replaceChildren(...rows.map(({ row }) => row));
    for (const [i, cell] of [...this.host.querySelectorAll('thead th')].entries()) {
      if (i === sorted.heading)
        cell.setAttribute('aria-sort', sorted.falls ? 'descending' : 'ascending');
      else cell.removeAttribute('aria-sort');
    }
  }

  private row(one: ComparedMechanism, worst: number): HTMLTableRowElement {
    const parameters = parametersText(one.parameters, (value) => quantity(value));
    const name = one.saved
      ? 'your C'
      : h('button', { type: 'button', class: 'plain' }, nameOf(one.mechanism));
    const bar = h('span', { class: 'bar', 'aria-hidden': 'true' });
    // The bar is logarithmic and starts at the bound, because ratios range from just above one to
    // hundreds.
    if (one.ratio !== null && worst > 1) {
      bar.style.width = `${(100 * Math.log(Math.max(1, one.ratio))) / Math.log(worst)}%`;
    }
    const ratio = one.ratio === null ? '–' : h('data', { value: one.ratio }, digits(one.ratio));
    const cells = [
      h('td', {}, h('data', { value: one.maxError }, digits(one.maxError))),
      h('td', {}, h('data', { value: one.meanError }, digits(one.meanError))),
      h('td', { class: 'ratio' }, ratio, h('span', { class: 'track' }, bar)),
      h('td', { class: 'words' }, one.stepCost),
      h('td', { class: 'words' }, one.memoryCost),
    ];
    const notes = [
      parameters,
      one.causal ? '' : 'reads ahead',
      one.sensitivityExactness === 'exact' ? '' : 'errors are upper bounds',
    ].filter((note) => note !== '');
    const note = notes.length > 0 && h('span', { class: 'note' }, notes.join('; '));
    return h(
      'tr',
      { 'data-mechanism': one.saved ? 'own' : one.mechanism },
      h('th', { scope: 'row' }, name, note),
      ...cells,
    );
  }

  /** Highlights the selected mechanisms, if their parameters match, too. */
  private mark(settings: Settings): void {
    const { mechanisms } = this.comparison!;
    const choices = choicesOf(settings);
    const colours = laneColours(choices.map(({ mechanism }) => mechanism));
    const places = choices.map(({ mechanism, parameters }) =>
      mechanisms.findIndex(
        (one) =>
          !one.saved &&
          one.mechanism === mechanism &&
          textOf(one.parameters) === textOf(parameters),
      ),
    );
    for (const row of this.host.querySelectorAll<HTMLElement>('tbody tr')) {
      const i = Number(row.dataset['index']);
      const lane = places.indexOf(i);
      row.className = lane < 0 ? '' : `chosen ${colours[lane]}`;
      row.querySelector('button')?.setAttribute('aria-pressed', String(places.includes(i)));
    }
  }

  private fillLeftOut({ leftOut }: Comparison): void {
    const box = byId('ranking-left-out');
    box.hidden = leftOut.length === 0;
    const items = leftOut.map(({ mechanism, parameters, reason }) => {
      const text = parametersText(parameters, (value) => quantity(value));
      const shown = nameOf(mechanism);
      const name = text === '' ? shown : `${shown} (${text})`;
      return h('li', {}, h('b', {}, name), `: ${reason}`);
    });
    box.querySelector('ul')!.replaceChildren(...items);
  }
}

const textOf = (parameters: MechanismParameters): string => parametersText(parameters, String);
