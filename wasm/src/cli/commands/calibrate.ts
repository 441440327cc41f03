// SPDX-License-Identifier: Apache-2.0

// dp-ftrl calibrate: computes the noise that a privacy target requires, at unit sensitivity.

import type { CalibrateOptions } from '../../types/all.js';
import { load } from '../../index.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { StandardOutput } from '../output/output.js';
import { report } from '../output/report.js';
import { POSITIVE } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption } from '../options/output.js';
import { PRIVACY_OPTIONS, readDelta } from '../options/privacy.js';

export const command: Command = {
  summary: 'noise multiplier for a privacy target',
  usage: '--epsilon E|--rho R|--mu M --delta D [--json]',
  about:
    'Smallest noise multiplier (noise standard deviation / distance of neighbours) of the Gaussian ' +
    'mechanism for a privacy target, and the same guarantee in the other definitions.',
  options: {
    ...under('Privacy', {
      epsilon: { ...PRIVACY_OPTIONS.epsilon, meaning: '(E, D)-differential privacy' },
      rho: {
        value: 'R',
        number: POSITIVE,
        meaning:
          'R-zCDP of any mechanism, lattice noise included: epsilon is an upper bound for all of ' +
          'them, and there is no mu. For a Gaussian mechanism give --mu instead',
      },
      mu: { value: 'M', number: POSITIVE, meaning: 'M-Gaussian differential privacy' },
      delta: { ...PRIVACY_OPTIONS.delta, meaning: 'between 0 and 1' },
    }),
    ...jsonOption('noiseMultiplier, epsilon, delta, rho, mu (null with --rho), method, classical'),
  },
  examples: [
    'dp-ftrl calibrate --epsilon 1 --delta 1e-6',
    'dp-ftrl calibrate --rho 0.1 --delta 1e-6 --json',
  ],
  run,
};

async function run(args: Args): Promise<void> {
  args.requireNoFile('calibrate');
  const kinds = ['epsilon', 'rho', 'mu'].filter((kind) => args.has(kind));
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw new Misuse('give exactly one of --epsilon, --rho, --mu');
  }
  const value = args.number(kind);
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
