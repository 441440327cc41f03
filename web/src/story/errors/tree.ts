// SPDX-License-Identifier: Apache-2.0

// The tree: blocks of steps with one noisy sum each, and the blocks that a total adds up.

import './errors.css';
import { h, setText } from '../../base/dom.ts';
import { colourOf } from '../../figures/lane-colours.ts';
import { STEP_AXIS, type PicturePanel, type ColouredSeries } from '../../figures/picture.ts';
import { count, counted, fixed, unbroken } from '../../base/format.ts';
import { DragHandle } from '../handle.ts';
import { blocksOf, numBlocks, numHeights } from './tree-numbers.ts';
import { Choices, number, row } from './parts.ts';
import { evenTicks, lineThrough, Plane, type Scale, makeGrip, place } from '../plane.ts';
import { joined, placesOf, type Position } from '../position.ts';
import type { Context, Mount, SceneView } from '../scene.ts';
import type { Stage } from '../stage.ts';

/** Available horizons, each with the initially selected step, whose total has several blocks. */
const firstSteps: ReadonlyMap<number, number> = new Map([
  [16, 11],
  [64, 46],
  [1024, 700],
]);

const curveNames = ['independent', 'tree', 'honaker'] as const;
type CurveName = (typeof curveNames)[number];
type TreeCurves = Readonly<Record<CurveName, Float64Array>>;

const words: Readonly<Record<CurveName, string>> = {
  independent: 'fresh noise on every record',
  tree: 'the tree',
  honaker: 'the tree, each block averaged with the shorter ones inside it (Honaker)',
};

/**
 * Smallest width of a block, in pixels; narrower blocks are merged into one bar, and a highlighted
 * block is at least this wide.
 */
const narrowest = 3;

class TreeScene implements SceneView {
  private numSteps = 1024;
  private step = 700;
  private curves: TreeCurves | null = null;
  private readonly blocks: Plane;
  private readonly errors: Plane;
  private readonly grip: SVGGElement;
  private readonly handle: DragHandle;
  private readonly rows: SVGPathElement;
  private readonly lit: SVGPathElement;
  private readonly cursors: readonly SVGLineElement[];
  private readonly lines: ReadonlyMap<CurveName, SVGPathElement>;
  private readonly readout = h('p', { class: 'readout' });
  private readonly dense = h('p', { class: 'small', hidden: true });
  private readonly numbers = h('table', { class: 'scene-numbers' });
  private readonly lengths = new Choices(
    'Steps in the stream',
    'tree-steps',
    [...firstSteps.keys()].map((value) => ({ value, text: count(value) })),
    this.numSteps,
    (numSteps) => void this.show(numSteps).then(() => this.context.settled()),
  );

  constructor(
    stage: Stage,
    private readonly context: Context,
  ) {
    this.blocks = new Plane({
      label: 'Blocks of steps, by their length',
      xName: 'step',
      yName: 'steps in a block',
      ...this.scales(),
      gripped: true,
      draw: () => this.drawBlocks(),
    });
    this.errors = new Plane({
      label: 'Noise on the total after each step',
      xName: 'step',
      yName: 'noise (1 = on a single published count)',
      ...this.scales(),
      draw: () => this.drawErrors(),
    });
    this.blocks.element.classList.add('tree-blocks');
    this.errors.element.classList.add('tree-errors');
    this.rows = this.blocks.add('path', { class: 'tree-row' });
    this.lit = this.blocks.add('path', { class: 'tree-lit' });
    this.lines = new Map(
      curveNames.map((name) => [name, this.errors.add('path', { class: `line of-${name}` })]),
    );
    this.cursors = [this.blocks, this.errors].map((plane) =>
      plane.add('line', { class: 'cursor' }),
    );
    this.grip = makeGrip(this.blocks);
    this.handle = this.makeHandle();
    this.followPointer();
    stage.step(
      null,
      'Count blocks of steps, each made of two shorter ones, like the branches of a tree, and add ' +
        'noise to each block. Any total is the sum of a few blocks, so it contains only their ' +
        'noise. Point at a step, or drag the handle.',
    );
    stage.words.append(this.readout, this.numbers);
    stage.curious(
      h(
        'p',
        {},
        'Every block length costs privacy, so short streams gain nothing: with fewer than 21 ' +
          'steps the plain tree is no better than fresh noise on the noisiest total, except, ' +
          'barely, with 13 or 14. From 21 steps on it is always better.',
      ),
    );
    stage.figure.append(this.lengths.element, this.blocks.element, this.dense, this.errors.element);
  }

