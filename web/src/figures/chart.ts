// SPDX-License-Identifier: Apache-2.0

// A line chart with keyboard access: uPlot draws, and a slider over it holds the cursor.

import uPlot from 'uplot';
import { tickTexts } from '../../../wasm/src/plot/ticks.ts';
import { h } from '../base/dom.ts';
import { count, tickText } from '../base/format.ts';
import { readColours, type Colour, type Colours } from './colours.ts';

export interface Line {
  /** If absent, the line is invisible and only bounds a band. */
  colour?: Colour;
  width?: number;
  dash?: number[];
  faint?: boolean;
  /** Draws a mark for every value instead of a line. */
  marks?: boolean;
  shown: boolean;
}

/** The area between two lines, given by their indices. */
export interface Band {
  upper: number;
  lower: number;
  colour: Colour;
  /** Drawn at half the opacity of other bands. */
  pale?: boolean;
}

/** A horizontal line across the whole chart, or a mark at its last step. */
export interface Level {
  value: number;
  /** True if the value holds after the last step only. */
  atLast?: boolean;
  colour: Colour;
  text: string;
  /** Right end of the text, as a fraction of the width. Default 1. */
  at?: number;
  /** Draws the text below the line. */
  below?: boolean;
}

/** A text at the end of a line. */
export interface End {
  /** Index of the line. */
  line: number;
  text: string;
  /**
   * Height of the text. Default: the last drawn value, which may differ from the last value if
   * steps share a pixel.
   */
  value?(): number;
}

export interface ChartOptions {
  name: string;
  /** Word for a step. Default 'step'. */
  unit?: string;
  /** Text of a step on the axis. Default: its number, with the unit in front at the first step. */
  tick?(step: number): string;
  lines: Line[];
  /** Indices of the lines from bottom to top. Default: in order. */
  order?: readonly number[];
  /** Names of lines, drawn at the ends of the lines if the chart is wide enough. */
  ends?: readonly End[];
  bands: Band[];
  numSteps: number;
  /** Draws the steps on a logarithmic axis. */
  logarithmic?: boolean;
  /** A screen reader announces this text for the cursor's step. */
  describe(step: number): string;
  moved(step: number | null): void;
  /** Range of the vertical axis. */
  range(): [number, number];
  /** Text of a value on the vertical axis. Default: the value in few digits. */
  write?(value: number): string;
}

const alpha = { light: 0.16, dark: 0.22 };

function readPalette(): Colours & { font: string; alpha: number } {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ...readColours(),
    font: `12px ${read('sans')}`,
    alpha: read('scheme') === 'dark' ? alpha.dark : alpha.light,
  };
}

