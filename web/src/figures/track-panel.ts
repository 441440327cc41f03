// SPDX-License-Identifier: Apache-2.0

// One number that is released after every step: its chart, its legend, and its columns in a table.

import type { Estimate } from 'dp-ftrl';
import { h, setText } from '../base/dom.ts';
import { percent, quantity } from '../base/format.ts';
import type { GrowingRange } from './axis.ts';
import { Chart, type Line } from './chart.ts';
import { Decimated } from './decimate.ts';
import { Legend, type KeyEntry } from './legend.ts';
import { STEP_AXIS, type ColouredSeries, type PicturePanel } from './picture.ts';
import type { TableColumn } from './tables.ts';

/** A number that is released after every step. */
export interface Track {
  name: string;
  /** Name of the columns in the table. */
  key: string;
  estimates: readonly Estimate[];
  truth: Float64Array;
  /** Describes the errors; absent if the interval shows them. */
  errors?: string;
  /** For a count: its share of all records, from 0 to 1. */
  share?: { estimates: readonly Estimate[]; truth: Float64Array };
  /** Releases with independent noise of the same guarantee. */
  fresh?: readonly Estimate[];
}

export interface TrackLook {
  deployed: boolean;
  range: GrowingRange;
  /** Width of the chart, which limits the number of points. */
  width: number;
  /** Fraction of the steps, at the beginning, that the axis ignores. */
  from: number;
  /** Word for a step. */
  unit: string;
  /** Names a step, counted from 1. */
  at(step: number): string;
}

const colour = 'private';
const freshNames = { line: 'independent noise', band: 'its interval' };

const ends = ({ low, high }: { low: number; high: number }): string =>
  `${quantity(low, 3)} to ${quantity(high, 3)}`;

/** A line, and the invisible ends of its interval. */
const withEnds = (line: Line): Line[] => [line, { shown: true }, { shown: true }];

/** Chart of one number, with its legend. */
export class TrackPanel {
  readonly element: HTMLElement;
  readonly chart: Chart;
  private readonly legend: Legend;
  private readonly points: Decimated;
  private readonly hint: HTMLElement | null;

  constructor(
    readonly track: Track,
    private readonly look: TrackLook,
    moved: (step: number | null) => void,
  ) {
    const { numSteps } = this;
    const { deployed, range, width, unit } = look;
    const edges = ['line', 'upper', 'lower'] as const;
    const hasFresh = track.fresh !== undefined;
    this.points = new Decimated(numSteps, [...edges, 'line', ...(hasFresh ? edges : [])], width);
    this.chart = new Chart({
      name: `${track.name}: cursor over the ${unit}s`,
      unit,
      lines: [
        ...withEnds({ colour, width: 1.5, shown: true }),
        { colour: 'secret', width: 1.5, dash: [6, 4], shown: !deployed },
        ...(hasFresh ? withEnds({ colour: 'fresh', width: 1, shown: true }) : []),
      ],
      order: hasFresh ? [4, 5, 6, 0, 1, 2, 3] : [0, 1, 2, 3],
      bands: [
        ...(hasFresh ? [{ upper: 5, lower: 6, colour: 'fresh', pale: true } as const] : []),
        { upper: 1, lower: 2, colour },
      ],
      numSteps,
      describe: (step) => this.describe(step),
      moved,
      range: () => range.whole(),
    });
    const published: KeyEntry[] = [
      { name: 'release', colour, kind: 'line' },
      { name: 'interval', colour, kind: 'band' },
    ];
    if (hasFresh) {
      published.push(
        { name: freshNames.line, colour: 'fresh', kind: 'line' },
        { name: freshNames.band, colour: 'fresh', kind: 'band' },
      );
    }
    this.legend = new Legend(
      published,
      deployed ? [] : [{ name: 'without noise', colour: 'secret', kind: 'dash' }],
    );
    const { errors, share } = track;
    this.hint =
      errors === undefined && share === undefined ? null : h('p', { class: 'hint' }, errors ?? '');
    this.element = h(
      'div',
      { class: 'panel', 'data-key': track.key },
      h('h3', {}, track.name),
      this.hint,
      this.legend.element,
      this.chart.element,
    );
    this.fill();
  }

  /** Draws the chart; called once the range covers all panels that share it. */
  draw(): void {
    this.chart.setData(this.points.data());
    this.setCursor(null);
  }

  get numSteps(): number {
    return this.track.estimates.length;
  }

  setCursor(step: number | null): void {
    this.chart.setCursor(step);
    const shown = Math.min(step ?? this.numSteps, this.numSteps);
    const { fresh, truth, ...at } = this.at(shown);
    this.legend.update(this.look.at(shown), [
      { text: quantity(at.value), value: at.value },
      { text: ends(at) },
      ...(fresh === undefined
        ? []
        : [{ text: quantity(fresh.value), value: fresh.value }, { text: ends(fresh) }]),
      { text: quantity(truth), value: truth },
    ]);
    if (this.track.share !== undefined) setText(this.hint!, this.shareText(shown));
  }

