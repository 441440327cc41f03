// SPDX-License-Identifier: Apache-2.0

// Prints a report of the benchmarks as text.

/** Ratios of workloads in the same build: key of the ratio, workloads, and their divisor. */
export const comparisons = [
  ['ratioToConvolution', /^analysis\/.*/, 'baseline/convolution'],
  ['ratioToFixedPoint', /^solver\/.*/, 'baseline/fixed-point'],
  ['ratioToBlt', /^(float|double|grid)-window\/[^/]+\/(\d+)$/, '$1-window/blt/$2'],
  ['ratioToFloat', /^(?:double|grid)-window\/(.*)/, 'float-window/$1'],
  ['ratioToDouble', /^grid-window\/(.*)/, 'double-window/$1'],
  ['ratioToBlt8', /^rows\/optimal-8\/(.*)/, 'rows/blt-8/$1'],
  ['ratioToWindow', /^grid-row\/(.*)/, 'grid-window/$1'],
  ['ratioToTotals', /^increment-(row|window)\/(.*)/, 'grid-$1/$2'],
  ['ratioToRow', /^learner(?:-step)?\/(.*)/, 'grid-row/$1'],
];

const short = (value) => value.toPrecision(3).replace(/e\+?(-?\d+)$/, 'e$1');

/** Formats median (min-max) with at most three digits. */
const spread = (s, map = (x) => x) => {
  if (!s) return '-';
  const [low, high] = [map(s.min), map(s.max)].sort((a, b) => a - b);
  return `${short(map(s.median))} (${short(low)}-${short(high)})`;
};

function table(header, rows) {
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i].length)));
  const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [line(header), line(widths.map((w) => '-'.repeat(w))), ...rows.map(line)].join('\n');
}

const isScript = (build) => build === 'wasm' || build === 'npm';
const isLong = ({ name }) => /^(analysis|solver|riccati)\//.test(name);
const between = ['wasm / native', 'npm / wasm'];
const betweenBuilds = (r) => [spread(r.wasmToNative), spread(r.npmToWasm)];

/** Returns a table, or a line that says why there is none. */
const tableOf = (header, rows) => (rows.length > 0 ? table(header, rows) : '(no workload chosen)');

function perItemTable({ baselines: { S, J, N } }, names, results) {
  const baseline = (text, own, { nanoseconds }) => [
    text,
    ...names.map((build) => (build === own ? spread(nanoseconds) : '-')),
    '-',
    '-',
  ];
  return table(
    ['', ...names, ...between],
    [
      baseline('S, std::normal_distribution<float>', names[0], S),
      baseline('J, Math.random Box-Muller', 'wasm', J),
      ...(N ? [baseline(`N, float32 BLT with 4 buffers in ${N.compiler}`, names[0], N)] : []),
      ...results.map((r) => [
        r.name,
        ...names.map((build) => spread(r.nanoseconds[build])),
        ...betweenBuilds(r),
      ]),
    ],
  );
}

function baselineTable(names, results) {
  return tableOf(
    ['', ...names.map((build) => `${build} / ${isScript(build) ? 'J' : 'S'}`)],
    results.map((r) => [
      r.name,
      ...names.map((build) => spread((isScript(build) ? r.ratioToJ : r.ratioToS)[build])),
    ]),
  );
}

function comparisonTable(names, results) {
  const rows = results.flatMap((r) =>
    comparisons
      .filter(([key]) => r[key])
      .map(([key, pattern, replacement]) => [
        `${r.name} / ${r.name.replace(pattern, replacement)}`,
        ...names.map((build) => spread(r[key][build])),
      ]),
  );
  return tableOf(['', ...names], rows);
}

const rateUnits = {
  byte: ['GB/s', 1],
  release: ['million/s', 1e3],
  'floating-point operation': ['GFLOP/s', 1],
};

function rateTable(names, results) {
  const rows = results.map((r) => {
    const [unit, factor] = rateUnits[r.unit];
    const rate = (x) => factor / x;
    return [
      `${r.name}, ${unit}`,
      ...names.map((build) => spread(r.nanoseconds[build], rate)),
      ...betweenBuilds(r),
    ];
  });
  return tableOf(['', ...names, ...between], rows);
}

function targetTable(targets) {
  const rows = targets.map((t) => [
    `${t.name}, ${t.figure}`,
    t.build,
    short(t.most),
    short(t.median),
    t.met ? 'met' : 'missed',
  ]);
  return tableOf(['', 'build', 'aimed at', 'reached', ''], rows);
}

function longTable({ baselines: { convolution, fixedPoint } }, names, results) {
  const milliseconds = (ns) => ns * 1e-6;
  const rows = [
    ['convolution of 10^6 terms, ms', convolution, null],
    ['fixed point at n = 512, ms', fixedPoint, null],
    ...results.map((r) => [
      `${r.name}, ${r.unit === 'step' ? 'ns per step' : 'ms'}`,
      r,
      r.ratioToConvolution ?? r.ratioToFixedPoint ?? null,
    ]),
  ].map(([name, { nanoseconds, unit }, ratios]) => [
    name,
    ...names.map((build) => spread(nanoseconds[build], unit === 'step' ? undefined : milliseconds)),
    ...names.map((build) => spread(ratios?.[build])),
  ]);
  return table(['', ...names, ...names.map((build) => `${build}, ratio`)], rows);
}

/** Says what was measured, where and how. */
function head({ date, rounds, machine, builds }) {
  return [
    `dp-ftrl bench, ${date.slice(0, 10)}: CPU time, ` +
      `median (min-max) of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`,
    `${machine.cores} x ${machine.processor}, ${machine.system}, Node ${machine.node}`,
    ...Object.entries(builds).map(([name, how]) => `${name}: ${Object.values(how).join(', ')}`),
  ];
}

function reservations({ quick, machine: { realToCpu } }) {
  const passed = `${short(realToCpu)} s passed for each second of CPU time`;
  return [
    ...(quick ? ['', 'One short round: too little for conclusions.'] : []),
    ...(realToCpu > 1.2 ? ['', `The machine was busy (${passed}).`] : []),
  ];
}

export function print(report) {
  const names = Object.keys(report.builds);
  const perItem = report.results.filter(({ ratioToS }) => ratioToS);
  const long = report.results.filter(isLong);
  const rates = report.results.filter((result) => !result.ratioToS && !isLong(result));
  const sections = [
    [
      'Nanoseconds per normal, or per coordinate and step (rows/MECHANISM/DIMENSION):',
      perItemTable(report, names, perItem),
    ],
    ['The same as ratios to the baselines:', baselineTable(names, perItem)],
    ['Ratios to other workloads of the same build:', comparisonTable(names, perItem)],
    ['Rates (the last columns are ratios of times):', rateTable(names, rates)],
    ['Targets (medians; at most):', targetTable(report.targets)],
    [
      'Analyses (over one convolution) and solvers (over the fixed point at n = 512):',
      longTable(report, names, long),
    ],
  ];
  const out = [...head(report), ...sections.flatMap((section) => ['', ...section])];
  process.stdout.write(`${[...out, ...reservations(report)].join('\n')}\n`);
}
