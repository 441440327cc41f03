// SPDX-License-Identifier: Apache-2.0

// The floor: bars that set how much of each earlier draw a step takes back, the resulting error,
// and the proved bound that no factorization beats.

import './errors.css';
import type { UnitError } from 'dp-ftrl';
import type { Colour } from '../../figures/colours.ts';
import { colourOf } from '../../figures/lane-colours.ts';
import {
  levelLine,
  STEP_AXIS,
  type PicturePanel,
  type ColouredSeries,
} from '../../figures/picture.ts';
import { h } from '../../base/dom.ts';
import { count, counted, fixed, percent, quantity } from '../../base/format.ts';
import { animate } from '../animate.ts';
import { BarsPicture } from './bars-picture.ts';
import { errorsOfBars, squareRootBars, type BarErrors } from './floor-numbers.ts';
import { FloorPicture, type Checkpoint } from './floor-picture.ts';
import { Choices, headRow, number, row } from './parts.ts';
import { joined, type Position } from '../position.ts';
import type { Context, Mount, SceneView } from '../scene.ts';
import type { Stage } from '../stage.ts';

const numSteps = 1024;
const bufferCounts = [1, 2, 3, 4, 8] as const;
const rootBars = squareRootBars(numSteps);
const rootErrors = errorsOfBars(rootBars, numSteps);
const freshErrors = errorsOfBars(Float64Array.of(1), numSteps);
/** Errors beyond this are not distinguished. */
const hopeless = 1e6;

interface Optimum {
  readonly error: UnitError;
  readonly stddev: Float64Array;
}

/** Duration of the animation of changing weights, in milliseconds. */
const breathTime = 5000;

class FloorScene implements SceneView {
  private own: BarErrors = freshErrors;
  private best = Infinity;
  private buffers = 0;
  private floor = 1;
  private optima: ReadonlyMap<number, Optimum> = new Map();
  private readonly bars = new BarsPicture(
    () => this.changed(),
    () => this.context.settled(),
  );
  private readonly toBeat: Checkpoint[] = [
    { kind: 'tree', name: 'the tree', why: '', error: Infinity },
    {
      kind: 'square-root',
      name: 'the square root',
      why: ': the lowest with fixed bars',
      error: rootErrors.worst,
    },
  ];
  private readonly picture = new FloorPicture(numSteps, this.toBeat);
  private breaths = 0;
  private readonly rest = h('input', { type: 'checkbox', id: 'floor-rest' });
  private readonly drawn = new Choices<number>(
    'Number of buffers',
    'floor-buffers',
    [0, ...bufferCounts].map((value) => ({ value, text: value === 0 ? 'none' : `${value}` })),
    this.buffers,
    (buffers) => {
      this.setBuffers(buffers);
      this.context.settled();
    },
  );
  private readonly verdict = h('p', { class: 'readout', 'aria-live': 'polite' });
  private readonly numbers = h('table', { class: 'scene-numbers' });

  constructor(
    stage: Stage,
    private readonly context: Context,
  ) {
    this.rest.addEventListener('change', () => {
      this.changed();
      context.settled();
    });
    stage.step(
      null,
      'A bar below zero takes back that share of the noise drawn so many steps ago. Drag the bars ' +
        'down, and bring the noisiest count as close to the ',
      h('strong', { class: 'of-floor' }, 'floor'),
      ' as you can. The short lines are the bars of the square root. Each choice of bars is a ',
      h('strong', {}, 'factorization'),
      ' A = BC of the running totals: C is what is measured with noise, B adds the measurements up.',
    );
    stage.words.append(this.verdict);
    stage.step(null, buffersWords);
    stage.words.append(this.drawn.element, this.numbers);
    stage.curious(h('p', {}, floorWords), h('p', {}, sensitivityWords));
    this.changed();
  }

  /**
   * The draggable bars, the bars beyond them, and the buffers drawn; `r` stands for the bar of the
   * square root.
   */
  readonly position: Position = {
    read: () => {
      const bars = [...this.bars.bars].map((bar, i) => (bar === rootBars[i] ? 'r' : bar));
      return joined(...bars.slice(1), this.rest.checked ? 'r' : 'none', this.buffers);
    },
    put: (text) => {
      const values = text.split('_');
      const [rest, buffers] = [values.at(-2)!, Number(values.at(-1))];
      const barOf = (value: string, i: number): number =>
        value === 'r' ? rootBars[i]! : Number(value || NaN);
      const bars = Float64Array.from(['r', ...values.slice(0, -2)].map(barOf));
      const fits = bars.length === this.bars.bars.length && bars.every((bar) => Math.abs(bar) <= 1);
      if (!fits || !['r', 'none'].includes(rest)) return false;
      if (![0, ...bufferCounts].includes(buffers)) return false;
      this.bars.put(bars);
      this.rest.checked = rest === 'r';
      this.drawn.put(buffers);
      this.setBuffers(buffers);
      this.changed();
      return true;
    },
  };

