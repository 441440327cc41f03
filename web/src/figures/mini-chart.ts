// SPDX-License-Identifier: Apache-2.0

// Miniature of the running total, shown with its controls at the upper edge of a narrow window
// while the figure is out of view.

import type { Colour } from './colours.ts';

export interface MiniLine {
  colour: Colour;
  dashed: boolean;
  /** Steps and values, as in a chart. */
  steps: ArrayLike<number>;
  values: ArrayLike<number>;
}

const size = { width: 300, height: 100 };

export class MiniChart {
  constructor(private readonly svg: SVGSVGElement) {
    svg.setAttribute('viewBox', `0 0 ${size.width} ${size.height}`);
    svg.setAttribute('preserveAspectRatio', 'none');
  }

  clear(): void {
    this.svg.replaceChildren();
  }

  draw(lines: readonly MiniLine[], numSteps: number, [low, high]: [number, number]): void {
    const paths = lines.map(({ colour, dashed, steps, values }) => {
      const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      path.setAttribute('class', `${colour}${dashed ? ' dashed' : ''}`);
      let d = '';
      for (let i = 0; i < steps.length; ++i) {
        const x = (size.width * steps[i]!) / numSteps;
        const y = (size.height * (high - values[i]!)) / (high - low);
        d += `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
      }
      path.setAttribute('d', d);
      return path;
    });
    this.svg.replaceChildren(...paths);
  }
}
