// SPDX-License-Identifier: Apache-2.0

// --mode: protection against leaks through the low bits of floating-point numbers.

import { LATTICE_NOISES, MODES } from '../../shared/defaults.js';
import { Misuse } from '../base/failure.js';
import type { Args, Known } from './args.js';

export const MODE_OPTIONS: Known = { mode: 'value', 'lattice-noise': 'value' };

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
