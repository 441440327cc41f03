// SPDX-License-Identifier: Apache-2.0

// --state: every option is in the transcript of options that differ, or may differ.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { commandsWith, optionsOf } from './support/help.mjs';
import { parse } from './support/transcript.mjs';

/** Options for how a run reads its rows, and for what it writes. */
const MAY_DIFFER = [
  ...['columns', 'format', 'delimiter', 'decimal', 'time-format', 'sort', 'missing', 'na', 'to'],
  ...['output', 'json', 'plot', 'model', 'quiet', 'dry-run', 'show-nonprivate', 'test'],
  ...['confidence', 'standard-deviation', 'post-process', 'average', 'ranges-from-data'],
  ...['state', 'continue', 'first-step', 'help', 'version'],
  // A state is charged once: cli-budget.test.mjs.
  ...['budget', 'budget-epsilon', 'budget-delta', 'budget-account', 'budget-pure'],
  // Checked, and without effect.
  'decoder',
  // Refused with --state.
  ...['passes', 'precondition', 'no-precondition'],
  // Named by their columns, and by --group-norm.
  ...['count', 'group'],
];

test('state: every option that a later run must repeat is named when it differs', async () => {
  const text = readFileSync(new URL('../transcripts/state-options.txt', import.meta.url), 'utf8');
  const commands = parse(text).sections.flatMap((section) => section.commands);
  const refusals = commands.filter(({ expected }) => expected.at(-1) === '[2]');
  const named = refusals.flatMap(({ expected }) =>
    [...expected.join().matchAll(/--([a-z0-9-]+)/g)].map(([, name]) => name),
  );
  for (const command of await commandsWith('state')) {
    const names = (await optionsOf(command)).map(({ name }) => name);
    assert.ok(names.length > 30);
    const missing = names.filter((name) => ![...MAY_DIFFER, ...named].includes(name));
    assert.deepEqual(missing, [], command);
  }
});
