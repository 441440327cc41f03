// SPDX-License-Identifier: Apache-2.0

// One line above Figure 1: the noise of the noisiest total, compared with the other mechanism, or
// with fresh noise if there is only one.

import type { Certificate, MechanismName } from 'dp-ftrl';
import { baseline, nameOf } from '../controls/mechanisms.ts';
import { worstTotal } from '../controls/target-fields.ts';
import { problemOf } from '../controls/workload.ts';
import { twoSigmaRadius } from '../data/chi.ts';
import { byId, h } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { quantity, share, unbroken } from '../base/format.ts';
import type { Run } from '../run/run.ts';
import { laneColours } from './lane-colours.ts';

export class Answer {
  private readonly line = byId('answer');
  private shown = '';

  constructor(private readonly engine: Engine) {}

  /** `view` is 0 for the norm; `unit` is '' if there is none. */
  show(run: Run, view: number, unit: string): void {
    const { lanes, first } = run;
    const radius = view === 0 ? twoSigmaRadius(first.info.dimension) : 2;
    const halves = lanes.map(({ history }) => (radius / 2) * worstTotal(history.info.certificate));
    const names = lanes.map(({ mechanism }) => mechanism);
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

  /** Two standard deviations of the noisiest total with fresh noise. */
  private async freshNoise({ settings }: Run, certificate: Certificate): Promise<number> {
    const problem = { strategy: baseline, ...problemOf(settings) } as const;
    const { maxError } = await this.engine.error(problem);
    return worstTotal({ ...certificate, maxError });
  }

  private say(
    { settings }: Run,
    { halves, names, unit }: { halves: number[]; names: MechanismName[]; unit: string },
  ): void {
    const colours = laneColours(names);
    const [mine, other] = halves.map((half, i) =>
      h('b', { class: colours[i] }, `±${quantity(half, 3)}`),
    );
    const epsilon = unbroken(`at ε = ${quantity(settings.epsilon)}`);
    const of = h('span', { class: 'of' }, `2σ of the noisiest total${unit && `, in ${unit}`}`);
    if (other === undefined) {
      this.line.replaceChildren(mine!, ` ${epsilon} `, of);
      return;
    }
    const what = nameOf(names[1]!);
    const ratio = halves[0]! / halves[1]!;
    const text = share(ratio);
    const noise = text === 'the same' ? 'noise' : ratio > 1 ? 'the noise' : 'of the noise';
    this.line.replaceChildren(
      mine!,
      ' against ',
      other,
      ` with ${what}, ${epsilon}: `,
      h('b', {}, text),
      ` ${noise} `,
      of,
    );
  }
}
