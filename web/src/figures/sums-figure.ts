// SPDX-License-Identifier: Apache-2.0

// Figure 1: the private and the true sums, and beside them the error alone. All mechanisms sum the
// same records and share one true curve.

import { inUnit } from '../data/units.ts';
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
import { STEP_AXIS, type Panel as PicturePanel, type Series } from './picture.ts';
import type { SimultaneousBand } from './simultaneous.ts';
import { SumsView, Track, type SumsAt } from './sums-view.ts';

/** A line in a chart: its style and its value. */
interface Curve {
  name: string;
  /** Absent for the lower edge of the band whose upper edge comes before it. */
  kind?: KeyEntry['kind'] | 'ghost';
  colour: Colour;
  edge: Edge;
  secret: boolean;
  /** Index of its lane; -1 for what all lanes share, which is drawn on top. */
  lane: number;
  /** Name at its end; absent if it has none. */
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
  /** Unit of its values; '' if there is none. */
  unit: string;
  tracks: readonly Track[];
  curves: readonly Curve[];
  numSteps: number;
  width: number;
  deployed: boolean;
  /** Names of the lines that are hidden. */
  hidden: Set<string>;
}

/** Place of a curve above others of its lane: the draws of other runs, bands, lines. */
const heightOf = ({ kind }: Curve): number =>
  kind === 'ghost' ? 0 : isBand(kind) || kind === undefined ? 1 : 2;

/** Returns the curves from the bottom to the top: the first lane above the second. */
const drawingOrder = (curves: readonly Curve[]): number[] =>
  [...curves.keys()].sort((i, k) => {
    const [one, other] = [curves[i]!, curves[k]!];
    return other.lane - one.lane || heightOf(one) - heightOf(other) || i - k;
  });

/** One chart with its legend. */
class Panel {
  readonly element: HTMLElement;
  readonly chart: Chart;
  private readonly legend: Legend;
  private readonly points: Decimated;
  private readonly curves: readonly Curve[];
  /** Range of the lines that are shown. */
  private range = new GrowingRange([-1, 1]);

