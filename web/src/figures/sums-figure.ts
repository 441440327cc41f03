// SPDX-License-Identifier: Apache-2.0

// Figure 1: the private and the true sums, and beside them the error on its own. All mechanisms sum
// the same records and share one true curve.

import { inUnit } from '../data/units.ts';
import { nameOf } from '../controls/mechanisms.ts';
import { wordsOf } from '../controls/workload.ts';
import { h } from '../base/dom.ts';
import { count, quantity } from '../base/format.ts';
import type { Run } from '../run/run.ts';
import { GrowingRange } from './axis.ts';
import { Chart } from './chart.ts';
import type { Colour } from './colours.ts';
import { Decimated, type Edge } from './decimate.ts';
import { laneColours } from './lane-colours.ts';
import { Legend, type KeyEntry } from './legend.ts';
import type { MiniLine } from './mini-chart.ts';
import { STEP_AXIS, type PicturePanel, type ColouredSeries } from './picture.ts';
import type { SimultaneousBand } from './simultaneous.ts';
import { SumsView, Track, type SumsAt } from './sums-view.ts';

/** A line in a chart: its style and its value. */
interface SumsCurve {
  name: string;
  /** Absent for a lower edge, which follows its upper edge. */
  kind?: KeyEntry['kind'] | 'ghost';
  colour: Colour;
  edge: Edge;
  secret: boolean;
  /** Index of its lane; -1 for lines that all lanes share, which are drawn on top. */
  lane: number;
  /** Name at the end of the line; absent if the line has none. */
  end?: string;
  value(at: readonly SumsAt[], step: number): number;
  /** Value in the legend, if it is not the height of the line. */
  keyed?(at: readonly SumsAt[]): number;
  text(value: number): string;
}

interface PanelSetup {
  title: string;
  /** Label of the vertical axis of a picture. */
  axis: string;
  /** Unit of the values; '' if there is none. */
  unit: string;
  tracks: readonly Track[];
  curves: readonly SumsCurve[];
  numSteps: number;
  width: number;
  deployed: boolean;
  /** Names of the lines that are hidden. */
  hidden: Set<string>;
}

/** Drawing order of a curve within its lane: other runs, then bands, then lines. */
const heightOf = ({ kind }: SumsCurve): number =>
  kind === 'ghost' ? 0 : isBand(kind) || kind === undefined ? 1 : 2;

const drawingOrder = (curves: readonly SumsCurve[]): number[] =>
  [...curves.keys()].sort((i, k) => {
    const [one, other] = [curves[i]!, curves[k]!];
    return other.lane - one.lane || heightOf(one) - heightOf(other) || i - k;
  });

/** One chart with its legend. */
class SumsPanel {
  readonly element: HTMLElement;
  readonly chart: Chart;
  private readonly legend: Legend;
  private readonly points: Decimated;
  private readonly curves: readonly SumsCurve[];
  /** Range of the lines that are shown. */
  private range = new GrowingRange([-1, 1]);

  constructor(
    private readonly setup: PanelSetup,
    moved: (step: number | null) => void,
  ) {
    const { deployed, numSteps } = setup;
    // A line that oscillates within a pixel fills an area, in which dashes would not show.
    const isDense = numSteps > 2 * setup.width;
    const isSolid = ({ kind, colour }: SumsCurve): boolean =>
      isDense && kind === 'dash' && colour !== 'secret';
    this.curves = setup.curves.filter(({ secret }) => !deployed || !secret);
    this.points = new Decimated(
      numSteps,
      this.curves.map(({ edge }) => edge),
      setup.width,
    );
    this.chart = new Chart({
      name: `${setup.title}: cursor over the steps`,
      lines: this.curves.map((curve, i) => {
        const { kind, colour } = curve;
        const isWide =
          kind === 'wide' || (kind === undefined && this.curves[i - 1]?.kind === 'wide');
        return {
          ...((kind === undefined || kind === 'band') && !isWide ? {} : { colour }),
          faint: kind === 'ghost' || isWide,
          ...(isSolid(curve) ? {} : dashOf(kind, colour)),
          width: isWide || isDense ? 1 : 1.5,
          shown: true,
        };
      }),
      bands: this.curves.flatMap(({ kind, colour }, i) =>
        isBand(kind) ? [{ upper: i, lower: i + 1, colour, pale: kind === 'wide' }] : [],
      ),
      order: drawingOrder(this.curves),
      ends: this.curves.flatMap(({ end }, line) =>
        end === undefined ? [] : [{ line, text: end, value: () => this.points.last[line] ?? NaN }],
      ),
      numSteps,
      describe: (step) => this.describe(step),
      moved,
      range: () => this.range.get(),
    });
    const entries = (secret: boolean): KeyEntry[] =>
      this.keyed()
        .filter((one) => one.secret === secret)
        .map((curve) => {
          const { name, colour, kind } = curve;
          return { name, colour, kind: isSolid(curve) ? 'line' : (kind as KeyEntry['kind']) };
        });
    this.legend = new Legend(entries(false), entries(true), {
      hidden: setup.hidden,
      changed: () => this.showHidden(),
    });
    this.showHidden();
    const attributes = {
      class: 'panel',
      'data-mechanism': setup.tracks.map(({ mechanism }) => mechanism),
    };
    this.element = h('div', attributes, this.legend.element, this.chart.element);
  }

