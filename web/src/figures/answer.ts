// SPDX-License-Identifier: Apache-2.0

// One line above Figure 1: how noisy its noisiest total is, and that of the other mechanism, or of
// fresh noise if there is no other.

import type { Certificate } from 'dp-ftrl';
import { asProblem } from '../controls/problem.ts';
import { worstTotal } from '../controls/target-fields.ts';
import { problemOf } from '../controls/workload.ts';
import { twoSigmaRadius } from '../data/chi.ts';
import { byId, h } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { quantity, share } from '../base/format.ts';
import type { Run } from '../run/run.ts';
import { laneColours } from './lane-colours.ts';

/** Fresh noise on every record, with which a single mechanism is compared. */
const baseline = 'independent';

export class Answer {
  private readonly line = byId('answer');
  private shown = '';

  constructor(private readonly engine: Engine) {}

  /** `view` is 0 for the norm; `unit` is '' if there is none. */
  show(run: Run, view: number, unit: string): void {
    const { lanes, first } = run;
    const radius = view === 0 ? twoSigmaRadius(first.info.dimension) : 2;
    const halves = lanes.map(({ history }) => (radius / 2) * worstTotal(history.info.certificate));
    const names = lanes.map(({ mechanism }) => mechanism as string);
    const key = JSON.stringify([run.settings, view, unit]);
    if (key === this.shown) return;
    this.shown = key;
    if (lanes.length > 1 || names[0] === baseline) {
      this.say(run, { halves, names, unit });
      return;
    }
    const { certificate } = first.info;
    void this.freshNoise(run, certificate).then((worst) => {
      if (this.shown !== key) return;
      this.say(run, {
        halves: [...halves, (radius / 2) * worst],
        names: [...names, baseline],
        unit,
      });
    });
  }

  /** Returns two standard deviations of the noisiest total with fresh noise. */
  private async freshNoise({ settings }: Run, certificate: Certificate): Promise<number> {
    const { numSteps } = settings;
    const problem = { numSteps, mechanism: baseline, ...problemOf(settings) } as const;
    const { maxError } = await this.engine.error(asProblem(problem));
    return worstTotal({ ...certificate, maxError });
  }

  private say(
    { settings }: Run,
    { halves, names, unit }: { halves: number[]; names: string[]; unit: string },
  ): void {
    const colours = laneColours(names);
    const [mine, other] = halves.map((half, i) =>
      h('b', { class: colours[i] }, `±${quantity(half, 3)}`),
    );
    const epsilon = `at ε = ${quantity(settings.epsilon)}`;
    const of = h('span', { class: 'of' }, `2σ of the noisiest total${unit && `, in ${unit}`}`);
    if (other === undefined) {
      this.line.replaceChildren(mine!, ` ${epsilon} `, of);
      return;
    }
    const what = names[1] === baseline ? 'fresh noise' : names[1]!;
    const ratio = share(halves[0]! / halves[1]!);
    this.line.replaceChildren(
      mine!,
      ' against ',
      other,
      ` with ${what}, ${epsilon}: `,
      h('b', {}, ratio),
      ' ',
      of,
    );
  }
}
