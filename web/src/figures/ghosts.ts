// SPDX-License-Identifier: Apache-2.0

// Noise of other runs: other releases of the same records.

import type { Analyst } from '../base/analyst.ts';
import { strategyOf, type Lane, type Run } from '../run/run.ts';
import { problemOf } from '../controls/workload.ts';

const numGhosts = 30;
/** With longer horizons, lines that merely blur together would cost memory and time. */
export const maxGhostSteps = 20_000;

/** Noise is rounded to multiples of this fraction of its standard deviation. */
const resolution = 2 ** -20;

export class Ghosts {
  private readonly made = new WeakMap<Run, Promise<Float64Array[][]>>();

  constructor(private readonly analyst: Analyst) {}

  /** Noise of one coordinate of the totals, by lane and run. */
  of(run: Run): Promise<Float64Array[][]> {
    let ghosts = this.made.get(run);
    if (ghosts === undefined) {
      ghosts = Promise.all(run.lanes.map((lane) => this.draw(run, lane)));
      this.made.set(run, ghosts);
    }
    return ghosts;
  }

  private async draw(run: Run, lane: Lane) {
    const engine = await this.analyst.engine();
    const { noiseSeed } = run.settings;
    const { noiseStddev } = lane.history.info.certificate;
    const ghosts: Float64Array[] = [];
    for (let i = 1; i <= numGhosts; ++i) {
      const common = { insecureSeed: noiseSeed + i, ...problemOf(run.settings) };
      const noise = await engine.noise({ strategy: strategyOf(lane), ...common });
      const rows = await noise.rounded({ numRows: run.numSteps, scale: 1 / resolution });
      noise.dispose();
      ghosts.push(rows.map((value) => value * resolution * noiseStddev));
    }
    return ghosts;
  }
}
