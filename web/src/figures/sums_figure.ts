// SPDX-License-Identifier: Apache-2.0

// Figure 1: the private running total beside the true one, a panel a mechanism.

import { twoSigmaRadius } from '../data/chi.ts';
import { h } from '../page/dom.ts';
import { count, quantity } from '../page/format.ts';
import type { Lane, Run } from '../page/run.ts';
import { GrowingRange } from './axis.ts';
import { Chart, type Colour } from './chart.ts';
import { Decimated, type Edge } from './decimate.ts';
import type { History } from './history.ts';
import { Legend } from './legend.ts';

/** One step of the total that is shown: a coordinate, or the norm of all. */
export interface SumsAt {
  release: number;
  /** Half the width of the band. */
  band: number;
  truth: number;
}

const edges: Edge[] = ['line', 'upper', 'lower', 'line'];

/** View of a history: coordinate `view` (from 1), or the norm if `view` is 0. */
export class SumsView {
  private readonly radius: number;

  constructor(
    readonly history: History,
    readonly view: number,
  ) {
    this.radius = view === 0 ? twoSigmaRadius(history.info.dimension) : 2;
  }

  /** At a 0-based step. */
  at(step: number): SumsAt {
    const { trueSums, noisySums, stddev } = this.history;
    return {
      release: this.pick(noisySums, step),
      band: this.radius * (stddev[step] ?? NaN),
      truth: this.pick(trueSums, step),
    };
  }

  /** The band is centred on the release: an observer knows no other place. */
  upper(at: SumsAt): number {
    return at.release + at.band;
  }

  /** The band around a norm starts at 0. */
  lower(at: SumsAt): number {
    return this.view === 0 ? Math.max(0, at.release - at.band) : at.release - at.band;
  }

  private pick(sums: Float64Array, step: number): number {
    const d = this.history.info.dimension;
    if (this.view !== 0) return sums[step * d + this.view - 1] ?? NaN;
    let squares = 0;
    for (let j = step * d; j < (step + 1) * d; ++j) squares += (sums[j] ?? NaN) ** 2;
    return Math.sqrt(squares);
  }
}

class Panel {
  readonly view: SumsView;
  readonly chart: Chart;
  readonly legend: Legend;
  readonly element: HTMLElement;
  /** Steps whose true total lies in the band. */
  numInside = 0;
  private readonly points: Decimated;

  constructor(
    lane: Lane,
    private readonly range: GrowingRange,
    setup: { colour: Colour; heading: string; view: number; width: number; deployed: boolean },
    moved: (step: number | null) => void,
  ) {
    const { history } = lane;
    this.view = new SumsView(history, setup.view);
    this.points = new Decimated(history.info.numSteps, edges, setup.width);
    const colour = setup.colour;
    this.chart = new Chart({
      name: `Running total, ${lane.mechanism} mechanism: cursor over the steps`,
      lines: [
        { colour, width: 1.5, shown: true },
        { shown: true },
        { shown: true },
        { colour: 'secret', width: 1.5, dash: [6, 4], shown: !setup.deployed },
      ],
      bands: [{ upper: 1, lower: 2, colour }],
      numSteps: history.info.numSteps,
      describe: (step) => this.describe(step),
      moved,
      range: () => this.range.get(),
    });
    this.legend = new Legend(
      [
        { name: 'release', colour, kind: 'line' },
        { name: '2σ band', colour, kind: 'band' },
      ],
      setup.deployed ? [] : [{ name: 'true total', colour: 'secret', kind: 'dash' }],
      setup.heading,
    );
    this.element = h(
      'div',
      { class: 'panel', 'data-mechanism': lane.mechanism },
      this.legend.element,
      this.chart.element,
    );
    this.deployed = setup.deployed;
  }

  private readonly deployed: boolean;

  /** Takes in the steps that are new. */
  collect(): void {
    const values = [0, 0, 0, 0];
    while (this.points.step < this.view.history.step) {
      const at = this.view.at(this.points.step);
      values[0] = at.release;
      values[1] = this.view.upper(at);
      values[2] = this.view.lower(at);
      values[3] = at.truth;
      if (Math.abs(at.truth - at.release) <= at.band) this.numInside += 1;
      for (const value of values) this.range.include(value);
      this.points.push(values);
    }
  }

  draw(cursor: number | null): void {
    this.chart.setData(this.points.data());
    this.read(cursor);
  }

  read(cursor: number | null): void {
    const step = cursor ?? this.view.history.step;
    if (step < 1) {
      this.legend.update('no steps yet', []);
      return;
    }
    const at = this.view.at(step - 1);
    this.legend.update(`step ${count(step)}`, [
      { text: quantity(at.release), value: at.release },
      { text: `± ${quantity(at.band, 3)}`, value: at.band },
      { text: quantity(at.truth), value: at.truth },
    ]);
  }

  private describe(step: number): string {
    const at = this.view.at(step - 1);
    const truth = this.deployed ? '' : `; secret: true total ${quantity(at.truth)}`;
    const band = `plus or minus ${quantity(at.band, 3)}`;
    return `step ${step}: release ${quantity(at.release)}, ${band}${truth}`;
  }
}

export class SumsFigure {
  panels: Panel[] = [];
  private range = new GrowingRange([0, 1]);

  constructor(
    private readonly host: HTMLElement,
    private readonly moved: (step: number | null) => void,
  ) {}

  /** Shows another run, or the same one in another way. */
  show(run: Run, view: number, deployed: boolean): void {
    for (const panel of this.panels) panel.chart.destroy();
    this.range = new GrowingRange([-1, 1]);
    const two = run.lanes.length > 1;
    const width = Math.max(200, Math.round(this.host.clientWidth / run.lanes.length));
    this.panels = run.lanes.map(
      (lane, i) =>
        new Panel(
          lane,
          this.range,
          {
            colour: i === 0 ? 'private' : 'second',
            heading: two ? `${i === 0 ? 'A' : 'B'}\u2002${lane.mechanism}` : '',
            view: Math.min(view, lane.history.info.dimension),
            width,
            deployed,
          },
          this.moved,
        ),
    );
    this.host.classList.toggle('two', two);
    this.host.replaceChildren(...this.panels.map((panel) => panel.element));
  }

  draw(cursor: number | null): void {
    for (const panel of this.panels) panel.collect();
    for (const panel of this.panels) panel.draw(cursor);
  }

  setCursor(step: number | null): void {
    for (const panel of this.panels) {
      panel.chart.setCursor(step);
      panel.read(step);
    }
  }

  restyle(): void {
    for (const panel of this.panels) panel.chart.restyle();
  }
}