  /** The length of the stream and the step. */
  readonly position: Position = {
    read: () => joined(this.numSteps, this.step),
    put: (text) => {
      const numSteps = [...firstSteps.keys()].find((one) => text.startsWith(`${one}_`));
      const steps = Array.from({ length: numSteps ?? 0 }, (_, i) => i + 1);
      const places = placesOf(text, [...firstSteps.keys()], steps);
      if (numSteps === undefined || places === null) return false;
      this.lengths.put(numSteps);
      void this.show(numSteps, steps[places[1]!]);
      return true;
    },
  };

  async show(numSteps: number, step = firstSteps.get(numSteps)!): Promise<void> {
    const { engine, queue } = this.context;
    const found = await queue(() =>
      Promise.all(
        curveNames.map(async (strategy) => {
          const { perStep } = await engine.error({ strategy, steps: numSteps, perStep: true });
          return perStep!;
        }),
      ),
    );
    const [independent, tree, honaker] = found as [Float64Array, Float64Array, Float64Array];
    this.curves = { independent, tree, honaker };
    this.numSteps = numSteps;
    this.step = step;
    this.handle.put(this.step);
    this.blocks.rescale({ x: this.scales().x, y: this.scales().y });
    const top = Math.max(...curveNames.map((name) => Math.max(...this.curves![name])));
    this.errors.rescale({
      x: this.scales().x,
      y: { from: 0, to: top, ticks: evenTicks(top, 4), text: String },
    });
    this.writeNumbers();
    this.moved(this.step);
  }

  restyle(): void {}

  panels(): PicturePanel[] {
    return this.curves === null
      ? []
      : [blocksPanel(this.numSteps, this.step), errorsPanel(this.curves)];
  }

  dispose(): void {
    this.blocks.dispose();
    this.errors.dispose();
  }

  private scales(): { x: Scale; y: Scale } {
    const heights = numHeights(this.numSteps);
    const quarters = [1, 2, 3, 4].map((part) => (part * this.numSteps) / 4);
    return {
      x: { from: 0, to: this.numSteps, ticks: quarters, text: count },
      y: {
        from: 0,
        to: heights,
        ticks: Array.from({ length: heights }, (_, height) => height + 0.5),
        text: (middle) => count(2 ** (middle - 0.5)),
      },
    };
  }

  private makeHandle(): DragHandle {
    const longest = (): number => this.numSteps;
    return new DragHandle(this.grip, {
      label: 'Step whose total is shown',
      min: 1,
      get max() {
        return longest();
      },
      value: this.step,
      step: 1,
      along: 'x',
      say: (step) => this.say(step),
      valueAt: (point) => Math.ceil(this.blocks.at(point).x),
      moved: (step) => this.moved(step),
      settled: () => this.context.settled(),
    });
  }

  private say(step: number): string {
    const blocks = `step ${count(step)}: ${blocksWords(blocksOf(step).length)}`;
    const { curves } = this;
    if (curves === null) return blocks;
    const [tree, fresh] = [curves.tree, curves.independent].map((all) => fixed(all[step - 1]!, 2));
    return `${blocks}, noise ${tree} against ${fresh}`;
  }

  /** Highlights the blocks of the step under the mouse, or of a tapped step. */
  private followPointer(): void {
    for (const plane of [this.blocks, this.errors]) {
      plane.element.classList.add('followed');
      const follow = (event: PointerEvent): void => {
        if (this.grip.contains(event.target as Node)) return;
        this.handle.put(Math.ceil(plane.at(event).x));
        this.moved(this.handle.value);
      };
      plane.element.addEventListener('pointermove', (event) => {
        if (event.pointerType === 'mouse') follow(event);
      });
      plane.element.addEventListener('pointerdown', (event) => {
        follow(event);
        this.context.settled();
      });
    }
  }

  private moved(step: number): void {
    this.step = step;
    this.drawBlocks();
    this.drawCursor(this.errors);
    this.writeReadout();
  }

  private drawCursor(plane: Plane): void {
    const x = plane.x(this.step);
    const cursor = this.cursors[plane === this.blocks ? 0 : 1]!;
    place(cursor, { x1: x, x2: x, y1: plane.top, y2: plane.bottom });
  }

  private drawBlocks(): void {
    if (this.curves === null) return;
    const plane = this.blocks;
    let rows = '';
    for (let height = 0; height < numHeights(this.numSteps); ++height) {
      const size = 2 ** height;
      const number = numBlocks(this.numSteps, height);
      const dense = this.isDense(height);
      for (let i = 0; i < (dense ? 1 : number); ++i) {
        rows += this.box(height, i * size, dense ? number * size : size);
      }
    }
    this.rows.setAttribute('d', rows);
    const lit = blocksOf(this.step);
    const boxes = lit.map(({ height, start }) => this.box(height, start, 2 ** height));
    this.lit.setAttribute('d', boxes.join(''));
    this.noteDense();
    this.drawCursor(plane);
    place(this.grip, { transform: `translate(${plane.x(this.step)} ${plane.bottom})` });
  }