/** Adds an opacity to a colour #rgb or #rrggbb. */
function translucent(colour: string, opacity: number): string {
  if (colour.length === 4) colour = colour.replace(/[^#]/g, '$&$&');
  return `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`;
}

/**
 * Distance between the labels of the vertical axis and the curves, and minimum width of the axis.
 */
const GAP = 8;
const LEAST_WIDTH = 52;
/** Height of the text of a level, including its distance from the line. */
const LINE = 18;
/** Height of the text at the end of a line, and its distance from the line. */
const END = { height: 14, gap: 6 };
/** Minimum milliseconds between two changes of the order of the texts at the ends of lines. */
const ORDER_TIME = 1000;
/** Length of the mark of a level at the last step. */
const MARK = 24;
/** Minimum width of a chart with texts at the ends of lines. */
const LEAST_WITH_ENDS = 420;

function widthOf({ ctx, axes }: uPlot, texts: readonly string[] | null): number {
  const { font } = axes[1]!;
  // uPlot stores its fonts as lists; the first entry is scaled to the pixels of the screen.
  ctx.font = (font as unknown as string[])[0]!;
  const longest = Math.max(0, ...(texts ?? []).map((text) => ctx.measureText(text).width));
  return Math.max(LEAST_WIDTH, Math.ceil(longest / uPlot.pxRatio) + GAP + 4);
}

export class Chart {
  readonly element: HTMLDivElement;
  private readonly plot: uPlot;
  private palette = readPalette();
  private levels: Level[] = [];
  /** Indices of the lines from the bottom to the top. */
  private readonly order: readonly number[];
  private cursor: number | null = null;
  private moving = false;
  private last = 0;
  /**
   * Lines in the order of the texts at their ends, from top to bottom, and the time at which that
   * order was adopted.
   */
  private shownEnds: { lines: readonly number[]; since: number } = { lines: [], since: -Infinity };
  private reorder = 0;
  private readonly resize: ResizeObserver;

  constructor(private readonly options: ChartOptions) {
    this.element = h('div', {
      class: 'plot',
      tabindex: 0,
      role: 'slider',
      'aria-label': options.name,
      'aria-roledescription': 'chart cursor',
      'aria-valuemin': 1,
      'aria-valuemax': options.numSteps,
      'aria-valuenow': 1,
      onkeydown: (event: Event) => this.key(event as KeyboardEvent),
    });
    this.order = options.order ?? [...options.lines.keys()];
    this.plot = new uPlot(this.uplotOptions(), this.empty(), this.element);
    for (const type of ['pointerdown', 'pointermove'] as const) {
      this.plot.over.addEventListener(type, (event) => this.dragged(event));
    }
    this.resize = new ResizeObserver(() => this.fit());
    this.resize.observe(this.element);
    this.describe();
  }

  /** Draws columns, first the steps, then the values of each line. */
  setData(columns: ArrayLike<number>[]): void {
    const steps = columns[0]!;
    this.last = steps.length === 0 ? 0 : (steps[steps.length - 1] ?? 0);
    const ordered = [steps, ...this.order.map((line) => columns[line + 1]!)];
    this.plot.setData(ordered as unknown as uPlot.AlignedData);
    this.describe();
  }

  /** Shows or hides a line, beginning with the next data. */
  setShown(line: number, isShown: boolean): void {
    this.plot.series[this.placeOf(line)]!.show = isShown;
  }

  private placeOf(line: number): number {
    return this.order.indexOf(line) + 1;
  }

  setLevels(levels: Level[]): void {
    this.levels = levels;
  }

  /** Moves the cursor to a step (from 1), or removes it. */
  setCursor(step: number | null): void {
    this.cursor = step;
    this.moving = true;
    const left = step === null ? -10 : this.plot.valToPos(step, 'x');
    this.plot.setCursor({ left, top: step === null ? -10 : 0 });
    this.moving = false;
    this.describe();
  }

  /** Reloads colours and fonts, and redraws. */
  restyle(): void {
    this.palette = readPalette();
    this.plot.redraw(false, true);
  }

  destroy(): void {
    this.resize.disconnect();
    clearTimeout(this.reorder);
    this.plot.destroy();
    this.element.remove();
  }

  private empty(): uPlot.AlignedData {
    return [[], ...this.options.lines.map(() => [])] as unknown as uPlot.AlignedData;
  }

  private fit(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === 0 || clientHeight === 0) return;
    if (this.plot.width === clientWidth && this.plot.height === clientHeight) return;
    this.plot.setSize({ width: clientWidth, height: clientHeight });
    if (this.cursor !== null) this.setCursor(this.cursor);
  }

  private describe(): void {
    const step = this.cursor ?? this.last;
    this.element.setAttribute('aria-valuenow', String(Math.max(1, step)));
    this.element.setAttribute(
      'aria-valuetext',
      step < 1 || step > this.last ? 'no steps yet' : this.options.describe(step),
    );
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || this.last === 0) return;
    const from = this.cursor ?? this.last;
    const leap = Math.max(1, Math.round(this.options.numSteps / 20));
    const targets: Record<string, number | null> = {
      ArrowLeft: from - (event.shiftKey ? leap : 1),
      ArrowRight: from + (event.shiftKey ? leap : 1),
      ArrowDown: from - 1,
      ArrowUp: from + 1,
      PageDown: from - leap,
      PageUp: from + leap,
      Home: 1,
      End: this.last,
      Escape: null,
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    const target = targets[event.key] ?? null;
    this.options.moved(target === null ? null : Math.max(1, Math.min(this.last, target)));
  }

  private colour(name: Colour | undefined): () => string {
    return () => (name === undefined ? 'transparent' : this.palette[name]);
  }

  private seriesOf(line: Line): uPlot.Series {
    return {
      ...(line.shown === undefined ? {} : { show: line.shown }),
      stroke: line.faint ? this.faint(line.colour) : this.colour(line.colour),
      width: line.width ?? 1,
      ...(line.dash ? { dash: line.dash } : {}),
      ...(line.marks ? { paths: () => null } : {}),
      points: { show: line.marks === true, size: 5, width: 0, fill: this.colour(line.colour) },
    };
  }

  private tick(step: number): string {
    return this.options.tick?.(step) ?? count(step);
  }

  /**
   * Multiples of `step`, drawn `space` pixels apart, and the last step, whose label replaces any
   * that it would overlap.
   */
  private splits(step: number, space: number): number[] {
    const { numSteps } = this.options;
    const room = (7 * this.tick(numSteps).length + 8) * (step / space);
    const num = Math.max(1, Math.ceil((numSteps - room) / step));
    return [...Array.from({ length: num }, (_, i) => i * step), numSteps];
  }

  private axes(): uPlot.Axis[] {
    const axis: uPlot.Axis = {
      font: this.palette.font,
      stroke: this.colour('muted'),
      grid: { stroke: this.colour('rule'), width: 1 },
      ticks: { show: false },
    };
    return [
      {
        ...axis,
        size: 26,
        gap: 6,
        grid: { show: false },
        space: 70,
        ...(this.options.logarithmic
          ? {}
          : { splits: (_, __, ___, ____, step, space) => this.splits(step, space) }),
        border: { show: true, stroke: this.colour('muted'), width: 1 },
        // On a logarithmic axis, uPlot omits labels that do not fit.
        values: (_, splits: (number | null)[]) =>
          splits.map((step, i) => {
            if (step === null || !Number.isInteger(step)) return '';
            const { unit = 'step', tick } = this.options;
            return i === 0 && !tick ? `${unit} ${this.tick(step)}` : this.tick(step);
          }),
      },
      {
        ...axis,
        size: (plot, texts) => widthOf(plot, texts),
        gap: GAP,
        space: 36,
        values: (_, splits) => tickTexts(splits, { write: this.options.write ?? tickText }),
      },
    ];
  }

  private uplotOptions(): uPlot.Options {
    return {
      width: 600,
      height: 200,
      legend: { show: false },
      padding: [8, (plot) => this.rightPadding(plot), 0, 0],
      cursor: {
        y: false,
        drag: { x: false, y: false, setScale: false },
        points: { show: false },
        bind: { dblclick: () => null },
      },
      scales: {
        x: this.options.logarithmic
          ? { time: false, distr: 3, range: () => [1, Math.max(2, this.options.numSteps)] }
          : { time: false, range: () => [0, this.options.numSteps] },
        y: { range: () => this.options.range() },
      },
      series: [{}, ...this.order.map((line) => this.seriesOf(this.options.lines[line]!))],
      bands: this.options.bands.map((band) => ({
        series: [this.placeOf(band.upper), this.placeOf(band.lower)] as [number, number],
        fill: () =>
          translucent(this.palette[band.colour], this.palette.alpha / (band.pale ? 2 : 1)),
      })),
      axes: this.axes(),
      hooks: {
        setCursor: [(plot) => this.pointed(plot)],
        draw: [(plot) => this.drawLevels(plot), (plot) => this.drawEnds(plot)],
      },
    };
  }

  private faint(name: Colour | undefined): () => string {
    return () => (name === undefined ? 'transparent' : translucent(this.palette[name], 0.3));
  }

  private pointed(plot: uPlot): void {
    if (this.moving) return;
    const left = plot.cursor.left ?? -1;
    if (left < 0) {
      this.options.moved(null);
      return;
    }
    const step = Math.round(plot.posToVal(left, 'x'));
    this.options.moved(step >= 1 && step <= this.last ? step : null);
  }

  /** Moves the cursor with a finger, because uPlot follows only a mouse. Vertical moves scroll. */
  private dragged(event: PointerEvent): void {
    if (event.pointerType === 'mouse' || this.last === 0) return;
    const { left } = this.plot.over.getBoundingClientRect();
    const step = Math.round(this.plot.posToVal(event.clientX - left, 'x'));
    this.options.moved(Math.max(1, Math.min(this.last, step)));
  }

  /** True if the chart has room for texts at the ends of its lines. */
  private hasEnds({ width }: uPlot): boolean {
    return this.options.ends !== undefined && width >= LEAST_WITH_ENDS;
  }

  /**
   * Right padding, because half of the last step's label, or the text at the end of a line, extends
   * beyond the plot.
   */
  private rightPadding(plot: uPlot): number {
    const half = 6 + 3.5 * this.tick(this.options.numSteps).length;
    if (!this.hasEnds(plot)) return half;
    const { ctx } = plot;
    ctx.font = this.palette.font;
    const widths = this.options.ends!.map(({ text }) => ctx.measureText(text).width);
    return Math.max(half, END.gap + Math.ceil(Math.max(0, ...widths)));
  }

  /** Draws the names of the visible lines at the ends of the lines, without overlap. */
  private drawEnds(plot: uPlot): void {
    if (!this.hasEnds(plot) || this.last === 0) return;
    const { ctx, bbox } = plot;
    const ratio = uPlot.pxRatio;
    const left = plot.valToPos(this.last, 'x', true) + END.gap * ratio;
    const ends = this.options.ends!.flatMap(({ line, text, value: valueOf }) => {
      const place = this.placeOf(line);
      const value = valueOf?.() ?? plot.data[place]?.at(-1);
      if (!plot.series[place]!.show || typeof value !== 'number' || !Number.isFinite(value))
        return [];
      const { colour } = this.options.lines[line]!;
      return [{ line, text, colour, y: plot.valToPos(value, 'y', true) }];
    });
    this.sortEnds(ends);
    const height = END.height * ratio;
    // The first pass, downwards, keeps each name clear of the one above it; the second, upwards,
    // keeps all names within the plot.
    for (const [i, end] of ends.entries())
      end.y = Math.max(end.y, i === 0 ? bbox.top : ends[i - 1]!.y + height);
    let floor = bbox.top + bbox.height;
    for (const end of [...ends].reverse()) {
      end.y = Math.min(end.y, floor);
      floor = end.y - height;
    }
    ctx.save();
    ctx.font = this.palette.font.replace('12px', `${12 * ratio}px`);
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    for (const { text, colour, y } of ends) {
      ctx.fillStyle = this.palette[colour ?? 'ink'];
      this.write(ctx, text, left, y);
    }
    ctx.restore();
  }

  /**
   * Sorts by height, and keeps an order for a while, because noise would change it in every frame.
   */
  private sortEnds(ends: { line: number; y: number }[]): void {
    const { lines: shown, since } = this.shownEnds;
    ends.sort((a, b) => a.y - b.y);
    const wanted = ends.map(({ line }) => line);
    if (wanted.join() === shown.join()) return;
    const now = performance.now();
    const isSwap = wanted.length === shown.length && wanted.every((line) => shown.includes(line));
    if (!isSwap || now - since >= ORDER_TIME) {
      this.shownEnds = { lines: wanted, since: now };
      return;
    }
    ends.sort((a, b) => shown.indexOf(a.line) - shown.indexOf(b.line));
    clearTimeout(this.reorder);
    this.reorder = window.setTimeout(() => this.plot.redraw(false), since + ORDER_TIME - now);
  }

  /** Outlines a text in the colour of the paper, to keep it readable in front of lines. */
  private write(
    ctx: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room?: number,
  ): void {
    ctx.setLineDash([]);
    ctx.lineJoin = 'round';
    ctx.lineWidth = 4 * uPlot.pxRatio;
    ctx.strokeStyle = this.palette.paper;
    ctx.strokeText(text, x, y, room);
    ctx.fillText(text, x, y, room);
  }

  private drawLevels(plot: uPlot): void {
    const { ctx } = plot;
    const ratio = uPlot.pxRatio;
    for (const level of this.levels) {
      const y = plot.valToPos(level.value, 'y', true);
      const { left, top, width, height } = plot.bbox;
      if (!(y >= top && y <= top + height)) continue;
      ctx.save();
      ctx.strokeStyle = this.palette[level.colour];
      ctx.fillStyle = this.palette[level.colour];
      ctx.lineWidth = (level.atLast === true ? 3 : 1.5) * ratio;
      if (level.atLast !== true) ctx.setLineDash([1.5 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(level.atLast === true ? left + width - MARK * ratio : left, y);
      ctx.lineTo(left + width, y);
      ctx.stroke();
      ctx.font = this.palette.font.replace('12px', `${12 * ratio}px`);
      ctx.textAlign = 'right';
      // Takes the other side of the line if there is no room on the preferred side.
      const room = LINE * ratio;
      const isBelow = level.below ? y + room <= top + height : y - room < top;
      ctx.textBaseline = isBelow ? 'top' : 'bottom';
      const wanted = left + (level.at ?? 1) * width - 4 * ratio;
      const right = Math.max(wanted, left + Math.min(width, ctx.measureText(level.text).width));
      const place = isBelow ? y + 4 * ratio : y - 3 * ratio;
      this.write(ctx, level.text, right, place, right);
      ctx.restore();
    }
  }
}
