// SPDX-License-Identifier: Apache-2.0

// --mode: protection against leaks through the low bits of floating-point numbers.

import { LATTICE_NOISES, MODES } from '../../shared/defaults.js';
import { Misuse } from '../base/failure.js';
import type { Args } from './args.js';
import { under } from './option.js';

export const MODE_OPTIONS = under('Mechanism', {
  mode: {
    value: 'MODE',
    values: MODES,
    meaning:
      'grid (default): sums and noise are integers on a grid, safe against leaks in the low bits ' +
      'of floating-point numbers; or lattice: noisy integer measurements, decoded afterwards, for ' +
      'tree, honaker, blt and others with an integer encoder',
  },
  'lattice-noise': {
    value: 'L',
    values: LATTICE_NOISES,
    meaning:
      'discrete-gaussian (default; zero-concentrated DP, so --budget needs --budget-account rho), ' +
      'or rounded-gaussian (Gaussian DP, less noise)',
  },
});

export function readMode(args: Args) {
  const mode = args.oneOf('mode', MODES);
  if (mode === 'grid') {
    if (args.has('lattice-noise')) throw new Misuse('--lattice-noise goes with --mode lattice');
    return { mode, how: {} };
  }
  if (args.has('pure')) throw new Misuse('--mode must be left out with --pure, got "lattice"');
  const latticeNoise = args.oneOf('lattice-noise', LATTICE_NOISES);
  return { mode, how: { mode, latticeNoise } };
}
