// SPDX-License-Identifier: Apache-2.0

// The two obvious ways: fresh noise for every person, and noise on each total.

import './naive.css';
import { noiseMultiplier } from 'virtual:privacy';
import { h, setText } from '../base/dom.ts';
import { count, fixed } from '../base/format.ts';
import type { PicturePanel } from '../figures/picture.ts';
import { Slider } from './handle.ts';
import { numPeople } from './hero-numbers.ts';
import { areaBetween, evenTicks, lineThrough, place, Plane } from './plane.ts';
import type { Point, Scale } from './plane.ts';
import { positionIn } from './position.ts';
import type { Frame, Mount, SceneView } from './scene.ts';

const numGhosts = 30;
/** Largest number of points of a ghost run. */
const mostPoints = 256;
const horizons: readonly number[] = Array.from({ length: 9 }, (_, i) => 2 ** (i + 4));
const longest = horizons.at(-1)!;
/** Noise is drawn in multiples of 2^-20 of its standard deviation. */
const scale = 2 ** 20;

/** Points of a run: one for each person, or evenly spaced. */
const numPointsOf = (numSteps: number): number => Math.min(numSteps, mostPoints);

/** Runs of accumulated fresh noise, mostPoints rows of numGhosts entries. */
async function drawGhosts({ library, queue }: Frame, seed: number): Promise<Float64Array> {
  const engine = await library();
  return queue(async () => {
    const noise = await engine.noise({
      strategy: 'independent',
      steps: mostPoints,
      dimension: numGhosts,
      insecureSeed: seed,
    });
    const rows = await noise.rounded({ numRows: mostPoints, scale });
    noise.dispose();
    return rows.map((value) => value / scale);
  });
}

/** How noise gets into the totals. */
type Placement = 'person' | 'total';

const ways: Readonly<Record<Placement, { name: string; numRuns: number }>> = {
  person: { name: 'fresh noise for each person', numRuns: numGhosts },
  // Each run fills the band, so more runs would form a solid block.
  total: { name: 'fresh noise on each total', numRuns: 3 },
};

/** Picture of some runs of one way, and their spread. */
class WayPicture {
  readonly plane: Plane;
  private readonly band: SVGPathElement;
  private readonly runs: SVGPathElement[];
  private readonly label: SVGTextElement;
  private veil: SVGRectElement;
  /** Empty until the runs are drawn. */
  private rows: Float64Array = new Float64Array();

  constructor(
    private readonly placement: Placement,
    /** Twice the standard deviation of the noise of one person, in people. */
    private readonly unit: number,
    private numSteps: number,
  ) {
    const { name, numRuns } = ways[placement];
    this.plane = new Plane({
      label: `Runs with ${name}, and their spread`,
      xName: placement === 'total' ? 'people who passed the shop' : '',
      yName: `${name}: published − true, in people`,
      ...this.scales(),
      draw: () => this.draw(),
    });
    this.plane.element.classList.add(`per-${placement}`);
    this.band = this.plane.add('path', { class: 'funnel' });
    this.runs = Array.from({ length: numRuns }, (_, i) =>
      this.plane.add('path', { class: i === 0 ? 'ghost first' : 'ghost' }),
    );
    this.veil = this.plane.add('rect', { class: 'veil' });
    this.label = this.plane.add('text', { class: 'band-word', 'text-anchor': 'end' });
  }

  show(numSteps: number): void {
    this.numSteps = numSteps;
    this.plane.rescale(this.scales());
  }

  redraw(rows: Float64Array): void {
    this.rows = rows;
    this.plane.redraw();
  }

  /** Draws the runs from the first person to the last. */
  play(): void {
    const again = this.veil.cloneNode() as SVGRectElement;
    again.classList.add('lifts');
    this.veil.replaceWith(again);
    this.veil = again;
  }

