// SPDX-License-Identifier: Apache-2.0

// --mode: how releases are made safe against the low bits of floating-point numbers.

import { Misuse } from '../failure.js';
import type { Args, Known } from './args.js';

export const MODE_OPTIONS: Known = { mode: 'value', 'lattice-noise': 'value' };

export function readMode(args: Args) {
  const mode = args.oneOf('mode', ['grid', 'lattice'], 'grid');
  if (mode === 'grid') {
    if (args.has('lattice-noise')) throw new Misuse('--lattice-noise goes with --mode lattice');
    return { mode, how: {} };
  }
  const noises = ['discrete-gaussian', 'rounded-gaussian'] as const;
  const latticeNoise = args.oneOf('lattice-noise', noises, 'discrete-gaussian');
  return { mode, how: { mode, latticeNoise } };
}
