// SPDX-License-Identifier: Apache-2.0

// Drawing area for a digit.

import { svg } from '../../base/dom.ts';
import { lineThrough } from '../plane.ts';
import type { StrokePoint } from './numbers/strokes.ts';

const SIDE = 280;

export class Pad {
  readonly element = svg('svg', {
    class: 'pad',
    viewBox: `0 0 ${SIDE} ${SIDE}`,
    role: 'img',
    'aria-label':
      'Paper to draw a digit on with a pointer. Without one, choose an image beside it.',
  });
  private readonly ink = svg('path', { class: 'pad-ink' });
  private readonly hint = svg('text', {
    class: 'pad-hint',
    x: SIDE / 2,
    y: SIDE / 2 + 8,
    'text-anchor': 'middle',
    'aria-hidden': 'true',
  });
  private strokes: StrokePoint[][] = [];

  /** `drawn` is called with all strokes so far, whenever they change. */
  constructor(private readonly drawn: (strokes: readonly StrokePoint[][]) => void) {
    this.hint.textContent = 'draw a digit here';
    this.element.append(this.hint, this.ink);
    this.element.addEventListener('pointerdown', (event) => this.begin(event));
    this.element.addEventListener('pointermove', (event) => this.go(event));
  }

  clear(): void {
    this.strokes = [];
    this.draw();
  }

  private begin(event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault();
    this.element.setPointerCapture(event.pointerId);
    this.strokes.push([]);
    this.go(event);
  }

  private go(event: PointerEvent): void {
    if (!this.element.hasPointerCapture(event.pointerId)) return;
    const box = this.element.getBoundingClientRect();
    // One event may combine several positions.
    const places = event.getCoalescedEvents?.() ?? [];
    for (const { clientX, clientY } of places.length > 0 ? places : [event]) {
      this.strokes
        .at(-1)!
        .push([
          ((clientX - box.left) / box.width) * SIDE,
          ((clientY - box.top) / box.height) * SIDE,
        ]);
    }
    this.draw();
    this.drawn(this.strokes);
  }

  private draw(): void {
    const path = this.strokes.map((stroke) => {
      // A single point is drawn as a line to itself, which the round line cap makes visible.
      const points = stroke.length === 1 ? [stroke[0]!, stroke[0]!] : stroke;
      return lineThrough(points.map(([x, y]) => ({ x, y })));
    });
    this.ink.setAttribute('d', path.join(''));
    this.hint.setAttribute('visibility', this.strokes.length > 0 ? 'hidden' : 'visible');
  }
}