  constructor(
    private readonly setup: PanelSetup,
    moved: (step: number | null) => void,
  ) {
    const { deployed, numSteps } = setup;
    // A line that goes up and down within every pixel fills what it covers, so it has no dashes.
    const isDense = numSteps > 2 * setup.width;
    const isSolid = ({ kind, colour }: Curve): boolean =>
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
        end === undefined ? [] : [{ line, text: end }],
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
    const attributes = { class: 'panel', 'data-mechanism': setup.tracks.map(({ name }) => name) };
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

  /** True if a curve, or the band that it is an edge of, is not hidden. */
  private isShown(i: number): boolean {
    const { kind, name } = this.curves[i]!;
    return kind === undefined ? this.isShown(i - 1) : !this.setup.hidden.has(name);
  }

  /** Hides and shows lines; the axis fits those that are left. */
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

  /** Returns the lines for the miniature. */
  lines(): MiniLine[] {
    const [steps, ...columns] = this.points.data();
    return this.curves.flatMap(({ kind, colour }, i) =>
      kind === 'line' || kind === 'dash'
        ? [{ colour, dashed: kind === 'dash', steps: steps!, values: columns[i]! }]
        : [],
    );
  }

  /** Returns the chart as drawn; null before the first step. */
  picture(): PicturePanel | null {
    const [steps, ...columns] = this.points.data().map((column) => [...column]);
    if (steps!.length === 0) return null;
    const isLine = ({ kind }: Curve): boolean =>
      kind === 'line' || kind === 'dash' || kind === 'dot';
    const series = this.curves.flatMap((curve, i): Series[] => {
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

  private keyed(): Curve[] {
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

/** Options of how a run is shown. */
interface SumsLook {
  /** 0 for the norm, otherwise a 1-based coordinate. */
  view: number;
  /** Leaves out what is secret. */
  deployed: boolean;
  unit: string;
}

/** Layers that take time to compute, by lane; absent while hidden or not ready. */
export interface Additions {
  /** Noise of other runs. */
  ghosts?: Float64Array[][];
  simultaneous?: SimultaneousBand[];
}

const isBand = (kind: Curve['kind']): boolean => kind === 'band' || kind === 'wide';

/** Returns the dashes of a line: short for the truth, long where colours tell mechanisms apart. */
function dashOf(kind: Curve['kind'], colour: Colour): { dash?: number[] } {
  if (kind === 'dash') return { dash: colour === 'secret' ? [6, 4] : [10, 3] };
  return kind === 'dot' ? { dash: [2, 3] } : {};
}

const plain = (value: number): string => quantity(value);
const plusMinus = (value: number): string => `± ${quantity(value, 3)}`;

/** `i` is the index of the lane in the panel; `name` is A or B, if there are two. */
function laneCurves(track: Track, i: number, name: string, colour: Colour): Curve[] {
  const { view } = track;
  const release: Curve = {
    name: name === '' ? 'release' : `${name} ${track.name}`,
    kind: 'line',
    colour,
    edge: 'line',
    secret: false,
    lane: i,
    end: name === '' ? 'release' : track.name,
    value: (at) => at[i]!.release,
    text: plain,
  };
  const edges: Edges = (at, half) => [view.upper(at, half), view.lower(at, half)];
  return [release, ...bandsOf(view, name, i, colour, edges)];
}

type Edges = (at: SumsAt, half: number) => [upper: number, lower: number];

/** Returns the edges of the bands of a lane; the legend shows their half widths. */
function bandsOf(view: SumsView, lane: string, i: number, colour: Colour, edges: Edges): Curve[] {
  const bandOf = (kind: 'band' | 'wide', what: string): Curve[] => {
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

function truthCurve(name: string, kind: 'dash' | 'dot', value: Curve['value']): Curve {
  const end = kind === 'dash' ? { end: 'truth' } : {};
  return {
    ...{ name, kind, colour: 'secret', edge: 'line', secret: true, lane: -1, ...end },
    ...{ value, text: plain },
  };
}

/**
 * Returns the error, release minus truth, and the band that holds it in 95.4 % of the steps of many
 * runs.
 */
function errorCurves({ view }: Track, i: number, name: string, colour: Colour): Curve[] {
  const error: Curve = {
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

/** Returns the noise of another run, which the page generates independently of the records. */
function ghostCurve(noise: Float64Array, lane: number, colour: Colour): Curve {
  const value = (_: readonly SumsAt[], step: number): number => noise[step]!;
  return { name: '', kind: 'ghost', colour, edge: 'line', secret: false, lane, value, text: plain };
}

export class SumsFigure {
  tracks: Track[] = [];
  /** Unit of the totals; '' if there is none. */
  unit = '';
  private totals: Panel | null = null;
  private errors: Panel | null = null;
  private readonly hidden = { totals: new Set<string>(), errors: new Set<string>() };

  /** `host` receives the totals, `errorHost` the errors. */
  constructor(
    private readonly host: HTMLElement,
    private readonly errorHost: HTMLElement,
    private readonly moved: (step: number | null) => void,
  ) {}

  /** Shows another run, or the same one with other options. */
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
    const colours = laneColours(this.tracks.map(({ name }) => name));
    const widthOf = (host: HTMLElement): number => Math.max(200, Math.round(host.clientWidth));
    const common = { numSteps: run.numSteps, deployed, unit, tracks: this.tracks };
    const { totals: hidden } = this.hidden;
    const setup = { ...common, ...this.totalSetup(run, two), width: widthOf(this.host), hidden };
    this.totals = new Panel(setup, this.moved);
    this.host.replaceChildren(this.totals.element);
    this.errors = new Panel(
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

  /** Returns the totals for the miniature. */
  miniature(): { lines: MiniLine[]; range: [number, number] } {
    return { lines: this.totals?.lines() ?? [], range: this.totals?.limits() ?? [0, 1] };
  }

  /** Returns the charts as drawn. */
  pictures(): { totals: PicturePanel | null; errors: PicturePanel | null } {
    return { totals: this.totals?.picture() ?? null, errors: this.errors?.picture() ?? null };
  }

  private all(): Panel[] {
    return [this.totals, this.errors].filter((panel) => panel !== null);
  }

  /** Returns the chart of all lanes with their common truth. */
  private totalSetup(run: Run, two: boolean): Pick<PanelSetup, 'title' | 'axis' | 'curves'> {
    const { tracks } = this;
    const colours = laneColours(tracks.map(({ name }) => name));
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
    const names = tracks.map(({ name }) => name).join(' and ');
    return { title: `${title}, ${names} mechanism${two ? 's' : ''}`, axis: noun, curves };
  }
}
