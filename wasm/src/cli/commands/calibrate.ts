// SPDX-License-Identifier: Apache-2.0

// dp-ftrl calibrate: computes the noise that a privacy target requires, at unit sensitivity.

import type { CalibrateOptions } from '../../types/all.js';
import { load } from '../../index.js';
import { Misuse } from '../base/failure.js';
import type { Args, Known } from '../options/args.js';
import { readDelta } from '../options/mechanism.js';
import { StandardOutput } from '../output/output.js';
import { report } from '../output/report.js';

export const options: Known = {
  epsilon: 'value',
  rho: 'value',
  mu: 'value',
  delta: 'value',
  json: 'flag',
};

export async function run(args: Args): Promise<void> {
  args.requireNoFile('calibrate');
  const kinds = ['epsilon', 'rho', 'mu'].filter((kind) => args.has(kind));
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw new Misuse('give exactly one of --epsilon, --rho, --mu');
  }
  const value = kind === 'epsilon' ? args.epsilon(kind) : args.positive(kind);
  const delta = readDelta(args);
  const dp = await load();
  const result = dp.calibrate({ [kind]: value, delta } as unknown as CalibrateOptions);
  await new StandardOutput().write(
    report({ ...result }, args.has('json'), {
      noiseMultiplier: 'noise multiplier (std / distance)',
      epsilon: 'epsilon',
      delta: 'delta',
      rho: 'rho (zCDP)',
      ...(result.mu !== null && { mu: 'mu (Gaussian DP)' }),
      method: 'method',
    }),
  );
}
