// SPDX-License-Identifier: Apache-2.0

// The bars of C^-1, all but the first with a handle: the share of each draw in the noise of a step.

import { quantity } from '../../base/format.ts';
import { DragHandle } from '../handle.ts';
import { Plane, makeGrip, place } from '../plane.ts';
import { squareRootBars } from './floor-numbers.ts';

/**
 * Number of bars shown: the bar of the fresh draw, and those of earlier draws, which can be
 * dragged.
 */
const numShown = 9;
const rootBars = squareRootBars(numShown);

/** Draggable bars; short lines show the bars of the square root. */
export class BarsPicture {
  readonly plane: Plane;
  /** The user's bars, initially those of fresh noise: nothing is taken back. */
  readonly bars = Float64Array.from(rootBars, (_, bar) => (bar === 0 ? 1 : 0));
  /** Bars drawn instead of the user's while the weights vary over time. */
  private changing: Float64Array | null = null;
  private readonly ghosts: readonly SVGLineElement[];
  private readonly marks: readonly SVGRectElement[];
  private readonly grips: readonly SVGGElement[];
  private readonly handles: readonly DragHandle[];

  constructor(moved: () => void, settled: () => void) {
    this.plane = new Plane({
      label: 'Share of each draw of noise in the noise of a step',
      xName: 'steps since it was drawn',
      yName: 'share in a step’s noise',
      x: {
        from: -0.5,
        to: numShown - 0.5,
        ticks: Array.from({ length: numShown }, (_, bar) => bar),
        text: (bar) => (bar === 0 ? 'now' : String(bar)),
      },
      y: { from: -1.1, to: 1.1, ticks: [-1, -0.5, 0, 0.5, 1], text: (share) => quantity(share) },
      draw: () => this.draw(),
    });
    const { plane } = this;
    const each = <T>(make: (bar: number) => T): T[] =>
      Array.from({ length: numShown }, (_, bar) => make(bar));
    this.ghosts = each(() => plane.add('line', { class: 'floor-ghost' }));
    this.marks = each(() => plane.add('rect', { class: 'floor-bar' }));
    this.grips = each((bar) => bar)
      .slice(1)
      .map(() => makeGrip(plane));
    this.handles = this.grips.map((grip, i) => this.makeHandle(grip, i + 1, moved, settled));
  }

  /** Sets all bars but the first; missing ones are zero. */
  put(bars: Float64Array): void {
    for (let bar = 1; bar < numShown; ++bar) {
      this.bars[bar] = bars[bar] ?? 0;
      this.handles[bar - 1]!.put(this.bars[bar]!);
    }
    this.draw();
  }

  /** Draws other bars, without handles; null returns to the user's own bars. */
  lend(bars: Float64Array | null): void {
    this.changing = bars;
    this.plane.element.classList.toggle('lent', bars !== null);
    this.draw();
  }

  private makeHandle(
    grip: SVGGElement,
    bar: number,
    moved: () => void,
    settled: () => void,
  ): DragHandle {
    return new DragHandle(grip, {
      label: bar === 1 ? 'Share of the previous draw' : `Share of the draw ${bar} steps ago`,
      min: -1,
      max: 1,
      value: this.bars[bar]!,
      step: 0.005,
      page: 0.05,
      along: 'y',
      say: (share) => {
        if (share === 0) return 'none of it';
        return `${quantity(Math.abs(share))} of it ${share < 0 ? 'taken back' : 'added again'}`;
      },
      valueAt: (point) => this.plane.at(point).y,
      moved: (value) => {
        this.bars[bar] = value;
        this.draw();
        moved();
      },
      settled,
    });
  }

  private draw(): void {
    const { plane } = this;
    const width = 0.6 * (plane.x(1) - plane.x(0));
    const zero = plane.y(0);
    for (const [bar, share] of (this.changing ?? this.bars).entries()) {
      const tip = plane.y(share);
      const x = plane.x(bar);
      place(this.marks[bar]!, {
        x: x - width / 2,
        y: Math.min(zero, tip),
        width,
        height: Math.max(1, Math.abs(tip - zero)),
      });
      this.marks[bar]!.classList.toggle('back', share < 0);
      const ghost = plane.y(rootBars[bar]!);
      place(this.ghosts[bar]!, {
        x1: x - width / 2 - 3,
        x2: x + width / 2 + 3,
        y1: ghost,
        y2: ghost,
      });
      if (bar > 0) place(this.grips[bar - 1]!, { transform: `translate(${x} ${tip})` });
    }
  }
}
