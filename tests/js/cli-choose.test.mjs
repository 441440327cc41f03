// SPDX-License-Identifier: Apache-2.0

// dp-ftrl choose, and its common parts with dp-ftrl queries: people, and budgets of pure releases.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const folder = scratchFolder('choose');
const { Bins } = await importSource('cli/input/bins.ts');
const { topOf } = await importSource('cli/commands/choose/top.ts');

/** ann has most rows, including all rows with 5. */
const rows = [
  ...Array.from({ length: 30 }, () => ['ann', 5, 'red']),
  ...Array.from({ length: 10 }, (_, i) => [`p${i}`, 3, 'red']),
  ...Array.from({ length: 4 }, (_, i) => [`p${i}`, 2, 'blue']),
];
const input = `who,size,colour\n${rows.map((row) => `${row.join()}\n`).join('')}`;
const sizes = ['--columns', 'size', '--domain', '1:6'];
const strong = ['--epsilon', '500'];
const persons = (most) => ['--user-column', 'who', '--max-contributions', String(most)];

async function accepted(args) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return { stdout, stderr };
}

test('choose: winners, quantiles and combinations of columns are right, and say whom they protect', async () => {
  const winner = await accepted(['choose', '--winner', ...sizes, ...strong]);
  assert.equal(winner.stdout, 'size\n5\n');
  assert.match(winner.stderr, /500-differentially private: one row is .*; zero-out neighbours/);
  for (const [quantile, value] of [
    ['1/4', 3],
    ['0.05', 2],
    ['1/2', 5],
  ]) {
    const { stdout } = await accepted(['choose', '--quantile', quantile, ...sizes, ...strong]);
    assert.equal(stdout, `size\n${value}\n`, quantile);
  }
  const colours = ['--columns', 'colour', '--domain', 'blue,red'];
  const both = await accepted(['choose', '--winner', ...sizes, ...colours, ...strong]);
  assert.equal(both.stdout, 'size,colour\n5,red\n');
  const wide = ['--columns', 'size', '--domain', '0:130000'];
  assert.equal((await accepted(['choose', '--winner', ...wide, ...strong])).stdout, 'size\n5\n');
  const other = ['--columns', 'size', '--domain', '1:3', '--other'];
  assert.equal(
    (await accepted(['choose', '--winner', ...other, ...strong])).stdout,
    'size\nother\n',
  );
  const seeded = ['--epsilon', '0.01', '--seed', '7', '--json'];
  const first = await accepted(['choose', '--winner', ...sizes, ...seeded]);
  assert.match(first.stderr, /NOT private/);
  const result = JSON.parse(first.stdout);
  const histogram = [0, 4, 10, 0, 30, 0];
  const expected = dp.queries.winner({ histogram, epsilon: 0.01, insecureSeed: 7 });
  assert.deepEqual(result, {
    private: false,
    protects: 'one row',
    neighbours: 'zero-out',
    epsilon: 0.01,
    choice: 'winner',
    values: { size: String(expected + 1) },
  });
});

test('choose: a median of decimals is the middle of its bin, and says how wide that is', async () => {
  const euros = 'price;who\n12,50;a\n7,99;b\n450,00;a\n20,10;c\n-3;d\n9000,5;e\n';
  const base = ['choose', '--columns', 'price=0:500', '--decimal', 'comma', ...strong];
  const run = async (...more) => {
    const { code, stdout, stderr } = await dpFtrl([...base, ...more], { input: euros });
    assert.equal(code, 0, stderr);
    return { stdout, stderr };
  };
  const { stdout, stderr } = await run('--median');
  // The third and the fourth of six numbers are 12.5 and 20.1; either is a median.
  assert.match(stdout, /^price,resolution\n(12\.75|1[3-9]\.[27]5|20\.25),0\.5\n$/);
  assert.match(stderr, /the answer is the middle of one of 1000 bins of width 0\.5$/m);
  const ends = [
    ['0', 1],
    ['1', 499],
  ];
  for (const [quantile, middle] of ends) {
    const { stdout: end } = await run('--quantile', quantile, '--bins', '250');
    assert.equal(end, `price,resolution\n${middle},2\n`, 'numbers outside are the nearest inside');
  }
  const { stdout: json } = await run('--quantile', '0', '--bins', '50', '--json', '--seed', '1');
  assert.deepEqual(JSON.parse(json), {
    private: false,
    protects: 'one row',
    neighbours: 'zero-out',
    epsilon: 500,
    choice: 'quantile 0',
    values: { price: 5 },
    resolution: 10,
  });
  // Only the first row of each person counts: 12.50, and not 450.
  const persons = ['--user-column', 'who', '--max-contributions', '1'];
  const { stdout: fourth } = await run('--quantile', '0.7', '--bins', '500', ...persons);
  assert.equal(fourth, 'price,resolution\n20.5,1\n');
});