  panel(): PicturePanel {
    const { numSteps, placement } = this;
    const { name, numRuns } = ways[placement];
    const { numPoints } = this;
    const x = Array.from({ length: numPoints }, (_, i) => ((i + 1) / numPoints) * numSteps);
    const edge = (sign: number): number[] => x.map((step) => sign * this.edgeAt(step));
    const run = (i: number): number[] => x.map((_, point) => this.valueAt(point, i));
    return {
      title: `Off by ${this.text} after ${count(numSteps)} people`,
      x: { label: 'people who passed the shop', log: false },
      y: { label: 'published − true, in people', log: false },
      series: [
        { name, x, y: run(0), colour: 'fresh' },
        { name: 'band', of: name, x, y: edge(1), to: edge(-1) },
        ...Array.from({ length: numRuns - 1 }, (_, i) => ({
          ...{ name: '', of: name, x, y: run(i + 1) },
          look: 'ghost' as const,
        })),
      ],
    };
  }

  private get numPoints(): number {
    return numPointsOf(this.numSteps);
  }

  private get text(): string {
    return `±${count(Math.round(this.edgeAt(this.numSteps)))}`;
  }

  /** Half width of the band after `step` people. */
  private edgeAt(step: number): number {
    return this.unit * Math.sqrt(this.placement === 'person' ? step : this.numSteps);
  }

  /**
   * Error of a run at one of its points. The noise of many people, or of a total, has the
   * distribution of one draw, scaled.
   */
  private valueAt(point: number, run: number): number {
    const { rows, unit, numSteps } = this;
    const at = (i: number): number => (i < 0 ? 0 : rows[i * numGhosts + run]!);
    if (this.placement === 'total')
      return (at(point) - at(point - 1)) * (unit / 2) * Math.sqrt(numSteps);
    return at(point) * (unit / 2) * Math.sqrt(numSteps / this.numPoints);
  }

  /** The vertical axis is fixed, so that the noise is seen to grow with the horizon. */
  private scales(): { x: Scale; y: Scale } {
    const { numSteps } = this;
    const top = 1.15 * this.unit * Math.sqrt(longest);
    const half = evenTicks(top, 2);
    return {
      x: { from: 0, to: numSteps, ticks: evenTicks(numSteps, 4), text: count },
      y: { from: -top, to: top, ticks: [...half.slice(1).map((v) => -v), ...half], text: count },
    };
  }

  private draw(): void {
    const { plane, numSteps, numPoints, placement } = this;
    const edge = (sign: number): Point[] =>
      Array.from({ length: 65 }, (_, i) => {
        const step = (i / 64) ** 2 * numSteps;
        return { x: plane.x(step), y: plane.y(sign * this.edgeAt(step)) };
      });
    this.band.setAttribute('d', areaBetween(edge(1), edge(-1)));
    for (const [run, path] of this.rows.length > 0 ? this.runs.entries() : []) {
      const points = placement === 'person' ? [{ x: plane.x(0), y: plane.y(0) }] : [];
      for (let i = 0; i < numPoints; ++i) {
        const step = ((i + 1) / numPoints) * numSteps;
        points.push({ x: plane.x(step), y: plane.y(this.valueAt(i, run)) });
      }
      path.setAttribute('d', lineThrough(points));
    }
    const { left, top, right, bottom } = plane;
    place(this.veil, { x: left, y: top, width: right - left, height: bottom - top - 1 });
    place(this.label, { x: right - 6, y: plane.y(this.edgeAt(numSteps)) - 6 });
    setText(this.label, this.text);
  }
}

/** Both ways, with the same draws. */
class WayPictures {
  readonly pictures: readonly WayPicture[];
  readonly element: HTMLElement;
  private readonly watch: IntersectionObserver;
  private rows: Float64Array = new Float64Array();

  constructor(unit: number, numSteps: number) {
    this.pictures = (['person', 'total'] as const).map(
      (placement) => new WayPicture(placement, unit, numSteps),
    );
    const planes = this.pictures.map(({ plane }) => plane.element);
    this.element = h('div', { class: 'ways' }, ...planes);
    this.watch = new IntersectionObserver(([entry]) => entry!.isIntersecting && this.play(), {
      threshold: 0.5,
    });
    this.watch.observe(this.element);
  }

  show(numSteps: number): void {
    for (const picture of this.pictures) picture.show(numSteps);
  }

  redraw(rows: Float64Array): void {
    this.rows = rows;
    for (const picture of this.pictures) picture.redraw(rows);
    this.play();
  }

  private play(): void {
    for (const picture of this.pictures) picture.play();
  }