  /** Adds new steps. */
  collect(): void {
    const { tracks } = this.setup;
    const { step: last } = tracks[0]!.view.history;
    for (let step = this.points.step; step < last; ++step) {
      const at = tracks.map(({ view }) => view.at(step));
      const values = this.curves.map((curve) => curve.value(at, step));
      for (const [i, value] of values.entries()) if (this.isShown(i)) this.range.include(value);
      this.points.push(values);
    }
  }

  /** Limits of the vertical axis. */
  limits(): [number, number] {
    return this.range.get();
  }

  /** True if a curve is visible, or belongs to a visible band. */
  private isShown(i: number): boolean {
    const { kind, name } = this.curves[i]!;
    return kind === undefined ? this.isShown(i - 1) : !this.setup.hidden.has(name);
  }

  /** Hides and shows lines, and fits the axis to the visible lines. */
  private showHidden(): void {
    this.range = new GrowingRange([-1, 1]);
    for (const [i, column] of this.points.data().slice(1).entries()) {
      this.chart.setShown(i, this.isShown(i));
      if (this.isShown(i)) for (const value of column) this.range.include(value);
    }
    this.chart.setData(this.points.data());
  }

  draw(cursor: number | null): void {
    this.chart.setData(this.points.data());
    this.read(cursor);
  }

  read(cursor: number | null): void {
    const step = cursor ?? this.setup.tracks[0]!.view.history.step;
    if (step < 1) {
      this.legend.update('no steps yet', []);
      return;
    }
    const values = this.values(step);
    const cells = [...values.filter((one) => !one.secret), ...values.filter((one) => one.secret)];
    this.legend.update(`step ${count(step)}${inUnit(this.setup.unit)}`, cells);
  }

  lines(): MiniLine[] {
    const [steps, ...columns] = this.points.data();
    return this.curves.flatMap(({ kind, colour }, i) =>
      kind === 'line' || kind === 'dash'
        ? [{ colour, dashed: kind === 'dash', steps: steps!, values: columns[i]! }]
        : [],
    );
  }

  /** Null before the first step. */
  picture(): PicturePanel | null {
    const [steps, ...columns] = this.points.data().map((column) => [...column]);
    if (steps!.length === 0) return null;
    const isLine = ({ kind }: SumsCurve): boolean =>
      kind === 'line' || kind === 'dash' || kind === 'dot';
    const series = this.curves.flatMap((curve, i): ColouredSeries[] => {
      const { kind, colour, name } = curve;
      const points = { x: steps!, y: columns[i]!, colour };
      if (kind === undefined) return [];
      if (isLine(curve))
        return [{ ...points, name, ...(kind === 'line' ? {} : { look: 'dashed' }) }];
      const of = this.curves.find((one) => isLine(one) && one.colour === colour)?.name ?? '';
      if (kind === 'ghost') return [{ ...points, name, of, look: kind }];
      const lower = columns[i + 1]!;
      if (kind === 'band') return [{ ...points, name, of, to: lower }];
      return [
        { ...points, name, of, look: 'ghost' },
        { ...points, name: '', of, y: lower, look: 'ghost' },
      ];
    });
    const { title, axis, unit } = this.setup;
    const y = { label: `${axis}${inUnit(unit)}`, log: false };
    return { title, x: STEP_AXIS, y, series };
  }

  private keyed(): SumsCurve[] {
    return this.curves.filter(({ kind }) => kind !== undefined && kind !== 'ghost');
  }

  private values(step: number) {
    const at = this.setup.tracks.map(({ view }) => view.at(step - 1));
    return this.keyed().map(({ name, kind, secret, value, keyed, text }) => {
      const number = keyed === undefined ? value(at, step - 1) : keyed(at);
      return { name, kind, secret, text: text(number), value: number };
    });
  }

