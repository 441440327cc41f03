// SPDX-License-Identifier: Apache-2.0

// Draws pictures as SVG text: panels of curves, each with a legend, and matrices. Used for the
// figures of the command and the experiments, and for pictures that the page offers for download.

import { mapText } from './map.js';
import type { Axis, Panel, Picture, Series } from './picture.js';
import { escape, PANEL, round, text } from './svg.js';
import { tickTexts } from './ticks.js';
import { fit, FONT_SIZE, linesOf, widthOf } from './words.js';

/**
 * Layout of the legend; `least` is the narrowest width to which a name is squeezed, as a fraction
 * of its natural width.
 */
const LEGEND = { line: 15, column: 205, stroke: 22, gap: 6, least: 0.7 };
/** Room for the label beside an axis, left of its ticks. */
const LABEL = 26;
/** Least distance between two names below an axis. */
const NAME_GAP = 12;
/**
 * Font size of titles, and the larger sizes at which titles and panel titles are measured, because
 * bold letters are wider.
 */
const TITLE = { size: 14, width: 16, panel: 12.5 };
/** Layout of the sentences below the panels. */
const NOTE = { line: 15, left: 14 };
/** With fewer ticks, values between them could not be read off. */
const MIN_TICKS = 3;
/** If the relative differences of the values are smaller, the axis is scaled as for one value. */
const LEAST_SPREAD = 1e-9;
/** Maximum number of letters of a name below an axis. */
const MOST_LETTERS = 24;
/** Colours of curves, by index. */
export const COLOURS = [
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#000000',
];
const DASHES = ['', '6 3', '2 3', '8 3 2 3'];
const BOUND = 'stroke-width="1" stroke-dasharray="4 4"';

/** The number, or the largest double of its sign if a sum overflowed. */
export function finite(value: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}

/**
 * Places 4 to 10 ticks at equally spaced round values, or at all whole numbers if there are fewer.
 */
function steps(low: number, high: number, isWhole = false): number[] {
  const most = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(most));
  const round = power * ([5, 2, 1].find((factor) => factor * power <= most) ?? 1);
  const step = isWhole ? Math.max(1, round) : round;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  const all = Array.from({ length: count }, (_, i) => (first + i) * step);
  return all.filter(Number.isFinite);
}

/** Picks indices of names, few enough for the names to fit: the first and, if two fit, the last. */
function somePlaces(names: readonly string[], room: number): number[] {
  const longest = Math.max(...names.map((name) => widthOf(name)));
  const most = Math.max(1, Math.floor(room / (longest + NAME_GAP)));
  if (most === 1 || names.length <= most) return [...names.keys()].slice(0, most);
  // Prefers equal distances unless they leave out too many places.
  const last = names.length - 1;
  const spans = Array.from({ length: Math.floor(most / 2) }, (_, i) => most - 1 - i);
  const numSpans = spans.find((each) => last % each === 0) ?? most - 1;
  return Array.from({ length: numSpans + 1 }, (_, i) => Math.round((i * last) / numSpans));
}

/** Cuts the ends of long names or, if that makes names equal, their beginnings. */
function shortNames(names: readonly string[]): string[] {
  const cut = (shorten: (letters: string[]) => string) =>
    names.map((name) => ([...name].length > MOST_LETTERS ? shorten([...name]) : name));
  const begun = cut((letters) => `${letters.slice(0, MOST_LETTERS - 1).join('')}…`);
  const isDistinct = new Set(begun).size === new Set(names).size;
  return isDistinct ? begun : cut((letters) => `…${letters.slice(1 - MOST_LETTERS).join('')}`);
}

/** A power of ten by which values of this size are divided to avoid overflow and underflow. */
function unitOf(size: number): number {
  if (size > 1e300) return 1e20;
  return size > 0 && size < 1e-290 ? 1e-20 : 1;
}

/** Maps values to positions between `from` and `to`, with ticks at round values. */
class Scale {
  private readonly low: number;
  private readonly high: number;
  /** Unit of the scaled values, unless the axis is logarithmic. */
  private readonly unit: number;
  readonly ticks: number[];
  /** Texts of the ticks, in their order. */
  readonly texts: string[];