  get isDrawn(): boolean {
    return this.rows.length > 0;
  }

  /** Number of runs of the first way that are within the band after `numSteps` people. */
  numInside(numSteps: number): number {
    const numPoints = numPointsOf(numSteps);
    const last = this.rows.subarray((numPoints - 1) * numGhosts, numPoints * numGhosts);
    return last.filter((value) => Math.abs(value) <= 2 * Math.sqrt(numPoints)).length;
  }

  dispose(): void {
    this.watch.disconnect();
    for (const { plane } of this.pictures) plane.dispose();
  }
}

/** Noise after all steps for both ways, relative to the noise of one person, from the library. */
function errorsOf({ library, queue }: Frame): (numSteps: number) => Promise<number> {
  const errors = new Map<number, number>();
  return async (numSteps) => {
    const known = errors.get(numSteps);
    if (known !== undefined) return known;
    const engine = await library();
    const { maxError } = await queue(() =>
      engine.error({ strategy: 'independent', steps: numSteps }),
    );
    errors.set(numSteps, maxError);
    return maxError;
  };
}

/** Describes the error of a count of `numSteps` people. */
function claimText(numSteps: number, band: number, error: number): (string | HTMLElement)[] {
  const times = Number.isInteger(error) ? count(error) : fixed(error, 1);
  return [
    `After ${count(numSteps)} people the count is off by `,
    h('data', { class: 'naive-band', value: band }, `±${count(Math.round(band))}`),
    ' people: ',
    h('data', { class: 'naive-error', value: error }, times),
    ' times the noise that a single published count needs, whichever way.',
  ];
}

export const mount: Mount<Frame> = async (stage, context): Promise<SceneView> => {
  const errorOf = errorsOf(context);
  let seed = 1;
  let wanted = numPeople;
  const both = new WayPictures(2 * noiseMultiplier, wanted);
  const claim = h('p', { class: 'claim', role: 'status' }, 'Computing…');
  const inside = h('p', { class: 'inside' }, `Drawing ${numGhosts} runs…`);
  const showInside = (): void =>
    setText(
      inside,
      `${both.numInside(wanted)} of the ${numGhosts} runs above end inside the band; on average, 95 of 100 do.`,
    );
  const tell = async (numSteps: number): Promise<void> => {
    const error = await errorOf(numSteps);
    if (numSteps !== wanted) return;
    claim.replaceChildren(...claimText(numSteps, 2 * noiseMultiplier * error, error));
  };
  const move = (at: number): void => {
    wanted = horizons[at]!;
    both.show(wanted);
    if (both.isDrawn) showInside();
    void tell(wanted);
  };
  const draw = async (): Promise<void> => {
    both.redraw(await drawGhosts(context, seed++));
    showInside();
  };
  const slider = new Slider({
    label: 'People to count',
    ends: ['16', count(longest)],
    min: 0,
    max: horizons.length - 1,
    value: horizons.indexOf(numPeople),
    step: 1,
    say: (at) => `${count(horizons[at]!)} people`,
    moved: move,
    settled: context.settled,
  });
  const again = h('button', { type: 'button', onclick: draw }, 'Draw the noise again');
  const row = h('div', { class: 'row' }, again, inside);
  stage.figure.append(both.element, slider.element, row);
  stage.step(
    null,
    h('strong', {}, 'Fresh noise for each person. '),
    'A total contains the noise of everyone so far, so it wanders off like a random walk.',
  );
  stage.step(
    null,
    h('strong', {}, 'Fresh noise on each total. '),
    'You are part of every total from the moment you come in. To hide you in all of them together, ' +
      'each one needs this much noise, from the first one on.',
  );
  stage.words.append(claim);
  const { dataset } = stage.figure;
  dataset['work'] = 'running';
  const working = Promise.all([tell(wanted), draw()]).then(() => {
    dataset['work'] = 'done';
  });
  return {
    restyle: () => {},
    working,
    panels: () => both.pictures.map((picture) => picture.panel()),
    position: positionIn(
      horizons,
      () => slider.value,
      (at) => {
        slider.put(at);
        move(at);
      },
    ),
    dispose: () => both.dispose(),
  };
};