  /** True if blocks are too narrow to be drawn separately. */
  private isDense(height: number): boolean {
    return this.blocks.x(2 ** height) - this.blocks.x(0) < narrowest + 1;
  }

  /** Draws a box with a gap around it, at least as wide as the narrowest box. */
  private box(height: number, start: number, size: number): string {
    const plane = this.blocks;
    // Uses whole pixels, because antialiasing would blur the gap.
    const [from, right] = [start, start + size].map((step) => Math.round(plane.x(step)));
    const left = right! - Math.max(narrowest, right! - from! - 1);
    const top = plane.y(height + 1) + 1;
    const bottom = plane.y(height) - 1;
    const corners = [
      { x: left, y: top },
      { x: right!, y: top },
      { x: right!, y: bottom },
      { x: left, y: bottom },
    ];
    return `${lineThrough(corners)}Z`;
  }

  private noteDense(): void {
    let numDense = 0;
    while (numDense < numHeights(this.numSteps) && this.isDense(numDense)) numDense += 1;
    this.dense.hidden = numDense === 0;
    const longest = 2 ** (numDense - 1);
    const which = longest === 1 ? 'a single step' : `${counted(longest, 'step')} and fewer`;
    setText(this.dense, `Blocks of ${which} are too narrow to draw separately here.`);
  }

  private drawErrors(): void {
    if (this.curves === null) return;
    const plane = this.errors;
    for (const name of curveNames) {
      const points = Array.from(this.curves[name], (error, i) => ({
        x: plane.x(i + 1),
        y: plane.y(error),
      }));
      this.lines.get(name)!.setAttribute('d', lineThrough(points));
    }
    this.drawCursor(plane);
  }

  private writeReadout(): void {
    const { curves, step, numSteps } = this;
    if (curves === null) return;
    const sizes = blocksOf(step).map(({ height }) => count(2 ** height));
    const heights = numHeights(numSteps);
    const tree = fixed(curves.tree[step - 1]!, 2);
    const fresh = fixed(curves.independent[step - 1]!, 2);
    const number = sizes.length;
    setText(
      this.readout,
      `The total after step ${count(step)} adds up ${blocksWords(number)} ` +
        `(${sizes.join(' + ')} ${sizes.join() === '1' ? 'step' : 'steps'}): ` +
        `${counted(number, 'noise term')} instead of ${count(step)}. ` +
        `The price: every record is in ${counted(heights, 'block')}, one of each length, so a block needs ` +
        `√${heights} times the noise of a single count. Together that is ` +
        unbroken(`√(${heights} × ${number}) = ${tree}`) +
        `, against ${unbroken(`√${count(step)} = ${fresh}`)} with fresh noise.`,
    );
  }

  private writeNumbers(): void {
    const rows = curveNames.map((name) => {
      const worst = Math.max(...this.curves![name]);
      return row(`of-${name}`, words[name], number(name, worst, fixed(worst, 2)));
    });
    const heading = `Noise on the noisiest of ${count(this.numSteps)} totals (1 = a single count)`;
    this.numbers.replaceChildren(h('caption', {}, heading), h('tbody', {}, ...rows));
  }
}

/** Blocks of a total, stacked by length. */
function blocksPanel(numSteps: number, step: number): PicturePanel {
  const name = `blocks of the total after step ${count(step)}`;
  const box = ({ height, start }: { height: number; start: number }): ColouredSeries => ({
    name: 'block',
    of: name,
    x: [start, start + 2 ** height],
    y: [height + 0.9, height + 0.9],
    to: [height + 0.1, height + 0.1],
  });
  return {
    title: blocksWords(blocksOf(step).length),
    x: STEP_AXIS,
    y: { label: 'blocks of 1, 2, 4, 8, … steps', log: false },
    series: [
      { name, x: [step, step], y: [0, numHeights(numSteps)], colour: colourOf('tree') },
      ...blocksOf(step).map(box),
      {
        name: `all ${counted(numSteps, 'step')}`,
        x: [0, numSteps],
        y: [0, 0],
        look: 'dashed',
        colour: 'muted',
      },
    ],
  };
}

function errorsPanel(curves: TreeCurves): PicturePanel {
  const series = curveNames.map((name) => ({
    name: `${words[name]}: ${fixed(Math.max(...curves[name]), 2)}`,
    x: Array.from(curves[name], (_, i) => i + 1),
    y: [...curves[name]],
    colour: colourOf(name),
  }));
  return {
    title: 'Noise on the total after each step',
    x: STEP_AXIS,
    y: { label: '1 = on a single published count', log: false },
    series,
  };
}

function blocksWords(number: number): string {
  return number === 1 ? 'one block' : counted(number, 'block');
}

export const mount: Mount = async (stage, context) => {
  const scene = new TreeScene(stage, context);
  await scene.show(1024);
  return scene;
};
