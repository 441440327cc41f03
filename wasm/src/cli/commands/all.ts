// SPDX-License-Identifier: Apache-2.0

// All commands, in the order of the main help.

import type { Commands } from '../options/command.js';
import { ANYWHERE } from '../options/option.js';
import { command as active } from './active.js';
import { command as bounds } from './bounds.js';
import { command as calibrate } from './calibrate.js';
import { command as choose } from './choose.js';
import { command as compare } from './compare.js';
import { command as completion } from './completion.js';
import { command as count } from './count.js';
import { command as error } from './error.js';
import { command as example } from './example.js';
import { command as histogram } from './histogram.js';
import { command as learn } from './learn.js';
import { command as moments } from './moments.js';
import { command as optimize } from './optimize.js';
import { command as page } from './page.js';
import { command as predict } from './predict.js';
import { command as queries } from './queries.js';
import { command as release } from './release.js';

const OWN: Commands = {
  count,
  active,
  release,
  moments,
  histogram,
  learn,
  predict,
  queries,
  choose,
  error,
  compare,
  optimize,
  bounds,
  calibrate,
  page,
  completion,
  example,
};

export const COMMANDS: Commands = Object.fromEntries(
  Object.entries(OWN).map(([name, command]) => [
    name,
    { ...command, options: { ...command.options, ...ANYWHERE } },
  ]),
);
