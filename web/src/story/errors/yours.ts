// SPDX-License-Identifier: Apache-2.0

// The reader's own horizon and error: the epsilon that each mechanism needs for them, and a link to
// the laboratory.

import './errors.css';
import { noiseMultiplier } from 'virtual:privacy';
import { parseNumber } from '../../../../wasm/src/shared/number.ts';
import { colourOf } from '../../figures/lane-colours.ts';
import { STEP_AXIS, type PicturePanel, type ColouredSeries } from '../../figures/picture.ts';
import { h, setText } from '../../base/dom.ts';
import { count, counted, fixed, quantity } from '../../base/format.ts';
import { privacy } from '../hero-numbers.ts';
import { dropPlace } from './hand-over.ts';
import { DragHandle } from '../handle.ts';
import {
  bearableMultiplier,
  deviationsShown,
  horizons,
  nearestHorizon,
  rankedMechanisms,
  type HorizonErrors,
} from './yours-numbers.ts';
import { headRow, number, row } from './parts.ts';
import {
  areaBetween,
  lineThrough,
  Plane,
  type Point,
  type Scale,
  makeGrip,
  place,
} from '../plane.ts';
import { joined, placesOf, type Position } from '../position.ts';
import type { Frame, Mount, SceneView } from '../scene.ts';
import type { Stage } from '../stage.ts';

const { delta } = privacy;
/** Largest error that the input field accepts, in people. */
const greatestMargin = 1e6;

const names: Readonly<Record<(typeof rankedMechanisms)[number], string>> = {
  independent: 'fresh noise',
  tree: 'tree',
  honaker: 'tree (Honaker)',
  'square-root': 'square root',
  optimal: 'optimal, eight buffers',
};

const smallPrint =
  'For running totals to which each person contributes once, by at most one; δ = 10⁻⁶. “Off by” is ' +
  'twice the standard deviation of the noise on the noisiest total: 19 of 20 draws are closer. The ' +
  'floor is proved for every method of this kind: Gaussian noise, mixed in any way (every ' +
  'factorization of these totals).';

const horizonTicks = [1, 10, 100, 1000, 1e4, 1e5, 1e6];
const errorTicks = [1, 3, 10, 30, 100, 300, 1000];

class YoursScene implements SceneView {
  private index = horizons.length - 1;
  private margin = 25;
  private busy = false;
  private stale = false;
  private readonly plane: Plane;
  private readonly area: SVGPathElement;
  private readonly label: SVGTextElement;
  private readonly lines: readonly SVGPathElement[];
  private readonly dots: readonly SVGCircleElement[];
  private readonly cursor: SVGLineElement;
  private readonly grip: SVGGElement;
  private readonly input = h('input', {
    type: 'text',
    inputmode: 'numeric',
    id: 'yours-margin',
    value: this.margin,
    'aria-describedby': 'yours-margin-error',
  });
  private readonly fault = h('p', {
    class: 'error',
    id: 'yours-margin-error',
    role: 'alert',
    hidden: true,
  });
  private readonly readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  private readonly numbers = h('table', { class: 'scene-numbers' });
  private readonly link = h('a', { class: 'button', id: 'yours-lab' });
  private readonly handle: DragHandle;
  private readonly state: DOMStringMap;

  /**
   * Resolves once the numbers in the table are computed, which happens after the scene is shown.
   */
  working = Promise.resolve();

  constructor(
    stage: Stage,
    private readonly context: Frame,
  ) {
    this.plane = new Plane({
      label: 'Noise on the noisiest total, by the number of counts',
      xName: 'number of counts',
      yName: 'noise on the noisiest total (1 = on a single count)',
      x: { ...logarithmic(horizonTicks), text: shortCount },
      y: { ...logarithmic(errorTicks), text: count },
      gripped: true,
      draw: () => this.draw(),
    });
    const { plane } = this;
    plane.element.classList.add('yours-plane');
    this.area = plane.add('path', { class: 'area of-floor' });
    this.label = plane.add('text', { class: 'floor-label', 'text-anchor': 'end' });
    setText(this.label, 'no method of this kind gets here');
    this.lines = rankedMechanisms.map((name) => plane.add('path', { class: `line of-${name}` }));
    this.cursor = plane.add('line', { class: 'cursor' });
    this.dots = rankedMechanisms.map((name) =>
      plane.add('circle', { class: `dot of-${name}`, r: 4 }),
    );
    this.grip = makeGrip(this.plane);
    this.handle = this.makeHandle();
    this.input.addEventListener('input', () => this.typed());
    this.input.addEventListener('change', () => context.settled());
    stage.step(null, 'Drag the number of counts, and enter an error that you can accept.');
    stage.words.append(
      h(
        'div',
        { class: 'row' },
        h('label', { for: 'yours-margin' }, 'Acceptable error, in people: ±'),
        this.input,
        this.fault,
      ),
      this.numbers,
      this.readout,
      h('div', { class: 'row link' }, this.link),
      dropPlace(),
    );
    stage.curious(h('p', {}, smallPrint));
    stage.figure.append(plane.element);
    this.state = stage.figure.dataset;
    this.write(this.horizon, this.margin, null);
    this.writeLink(this.horizon.numSteps, null);
    setText(this.readout, 'Computing ε…');
    this.refresh();
  }