  picture(): PicturePanel {
    const [x, value, high, low, truth, ...fresh] = this.points
      .data()
      .map((column) => [...column]) as [number[], number[], number[], number[], number[]];
    const banded = (
      [line, band]: readonly [string, string],
      [y, upper, lower]: number[][],
      painted: 'private' | 'fresh',
    ): ColouredSeries[] => [
      { name: line, x, y: y!, colour: painted },
      { name: band, of: line, x, y: upper!, to: lower!, colour: painted },
    ];
    return {
      title: this.track.name,
      x: { ...STEP_AXIS, label: this.look.unit },
      y: { label: 'value', log: false },
      series: [
        ...banded(['release', 'interval'], [value, high, low], colour),
        ...(fresh.length === 0
          ? []
          : banded([freshNames.line, freshNames.band], fresh as number[][], 'fresh')),
        ...(this.look.deployed
          ? []
          : [
              {
                name: 'without noise',
                x,
                y: truth,
                colour: 'secret' as const,
                look: 'dashed' as const,
              },
            ]),
      ],
    };
  }

  /** Collects the points of the chart, and widens the range of its axis. */
  private fill(): void {
    const { deployed, range, from } = this.look;
    for (let step = 1; step <= this.numSteps; ++step) {
      const { value, low, high, truth, fresh } = this.at(step);
      const others = fresh === undefined ? [] : [fresh.value, fresh.high, fresh.low];
      this.points.push([value, high, low, truth, ...others]);
      if (step < from * this.numSteps) continue;
      for (const shown of [value, low, high, ...others, ...(deployed ? [] : [truth])])
        if (Number.isFinite(shown)) range.include(shown);
    }
  }

  /** Describes a count as a share of all records. */
  private shareText(step: number): string {
    const { value, low, high } = this.track.share!.estimates[step - 1]!;
    return `Share of all records: ${percent(value)}, ${percent(low)} to ${percent(high)}`;
  }

  private at(step: number) {
    const { estimates, truth, fresh } = this.track;
    return { ...estimates[step - 1]!, truth: truth[step - 1]!, fresh: fresh?.[step - 1] };
  }

  private describe(step: number): string {
    const { fresh, truth, ...at } = this.at(step);
    const secret = this.look.deployed ? '' : `; secret: without noise ${quantity(truth)}`;
    const share = this.track.share === undefined ? '' : `. ${this.shareText(step)}`;
    const other =
      fresh === undefined
        ? ''
        : `; ${freshNames.line} ${quantity(fresh.value)}, interval ${ends(fresh)}`;
    return `${this.look.at(step)}, ${this.track.name}: release ${quantity(at.value)}, interval ${ends(at)}${other}${share}${secret}`;
  }
}

type IntervalPart = 'value' | 'low' | 'high' | 'stddev';

const parts: Readonly<Record<IntervalPart, string>> = {
  value: '',
  low: ', from',
  high: ', to',
  stddev: ', std',
};

const publishedOf = (
  name: string,
  key: string,
  estimates: readonly Estimate[],
  print: TableColumn['print'],
): TableColumn[] =>
  (Object.keys(parts) as IntervalPart[]).map((part) => ({
    title: `${name}${parts[part]}`,
    secret: false,
    name: `${key}-${part}`,
    print,
    at: (step) => estimates[step - 1]![part],
  }));

function columnsOf(
  name: string,
  key: string,
  { estimates, truth }: Pick<Track, 'estimates' | 'truth'>,
  print: TableColumn['print'],
): TableColumn[] {
  return [
    ...publishedOf(name, key, estimates, print),
    {
      title: `${name}, without noise`,
      secret: true,
      name: `${key}-truth`,
      print,
      at: (step) => truth[step - 1]!,
    },
  ];
}

/** Columns of all numbers; with `deployed`, only published numbers. */
export function columnsOfTracks(tracks: readonly Track[], deployed: boolean): TableColumn[] {
  const print = (value: number): string => quantity(value, 5);
  const columns = tracks.flatMap(({ name, key, share, fresh, ...count }) => [
    ...columnsOf(name, key, count, print),
    ...(share === undefined ? [] : columnsOf(`${name}, share`, `${key}-share`, share, percent)),
    ...(fresh === undefined
      ? []
      : publishedOf(`${name}, ${freshNames.line}`, `${key}-independent`, fresh, print)),
  ]);
  return deployed ? columns.filter(({ secret }) => !secret) : columns;
}
