// SPDX-License-Identifier: Apache-2.0

// The two obvious ways: fresh noise for every person, and noise on each total.

import './naive.css';
import { h, setText } from '../base/dom.ts';
import { count, fixed } from '../base/format.ts';
import { levelLine, type Panel } from '../figures/picture.ts';
import { Slider } from './handle.ts';
import { numPeople, privacy } from './hero-numbers.ts';
import { areaBetween, evenTicks, lineThrough, Plane, type Point, type Scale } from './plane.ts';
import { positionIn } from './position.ts';
import type { Context, Mount, SceneView } from './scene.ts';

const numGhosts = 30;
/** Number of points of a ghost, at any horizon. */
const numPoints = 256;
const horizons: readonly number[] = Array.from({ length: 11 }, (_, i) => 2 ** (i + 4));
const longest = horizons.at(-1)!;
/** Noise is drawn in multiples of 2^-20 of its standard deviation. */
const scale = 2 ** 20;

/** Returns runs of accumulated fresh noise, numPoints rows of numGhosts entries. */
async function drawGhosts({ engine, queue }: Context, seed: number): Promise<Float64Array> {
  return queue(async () => {
    const noise = await engine.noise({
      strategy: 'independent',
      steps: numPoints,
      dimension: numGhosts,
      insecureSeed: seed,
    });
    const rows = await noise.rounded({ numRows: numPoints, scale });
    noise.dispose();
    return rows.map((value) => value / scale);
  });
}

class Funnel {
  readonly plane: Plane;
  private readonly band: SVGPathElement;
  private readonly levels: SVGPathElement;
  private readonly ghosts: SVGPathElement[];
  private readonly words: SVGTextElement;

  constructor(
    /** Twice the noise of one person, in people. */
    private readonly unit: number,
    private rows: Float64Array,
    private numSteps: number,
  ) {
    this.plane = new Plane({
      label: 'Thirty runs of fresh noise, and their spread',
      xName: 'people who passed the shop',
      yName: 'published − true, in people',
      ...this.scales(),
      draw: () => this.draw(),
    });
    this.band = this.plane.add('path', { class: 'funnel' });
    this.ghosts = Array.from({ length: numGhosts }, (_, i) =>
      this.plane.add('path', { class: i === 0 ? 'ghost first' : 'ghost' }),
    );
    this.levels = this.plane.add('path', { class: 'levels' });
    this.words = this.plane.add('text', { class: 'level-word', 'text-anchor': 'start' });
    this.words.textContent = 'fresh noise on each total';
  }

  show(numSteps: number): void {
    this.numSteps = numSteps;
    this.plane.rescale(this.scales());
  }

  redraw(rows: Float64Array): void {
    this.rows = rows;
    this.plane.redraw();
  }

  /** Number of runs within the band at the horizon. */
  get numInside(): number {
    const last = this.rows.subarray(-numGhosts);
    return last.filter((value) => Math.abs(value) <= 2 * Math.sqrt(numPoints)).length;
  }

  panel(): Panel {
    const { numSteps, unit, rows } = this;
    const x = Array.from({ length: numPoints }, (_, i) => ((i + 1) / numPoints) * numSteps);
    const stretch = (unit / 2) * Math.sqrt(numSteps / numPoints);
    const edge = (sign: number): number[] => x.map((step) => sign * unit * Math.sqrt(step));
    const level = unit * Math.sqrt(numSteps);
    const text = `±${count(Math.round(level))}`;
    const own = 'fresh noise for each person';
    const total = `fresh noise on each total: ${text}`;
    const run = (ghost: number): number[] =>
      x.map((_, i) => rows[i * numGhosts + ghost]! * stretch);
    return {
      title: `Off by ${text} after ${count(numSteps)} people`,
      x: { label: 'people who passed the shop', log: false },
      y: { label: 'published − true, in people', log: false },
      series: [
        { name: own, x, y: run(0), colour: 'fresh' },
        { name: 'band', of: own, x, y: edge(1), to: edge(-1) },
        ...Array.from({ length: numGhosts - 1 }, (_, i) => ({
          ...{ name: '', of: own, x, y: run(i + 1) },
          look: 'ghost' as const,
        })),
        { name: total, x: [1, numSteps], y: [level, level], look: 'dashed', colour: 'fresh' },
        levelLine('', total, -level, numSteps),
      ],
    };
  }

