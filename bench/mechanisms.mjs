// SPDX-License-Identifier: Apache-2.0

// Which mechanisms earn their place: measures all of them with `compare` over workloads,
// participations, horizons and both objectives, and writes bench/MECHANISMS.md.
//
//     node bench/mechanisms.mjs           (minutes)

import { writeFileSync } from 'node:fs';
import { load } from '../dist/index.js';

const dp = await load();
const HORIZONS = [64, 256, 1024, 4096, 16384, 65536, 262144, 1048576];
/** Beyond this horizon only single participation has formulas for most mechanisms. */
const MAX_REPEATED = 65536;

/** Problems at one horizon, by name. */
function problemsAt(numSteps) {
  const windows = [7, 30, 128, 512].filter((w) => w < numSteps && w * numSteps < 2 ** 26);
  const repeated =
    numSteps > MAX_REPEATED
      ? []
      : [
          ...[4, 16].map((epochs) => [`${epochs} epochs`, { participation: { epochs } }]),
          ...[
            [4, 8],
            [8, 4],
          ].map(([times, apart]) => [
            `${times} times, ${apart} apart`,
            { participation: { times, apart } },
          ]),
          ['4 times, n/8 apart', { participation: { times: 4, apart: numSteps / 8 } }],
        ];
  return [
    ['prefix sums', {}],
    ...windows.map((window) => [`window ${window}`, { workload: { window } }]),
    ...[0.9, 0.99].map((decay) => [`decay ${decay}`, { workload: { decay } }]),
    ...repeated,
  ];
}

/** Best errors of a problem, by mechanism: { error, cost }. */
function errorsOf(problem, objective) {
  const { mechanisms, lowerBound } = dp.compare({ ...problem, objective }).result();
  const best = new Map();
  for (const { mechanism, stepCost, memoryCost, maxError, meanError } of mechanisms) {
    const error = objective === 'max' ? maxError : meanError;
    if (error < (best.get(mechanism)?.error ?? Infinity)) {
      best.set(mechanism, { error, cost: `${stepCost}; ${memoryCost}` });
    }
  }
  return { best, lowerBound };
}

const found = new Map();
const prefix = [];
for (const numSteps of HORIZONS) {
  for (const [name, more] of problemsAt(numSteps)) {
    for (const objective of ['max', 'mean']) {
      const { best, lowerBound } = errorsOf({ steps: numSteps, ...more }, objective);
      for (const [mechanism, { error, cost }] of best) {
        const rivals = [...best].filter(([other, it]) => other !== mechanism && it.cost === cost);
        const least = Math.min(...rivals.map(([, it]) => it.error));
        const cell = { ratio: error / least, where: `${name}, n = ${numSteps}, ${objective}` };
        const entry = found.get(mechanism) ?? { cost, cells: [] };
        entry.cells.push(cell);
        found.set(mechanism, entry);
        if (name === 'prefix sums' && objective === 'mean') {
          prefix.push({ mechanism, numSteps, ratio: error / lowerBound });
        }
      }
    }
  }
}

const shown = (x) => (Number.isFinite(x) ? x.toFixed(x < 10 ? 3 : 1) : 'no rival');
const rows = [...found]
  .map(([mechanism, { cost, cells }]) => {
    const won = cells.filter(({ ratio }) => ratio <= 1 + 1e-9).length;
    const first = cells.reduce((a, b) => (b.ratio < a.ratio ? b : a));
    return { mechanism, cost, share: won / cells.length, won, of: cells.length, first };
  })
  .sort((a, b) => b.share - a.share);
const standing = rows.map(
  ({ mechanism, cost, won, of, first }) =>
    `| ${mechanism} | ${cost} | ${won} of ${of} | ${first.ratio === 0 ? 'no rival' : shown(first.ratio)} | ${first.ratio === 0 ? '' : first.where} |`,
);
const names = rows.map(({ mechanism }) => mechanism);
const ratios = names.map((name) => {
  const at = HORIZONS.map(
    (n) => prefix.find((it) => it.mechanism === name && it.numSteps === n)?.ratio,
  );
  return `| ${name} | ${at.map((x) => (x === undefined ? '' : shown(x))).join(' | ')} |`;
});
writeFileSync(
  new URL('MECHANISMS.md', import.meta.url),
  `# Which mechanisms earn their place

\`node bench/mechanisms.mjs\` compares all mechanisms, with the parameters that \`compare\` gives them,
over prefix sums, windows, decay, epochs and separations, at horizons from 2^6 to 2^20 and for both
objectives. Dense mechanisms and searches take part where \`compare\` runs them.

*Best*: problems in which no rival, a mechanism with the same cost per step and the same memory, has
a smaller error. *Closest*: the least ratio of the mechanism's error to that of its best rival,
above 1 if it is never best; "no rival" if some problem has none.

Three mechanisms that took part before were never best, and were removed: \`group-algebra\` (closest
1.023), \`smooth-tree\` (1.122) and \`hybrid\` (1.314), in 106 problems each.

| mechanism | cost of a step; memory | best | closest | where |
|---|---|---|---|---|
${standing.join('\n')}

## Prefix sums

Root mean square error, divided by the certified lower bound.

| mechanism | ${HORIZONS.join(' | ')} |
|---|${HORIZONS.map(() => '---|').join('')}
${ratios.join('\n')}
`,
);
