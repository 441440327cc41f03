// SPDX-License-Identifier: Apache-2.0

// Figure 2: the cost of learning from noisy totals, compared with a twin that learns from exact
// totals.

import type { Settings } from '../controls/settings.ts';
import { h } from '../base/dom.ts';
import { count, fixed, percent, roundPercent } from '../base/format.ts';
import type { Run } from '../run/run.ts';
import { GrowingRange } from './axis.ts';
import { Chart, type Level } from './chart.ts';
import { Decimated } from './decimate.ts';
import { curvesOf, type LearnerCurve } from './learner-curves.ts';
import { Legend, type KeyEntry } from './legend.ts';
import { levelLine, STEP_AXIS, type PicturePanel, type ColouredSeries } from './picture.ts';

type View = Settings['learning'];

const names: Record<View, string> = {
  loss: 'average loss',
  regret: 'average regret',
  accuracy: 'accuracy',
};

/** Index of the last entry of `steps` that is at most `step`; -1 if there is none. */
function lastAtMost(steps: ArrayLike<number>, step: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] ?? Infinity) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Value of a learner after `step` steps (from 1); NaN if there is no value yet. */
export function learningAt(
  { history, who }: Pick<LearnerCurve, 'history' | 'who'>,
  view: View,
  step: number,
): number {
  if (view === 'regret') {
    return history.regret[who][lastAtMost(history.regret.steps, step)] ?? NaN;
  }
  const kind = view === 'loss' ? 'Loss' : 'Accuracy';
  return history[`${who}${kind}`][step - 1] ?? NaN;
}

/** The bound holds after the last step, and not before. */
const boundName = (of: string): string => `final bound${of}`;

const isPrivate = ({ who }: LearnerCurve): boolean => who === 'private';

/** A bound, and its learner if there are several. */
interface RegretLevel extends Level {
  of: string;
}

export class LearningFigure {
  private chart: Chart | null = null;
  private legend: Legend | null = null;
  private points: Decimated | null = null;
  private run: Run | null = null;
  private curves: LearnerCurve[] = [];
  private view: View = 'loss';
  private cursor: number | null = null;
  private deployed = false;
  private range = new GrowingRange([0, 1]);
  /** Names of the lines that are hidden. */
  private readonly hidden = new Set<string>();

  constructor(
    private readonly host: HTMLElement,
    private readonly moved: (step: number | null) => void,
  ) {}

  show(run: Run, view: View, deployed: boolean): void {
    this.chart?.destroy();
    this.chart = null;
    this.legend = null;
    this.run = run;
    this.view = view;
    this.deployed = deployed;
    const { info } = run.first;
    if (!info.learns) {
      this.host.replaceChildren();
      return;
    }
    const why = this.nothingToShow(run, view);
    if (why !== '') {
      this.host.replaceChildren(h('p', { class: 'plot nothing' }, why));
      return;
    }
    this.range = new GrowingRange([0, 1]);
    this.curves = curvesOf(run);
    this.points = new Decimated(
      info.steps,
      this.curves.map(() => 'line' as const),
      Math.max(200, this.host.clientWidth),
    );
    this.chart = new Chart({
      name: `${names[view]} of the learner: cursor over the steps`,
      lines: this.curves.map((curve) => ({
        colour: curve.colour,
        ...(isPrivate(curve) ? { width: 2, dash: [10, 3] } : { width: 1.5, dash: [3, 3] }),
        shown: !deployed,
      })),
      bands: [],
      ends: this.curves.map(({ short, who }, line) => ({
        line,
        text: who === 'twin' || short === 'private' ? short : `private ${short}`,
        ...(view === 'regret' ? {} : { value: () => this.points!.last[line] ?? NaN }),
      })),
      order: [...this.curves.keys()].reverse(),
      numSteps: info.steps,
      describe: (step) => this.describe(step),
      moved: this.moved,
      range: () => (view === 'accuracy' ? [0, 1] : this.range.get()),
      ...(view === 'accuracy' ? { write: roundPercent } : {}),
    });
    this.legend = this.makeLegend(this.bounds());
    this.host.replaceChildren(this.legend.element, this.chart.element);
    this.fit();
  }

  /** Shows the lines that are not hidden, and fits the axis to them. */
  private fit(): void {
    const chart = this.chart!;
    this.range = new GrowingRange([0, 1]);
    if (this.view === 'regret') this.range.include(0);
    const levels = this.bounds().filter(({ of }) => !this.hidden.has(boundName(of)));
    chart.setLevels(levels);
    for (const { value } of levels) this.range.include(value);
    for (const [line, { name }] of this.curves.entries())
      chart.setShown(line, !this.deployed && !this.hidden.has(name));
    if (this.view === 'regret') return;
    for (const [line, column] of this.points!.data().slice(1).entries()) this.include(line, column);
  }

