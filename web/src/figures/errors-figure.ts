// SPDX-License-Identifier: Apache-2.0

// Figure 4: the standard deviation of every release, with a lower bound on its maximum or mean.

import type { ErrorOptions, MechanismName, Problem, UnitError } from 'dp-ftrl';
import type { Analyst } from '../base/analyst.ts';
import { GrowingRange } from './axis.ts';
import { Chart, type Level } from './chart.ts';
import type { Colour } from './colours.ts';
import type { SumWeights } from '../data/weighted-sums.ts';
import { Decimated } from './decimate.ts';
import { byId, h, setText } from '../base/dom.ts';
import { boundRecords, count, quantity } from '../base/format.ts';
import { Lazily } from '../base/lazily.ts';
import { laneColours } from './lane-colours.ts';
import { Legend, type KeyEntry } from './legend.ts';
import { localText, localUnitStddev } from './local-counter.ts';
import { levelLine, STEP_AXIS, type PicturePanel } from './picture.ts';
import { strategyOf, type Lane } from '../run/run.ts';
import { baseline, nameOf } from '../controls/mechanisms.ts';
import { choicesOf, type Settings } from '../controls/settings.ts';
import { problemOf, weightsOf } from '../controls/workload.ts';

const localName = 'randomised response';

interface ErrorCurve {
  mechanism: MechanismName;
  stddev: Float64Array;
  error: UnitError;
}

/** A line without levels, with which the mechanisms are compared. */
interface Comparison {
  name: string;
  /** Name that decides the colour. */
  key: string;
  stddev: (step: number) => number;
}

export class ErrorsFigure {
  private readonly host = byId('errors');
  private readonly lazily = new Lazily(this.host, () => this.update());
  private settings: Settings | null = null;
  private lanes: readonly Lane[] = [];
  private asked = '';
  /** Options of the last drawing. */
  private drawn = '';
  private curves: ErrorCurve[] = [];
  /** Errors of fresh noise; null if it is one of the mechanisms, or if there are two of them. */
  private fresh: Float64Array | null = null;
  private comparisons: Comparison[] = [];
  private chart: Chart | null = null;
  private legend: Legend | null = null;
  private points: Float64Array[] = [];

  constructor(
    private readonly analyst: Analyst,
    private readonly moved: (step: number | null) => void,
  ) {}

  show(settings: Settings, lanes: readonly Lane[]): void {
    this.settings = { ...settings };
    this.lanes = lanes;
    this.lazily.request();
  }

  restyle(): void {
    this.chart?.restyle();
  }

  /** Redraws with a number of points that fits the new width. */
  resize(): void {
    this.drawn = '';
    this.lazily.request();
  }

  picture(): PicturePanel | null {
    const { chart, curves, points, settings, colours } = this;
    if (chart === null || settings === null) return null;
    const [steps, ...values] = points.map((column) => [...column]);
    const curveName = (i: number): string => `${this.name(i)}${nameOf(curves[i]!.mechanism)}`;
    const lines = values.map((y, i) => ({
      name: i < curves.length ? curveName(i) : this.comparisons[i - curves.length]!.name,
      x: steps!,
      y,
      colour: colours[i]!,
    }));
    const owners = curves.flatMap((_, i) => [curveName(i), curveName(i)]);
    const levels = this.levels().map(({ text, value, colour }, i) => ({
      ...levelLine(text, owners[i] ?? '', value, settings.numSteps),
      colour,
    }));
    return {
      title: 'Standard deviation of the release',
      x: { ...STEP_AXIS, log: settings.errors === 'log' },
      y: { label: 'standard deviation, noise multiplier and clip norm 1', log: false },
      series: [...lines, ...levels],
    };
  }

  private async update(): Promise<void> {
    const settings = this.settings;
    if (settings === null) return;
    const { lanes } = this;
    const problem = problemOf(settings);
    const asked = JSON.stringify([choicesOf(settings), problem]);
    const drawn = JSON.stringify([
      settings.errors,
      settings.local && lanes[0]!.history.info.certificate,
    ]);
    if (asked === this.asked && drawn === this.drawn) return;
    this.host.setAttribute('aria-busy', 'true');
    try {
      if (asked !== this.asked) this.curves = await this.compute(lanes, problem);
      this.asked = asked;
      this.draw(settings, lanes);
      this.drawn = drawn;
    } catch (error) {
      this.asked = '';
      this.clear();
      const message = error instanceof Error ? error.message : String(error);
      this.host.replaceChildren(h('p', { class: 'plot nothing', role: 'alert' }, message));
    }
    this.host.removeAttribute('aria-busy');
  }

  private async compute(lanes: readonly Lane[], problem: Problem): Promise<ErrorCurve[]> {
    const engine = await this.analyst.engine();
    const errorOf = (strategy: ErrorOptions['strategy']): Promise<UnitError> =>
      engine.error({ strategy, ...problem, perStep: true });
    const isAlone = lanes.length === 1 && lanes[0]!.mechanism !== baseline;
    this.fresh = isAlone ? (await errorOf(baseline)).perStep! : null;
    return Promise.all(
      lanes.map(async (lane) => {
        const error = await errorOf(strategyOf(lane));
        return { mechanism: lane.mechanism, stddev: error.perStep!, error };
      }),
    );
  }

  private compare(settings: Settings, [first]: readonly Lane[]): Comparison[] {
    const { fresh, curves } = this;
    const comparisons: Comparison[] = [];
    if (fresh !== null) {
      const stddev = (step: number): number => fresh[step - 1] ?? NaN;
      comparisons.push({ name: nameOf(baseline), key: baseline, stddev });
    }
    const weights = weightsOf(settings);
    const local = settings.local ? localUnitStddev(first!, curves[0]!.error, weights) : null;
    if (local !== null) comparisons.push({ name: localName, key: localName, stddev: local });
    this.noteLocal(first!, local, weights);
    return comparisons;
  }

