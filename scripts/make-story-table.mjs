// SPDX-License-Identifier: Apache-2.0

// Generates web/src/story/errors/yours-table.ts, the errors of a few mechanisms over the horizon,
// because optima at long horizons take seconds, too long for the page to compute. Needs the package
// in dist/, and a minute: `node scripts/make-story-table.mjs`. A test of the page recomputes rows.

import { writeFileSync } from 'node:fs';
import { load } from '../dist/index.js';

const strategies = ['independent', 'tree', 'honaker', 'square-root', 'optimal'];

/** Ten horizons per power of ten, up to a million, without duplicates. */
const horizons = [...new Set(Array.from({ length: 61 }, (_, k) => Math.round(10 ** (k / 10))))];

const digits = (value) => String(Number(value.toPrecision(6)));

const dp = await load();
const rows = horizons.map((steps) => {
  const errors = strategies.map((strategy) => dp.error({ strategy, steps }));
  const values = [...errors.map(({ maxError }) => maxError), errors.at(-1).lowerBound];
  process.stdout.write(`${steps}\n`);
  return `  [${[steps, ...values.map(digits)].join(', ')}],\n`;
});

const text = `// SPDX-License-Identifier: Apache-2.0

// Made by scripts/make-story-table.mjs from the library; not to be edited.

/**
 * A horizon; the largest errors at noise multiplier 1 of
 * ${strategies.join(', ')};
 * and a lower bound for every factorization.
 */
export type ErrorRow = readonly [number, number, number, number, number, number, number];

export const errorRows: readonly ErrorRow[] = [
${rows.join('')}];
`;
writeFileSync(new URL('../web/src/story/errors/yours-table.ts', import.meta.url), text);
