// SPDX-License-Identifier: Apache-2.0

// One day in a shop, counted twice with the same privacy. A slider moves from the worst mechanism
// to the best, and the day can be replayed.

import { setText } from '../base/dom.ts';
import { count } from '../base/format.ts';
import type { Colour } from '../figures/colours.ts';
import type { Panel, Series } from '../figures/picture.ts';
import { Slider } from './handle.ts';
import { countDay, numPeople, type Day, type Lane } from './hero-numbers.ts';
import { describe, ends, explain, names, published, range, ticks, within } from './hero-picture.ts';
import { areaBetween, lineThrough, Plane, type Point } from './plane.ts';
import { positionIn, type Position } from './position.ts';
import type { Context, Mount, SceneView } from './scene.ts';

/**
 * Durations in milliseconds: of a replay, of the pause before the first one, and of a transition.
 */
const replayTime = 4500;
const pauseBefore = 900;
const morphTime = 500;
/** Number of jumps in a replay with reduced motion. */
const jumps = 8;

/** Calls `draw` with the elapsed share of the time, until it is 1 or `still` returns false. */
function animate(time: number, draw: (part: number) => void, still: () => boolean): void {
  const start = performance.now();
  const frame = (now: number): void => {
    if (!still()) return;
    const part = Math.min(1, Math.max(0, (now - start) / time));
    draw(part);
    if (part < 1) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const mix = (from: ArrayLike<number>, to: ArrayLike<number>, part: number): Float64Array =>
  Float64Array.from({ length: to.length }, (_, i) => from[i]! + part * (to[i]! - from[i]!));

class Hero {
  private readonly plane: Plane;
  private readonly paths: Record<'worstBand' | 'worst' | 'band' | 'line' | 'truth', SVGPathElement>;
  private readonly veil: SVGRectElement;
  private readonly now: SVGLineElement;
  private shown: { release: ArrayLike<number>; band: ArrayLike<number> };
  private lane: Lane;
  private part = 1;
  private replays = 0;
  private morphs = 0;

  constructor(
    private readonly day: Day,
    private readonly context: Context,
  ) {
    this.lane = ends(day).best;
    this.shown = this.lane;
    this.plane = new Plane({
      label: 'The count of the day',
      xName: names.steps,
      yName: names.people,
      x: { from: 0, to: numPeople, ticks: ticks.steps, text: count },
      y: { ...range, ticks: ticks.people, text: count },
      draw: () => this.draw(),
    });
    const path = (kind: string): SVGPathElement => this.plane.add('path', { class: kind });
    this.paths = {
      worstBand: path('band worst'),
      band: path('band best'),
      worst: path('line worst'),
      line: path('line best'),
      truth: path('line truth'),
    };
    this.veil = this.plane.add('rect', { class: 'veil' });
    this.now = this.plane.add('line', { class: 'now' });
  }

  get element(): SVGSVGElement {
    return this.plane.element;
  }

  /** Animates the transition to another mechanism. */
  choose(lane: Lane): void {
    this.lane = lane;
    const from = this.shown;
    const turn = ++this.morphs;
    const show = (part: number): void => {
      const eased = part * part * (3 - 2 * part);
      this.shown = {
        release: mix(from.release, lane.release, eased),
        band: mix(from.band, lane.band, eased),
      };
      this.draw();
    };
    if (this.context.calm) show(1);
    else animate(morphTime, show, () => turn === this.morphs);
  }

  panel(): Panel {
    const { truth } = this.day;
    const x = Array.from(truth, (_, i) => i + 1);
    const of = (lane: Lane, colour: Colour): Series[] => {
      const name = `${published(lane)}: ${within(lane)}`;
      const edge = (sign: number): number[] => x.map((_, i) => truth[i]! + sign * lane.band[i]!);
      return [
        { name, x, y: [...lane.release], colour },
        { name: 'band', of: name, x, y: edge(1), to: edge(-1) },
      ];
    };
    const { worst } = ends(this.day);
    return {
      title: 'The same day, counted with the same privacy',
      x: { label: names.steps, log: false },
      y: { label: names.people, log: false },
      series: [
        ...of(this.lane, 'private'),
        ...(this.lane === worst ? [] : of(worst, 'fresh')),
        { name: 'The true count, kept secret', x, y: [...truth], look: 'dashed', colour: 'secret' },
      ],
    };
  }

  replay(): void {
    const turn = ++this.replays;
    const calm = this.context.calm;
    animate(
      replayTime,
      (part) => {
        this.part = calm ? Math.ceil(part * jumps) / jumps : part;
        this.drawTime();
      },
      () => turn === this.replays && this.element.isConnected,
    );
  }

  private points(values: (i: number) => number): Point[] {
    const { plane } = this;
    // Draws about as many points as pixels.
    const stride = Math.max(1, Math.floor(numPeople / (plane.right - plane.left)));
    const points = [{ x: plane.x(0), y: plane.y(0) }];
    for (let i = stride - 1; i < numPeople; i += stride) {
      points.push({ x: plane.x(i + 1), y: plane.y(values(i)) });
    }
    return points;
  }

  private draw(): void {
    const { truth } = this.day;
    const { paths } = this;
    const line = (path: SVGPathElement, values: ArrayLike<number>): void =>
      path.setAttribute('d', lineThrough(this.points((i) => values[i]!)));
    const band = (path: SVGPathElement, width: ArrayLike<number>): void => {
      const edge = (sign: number): Point[] => this.points((i) => truth[i]! + sign * width[i]!);
      path.setAttribute('d', areaBetween(edge(1), edge(-1)));
    };
    const { worst } = ends(this.day);
    band(paths.worstBand, worst.band);
    band(paths.band, this.shown.band);
    line(paths.worst, worst.release);
    line(paths.line, this.shown.release);
    line(paths.truth, truth);
    this.drawTime();
  }

  /** Draws a veil over the part of the day that is still to come. */
  private drawTime(): void {
    const { plane, part } = this;
    const x = plane.x(part * numPeople);
    const set = (element: SVGElement, geometry: Record<string, number>): void => {
      for (const [name, value] of Object.entries(geometry))
        element.setAttribute(name, String(value));
    };
    const height = plane.bottom - plane.top;
    set(this.veil, { x, y: plane.top, width: Math.max(0, plane.right - x), height });
    set(this.now, { x1: x, x2: x, y1: plane.top, y2: plane.bottom });
    this.now.classList.toggle('hidden', part === 1);
  }

  dispose(): void {
    this.plane.dispose();
  }
}

/**
 * Adds the slider, with one stop per mechanism, above the numbers that are in the markup already.
 */
function addHandle(
  stage: HTMLElement,
  day: Day,
  chosen: (lane: Lane) => void,
  settled: () => void,
): Position {
  const text = stage.querySelector('.hero-says')!;
  const legend = stage.querySelector('.hero-legend .best')!;
  const stops = [...stage.querySelectorAll<HTMLElement>('.stops li')];
  const last = day.lanes.length - 1;
  const moved = (at: number): void => {
    for (const [i, stop] of stops.entries()) stop.classList.toggle('chosen', i === at);
    const lane = day.lanes[at]!;
    setText(text, explain(lane, day));
    setText(legend.querySelector('.name')!, published(lane));
    setText(legend.querySelector('.value')!, within(lane));
    chosen(lane);
  };
  const slider = new Slider({
    label: 'Drag: how the noise is made',
    min: 0,
    max: last,
    value: last,
    step: 1,
    say: (at) => `${day.lanes[at]!.name}, ${describe(day.lanes[at]!, day)}`,
    moved,
    settled,
  });
  stage.querySelector('.hero-slider')!.append(slider.element);
  const names = day.lanes.map(({ mechanism }) => mechanism);
  return positionIn(
    names,
    () => slider.value,
    (at) => {
      slider.put(at);
      moved(at);
    },
  );
}

export const mount: Mount = async (stage, context): Promise<SceneView> => {
  const day = await context.queue(() => countDay(context.engine));
  const hero = new Hero(day, context);
  stage.querySelector('.hero-picture')!.replaceChildren(hero.element);
  const chosen = (lane: Lane): void => hero.choose(lane);
  const position = addHandle(stage, day, chosen, context.settled);
  const again = stage.querySelector<HTMLButtonElement>('.again')!;
  again.disabled = false;
  again.addEventListener('click', () => hero.replay());
  if (!context.calm) setTimeout(() => hero.replay(), pauseBefore);
  return {
    restyle: () => {},
    panels: () => [hero.panel()],
    position,
    dispose: () => hero.dispose(),
  };
};