  private clear(): void {
    this.comparisons = [];
    byId('local-note').hidden = true;
    this.chart?.destroy();
    this.chart = null;
    this.legend = null;
  }

  private draw(settings: Settings, lanes: readonly Lane[]): void {
    this.clear();
    this.comparisons = this.compare(settings, lanes);
    const { colours } = this;
    const numSteps = settings.numSteps;
    const levels = this.levels();
    const range = new GrowingRange([0, 1]);
    range.include(0);
    for (const { value } of levels) range.include(value);
    this.chart = new Chart({
      name: 'Standard deviation of the release: cursor over the steps',
      lines: colours.map((colour) => ({ colour, width: 1.5, shown: true })),
      bands: [],
      numSteps,
      logarithmic: settings.errors === 'log',
      describe: (step) => this.describe(step),
      moved: this.moved,
      range: () => range.get(),
    });
    this.chart.setLevels(levels);
    this.legend = this.makeLegend();
    this.host.replaceChildren(this.legend.element, this.chart.element);
    const points = new Decimated(
      numSteps,
      colours.map(() => 'line' as const),
      Math.max(200, this.host.clientWidth),
      settings.errors,
    );
    for (let step = 1; step <= numSteps; ++step) {
      const values = this.valuesAt(step);
      for (const value of values) range.include(value);
      points.push(values);
    }
    this.points = points.data();
    this.chart.setData(this.points);
    this.read(null);
  }

  private name(i: number): string {
    return this.curves.length > 1 ? (i === 0 ? 'A ' : 'B ') : '';
  }

  private get colours(): Colour[] {
    const names = this.curves.map(({ mechanism }) => mechanism);
    return laneColours([...names, ...this.comparisons.map(({ key }) => key)]);
  }

  /** Values of the lines at a step. */
  private valuesAt(step: number): number[] {
    return [
      ...this.curves.map(({ stddev }) => stddev[step - 1] ?? NaN),
      ...this.comparisons.map(({ stddev }) => stddev(step)),
    ];
  }

  private noteLocal(
    lane: Lane,
    local: ((step: number) => number) | null,
    weights: SumWeights,
  ): void {
    const note = byId('local-note');
    note.hidden = local === null;
    if (local === null) return;
    const { mechanism, stddev } = this.curves[0]!;
    setText(note, localText(nameOf(mechanism), lane, local, stddev, weights));
  }

  private bound(): number | null {
    return this.curves[0]?.error.lowerBound ?? null;
  }

  /** Short name of the error to which the bound applies. */
  private aim(): string {
    return this.curves[0]?.error.objective === 'mean' ? 'rms' : 'max';
  }

  /**
   * Horizontal lines. Their texts end at different places, because the lines are often close
   * together.
   */
  private levels(): Level[] {
    const { colours } = this;
    const levels: Level[] = this.curves.flatMap(({ error }, i) => [
      {
        value: error.maxError,
        colour: colours[i]!,
        text: `${this.name(i)}max ${quantity(error.maxError)}`,
        at: 1 - 0.16 * i,
      },
      {
        value: error.meanError,
        colour: colours[i]!,
        text: `${this.name(i)}rms ${quantity(error.meanError)}`,
        at: 0.66 - 0.16 * i,
      },
    ]);
    const bound = this.bound();
    if (bound !== null) {
      const minDimension = this.curves[0]?.error.lowerBoundMinDimension ?? 1;
      const text = `no ${this.aim()} is below ${quantity(bound)}${boundRecords(minDimension)}`;
      levels.push({ value: bound, colour: 'ink', text, at: 0.4, below: true });
    }
    return levels;
  }

  private makeLegend(): Legend {
    const { colours } = this;
    const entries: KeyEntry[] = this.curves.flatMap(({ mechanism }, i) => [
      { name: `${this.name(i)}${nameOf(mechanism)}`, colour: colours[i]!, kind: 'line' as const },
      { name: 'max', colour: colours[i]!, kind: 'dot' as const },
      { name: 'rms', colour: colours[i]!, kind: 'dot' as const },
    ]);
    const others = colours.slice(this.curves.length);
    for (const [i, { name }] of this.comparisons.entries())
      entries.push({ name, colour: others[i]!, kind: 'line' });
    if (this.bound() !== null) entries.push({ name: 'lower bound', colour: 'ink', kind: 'dot' });
    return new Legend(entries, []);
  }

  setCursor(step: number | null): void {
    if (this.chart === null) return;
    this.chart.setCursor(step);
    this.read(step);
  }

  private read(cursor: number | null): void {
    const step = cursor ?? this.curves[0]!.stddev.length;
    const bound = this.bound();
    const values = this.curves.flatMap(({ stddev, error }) => [
      stddev[step - 1] ?? NaN,
      error.maxError,
      error.meanError,
    ]);
    values.push(...this.comparisons.map(({ stddev }) => stddev(step)));
    if (bound !== null) values.push(bound);
    this.legend?.update(
      `step ${count(step)}`,
      values.map((value) => ({ text: quantity(value), value })),
    );
  }

  private describe(step: number): string {
    const parts = this.curves.map(
      ({ mechanism, stddev }, i) =>
        `${this.name(i)}${nameOf(mechanism)} ${quantity(stddev[step - 1] ?? NaN)}`,
    );
    for (const { name, stddev } of this.comparisons)
      parts.push(`${name} ${quantity(stddev(step))}`);
    return `step ${step}, standard deviation: ${parts.join(', ')}`;
  }
}