  /**
   * Draws the optimum with the given number of buffers, whose weights change from step to step; 0
   * for none.
   */
  private setBuffers(buffers: number): void {
    this.buffers = buffers;
    this.breaths += 1;
    this.rest.disabled = buffers > 0;
    this.writeVerdict();
    this.draw();
    if (buffers > 0) void this.breathe();
    else this.bars.lend(null);
  }

  /** Shows how the weights of the optimum change from step to step. */
  private async breathe(): Promise<void> {
    const turn = ++this.breaths;
    const { engine, queue, calm } = this.context;
    const strategy = { name: 'optimal', buffers: this.buffers } as const;
    const options = { strategy, steps: numSteps, matrices: true };
    const { decoder } = (await queue(() => engine.error(options))).matrices!;
    const still = (): boolean => turn === this.breaths;
    if (!still()) return;
    const numBars = this.bars.bars.length;
    const draw = (part: number): void => {
      const step = numBars + Math.round(part * (numSteps - 1 - numBars));
      this.bars.lend(weightsAt(decoder, step, numBars));
    };
    if (calm) draw(0.5);
    else await animate(breathTime, draw, still);
  }

  get figures(): Element[] {
    return [this.bars.plane.element, this.starts(), this.picture.plane.element];
  }

  /** Computes the optima with the library, and takes the floor from them. */
  async compute(): Promise<void> {
    const { engine, queue } = this.context;
    const find = async (buffers: number): Promise<[number, Optimum]> => {
      const options = { strategy: { name: 'optimal', buffers }, steps: numSteps } as const;
      const error = await engine.error({ ...options, perStep: true });
      return [buffers, { error, stddev: error.perStep! }];
    };
    this.toBeat[0]!.error = (
      await queue(() => engine.error({ strategy: 'tree', steps: numSteps }))
    ).maxError;
    this.optima = new Map(await queue(() => Promise.all(bufferCounts.map(find))));
    const bounds = [...this.optima.values()].map(({ error }) => error.lowerBound ?? 1);
    this.floor = Math.max(...bounds);
    this.draw();
  }

  restyle(): void {}

  panels(): PicturePanel[] {
    const { own, buffers, floor } = this;
    const bars = [...this.bars.bars];
    const x = bars.map((_, bar) => bar);
    const steps = Array.from({ length: numSteps }, (_, i) => i + 1);
    const line = (
      name: string,
      error: number,
      stddev: Float64Array,
      colour: Colour,
    ): ColouredSeries[] =>
      error > hopeless
        ? []
        : [{ name: `${name}: ${quantity(error)}`, x: steps, y: [...stddev], colour }];
    const root = colourOf('square-root');
    const optimum = this.optima.get(buffers);
    return [
      {
        title: 'Share of each draw of noise in the noise of a step',
        x: { ...STEP_AXIS, label: 'steps since it was drawn' },
        y: { label: 'share', log: false },
        series: [
          { name: 'your bars', x, y: bars, look: 'bars', colour: 'ink' },
          {
            name: 'square root',
            x,
            y: [...rootBars.slice(0, bars.length)],
            look: 'marks',
            colour: root,
          },
        ],
      },
      {
        title: 'Noise on the total after each step',
        x: STEP_AXIS,
        y: { label: '1 = on a single published count', log: true },
        series: [
          ...line('your bars', own.worst, own.stddev, 'ink'),
          ...line('square root', rootErrors.worst, rootErrors.stddev, root),
          ...(optimum
            ? line(
                buffersName(buffers),
                optimum.error.maxError,
                optimum.stddev,
                colourOf('optimal'),
              )
            : []),
          { ...levelLine(`the floor: ${fixed(floor, 4)}`, '', floor, numSteps), colour: 'floor' },
        ],
      },
    ];
  }

  dispose(): void {
    this.bars.plane.dispose();
    this.picture.plane.dispose();
  }

  private starts(): HTMLElement {
    const start = (id: string, text: string, bars: Float64Array, rest: boolean): HTMLElement => {
      const button = h('button', { type: 'button', id }, text);
      button.addEventListener('click', () => {
        this.rest.checked = rest;
        this.best = Infinity;
        this.drawn.put(0);
        this.setBuffers(0);
        this.bars.put(bars);
        this.changed();
        this.context.settled();
      });
      return button;
    };
    return h(
      'div',
      { class: 'row' },
      start('floor-fresh', 'Start from fresh noise', Float64Array.of(1), false),
      start('floor-root', 'Back to the square root', rootBars, true),
      h('label', {}, this.rest, ' take back older noise too, like the square root'),
    );
  }