  draw(cursor: number | null): void {
    if (this.chart === null || this.run === null) return;
    this.cursor = cursor;
    this.chart.setData(this.view === 'regret' ? this.regretData(this.run) : this.collect(this.run));
    this.read(cursor);
  }

  setCursor(step: number | null): void {
    this.cursor = step;
    this.chart?.setCursor(step);
    this.read(step);
  }

  restyle(): void {
    this.chart?.restyle();
  }

  picture(): PicturePanel | null {
    const { run, view, deployed } = this;
    if (this.chart === null || run === null || run.step === 0) return null;
    const columns = view === 'regret' ? this.regretData(run) : this.collect(run);
    const [steps, ...values] = columns.map((column) => [...column]);
    const learners = deployed ? [] : this.curves;
    const series: ColouredSeries[] = learners.map(({ full, colour }, i) => ({
      name: full,
      x: steps!,
      y: values[i]!,
      look: 'dashed',
      colour,
    }));
    series.push(
      ...this.bounds().map(({ value, text, colour }, i) => ({
        ...levelLine(text, series[i]?.name ?? '', value, run.numSteps, 0.96 * run.numSteps),
        colour,
      })),
    );
    const title = `${names[view]} of the learner`;
    return {
      title,
      x: STEP_AXIS,
      y: { label: names[view], log: false },
      series,
    };
  }

  private nothingToShow(run: Run, view: View): string {
    const { info } = run.first;
    if (view === 'accuracy' && !info.classifies) {
      return 'The squared loss predicts numbers, not classes: there is no accuracy to show.';
    }
    if (this.deployed && view !== 'regret') {
      return (
        'A deployment sees nothing here: loss and accuracy are measured on raw records. ' +
        'Only the model itself is published.'
      );
    }
    return '';
  }

  private bounds(): RegretLevel[] {
    if (this.view !== 'regret') return [];
    const learners = this.curves.filter(isPrivate);
    return learners.flatMap(({ history, short, colour }) => {
      const bound = history.info.regretBound?.private;
      if (bound === undefined) return [];
      // Whether a gradient can be clipped depends on the records, so the caveat stays while secrets
      // are hidden.
      const caveat =
        history.info.clippingImpossible && !this.deployed ? '' : ', for clipped losses';
      const of = learners.length > 1 ? ` ${short}` : '';
      return [
        {
          value: bound,
          atLast: true,
          colour: learners.length === 1 ? 'ink' : colour,
          text: `theorem’s bound${of && ` for${of}`} after the last step${caveat}`,
          of,
        },
      ];
    });
  }

  private makeLegend(levels: RegretLevel[]): Legend {
    const published = levels.map(({ of, colour }): KeyEntry => {
      return { name: boundName(of), colour, kind: 'line' };
    });
    const secret = this.curves.map((curve): KeyEntry => {
      return { name: curve.name, colour: curve.colour, kind: isPrivate(curve) ? 'dash' : 'dot' };
    });
    return new Legend(published, this.deployed ? [] : secret, {
      hidden: this.hidden,
      changed: () => {
        this.fit();
        this.draw(this.cursor);
      },
    });
  }

  private collect(run: Run): Float64Array[] {
    const points = this.points!;
    while (points.step < run.step) {
      const values = this.valuesAt(points.step + 1);
      for (const [line, value] of values.entries()) this.include(line, [value]);
      points.push(values);
    }
    return points.data();
  }

  private regretData(run: Run): number[][] {
    const columns = [
      run.first.regret.steps,
      ...this.curves.map(({ history, who }) => history.regret[who]),
    ];
    for (const [line, column] of columns.slice(1).entries()) this.include(line, column);
    return columns;
  }

  /** Fits the axis only to the drawn values, because its labels would reveal hidden values. */
  private include(line: number, values: Iterable<number>): void {
    if (this.deployed || this.hidden.has(this.curves[line]!.name)) return;
    for (const value of values) this.range.include(value);
  }

  private valuesAt(step: number): number[] {
    return this.curves.map((curve) => learningAt(curve, this.view, step));
  }

  private read(cursor: number | null): void {
    if (this.legend === null || this.run === null) return;
    const run = this.run;
    const step = cursor ?? run.step;
    const bounds = this.bounds().map(({ value }) => value);
    const cells = this.deployed ? bounds : [...bounds, ...this.valuesAt(step)];
    this.legend.update(
      step < 1 ? 'no steps yet' : `step ${count(step)}`,
      cells.map((value) =>
        Number.isFinite(value) ? { text: this.print(value), value } : { text: '–' },
      ),
    );
  }

  private print(value: number): string {
    return this.view === 'accuracy' ? percent(value) : fixed(value, 4);
  }

  private describe(step: number): string {
    if (this.deployed) return `step ${step}: secret`;
    const parts = this.valuesAt(step).map(
      (value, i) => `${this.curves[i]!.short} ${this.print(value)}`,
    );
    return `step ${step}, ${names[this.view]}, secret: ${parts.join(', ')}`;
  }
}
