// SPDX-License-Identifier: Apache-2.0

// Publishes how many people were active on the day of a log, and in the week and the month up to
// it. To be run once a night: a second run with the same log prints the same line, and one with
// another log for that day fails, because two counts of one day could tell the logs apart.
//
//   node examples/server/active-nightly.mjs STATE DAY < LOG
//
// STATE is a file that the first run creates; DAY is the number of the day, from 0; LOG has one
// name per line, and names may repeat.

import { readFileSync } from 'node:fs';
import { load } from 'dp-ftrl';
import { FileStore } from 'dp-ftrl/file-store';

const [state, day] = process.argv.slice(2);
const names = readFileSync(0, 'utf8')
  .split('\n')
  .filter((name) => name.trim() !== '');

const dp = await load();
const store = await FileStore.open(state);
const windows = { day: 1, week: 7, month: 30 };
const people = await dp.active({ windows, steps: 365, epsilon: 1, delta: 1e-6, store });
const { active } = await people.releaseAt(Number(day), names);
console.log(JSON.stringify(active));
await people.dispose();