  private describe(step: number): string {
    const say = (secret: boolean): string =>
      this.values(step)
        .filter((one) => one.secret === secret)
        .map(({ name, kind, text }) =>
          isBand(kind)
            ? text.replace('±', kind === 'wide' ? 'every step plus or minus' : 'plus or minus')
            : `${name} ${text}`,
        )
        .join(', ');
    const secrets = say(true);
    return `step ${step}${inUnit(this.setup.unit)}: ${say(false)}${secrets === '' ? '' : `; secret: ${secrets}`}`;
  }
}

/** Display options of a run. */
interface SumsLook {
  /** 0 for the norm, otherwise a 1-based coordinate. */
  view: number;
  /** Leaves out what is secret. */
  deployed: boolean;
  unit: string;
}

/** Layers that take time to compute, by lane; absent while they are hidden or not ready. */
export interface Additions {
  /** Noise of other runs. */
  ghosts?: Float64Array[][];
  simultaneous?: SimultaneousBand[];
}

const isBand = (kind: SumsCurve['kind']): boolean => kind === 'band' || kind === 'wide';

/** Short dashes for the truth, long dashes where colours distinguish mechanisms. */
function dashOf(kind: SumsCurve['kind'], colour: Colour): { dash?: number[] } {
  if (kind === 'dash') return { dash: colour === 'secret' ? [6, 4] : [10, 3] };
  return kind === 'dot' ? { dash: [2, 3] } : {};
}

const plain = (value: number): string => quantity(value);
const plusMinus = (value: number): string => `± ${quantity(value, 3)}`;

/** `i` is the index of the lane in the panel; `name` is A or B, if there are two. */
function laneCurves(track: Track, i: number, name: string, colour: Colour): SumsCurve[] {
  const { view } = track;
  const release: SumsCurve = {
    name: name === '' ? 'release' : `${name} ${nameOf(track.mechanism)}`,
    kind: 'line',
    colour,
    edge: 'line',
    secret: false,
    lane: i,
    end: name === '' ? 'release' : nameOf(track.mechanism),
    value: (at) => at[i]!.release,
    text: plain,
  };
  const edges: Edges = (at, half) => [view.upper(at, half), view.lower(at, half)];
  return [release, ...bandsOf(view, name, i, colour, edges)];
}

type Edges = (at: SumsAt, half: number) => [upper: number, lower: number];

/** Edges of the bands of a lane; the legend shows their half widths. */
function bandsOf(
  view: SumsView,
  lane: string,
  i: number,
  colour: Colour,
  edges: Edges,
): SumsCurve[] {
  const bandOf = (kind: 'band' | 'wide', what: string): SumsCurve[] => {
    const common = {
      name: `${lane === '' ? '' : `${lane} `}${what}`,
      colour,
      secret: false,
      lane: i,
      keyed: (at: readonly SumsAt[]): number => at[i]![kind],
      text: plusMinus,
    };
    const edge = (at: readonly SumsAt[]): [number, number] => edges(at[i]!, at[i]![kind]);
    return [
      { ...common, kind, edge: 'upper', value: (at) => edge(at)[0] },
      { ...common, edge: 'lower', value: (at) => edge(at)[1] },
    ];
  };
  const wide = view.simultaneous === undefined ? [] : bandOf('wide', wideName(view.simultaneous));
  return [...bandOf('band', '2σ band'), ...wide];
}

const wideName = ({ beta }: SimultaneousBand): string =>
  `every step, ${quantity(100 * (1 - beta))} %`;

function truthCurve(name: string, kind: 'dash' | 'dot', value: SumsCurve['value']): SumsCurve {
  const end = kind === 'dash' ? { end: 'truth' } : {};
  return {
    ...{ name, kind, colour: 'secret', edge: 'line', secret: true, lane: -1, ...end },
    ...{ value, text: plain },
  };
}

/** Release minus truth, and the band that contains this error in 95.4 % of steps over many runs. */
function errorCurves({ view }: Track, i: number, name: string, colour: Colour): SumsCurve[] {
  const error: SumsCurve = {
    name: name === '' ? 'release − truth' : `${name} release − truth`,
    kind: 'dash',
    colour,
    edge: 'line',
    secret: true,
    lane: i,
    value: (at) => at[i]!.release - at[i]!.truth,
    text: plain,
  };
  return [error, ...bandsOf(view, name, i, colour, (_, half) => [half, -half])];
}