test('choose: bins keep the odds of every pair of neighbouring tables within epsilon', () => {
  const epsilon = 0.5;
  const bins = new Bins({ name: 'x', low: 0, high: 1 }, 3);
  const numbers = [-2, 0, 0.3, 0.34, 0.5, 1, 7];
  const histogramOf = (table) => {
    const histogram = new Float64Array(bins.size);
    for (const x of table) histogram[bins.indexOf(Math.min(Math.max(x, 0), 1))] += 1;
    return histogram;
  };
  /** The exponential mechanism with the distances of ranks, which one row moves by at most 1. */
  const lawOf = (table) => {
    const histogram = histogramOf(table);
    let below = 0;
    const weights = Array.from(histogram, (count) => {
      const miss = Math.max(0, 2 * below - table.length, table.length - 2 * (below + count));
      below += count;
      return Math.exp((-epsilon * miss) / 2);
    });
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  };
  const tables = [[]];
  for (const table of tables) {
    if (table.length < 3) tables.push(...numbers.map((x) => [...table, x]));
  }
  for (const table of tables.slice(1)) {
    const [law, less] = [lawOf(table), lawOf(table.slice(1))];
    law.forEach((odds, i) => {
      assert.ok(Math.abs(Math.log(odds / less[i])) <= epsilon + 1e-12, `${table}`);
    });
  }
  // The command draws from this law; 5 standard deviations of 4000 draws are below 0.04.
  for (const table of some(tables.slice(-9), 3)) {
    const drawn = [0, 0, 0];
    const histogram = histogramOf(table);
    for (let insecureSeed = 0; insecureSeed < 4000; ++insecureSeed) {
      drawn[dp.queries.quantile({ histogram, epsilon, quantile: [1, 2], insecureSeed })] += 1;
    }
    lawOf(table).forEach((odds, i) => assert.ok(Math.abs(drawn[i] / 4000 - odds) < 0.04));
  }
});

test('choose: --top writes the largest of one noisy histogram, with the std of its noise', async () => {
  const { stdout, stderr } = await accepted(['choose', '--top', '2', ...sizes, ...strong]);
  assert.match(
    stdout,
    /^size,count,std\n5,(30|29\.9\d*|30\.0\d*),0\.00\d+\n3,(10|9\.9\d*|10\.0\d*),/,
  );
  assert.match(stderr, /500-differentially private: one row/);
  const cases = [
    [[], {}, 1],
    [['--neighbours', 'replace-one'], { neighbours: 'replace-one' }, 2],
    [persons(3), { maxContributions: 3 }, 3],
  ];
  for (const [more, , times] of cases) {
    const args = ['choose', '--top', '3', ...sizes, '--epsilon', '1', '--seed', '5', '--json'];
    const { std, top, choice } = JSON.parse((await accepted([...args, ...more])).stdout);
    close(std, Math.SQRT2 * times, 1e-5);
    assert.equal(choice, 'top 3');
    assert.equal(new Set(top.map(({ values }) => values.size)).size, 3);
    assert.ok(top[0].count >= top[1].count && top[1].count >= top[2].count);
  }
});

test('choose: --top tells neighbours apart within epsilon, and no less than its noise needs', () => {
  const [draws, epsilon] = [6000, 1];
  for (const maxContributions of [1, 2]) {
    /** How often the second value is on top, or has a count of at least 1. */
    const odds = (histogram) => {
      let [first, large] = [0, 0];
      for (let seed = 0; seed < draws; ++seed) {
        const how = { histogram, most: 1, epsilon, neighbours: 'zero-out', maxContributions };
        const { places, counts } = topOf(dp, { ...how, insecureSeed: BigInt(seed) });
        first += Number(places[0] === 1);
        large += Number(places[0] === 1 && counts[0] >= maxContributions);
      }
      return [first / draws, large / draws];
    };
    const with0 = odds(Float64Array.of(0, 0));
    const withAll = odds(Float64Array.of(0, maxContributions));
    // The false alarm probability is below 1e-6: 5 standard deviations of a ratio near 0.3.
    const slack = 1.13;
    withAll.forEach((one, i) => assert.ok(one / with0[i] <= Math.E * slack, `${one} ${with0[i]}`));
    assert.ok(withAll[1] / with0[1] >= 1.6, 'the noise is no larger than it needs to be');
  }
});