  /** The axis in people stays as it is, so that the funnel opens as the horizon grows. */
  private scales(): { x: Scale; y: Scale } {
    const { numSteps } = this;
    const top = 1.15 * this.unit * Math.sqrt(longest);
    const half = evenTicks(top, 3);
    return {
      x: { from: 0, to: numSteps, ticks: evenTicks(numSteps, 4), text: count },
      y: { from: -top, to: top, ticks: [...half.slice(1).map((v) => -v), ...half], text: count },
    };
  }

  private draw(): void {
    const { plane, numSteps, unit } = this;
    const stepOf = (i: number): number => (i / numPoints) * numSteps;
    const edge = (sign: number): Point[] =>
      Array.from({ length: 65 }, (_, i) => {
        const step = (i / 64) ** 2 * numSteps;
        return { x: plane.x(step), y: plane.y(sign * unit * Math.sqrt(step)) };
      });
    this.band.setAttribute('d', areaBetween(edge(1), edge(-1)));
    // One step of a ghost represents the noise of many people, which has the same distribution.
    const stretch = (unit / 2) * Math.sqrt(numSteps / numPoints);
    for (const [ghost, path] of this.ghosts.entries()) {
      const points = [{ x: plane.x(0), y: plane.y(0) }];
      for (let i = 0; i < numPoints; ++i) {
        const value = this.rows[i * numGhosts + ghost]! * stretch;
        points.push({ x: plane.x(stepOf(i + 1)), y: plane.y(value) });
      }
      path.setAttribute('d', lineThrough(points));
    }
    const level = unit * Math.sqrt(numSteps);
    const line = (sign: number): string =>
      lineThrough([
        { x: plane.x(0), y: plane.y(sign * level) },
        { x: plane.x(numSteps), y: plane.y(sign * level) },
      ]);
    this.levels.setAttribute('d', line(1) + line(-1));
    this.words.setAttribute('x', String(plane.x(0) + 6));
    this.words.setAttribute('y', String(plane.y(level) - 6));
  }
}

/**
 * Returns the noise after all steps for both ways, relative to that of one person, from the
 * library.
 */
function errorsOf({ engine, queue }: Context): (numSteps: number) => Promise<number> {
  const errors = new Map<number, number>();
  return async (numSteps) => {
    const known = errors.get(numSteps);
    if (known !== undefined) return known;
    const { maxError } = await queue(() =>
      engine.error({ strategy: 'independent', steps: numSteps }),
    );
    errors.set(numSteps, maxError);
    return maxError;
  };
}

/** Describes the error of the count of so many people. */
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

export const mount: Mount = async (stage, context): Promise<SceneView> => {
  const { engine, queue } = context;
  const { noiseMultiplier } = await queue(() => engine.calibrate(privacy));
  const errorOf = errorsOf(context);
  let seed = 1;
  let wanted = numPeople;
  const funnel = new Funnel(2 * noiseMultiplier, await drawGhosts(context, seed), wanted);
  const claim = h('p', { class: 'claim', role: 'status' });
  const inside = h('p', { class: 'inside' });
  const showInside = (): void =>
    setText(
      inside,
      `${funnel.numInside} of these ${numGhosts} runs end inside the band; on average, 95 of 100 do.`,
    );
  const tell = async (numSteps: number): Promise<void> => {
    const error = await errorOf(numSteps);
    if (numSteps !== wanted) return;
    claim.replaceChildren(...claimText(numSteps, 2 * noiseMultiplier * error, error));
  };
  const move = (at: number): void => {
    wanted = horizons[at]!;
    funnel.show(wanted);
    void tell(wanted);
  };
  const drawAgain = async (): Promise<void> => {
    funnel.redraw(await drawGhosts(context, ++seed));
    showInside();
  };
  await tell(wanted);
  showInside();
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
  const again = h('button', { type: 'button', onclick: drawAgain }, 'Draw the noise again');
  const row = h('div', { class: 'row' }, again, inside);
  stage.figure.append(funnel.plane.element, slider.element, row);
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
  return {
    restyle: () => {},
    panels: () => [funnel.panel()],
    position: positionIn(
      horizons,
      () => slider.value,
      (at) => {
        slider.put(at);
        move(at);
      },
    ),
    dispose: () => funnel.plane.dispose(),
  };
};