  restyle(): void {}

  panels(): PicturePanel[] {
    const { horizon } = this;
    const x = horizons.map(({ numSteps }) => numSteps);
    const lines = rankedMechanisms.map((id, i) => ({
      name: `${names[id]}: ${short(horizon.errors[i]!)}`,
      x,
      y: horizons.map(({ errors }) => errors[i]!),
      colour: colourOf(id),
    }));
    const floor: ColouredSeries = {
      name: `the floor: ${short(horizon.floor)}`,
      x,
      y: horizons.map((row) => row.floor),
      look: 'dashed',
      colour: 'floor',
    };
    return [
      {
        title: `Noise on the noisiest total; in the legend, of ${counts(horizon.numSteps)}`,
        x: { ...STEP_AXIS, label: 'number of counts', log: true },
        y: { label: '1 = on a single count', log: true },
        series: [...lines, floor],
      },
    ];
  }

  /** The number of counts and the acceptable error. */
  readonly position: Position = {
    read: () => joined(this.horizon.numSteps, this.margin),
    put: (text) => {
      const [steps = '', margin = '', ...others] = text.split('_');
      const places = placesOf(
        steps,
        horizons.map(({ numSteps }) => numSteps),
      );
      if (places === null || marginOf(margin) === null || others.length > 0) return false;
      this.handle.put(places[0]!);
      this.input.value = margin;
      this.moved(places[0]!);
      this.typed();
      return true;
    },
  };

  dispose(): void {
    this.plane.dispose();
  }

  private get horizon(): HorizonErrors {
    return horizons[this.index]!;
  }

  private makeHandle(): DragHandle {
    return new DragHandle(this.grip, {
      label: 'Number of counts',
      min: 0,
      max: horizons.length - 1,
      value: this.index,
      step: 1,
      page: 10,
      along: 'x',
      say: (index) => counts(horizons[index]!.numSteps),
      valueAt: (point) => nearestHorizon(this.plane.at(point).x),
      moved: (index) => this.moved(index),
      settled: () => this.context.settled(),
    });
  }

  private draw(): void {
    const { plane } = this;
    const points = (value: (row: HorizonErrors) => number): Point[] =>
      horizons.map((row) => ({ x: plane.x(row.numSteps), y: plane.y(value(row)) }));
    const ground = [plane.left, plane.right].map((x) => ({ x, y: plane.bottom }));
    this.area.setAttribute(
      'd',
      areaBetween(
        points(({ floor }) => floor),
        ground,
      ),
    );
    this.lines.forEach((line, i) => {
      line.setAttribute('d', lineThrough(points(({ errors }) => errors[i]!)));
    });
    place(this.label, { x: plane.right - 16, y: plane.bottom - 12 });
    this.drawCursor();
  }

  private drawCursor(): void {
    const { plane, horizon } = this;
    const x = plane.x(horizon.numSteps);
    place(this.cursor, { x1: x, x2: x, y1: plane.top, y2: plane.bottom + 10 });
    place(this.grip, { transform: `translate(${x} ${plane.bottom})` });
    this.dots.forEach((dot, i) => {
      place(dot, { cx: x, cy: plane.y(horizon.errors[i]!) });
    });
  }

  private moved(index: number): void {
    this.index = index;
    this.drawCursor();
    this.refresh();
  }

  private typed(): void {
    const value = marginOf(this.input.value.trim());
    const right = value !== null;
    const range = `from 1 to ${count(greatestMargin)}`;
    setText(this.fault, right ? '' : `the error must be a whole number ${range}`);
    this.fault.hidden = right;
    this.input.setAttribute('aria-invalid', String(!right));
    if (value === null) return;
    this.margin = value;
    this.refresh();
  }