test('choose: the values of --top lose less than values chosen one by one at the same epsilon', () => {
  const histogram = Float64Array.from({ length: 40 }, (_, i) => 120 - 3 * i);
  const [most, epsilon, runs] = [5, 0.5, 200];
  const best = histogram.slice(0, most).reduce((sum, count) => sum + count, 0);
  const lost = { once: 0, peeled: 0 };
  const squares = { once: 0, peeled: 0 };
  const found = (places) => places.reduce((sum, place) => sum + histogram[place], 0);
  for (let seed = 0; seed < runs; ++seed) {
    const how = { histogram, epsilon, neighbours: 'zero-out', insecureSeed: BigInt(seed) };
    const { places, counts, std } = topOf(dp, { ...how, most });
    lost.once += best - found(places);
    squares.once += std ** 2;
    assert.equal(counts.length, most);
    // Half of epsilon for the choices, a tenth each; half for the counts.
    const rest = histogram.slice();
    const peeled = Array.from({ length: most }, (_, i) => {
      const place = dp.queries.winner({
        histogram: rest,
        epsilon: epsilon / 2 / most,
        insecureSeed: BigInt(seed * most + i),
      });
      rest[place] = 0;
      return place;
    });
    lost.peeled += best - found(peeled);
    squares.peeled += 2 * (2 / epsilon) ** 2;
  }
  assert.ok(lost.once < 0.5 * lost.peeled, JSON.stringify(lost));
  assert.ok(squares.once < 0.3 * squares.peeled);
});

test('persons: only the first rows of each person count, and the noise covers that many rows', async () => {
  const most = await accepted(['choose', '--winner', ...sizes, ...strong, ...persons(2)]);
  assert.equal(most.stdout, 'size\n3\n', 'ann counts twice');
  assert.match(most.stderr, /one person \(column "who"\) is protected, whose first 2 rows/);
  const seed = ['--seed', '3', '--json'];
  const ask = ['queries', '--workload', 'identity', ...sizes, '--epsilon', '1', ...seed];
  for (const [delta, k] of [
    ['0.1', 1], // Gaussian noise is chosen
    ['0.1', 3],
    ['0', 1],
    ['0', 3],
  ]) {
    const { stdout } = await accepted([...ask, '--delta', delta, ...persons(k)]);
    const { answers, protects, mu } = JSON.parse(stdout);
    assert.equal(protects, 'one person (column "who")');
    const seen = new Map();
    const histogram = [0, 0, 0, 0, 0, 0];
    for (const [who, size] of rows) {
      seen.set(who, (seen.get(who) ?? 0) + 1);
      if (seen.get(who) <= k) histogram[size - 1] += 1;
    }
    const privacy = { epsilon: 1, delta: Number(delta) };
    const made = dp.queries
      .linear({ workload: { identity: 6 }, ...privacy, maxContributions: k })
      .result();
    const { answers: expected } = made.release(histogram, { insecureSeed: 3 });
    assert.deepEqual(
      answers.map(({ answer }) => answer),
      [...expected],
    );
    const single = dp.queries.linear({ workload: { identity: 6 }, ...privacy }).result();
    close(answers[0].std, k * single.standardErrors[0], 1e-6);
    close(mu, single.mu, 1e-9);
    made.dispose();
    single.dispose();
  }
});