  constructor(
    private readonly axis: Axis,
    values: readonly number[],
    private readonly from: number,
    private readonly to: number,
  ) {
    const finite = values.filter((value) => Number.isFinite(value));
    this.unit = unitOf(finite.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
    const shown = finite.filter((value) => this.has(value));
    const places = shown.map((value) => this.place(value));
    const least = places.reduce((low, place) => Math.min(low, place), Infinity);
    const most = places.reduce((high, place) => Math.max(high, place), -Infinity);
    // A category takes up half a unit on either side.
    const room = axis.names ? 0.5 : 0;
    const size = Math.max(Math.abs(least), Math.abs(most));
    const varies = most - least > LEAST_SPREAD * size;
    const alone = axis.log || axis.names || axis.isWhole || size === 0 ? 0.5 : size / 2;
    const margin = varies ? Math.max(room, 0.04 * (most - least)) : alone;
    [this.low, this.high] = [least - margin, most + margin];
    const names = axis.names && shortNames(axis.names);
    if (names) this.ticks = somePlaces(names, Math.abs(to - from));
    else this.ticks = axis.log ? this.decades() : this.roundValues();
    this.texts = names
      ? this.ticks.map((tick) => names[tick]!)
      : tickTexts(this.ticks, { log: axis.log });
  }

  /** True if the value can be drawn: on a logarithmic axis only positive values can. */
  has(value: number): boolean {
    return Number.isFinite(this.place(value));
  }

  at(value: number): number {
    const share = (this.place(value) - this.low) / (this.high - this.low);
    return this.from + share * (this.to - this.from);
  }

  private place(value: number): number {
    return this.axis.log ? Math.log10(value) : value / this.unit;
  }

  private roundValues(): number[] {
    const ticks = steps(this.low, this.high, this.axis.isWhole).map((tick) => tick * this.unit);
    return [...new Set(ticks.filter(Number.isFinite))];
  }

  /**
   * Ticks at powers of ten, at 2 and 5 times these as well if there are few, or at equally spaced
   * values if there are still few.
   */
  private decades(): number[] {
    const all = [[1], [1, 2, 5]].map((factors) => this.multiples(factors));
    const few = () => steps(10 ** this.low, finite(10 ** this.high), this.axis.isWhole);
    return all.find(({ length }) => length >= MIN_TICKS) ?? few();
  }

  private multiples(factors: readonly number[]): number[] {
    const every = Math.max(1, Math.ceil((this.high - this.low) / 6));
    const ticks: number[] = [];
    for (let power = Math.floor(this.low); power <= this.high; ++power) {
      if (power % every !== 0) continue;
      for (const factor of factors) ticks.push(factor * 10 ** power);
    }
    return ticks.filter(
      (tick) =>
        this.place(tick) >= this.low &&
        this.place(tick) <= this.high &&
        (!this.axis.isWhole || Number.isInteger(tick)),
    );
  }
}

interface Frame {
  x: Scale;
  y: Scale;
  /** Left edge of the curves. */
  left: number;
}

/** Middle of a word, moved away from the edges so that the whole word is inside. */
function within(place: number, word: string): number {
  const half = widthOf(word) / 2;
  return Math.max(half, Math.min(place, PANEL.width - half));
}

function axes({ x, y, left }: Frame, panel: Panel): string[] {
  const { width, height, right, top, bottom } = PANEL;
  const [floor, edge] = [height - bottom, width - right];
  const grid = (x1: number, y1: number, x2: number, y2: number) =>
    `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="#ddd"/>`;
  const middle = ' text-anchor="middle"';
  return [
    ...x.ticks.flatMap((tick, i) => [
      grid(x.at(tick), top, x.at(tick), floor),
      text(within(x.at(tick), x.texts[i]!), floor + 15, x.texts[i]!, middle),
    ]),
    ...y.ticks.flatMap((tick, i) => [
      grid(left, y.at(tick), edge, y.at(tick)),
      text(left - 6, y.at(tick) + 4, y.texts[i]!, ' text-anchor="end"'),
    ]),
    `<path d="M${left} ${top}V${floor}H${edge}" fill="none" stroke="#333"/>`,
    text((left + edge) / 2, height - 10, fit(panel.x.label, edge - left), middle),
    text(
      14,
      (top + floor) / 2,
      fit(panel.y.label, floor - top),
      `${middle} transform="rotate(-90 14 ${(top + floor) / 2})"`,
    ),
    text(
      (left + edge) / 2,
      top - 12,
      fit(panel.title, edge - left, TITLE.panel),
      `${middle} font-weight="bold"`,
    ),
  ];
}

function line(colour: string, rest: string): string {
  return `stroke="${colour}" fill="none" ${rest}`;
}

const SOLID = 'stroke-width="1.6"';
/** A path of zero length is a dot; in the legend, dashes of zero length are dots. */
const MARKS = 'stroke-width="5" stroke-linecap="round"';
const LEGEND_MARKS = `${MARKS} stroke-dasharray="0 8"`;
/** Width of a bar, as a fraction of the distance to the nearest bar. */
const BAR_SHARE = 0.36;
const LEGEND_BAR = 'stroke-width="8"';

/** Index of a series among the named series; a bounding series has the index of its curve. */
function placeOf(panel: Panel, index: number): number {
  const { series } = panel;
  const owner = series.findIndex(({ name }) => name === series[index]!.of);
  return named(panel).indexOf(owner >= 0 ? owner : index);
}

/** Colour of a series: its own, the colour of the series it belongs to, or one of the palette. */
function colourOf(panel: Panel, index: number): string {
  const place = placeOf(panel, index);
  const owner = panel.series[named(panel)[place] ?? index]!;
  return panel.series[index]!.colour ?? owner.colour ?? COLOURS[place % COLOURS.length]!;
}

function style(panel: Panel, index: number): string {
  const { series } = panel;
  const { of, look } = series[index]!;
  const colour = colourOf(panel, index);
  if (look === 'ghost') return line(colour, 'stroke-width="1" stroke-opacity="0.25"');
  if (look === 'marks') return line(colour, LEGEND_MARKS);
  if (look === 'bars') return line(colour, LEGEND_BAR);
  if (look === 'dashed') return line(colour, `${SOLID} stroke-dasharray="6 3"`);
  if (series.some(({ name }) => name === of)) return line(colour, BOUND);
  const dash = DASHES[Math.floor(placeOf(panel, index) / COLOURS.length) % DASHES.length];
  return line(colour, dash ? `${SOLID} stroke-dasharray="${dash}"` : SOLID);
}

/** Draws the area between a series and its second edge. */
function area({ x, y }: Frame, panel: Panel, index: number, series: Series): string[] {
  const edge = (values: readonly number[]): string[] =>
    series.x
      .map((at, i) => ({ at, value: values[i]! }))
      .filter(({ at, value }) => x.has(at) && y.has(value))
      .map(({ at, value }) => `${round(x.at(at))},${round(y.at(value))}`);
  const points = [...edge(series.y), ...edge(series.to!).reverse()];
  return [
    `<polygon points="${points.join(' ')}" fill="${colourOf(panel, index)}" fill-opacity="0.16"/>`,
  ];
}

/** Draws bars from zero, as wide as the least distance between two bars allows. */
function bars({ x, y }: Frame, panel: Panel, index: number): string[] {
  const series = panel.series[index]!;
  const places = series.x.map((at) => x.at(at)).sort((one, other) => one - other);
  const gaps = places.slice(1).map((place, i) => place - places[i]!);
  const width = BAR_SHARE * Math.min(40, ...gaps);
  const drawn = series.x.map(
    (at, i) => `M${round(x.at(at))} ${round(y.at(0))}V${round(y.at(series.y[i]!))}`,
  );
  return [
    `<path d="${drawn.join('')}" ${line(colourOf(panel, index), `stroke-width="${round(width)}"`)}/>`,
  ];
}

function endsOf(value: number, spread: number): [low: number, high: number] {
  return Number.isFinite(value) ? [finite(value - spread), finite(value + spread)] : [value, value];
}

function curve(frame: Frame, panel: Panel, index: number): string[] {
  const { x, y } = frame;
  const series = panel.series[index]!;
  if (series.look === 'bars') return bars(frame, panel, index);
  if (series.to !== undefined) return area(frame, panel, index, series);
  const shown = series.x
    .map((at, i) => ({ at, value: series.y[i]!, spread: series.spread?.[i] ?? 0 }))
    .filter(({ at, value }) => x.has(at) && y.has(value));
  const points = shown.map(({ at, value }) => `${round(x.at(at))},${round(y.at(value))}`);
  const spreads = shown
    .map(({ at, value, spread }) => ({ at, spread, ends: endsOf(value, spread) }))
    .filter(({ spread, ends: [low] }) => spread > 0 && y.has(low))
    .map(({ at, ends: [low, high] }) => {
      return `M${round(x.at(at))} ${round(y.at(low))}V${round(y.at(high))}`;
    });
  const marks = points.map((point) => `M${point.replace(',', ' ')}h0`).join('');
  const drawn =
    series.look === 'marks'
      ? `<path d="${marks}" ${line(colourOf(panel, index), MARKS)}/>`
      : `<polyline points="${points.join(' ')}" ${style(panel, index)}/>`;
  return [
    drawn,
    ...(spreads.length > 0
      ? [`<path d="${spreads.join('')}" ${line(colourOf(panel, index), SOLID)}/>`]
      : []),
  ];
}

/** Indices of the named series; areas are represented by the series they belong to. */
function named({ series }: Panel): number[] {
  return [...series.keys()].filter((i) => series[i]!.name !== '' && series[i]!.to === undefined);
}

/** Number of columns of the legend: two, or one if a name would not fit. */
function legendColumns(panel: Panel): number {
  const longest = Math.max(...named(panel).map((i) => widthOf(panel.series[i]!.name)));
  return LEGEND.stroke + LEGEND.gap + longest <= LEGEND.column ? 2 : 1;
}

function legendHeight(panel: Panel): number {
  return LEGEND.line * Math.ceil(named(panel).length / legendColumns(panel));
}

/** Draws a name of the legend, squeezed or cut if it is too long. */
function legendName(name: string, left: number, y: number): string {
  const room = PANEL.width - left;
  const squeezed = ` textLength="${room}" lengthAdjust="spacingAndGlyphs"`;
  const shown = fit(name, room / LEGEND.least);
  return text(left, y, shown, widthOf(shown) > room ? squeezed : '');
}

function legend(panel: Panel): string[] {
  const columns = legendColumns(panel);
  return named(panel).flatMap((index, i) => {
    const left = PANEL.left + (i % columns) * LEGEND.column;
    const y = PANEL.height + 8 + Math.floor(i / columns) * LEGEND.line;
    const end = left + LEGEND.stroke;
    return [
      `<line x1="${left}" y1="${y - 4}" x2="${end}" y2="${y - 4}" ${style(panel, index)}/>`,
      legendName(panel.series[index]!.name, end + LEGEND.gap, y),
    ];
  });
}

function lines(panel: Panel): string[] {
  const { width, height, right, top, bottom } = PANEL;
  const extremes = panel.series.flatMap(({ y, to = [], spread, look }) => [
    ...y.flatMap((value, i) => endsOf(value, spread?.[i] ?? 0)),
    ...to,
    ...(look === 'bars' ? [0] : []),
  ]);
  extremes.push(...(panel.y.shows ?? []));
  const y = new Scale(panel.y, extremes, height - bottom, top);
  const longest = Math.max(...y.texts.map((words) => widthOf(words)));
  const left = Math.max(PANEL.left, LABEL + longest);
  const x = new Scale(
    panel.x,
    panel.series.flatMap((series) => series.x),
    left,
    width - right,
  );
  const frame = { x, y, left };
  return [
    ...axes(frame, panel),
    ...panel.series.flatMap((_, i) => curve(frame, panel, i)),
    ...legend(panel),
  ];
}

/** Draws a picture of panels; deterministic, so equal panels give equal text. */
export function plot({
  title,
  description,
  notes = [],
  panels,
  perRow = panels.length,
}: Picture): string {
  const width = PANEL.width * Math.min(perRow, panels.length);
  const below = Math.max(...panels.map((panel) => ('shades' in panel ? 0 : legendHeight(panel))));
  const row = PANEL.height + 20 + below;
  const bottom = 24 + row * Math.ceil(panels.length / perRow);
  const said = notes.flatMap((note) => linesOf(note, width - 2 * NOTE.left));
  const height = bottom + NOTE.line * said.length + (said.length > 0 ? NOTE.line : 0);
  const open =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `height="${height}" font-family="sans-serif" font-size="${FONT_SIZE}">`;
  const drawn = panels.map((panel, i) => {
    const parts = 'shades' in panel ? mapText(panel) : lines(panel);
    const [x, y] = [(i % perRow) * PANEL.width, 24 + row * Math.floor(i / perRow)];
    return `<g transform="translate(${x} ${y})">\n${parts.join('\n')}\n</g>`;
  });
  return [
    open,
    `<title>${escape(title)}</title>`,
    ...(description === undefined ? [] : [`<desc>${escape(description)}</desc>`]),
    '<rect width="100%" height="100%" fill="#fff"/>',
    text(
      width / 2,
      18,
      fit(title, width, TITLE.width),
      ` text-anchor="middle" font-size="${TITLE.size}" font-weight="bold"`,
    ),
    ...drawn,
    ...said.map((words, i) => text(NOTE.left, bottom + NOTE.line * (i + 1), words, ' fill="#333"')),
    '</svg>\n',
  ].join('\n');
}
