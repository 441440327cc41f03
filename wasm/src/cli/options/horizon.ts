// SPDX-License-Identifier: Apache-2.0

// --steps, and advice for a horizon longer than a mechanism supports.

import { refusalOf } from '../../core/errors.js';
import { load } from '../../index.js';
import { addNote } from '../base/failure.js';
import { STEPS } from './numbers.js';
import { under } from './option.js';

export const HORIZON_OPTION = under('Workload', {
  steps: { value: 'N', number: STEPS, meaning: 'horizon: number of steps' },
});

/** Adds the names of the mechanisms that support so many steps to an error about the horizon. */
export async function nameLonger(error: unknown): Promise<void> {
  const { parameter, part, value } = refusalOf(error);
  if (!(error instanceof Error) || parameter !== 'steps') return;
  const catalogue = (await load()).strategies;
  const limit = catalogue.find(({ name }) => name === part)?.maxSteps;
  if (limit === undefined || !(Number(value) > limit)) return;
  const longer = catalogue.filter(({ maxSteps }) => maxSteps >= Number(value));
  if (longer.length === 0) return;
  addNote(error, `mechanisms that go that far: ${longer.map(({ name }) => name).join(', ')}`);
}