test('choose: the noise is for the neighbours and the persons that are asked for', async () => {
  const counts = (most) => {
    const seen = new Map();
    const histogram = [0, 0, 0, 0, 0, 0];
    for (const [who, size] of rows) {
      seen.set(who, (seen.get(who) ?? 0) + 1);
      if (seen.get(who) <= most) histogram[size - 1] += 1;
    }
    return histogram;
  };
  const cases = [
    [['--neighbours', 'replace-one'], counts(Infinity), { neighbours: 'replace-one' }],
    [persons(3), counts(3), { maxContributions: 3 }],
  ];
  for (const [more, histogram, options] of cases) {
    for (const [choice, choose] of [
      [['--winner'], (how) => dp.queries.winner({ histogram, epsilon: 0.1, ...how })],
      [
        ['--quantile', '1/2'],
        (how) => dp.queries.quantile({ histogram, epsilon: 0.1, quantile: [1, 2], ...how }),
      ],
    ]) {
      // A seed for which other noise would choose differently.
      const seeds = Array.from({ length: 1000 }, (_, insecureSeed) => insecureSeed);
      const seed = seeds.find(
        (insecureSeed) => choose({ ...options, insecureSeed }) !== choose({ insecureSeed }),
      );
      const expected = choose({ ...options, insecureSeed: seed });
      const args = ['choose', ...choice, ...sizes, '--epsilon', '0.1', '--seed', String(seed)];
      const { stdout } = await accepted([...args, ...more]);
      assert.equal(stdout, `size\n${expected + 1}\n`, [...choice, ...more].join(' '));
    }
  }
});

test('persons: a choice has the odds of epsilon divided by the number of rows per person', () => {
  const histogram = [0, 3];
  const draws = (options) => {
    const draw = (_, i) =>
      dp.queries.winner({ histogram, epsilon: 1, ...options, insecureSeed: i });
    const drawn = Array.from({ length: 4000 }, draw);
    return drawn.reduce((sum, one) => sum + one, 0) / 4000;
  };
  // The odds are e^(3 / k) / (1 + e^(3 / k)); 6 standard deviations are below 0.047.
  for (const k of [1, 3]) {
    const odds = Math.exp(3 / k);
    assert.ok(Math.abs(draws({ maxContributions: k }) - odds / (1 + odds)) < 0.047, `${k}`);
  }
});

test('budget: pure releases and choices count as the Gaussian DP of their epsilon', async () => {
  const path = join(folder, 'budget.json');
  const limit = [
    '--budget',
    path,
    '--budget-epsilon',
    '4',
    '--budget-delta',
    '1e-6',
    '--budget-pure',
    '0',
  ];
  const spend = ['--epsilon', '0.3', ...persons(2), ...limit];
  const runs = [
    ['queries', '--workload', 'prefix', ...sizes, '--delta', '0', ...spend],
    ['choose', '--winner', ...sizes, ...spend],
    ['choose', '--quantile', '1/2', ...sizes, ...spend],
    ['queries', '--workload', 'prefix', ...sizes, '--delta', '1e-6', ...spend],
  ];
  for (const run of runs) await accepted(run);
  const { spent, releases } = JSON.parse(readFileSync(path, 'utf8'));
  const pure = dp.calibrate({ epsilon: 0.3, delta: 0 }).mu;
  const gaussian = dp.calibrate({ epsilon: 0.3, delta: 1e-6 }).mu;
  // If one release were not counted, the root would be of fewer squares.
  close(spent.mu, Math.hypot(pure, pure, pure, gaussian), 1e-9);
  assert.ok(spent.mu >= Math.hypot(pure, pure, pure, gaussian));
  assert.deepEqual(
    releases.map(({ mechanism, delta }) => [mechanism, delta]),
    [
      ['queries prefix, optimal', 0],
      ['winner', 0],
      ['quantile 1/2', 0],
      ['queries prefix, optimal', 1e-6],
    ],
  );
  const before = readFileSync(path, 'utf8');
  const large = ['choose', '--winner', ...sizes, '--epsilon', '3', ...persons(2), '--budget', path];
  const { stdout } = await fails(large, 2, /must fit what is left of the budget/, { input });
  assert.equal(stdout, '');
  assert.equal(readFileSync(path, 'utf8'), before);
  const ofRows = ['choose', '--winner', ...sizes, '--epsilon', '0.1', '--budget', path];
  await fails(ofRows, 2, /they do not add up/, { input });
  // 2 Phi^-1(e / (1 + e)).
  close(dp.calibrate({ epsilon: 1, delta: 0 }).mu, 1.2320353853449013, 1e-10);
});

