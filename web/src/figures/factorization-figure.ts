// SPDX-License-Identifier: Apache-2.0

// Figure 3: the matrices of the mechanisms, at a horizon short enough to show every entry.

import type { MechanismName } from 'dp-ftrl';
import type { Analyst } from '../base/analyst.ts';
import { covarianceText, decoderText, encoderText, inverseText } from './matrix-captions.ts';
import { byId, h, setText } from '../base/dom.ts';
import { count, counted, quantity } from '../base/format.ts';
import { blankMap, HeatMap, matrixPanel } from './heat-map.ts';
import { laneColours } from './lane-colours.ts';
import { Lazily } from '../base/lazily.ts';
import { extentOf, type Extent, type Matrix } from '../data/matrix.ts';
import { stepsOf } from '../data/weighted-sums.ts';
import type { MapPanel } from './picture.ts';
import { nameOf } from '../controls/mechanisms.ts';
import { choicesOf, type Settings } from '../controls/settings.ts';
import { problemOf, weightsOf, workloadOf } from '../controls/workload.ts';

const maxPictureSteps = 64;
const tableSize = 8;

interface MechanismMatrices {
  mechanism: MechanismName;
  matrices: Matrix[];
}

export class FactorizationFigure {
  private readonly host = byId('factorization');
  private readonly details = byId<HTMLDetailsElement>('factorization-numbers');
  private readonly lazily = new Lazily(this.host, () => this.update());
  private settings: Settings | null = null;
  private asked = '';
  private shown: MechanismMatrices[] = [];
  private maps: HeatMap[] = [];
  private step: number | null = null;
  /** C^-1 or A^-1 B of the first mechanism, for the sentence about a step. */
  private row: Matrix | null = null;
  private readonly note = byId('factorization-step');

  constructor(private readonly analyst: Analyst) {
    this.details.addEventListener('toggle', () => this.fillTables());
  }

  show(settings: Settings): void {
    this.settings = { ...settings };
    const choices = choicesOf(settings);
    if (choices.length !== this.host.childElementCount) {
      const panels = choices.map((_, lane) =>
        this.panel(choices, lane, [blankMap(), blankMap(), blankMap(), blankMap()]),
      );
      this.host.replaceChildren(...panels);
      this.asked = '';
    }
    this.lazily.request();
  }

  restyle(): void {
    for (const map of this.maps) map.restyle();
  }

  /** Highlights row `step` (from 1) of every matrix whose rows are steps, or no row. */
  setCursor(step: number | null): void {
    this.step = step;
    const { row, note } = this;
    for (const map of this.maps) map.light(map.numRows === row?.numRows ? step : null);
    const shown = row !== null && step !== null && step <= row.numRows;
    note.hidden = !shown;
    if (shown) setText(note, `${stepText(row, step)}`);
  }

  /** Matrices drawn, mechanism by mechanism. */
  pictures(): MapPanel[] {
    if (this.shown.length === 0) return [];
    const extents = this.extents();
    return this.shown.flatMap(({ mechanism, matrices }) =>
      matrices.map((matrix, i) => matrixPanel(matrix, extents[i]!, nameOf(mechanism))),
    );
  }

  /** Scale of each kind of matrix, shared by all mechanisms. */
  private extents(): Extent[] {
    return [0, 1, 2, 3].map((i) => extentOf(this.shown.map((one) => one.matrices[i]!)));
  }

  private async update(): Promise<void> {
    const settings = this.settings!;
    const steps = Math.min(settings.numSteps, maxPictureSteps);
    const options = choicesOf(settings).map(({ mechanism, parameters }) => ({
      strategy: { name: mechanism, ...parameters },
      ...(isShorterSingle(settings) ? workloadOf(settings) : problemOf(settings)),
      steps,
    }));
    const asked = JSON.stringify(options);
    if (asked === this.asked) return;
    this.host.setAttribute('aria-busy', 'true');
    try {
      const engine = await this.analyst.engine();
      const made = await Promise.all(
        options.map((one) => engine.error({ ...one, matrices: true })),
      );
      const all = made.map(({ matrices }) => matrices!);
      this.shown = all.map((matrices, i) => ({
        mechanism: options[i]!.strategy.name,
        matrices: [
          {
            symbol: 'C',
            name: 'encoder',
            numRows: matrices.numMeasurements,
            numColumns: steps,
            values: matrices.encoder,
            caption: encoderText,
          },
          {
            symbol: matrices.numMeasurements === steps ? 'C⁻¹' : 'A⁻¹B',
            name: 'noise of each step',
            numRows: steps,
            numColumns: matrices.numMeasurements,
            values: stepsOf(matrices.decoder, matrices.numMeasurements, weightsOf(settings)),
            caption: inverseText,
          },
          {
            symbol: 'B',
            name: 'decoder',
            numRows: steps,
            numColumns: matrices.numMeasurements,
            values: matrices.decoder,
            caption: decoderText,
          },
          {
            symbol: 'sens² BBᵀ',
            name: 'covariance of the noise',
            numRows: steps,
            numColumns: steps,
            values: matrices.noiseCovariance,
            caption: covarianceText,
          },
        ],
      }));
      this.asked = asked;
      this.draw();
    } catch (error) {
      this.asked = '';
      this.shown = [];
      this.maps = [];
      const message = error instanceof Error ? error.message : String(error);
      this.host.replaceChildren(h('p', { class: 'plot nothing', role: 'alert' }, message));
    }
    this.host.removeAttribute('aria-busy');
    this.describe(steps, settings);
    this.fillTables();
  }