/** Noise of another run, which the page generates independently of the records. */
function ghostCurve(noise: Float64Array, lane: number, colour: Colour): SumsCurve {
  const value = (_: readonly SumsAt[], step: number): number => noise[step]!;
  return { name: '', kind: 'ghost', colour, edge: 'line', secret: false, lane, value, text: plain };
}

export class SumsFigure {
  tracks: Track[] = [];
  /** Unit of the totals; '' if there is none. */
  unit = '';
  private totals: SumsPanel | null = null;
  private errors: SumsPanel | null = null;
  private readonly hidden = { totals: new Set<string>(), errors: new Set<string>() };

  /** `host` receives the totals, `errorHost` the errors. */
  constructor(
    private readonly host: HTMLElement,
    private readonly errorHost: HTMLElement,
    private readonly moved: (step: number | null) => void,
  ) {}

  /** Shows another run, or the same run with other options. */
  show(run: Run, { view, deployed, unit }: SumsLook, added: Additions): void {
    for (const panel of this.all()) panel.chart.destroy();
    this.unit = unit;
    const { dimension } = run.first.info;
    const shown = Math.min(view, dimension);
    this.tracks = run.lanes.map(
      (lane, i) =>
        new Track(lane.mechanism, new SumsView(lane.sums, shown, added.simultaneous?.[i])),
    );
    const two = run.lanes.length > 1;
    const colours = laneColours(this.tracks.map(({ mechanism }) => mechanism));
    const widthOf = (host: HTMLElement): number => Math.max(200, Math.round(host.clientWidth));
    const common = { numSteps: run.numSteps, deployed, unit, tracks: this.tracks };
    const { totals: hidden } = this.hidden;
    const setup = { ...common, ...this.totalSetup(run, two), width: widthOf(this.host), hidden };
    this.totals = new SumsPanel(setup, this.moved);
    this.host.replaceChildren(this.totals.element);
    this.errors = new SumsPanel(
      {
        ...common,
        title: 'Error of the release',
        axis: 'release − truth',
        curves: this.tracks.flatMap((track, i) => [
          ...(added.ghosts?.[i] ?? []).map((noise) => ghostCurve(noise, i, colours[i]!)),
          ...errorCurves(track, i, two ? 'AB'[i]! : '', colours[i]!),
        ]),
        width: widthOf(this.errorHost),
        hidden: this.hidden.errors,
      },
      this.moved,
    );
    this.errorHost.replaceChildren(this.errors.element);
  }

  draw(cursor: number | null): void {
    for (const track of this.tracks) track.count();
    for (const panel of this.all()) panel.collect();
    for (const panel of this.all()) panel.draw(cursor);
  }

  setCursor(step: number | null): void {
    for (const panel of this.all()) {
      panel.chart.setCursor(step);
      panel.read(step);
    }
  }

  restyle(): void {
    for (const panel of this.all()) panel.chart.restyle();
  }

  /** Totals for the miniature. */
  miniature(): { lines: MiniLine[]; range: [number, number] } {
    return { lines: this.totals?.lines() ?? [], range: this.totals?.limits() ?? [0, 1] };
  }

  pictures(): { totals: PicturePanel | null; errors: PicturePanel | null } {
    return { totals: this.totals?.picture() ?? null, errors: this.errors?.picture() ?? null };
  }

  private all(): SumsPanel[] {
    return [this.totals, this.errors].filter((panel) => panel !== null);
  }

  private totalSetup(run: Run, two: boolean): Pick<PanelSetup, 'title' | 'axis' | 'curves'> {
    const { tracks } = this;
    const colours = laneColours(tracks.map(({ mechanism }) => mechanism));
    const curves = tracks.flatMap((track, i) =>
      laneCurves(track, i, two ? 'AB'[i]! : '', colours[i]!),
    );
    const { noun, title } = wordsOf(run.settings);
    curves.push(truthCurve(`true ${noun}`, 'dash', (at) => at[0]!.truth));
    const unclipped = run.unclipped(tracks[0]!.view.view);
    if (unclipped !== null) {
      curves.push(
        truthCurve(run.leavesOut ? 'all rows' : 'unclipped', 'dot', (_, step) => unclipped[step]!),
      );
    }
    const names = tracks.map(({ mechanism }) => nameOf(mechanism)).join(' and ');
    return { title: `${title}, ${names} mechanism${two ? 's' : ''}`, axis: noun, curves };
  }
}
