// SPDX-License-Identifier: Apache-2.0

// The simultaneous band, which holds the noise of every step at once, beside the band for single
// steps.

import type { Analyst } from '../base/analyst.ts';
import { count, quantity } from '../base/format.ts';
import { strategyOf, type Lane, type Run } from '../run/run.ts';
import { twoSigmaCoverage } from '../data/chi.ts';
import { problemOf } from '../controls/workload.ts';

/** Maximum probability that some step lies outside the band. */
const beta = 0.05;

/** Half widths that the noise of no step exceeds, with probability at least 1 - beta. */
export interface SimultaneousBand {
  beta: number;
  /** Half width around every coordinate of every total. */
  coordinate: number;
  /** Half width around the norm of every total. */
  norm: number;
}

export class SimultaneousBands {
  private readonly made = new WeakMap<Run, Promise<SimultaneousBand[]>>();

  constructor(private readonly analyst: Analyst) {}

  /** One band for each lane. */
  of(run: Run): Promise<SimultaneousBand[]> {
    let bands = this.made.get(run);
    if (bands === undefined) {
      bands = Promise.all(run.lanes.map((lane) => this.compute(run, lane)));
      this.made.set(run, bands);
    }
    return bands;
  }

  private async compute({ settings }: Run, lane: Lane): Promise<SimultaneousBand> {
    const engine = await this.analyst.engine();
    const { certificate, dimension } = lane.history.info;
    const problem = { ...problemOf(settings), beta, dimension };
    const error = await engine.error({ strategy: strategyOf(lane), ...problem });
    const unit = certificate.noiseStddev / error.sensitivity;
    const { simultaneousError, simultaneousNorm } = error;
    return { beta, coordinate: unit * simultaneousError!, norm: unit * simultaneousNorm! };
  }
}

/** Explains what each band covers. */
export function bandsText({ numSteps, first }: Run, view: number): string {
  const { dimension } = first.info;
  const single = quantity(100 * twoSigmaCoverage, 3);
  const outside = quantity((1 - twoSigmaCoverage) * numSteps, 2);
  const coordinates = view === 0 || dimension === 1 ? '' : `, in all ${dimension} coordinates`;
  return (
    `Each step lies in the narrow band with probability ${single} %, so about ${outside} of ` +
    `${count(numSteps)} may lie outside; with probability at least ${quantity(100 * (1 - beta))} %, every step lies ` +
    `in the wide band${coordinates}.`
  );
}