  private describe(numSteps: number, settings: Settings): void {
    const horizon = settings.numSteps;
    const users = isShorterSingle(settings) ? ' and for users with one record' : '';
    const shorter =
      numSteps < horizon
        ? `Made for ${counted(numSteps, 'step')} instead of ${count(horizon)}${users}, to show every entry. `
        : '';
    const { window } = weightsOf(settings);
    const long =
      numSteps <= window && window < Infinity
        ? `A window of ${counted(window, 'step')} covers every step shown, so these are the matrices of the running total. `
        : '';
    setText(
      byId('factorization-note'),
      `${shorter}${long}Noise multiplier and clip norm are 1. None of this depends on the records.`,
    );
  }

  private draw(): void {
    const extents = this.extents();
    this.maps = [];
    const panels = this.shown.map(({ mechanism, matrices }, lane) => {
      const maps = matrices.map((matrix, i) => new HeatMap(matrix, extents[i]!, nameOf(mechanism)));
      this.maps.push(...maps);
      const elements = maps.map((map) => map.element);
      return this.panel(this.shown, lane, elements);
    });
    this.host.replaceChildren(...panels);
    this.row = this.shown[0]?.matrices[1] ?? null;
    this.setCursor(this.step);
  }

  private panel(
    lanes: readonly { mechanism: MechanismName }[],
    lane: number,
    maps: HTMLElement[],
  ): HTMLElement {
    const names = lanes.map(({ mechanism }) => mechanism);
    const mechanism = names[lane]!;
    const name = nameOf(mechanism);
    return h(
      'div',
      { class: `lane ${laneColours(names)[lane]}`, 'data-mechanism': mechanism },
      h('h3', {}, lanes.length > 1 ? `${lane === 0 ? 'A' : 'B'}\u2002${name}` : name),
      h('div', { class: 'maps' }, ...maps),
    );
  }

  private fillTables(): void {
    if (!this.details.open) return;
    const tables = this.shown.flatMap(({ mechanism, matrices }) =>
      matrices.map((matrix) => cornerTable(matrix, nameOf(mechanism))),
    );
    this.details.querySelector('.scroll')!.replaceChildren(...tables);
  }
}

/** True if epochs are ignored because the pictures have a shorter horizon. */
function isShorterSingle({ numSteps, participation }: Settings): boolean {
  return numSteps > maxPictureSteps && participation === 'epochs';
}

/** Describes the earlier noise that a step cancels. Steps and noise are numbered from 1. */
function stepText({ values, numColumns, symbol }: Matrix, step: number): string {
  const row = values.subarray((step - 1) * numColumns, step * numColumns);
  const taken = [...row.keys()]
    .filter((column) => row[column]! < -1e-12)
    .sort((a, b) => row[a]! - row[b]!)
    .slice(0, 3)
    .map((column) => `${quantity(-row[column]!, 3)} of noise ${column + 1}`);
  const back =
    taken.length === 0 ? 'takes no earlier noise back' : `takes back ${taken.join(', ')}`;
  return `Step ${count(step)}, a row of ${symbol}: ${back}.`;
}

/** Table of the first rows and columns. */
function cornerTable(matrix: Matrix, name: string): HTMLElement {
  const numRows = Math.min(tableSize, matrix.numRows);
  const numColumns = Math.min(tableSize, matrix.numColumns);
  const columns = Array.from({ length: numColumns }, (_, j) => j);
  const body = h('tbody');
  for (let i = 0; i < numRows; ++i) {
    const row = h('tr', {}, h('th', { scope: 'row' }, count(i + 1)));
    for (const j of columns) {
      const value = matrix.values[i * matrix.numColumns + j] ?? NaN;
      row.append(h('td', {}, h('data', { value }, quantity(value))));
    }
    body.append(row);
  }
  const whole = numRows === matrix.numRows && numColumns === matrix.numColumns;
  const part = whole
    ? ''
    : `, its first ${counted(numRows, 'row')} and ${counted(numColumns, 'column')}`;
  return h(
    'table',
    { class: 'corner' },
    h('caption', {}, `${matrix.symbol} of ${name}, the ${matrix.name}${part}`),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, 'Row'),
        ...columns.map((j) => h('th', { scope: 'col' }, count(j + 1))),
      ),
    ),
    body,
  );
}
