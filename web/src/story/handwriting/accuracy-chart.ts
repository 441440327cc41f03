// SPDX-License-Identifier: Apache-2.0

// Share of held-out images read correctly during training: a line for the mean over the seeds, and
// a band from the worst to the best.

import { svg } from '../../base/dom.ts';
import { colourOf } from '../../figures/lane-colours.ts';
import type { PicturePanel, ColouredSeries } from '../../figures/picture.ts';
import { count, percent, roundPercent } from '../../base/format.ts';
import { areaBetween, lineThrough, place, Plane, type Point } from '../plane.ts';
import { NAMES } from './models.ts';
import { NOISES, type Evaluation, type NoiseName } from './numbers/learners.ts';

interface LearnerMarks {
  band: SVGPathElement;
  line: SVGPathElement;
  share: SVGTextElement;
}

/** Curves of one learner, one per seed, evaluated at the same times; some may be shorter. */
export type AccuracyCurves = readonly (readonly Evaluation[])[];

export interface Spread {
  mean: number;
  low: number;
  high: number;
}

export function spreadOf(accuracies: readonly number[]): Spread {
  return {
    mean: accuracies.reduce((sum, value) => sum + value, 0) / accuracies.length,
    low: Math.min(...accuracies),
    high: Math.max(...accuracies),
  };
}

export class AccuracyChart {
  readonly plane: Plane;
  private readonly parts = new Map<NoiseName, LearnerMarks>();
  private curves = new Map<NoiseName, AccuracyCurves>();

  constructor(numImages: number) {
    this.plane = new Plane({
      label: 'Accuracy on held-out images while the three learners train',
      xName: 'images learned from',
      yName: 'accuracy on new images',
      x: { from: 0, to: numImages, ticks: [0, 2000, 4000, 6000], text: count },
      y: { from: 0, to: 1, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], text: roundPercent },
      draw: () => this.draw(),
    });
    for (const noise of NOISES) {
      const band = this.plane.add('path', { class: `band ${noise}` });
      const line = this.plane.add('path', { class: `line ${noise}` });
      const share = svg('text', { class: `share ${noise}` });
      this.parts.set(noise, { band, line, share });
    }
    // Texts are drawn in front of all lines.
    for (const { share } of this.parts.values()) this.plane.element.append(share);
  }

  show(curves: ReadonlyMap<NoiseName, AccuracyCurves>): void {
    this.curves = new Map(curves);
    this.draw();
  }

  panel(): PicturePanel {
    const series = NOISES.flatMap((noise): ColouredSeries[] => {
      const runs = this.curves.get(noise) ?? [];
      const whole = runs[0] ?? [];
      if (whole.length === 0) return [];
      const x = whole.map(({ numRead }) => numRead);
      const spreads = whole.map((_, i) =>
        spreadOf(runs.flatMap((looks) => looks[i]?.accuracy ?? [])),
      );
      const name = `${NAMES[noise]}: ${percent(spreads.at(-1)!.mean)}`;
      const colour = noise === 'none' ? 'ink' : colourOf(noise);
      return [
        { name, x, y: spreads.map(({ mean }) => mean), colour },
        {
          name: 'spread',
          of: name,
          x,
          y: spreads.map(({ high }) => high),
          to: spreads.map(({ low }) => low),
        },
      ];
    });
    return {
      title: 'Accuracy on new images',
      x: { label: 'images learned from', log: false },
      y: { label: 'accuracy', log: false },
      series,
    };
  }

  private draw(): void {
    for (const noise of NOISES) this.drawOne(noise, this.curves.get(noise) ?? []);
  }

  private drawOne(noise: NoiseName, curves: AccuracyCurves): void {
    const { band, line, share } = this.parts.get(noise)!;
    const { plane } = this;
    const whole = curves[0] ?? [];
    const complete = curves.filter((looks) => looks.length === whole.length);
    const [upper, middle, lower]: [Point[], Point[], Point[]] = [[], [], []];
    whole.forEach(({ numRead }, i) => {
      const { mean, low, high } = spreadOf(complete.map((looks) => looks[i]!.accuracy));
      const x = plane.x(numRead);
      upper.push({ x, y: plane.y(high) });
      middle.push({ x, y: plane.y(mean) });
      lower.push({ x, y: plane.y(low) });
    });
    band.setAttribute('d', areaBetween(upper, lower));
    line.setAttribute('d', lineThrough(middle));
    const last = middle.at(-1);
    share.textContent = '';
    if (last === undefined) return;
    share.textContent = percent(spreadOf(complete.map((looks) => looks.at(-1)!.accuracy)).mean);
    // The text of a growing line is to the right of its end. Once the line is complete, the text is
    // above it for the model without noise, and below it for the others.
    const grows = last.x < plane.right - 70;
    const beside = noise === 'none' ? -9 : 22;
    place(share, {
      x: grows ? last.x + 8 : last.x,
      y: last.y + (grows ? 4 : beside),
      'text-anchor': grows ? 'start' : 'end',
    });
  }
}