  private changed(): void {
    const all = Float64Array.from(this.rest.checked ? rootBars : this.bars.bars);
    all.set(this.bars.bars);
    this.own = errorsOfBars(all, numSteps);
    this.best = Math.min(this.best, this.own.worst);
    this.writeVerdict();
    this.draw();
  }

  private draw(): void {
    if (this.optima.size === 0) return;
    const optimal = this.optima.get(this.buffers)?.stddev ?? null;
    const curves = { 'square-root': rootErrors.stddev, optimal, own: this.own.stddev };
    this.picture.show(curves, this.floor);
    this.writeNumbers();
  }

  private writeVerdict(): void {
    const { best } = this;
    this.verdict.replaceChildren(
      ...(this.buffers > 0 ? this.wordsOfBuffers() : this.wordsOfBars()),
      'Your best so far: ',
      number('best', best, best > hopeless ? 'none yet' : quantity(best)),
      '.',
    );
  }

  private wordsOfBuffers(): (Node | string)[] {
    const above = this.optima.get(this.buffers)!.error.maxError / this.floor - 1;
    return [
      `With ${counted(this.buffers, 'buffer')} the noisiest count is `,
      number('above', above, above < 0.0005 ? `less than ${percent(0.001)}` : percent(above)),
      ' above the floor. Choose “none” for bars of your own. ',
    ];
  }

  private wordsOfBars(): (Node | string)[] {
    const { own } = this;
    if (own.worst > hopeless)
      return ['These bars are unstable: the amount taken back grows at every step. '];
    if (own.worst === freshErrors.worst)
      return ['Nothing is taken back yet: this is fresh noise. '];
    const louder = own.increment / freshErrors.increment;
    const quieter = freshErrors.worst / own.worst;
    const join = louder > 1 && quieter > 1 ? 'and yet' : 'and';
    return [
      'With these bars a single step is ',
      number('louder', louder, fixed(louder, 2)),
      ` times as noisy as with fresh noise, ${join} the noisiest count is `,
      number('quieter', quieter, fixed(Math.max(quieter, 1 / quieter), 1)),
      quieter < 1 ? ' times noisier. ' : ' times quieter. ',
    ];
  }

  private writeNumbers(): void {
    const line = (id: string, name: string, error: number): HTMLElement =>
      row(
        `of-${id}`,
        name,
        number(id, error, error > hopeless ? 'over a million' : quantity(error)),
        error > hopeless ? '' : percent(error / this.floor - 1),
      );
    const optima = [...this.optima].map(([buffers, { error }]) => {
      const chosen = line('optimal', buffersName(buffers), error.maxError);
      chosen.classList.toggle('chosen', buffers === this.buffers);
      return chosen;
    });
    this.numbers.replaceChildren(
      h('caption', {}, `Noise on the noisiest of ${count(numSteps)} counts (1 = a single count)`),
      headRow('', 'noise', 'above the floor'),
      h(
        'tbody',
        {},
        line('own', 'your bars', this.own.worst),
        line('independent', 'fresh noise', freshErrors.worst),
        line('square-root', 'square root', rootErrors.worst),
        ...optima,
        row('of-floor', 'the floor', number('floor', this.floor, fixed(this.floor, 4)), ''),
      ),
    );
  }
}

/**
 * Weights of the latest draws in the noise of a step, relative to the draw of that step: the row of
 * C^-1, which is the difference of two rows of the decoder B = A C^-1.
 */
function weightsAt(decoder: Float64Array, step: number, numBars: number): Float64Array {
  const at = (row: number, column: number): number =>
    row < 0 ? 0 : decoder[row * numSteps + column]!;
  const weight = (draw: number): number => at(step, draw) - at(step - 1, draw);
  return Float64Array.from({ length: numBars }, (_, bar) => weight(step - bar) / weight(step));
}

const buffersName = (buffers: number): string =>
  `changing bars, ${counted(buffers, 'buffer')}` +
  (buffers === 8 ? ': “optimal” in the first picture' : '');

const buffersWords =
  'Now let the bars vary over time. They change from step to step, and the curve settles on the ' +
  'floor. No table is needed: a few buffers, each a running mix of past noise, are enough.';

const floorWords =
  `The floor is proved for running totals of ${counted(numSteps, 'step')} to which each person ` +
  'contributes once. No factorization of the summing matrix, that is, no way of mixing Gaussian ' +
  'noise like those drawn here, brings the worst step below it. Other steps may lie below it, and it ' +
  'does not apply to other kinds of methods.';

const sensitivityWords =
  'The size of the noise follows from the sensitivity of C: how far one person can move all that is ' +
  'measured, the length of its longest column. The more the bars take back, the larger it gets.';

export const mount: Mount = async (stage, context) => {
  const scene = new FloorScene(stage, context);
  await scene.compute();
  stage.figure.append(...scene.figures);
  return scene;
};