test('choose: misuse is refused with a message that names the problem', async () => {
  const bad = join(folder, 'bad.csv');
  writeFileSync(bad, 'who,size\n,3\n');
  const base = ['choose', ...sizes, ...strong];
  const cases = [
    [base, /give one of --winner or --top K, for the most frequent values, and --median or/],
    [[...base, '--winner', '--top', '2'], /give one of/],
    [[...base, '--median', '--quantile', '1/2'], /give one of/],
    [[...base, '--top', '7'], /--top must be at most 6, the number of values, got 7$/],
    [[...base, '--winner', '--bins', '9'], /--bins needs the range of its column/],
    [['choose', '--columns', 'size=0:6', ...strong, '--top', '1'], /is for --median or --quantile/],
    [
      ['choose', '--columns', 'size=0:6', '--domain', '1:6', ...strong, '--median'],
      /give a range in --columns or --domain, not both/,
    ],
    [
      ['choose', '--columns', 'size', ...strong, '--median'],
      /--domain is required.*of decimal numbers give the range instead/,
    ],
    [[...base, '--winner', '--quantile', '1/2'], /give one of/],
    [[...base, '--quantile', 'half'], /a fraction from 0 to 1 such as 1\/2 or 0\.5, got "half"/],
    [[...base, '--quantile', '3/2'], /--quantile must be a fraction from 0 to 1 .*, got "3\/2"/],
    [[...base, '--quantile', '1.5'], /--quantile must be a fraction from 0 to 1 .*, got "1.5"/],
    [[...base, '--quantile', '0/0'], /--quantile must be a fraction from 0 to 1/],
    [[...base, '--quantile', '1/2', '--other'], /one of --columns, whose values are in order/],
    [['choose', '--winner', ...strong], /--columns is required/],
    [['choose', '--winner', ...sizes], /--epsilon is required/],
    [[...base, '--winner', '--user-column', 'who'], /needs --max-contributions/],
    [[...base, '--winner', '--max-contributions', '2'], /needs --user-column/],
    [[...base, '--winner', ...persons(2), '--neighbours', 'replace-one'], /needs zero-out/],
    [[...base, '--winner', ...persons(2), bad], /row 1 \(line 2\), column "who" is empty/],
    [[...base.slice(0, 4), '1:3', ...strong, '--winner'], /outside --domain/],
  ];
  for (const [args, message] of some(cases, 3)) await fails(args, 2, message, { input });
});

test('choose: numbers of a domain must ascend for a quantile', async () => {
  const base = ['choose', '--columns', 'size', ...strong, '--quantile', '1/2', '--domain'];
  await fails([...base, '1,10,2'], 2, /must be ascending for --quantile, got 2 after 10$/, {
    input,
  });
  await accepted([...base, '1,2,3,4,5,10', '--quiet']);
  await accepted([...base, '5,4,3,2,1,few', '--quiet']);
});

test('domains: what is almost a range is refused, and times and groups of ages are texts', async () => {
  const base = ['choose', '--columns', 'size', ...strong, '--winner', '--other', '--domain'];
  const almost = ['0:2.5', '0:1e3', '0:5,7', '0:5:1', '0-5', '0..5', '0:9007199254740993'];
  for (const domain of almost) {
    const message = /--domain must be LOW:HIGH in digits, .*, got/;
    await fails([...base, domain], 2, message, { input });
  }
  for (const domain of ['08:00,09:00', '18-25,26-40', '2026-01-01', 'a:b', '-5,-3', '1,2'])
    await accepted([...base, domain, '--quiet']);
});

test('choose: the odds of a winner are those that the help states', async () => {
  const { stdout } = await dpFtrl(['choose', '--help', 'all']);
  const help = stdout.replace(/\s+/g, ' ');
  assert.ok(help.includes('with odds exp(E u), with replace-one exp(E u / 2);'), help);
  const draws = 2000;
  // Five standard deviations: a false alarm has probability below 1e-6 over seeds.
  const tolerance = (5 * 0.5) / Math.sqrt(draws);
  for (const [neighbours, maxContributions, exponent] of [
    ['zero-out', 1, 1],
    ['replace-one', 1, 1 / 2],
    ['zero-out', 2, 1 / 2],
  ]) {
    const options = { histogram: [1, 0], epsilon: Math.log(9), neighbours, maxContributions };
    let wins = 0;
    for (let insecureSeed = 0; insecureSeed < draws; ++insecureSeed)
      wins += Number(dp.queries.winner({ ...options, insecureSeed }) === 0);
    const odds = 9 ** exponent;
    assert.ok(Math.abs(wins / draws - odds / (1 + odds)) < tolerance, `${neighbours} ${wins}`);
  }
});