  /** Computes the epsilons, and repeats if anything changed meanwhile. */
  private refresh(): void {
    this.stale = true;
    if (!this.busy) this.working = this.compute();
  }

  private async compute(): Promise<void> {
    this.busy = true;
    this.state['work'] = 'running';
    const engine = await this.context.library();
    while (this.stale) {
      this.stale = false;
      const { horizon, margin } = this;
      const errors = [...horizon.errors, horizon.floor];
      // Calibrates outside the queue, because it is quick and queued work may take seconds.
      const epsilons = await Promise.all(
        errors.map(async (error) => {
          const mu = 1 / bearableMultiplier(margin, error);
          return (await engine.calibrate({ mu, delta })).epsilon;
        }),
      );
      if (!this.stale) this.write(horizon, margin, epsilons);
    }
    this.state['work'] = 'done';
    this.busy = false;
  }

  /** Writes the table, with dots for epsilons that are being computed. */
  private write(horizon: HorizonErrors, margin: number, epsilons: readonly number[] | null): void {
    const { numSteps, errors, floor } = horizon;
    const line = (id: string, name: string, error: number, i: number): HTMLElement => {
      const noise = number(`${id} noise`, error, short(error));
      const offBy = deviationsShown * noiseMultiplier * error;
      return row(
        `of-${id}`,
        name,
        noise,
        number(`${id} margin`, offBy, `±${count(Math.round(offBy))}`),
        epsilons === null ? '…' : number(`${id} epsilon`, epsilons[i]!, quantity(epsilons[i]!, 3)),
      );
    };
    const lines = rankedMechanisms.map((id, i) => line(id, names[id], errors[i]!, i));
    lines.push(line('floor', 'the floor', floor, errors.length));
    const wanted = `±${count(margin)}`;
    this.numbers.replaceChildren(
      h('caption', {}, `The noisiest of ${counts(numSteps)}`),
      headRow('', 'noise', 'off by, at ε\u00a0=\u00a01', `ε for ${wanted}`),
      h('tbody', {}, ...lines),
    );
    if (epsilons === null) return;
    const [forFresh, forOptimal] = [epsilons[0]!, epsilons.at(-2)!].map((one) => quantity(one, 3));
    setText(
      this.readout,
      `For ${wanted}, fresh noise needs ε\u00a0=\u00a0${forFresh}, and optimal noise ε\u00a0=\u00a0${forOptimal}. ` +
        'A smaller ε is more private.',
    );
    this.writeLink(numSteps, epsilons.at(-2)!);
  }

  /**
   * Links to the laboratory, with this horizon and the epsilon that the error requires, once it is
   * known.
   */
  private writeLink(numSteps: number, exact: number | null): void {
    const epsilon = exact === null ? null : Number(Math.max(exact, 1e-3).toPrecision(3));
    const settings = new URLSearchParams({
      ...{ data: 'shop_day', column: 'count', label: '-', compare: 'independent' },
      ...(epsilon !== null && { epsilon: String(epsilon) }),
      ...{ steps: String(numSteps), speed: 'max' },
    });
    this.link.setAttribute('href', `#${settings}`);
    const at = epsilon === null ? '' : ` at ε = ${epsilon}`;
    setText(this.link, `Count in the laboratory${at}`);
  }
}

/** The error that a text states; null unless it is a whole number from 1 to `greatestMargin`. */
function marginOf(text: string): number | null {
  const value = parseNumber(text) ?? NaN;
  return Number.isInteger(value) && value >= 1 && value <= greatestMargin ? value : null;
}

/** A logarithmic axis from the first tick to the last. */
function logarithmic(ticks: readonly number[]): Omit<Scale, 'text'> {
  return { from: ticks[0]!, to: ticks.at(-1)!, logarithmic: true, ticks };
}

function counts(number: number): string {
  return number === 1 ? 'one count' : counted(number, 'count');
}

/** Formats a power of ten for narrow axes. */
function shortCount(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1e4 ? `${value / 1e3}k` : count(value);
}

/** Formats a number with about three digits. */
function short(value: number): string {
  return value >= 100 ? count(Math.round(value)) : fixed(value, value >= 10 ? 1 : 2);
}

export const mount: Mount<Frame> = async (stage, context) => new YoursScene(stage, context);
