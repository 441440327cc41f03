// SPDX-License-Identifier: Apache-2.0

// Linear queries, winners and quantiles, in the library and on the command line.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('queries');
const file = writerIn(folder);

const target = { epsilon: 1, delta: 1e-6 };

test('queries: bounds hold for mechanisms that need not be factorizations', () => {
  const parity = { workload: { parities: 4, order: 2 }, epsilon: 1 };
  const rms = ({ standardErrors }) =>
    Math.hypot(...standardErrors) / Math.sqrt(standardErrors.length);
  const approximate = dp.queries.linear({ ...parity, delta: 1e-5 }).result();
  const { addedNoise, unbiased, every } = approximate.bounds();
  // The constant is from tests/golden/added_noise.json.
  close(addedNoise, approximate.lowerBound * Math.sqrt(1.8396168204220157), 1e-6);
  assert.ok(addedNoise < rms(approximate));
  assert.deepEqual([unbiased, every], [null, null]);
  const pure = dp.queries.linear({ ...parity, delta: 0, maxContributions: 2 }).result();
  const found = pure.bounds();
  close(found.unbiased, (2 * pure.lowerBound) / Math.sqrt(Math.E + 1 / Math.E - 2), 1e-9);
  assert.ok(found.every < found.unbiased && found.unbiased < found.addedNoise);
  assert.ok(found.addedNoise < rms(pure));
  const replaced = dp.queries.linear({ ...parity, delta: 0, neighbours: 'replace-one' }).result();
  assert.equal(replaced.bounds().every, null);
  for (const made of [approximate, pure, replaced]) made.dispose();
});

test('queries: the optimum is the known one, and certified', () => {
  const gammas = [
    [{ ranges: 8 }, 8.970188],
    [{ marginals: [2, 2, 2, 2, 2], order: 2 }, 11.581139],
    [{ parities: 4, order: 2 }, 6],
    [{ product: [{ prefix: 4 }, { prefix: 8 }] }, 11.0821783707],
    [{ identity: 9 }, 3],
  ];
  for (const [workload, gamma] of gammas) {
    const made = dp.queries.linear({ workload, ...target }).result();
    const expected = gamma / Math.sqrt(made.numQueries);
    assert.ok(Math.abs(made.lowerBound / expected - 1) < 1e-5, JSON.stringify(workload));
    assert.ok(made.ratio >= 1 && made.ratio < 1 + 1e-4);
    assert.equal(made.noise, 'gaussian');
    assert.equal(made.textbookRatio, 1);
    const { noiseMultiplier } = dp.calibrate(target);
    const squares = made.standardErrors.reduce((sum, std) => sum + std ** 2, 0);
    const rms = Math.sqrt(squares / made.numQueries);
    assert.ok(Math.abs(rms / (noiseMultiplier * made.unitError) - 1) < 1e-6);
    made.dispose();
  }
  assert.equal(dp.liveHandles, 0);
});

test('queries: answers are right up to their standard errors', () => {
  const histogram = [500, 0, 20, 7000];
  for (const delta of [0, 1e-6]) {
    for (const measurements of ['optimal', 'identity', 'queries']) {
      const made = dp.queries
        .linear({ workload: { ranges: 4 }, epsilon: 1, delta, measurements })
        .result();
      const { answers, insecure, histogram: none } = made.release(histogram);
      assert.equal(insecure, false);
      assert.equal(none, undefined);
      let query = 0;
      for (let i = 0; i < 4; ++i) {
        for (let j = i; j < 4; ++j, ++query) {
          assert.equal(made.label(query), `${i}..${j}`);
          const truth = histogram.slice(i, j + 1).reduce((sum, count) => sum + count);
          const error = (answers[query] - truth) / made.standardErrors[query];
          // Any of 60 errors exceeds 12 standard errors of the heavier-tailed noise with
          // probability below 10^-5.
          assert.ok(Math.abs(error) < 12, `${error}`);
          assert.notEqual(error, 0);
        }
      }
      made.dispose();
    }
  }
});

test('queries: F = R M, so scaled that a record moves what is measured by at most 1', () => {
  const options = { workload: { ranges: 5 }, epsilon: 1 };
  for (const [delta, norm] of [
    [1e-6, 2],
    [0, 1],
  ]) {
    const made = dp.queries.linear({ ...options, delta }).result();
    const { numQueries: k, numValues: m, numMeasurements: r, ...matrices } = made.matrices();
    const { queries, decoder, encoder } = matrices;
    assert.deepEqual([queries.length, decoder.length, encoder.length], [k * m, k * r, r * m]);
    const columns = new Float64Array(m);
    for (let j = 0; j < m; ++j) {
      for (let i = 0; i < k; ++i) {
        let sum = 0;
        for (let t = 0; t < r; ++t) sum += decoder[i * r + t] * encoder[t * m + j];
        assert.ok(Math.abs(sum - queries[i * m + j]) < 1e-10);
      }
      for (let t = 0; t < r; ++t) columns[j] += Math.abs(encoder[t * m + j]) ** norm;
    }
    assert.ok(Math.abs(Math.max(...columns) - 1) < 1e-9);
    assert.deepEqual(
      made.labels(),
      Array.from({ length: k }, (_, i) => made.label(i)),
    );
    made.dispose();
  }
});

const own = [
  [1, 1, 1, 1],
  [1, 1, 0, 0],
  [1, 0, 0, 0],
  [0, 0, 1, 0],
];

test('queries: measurements of the caller are made, as many as there are', () => {
  const matrix = Array.from({ length: 5 }, (_, i) =>
    Array.from({ length: 8 }, (_, j) => Math.sin(1 + 3 * i + 7 * j)),
  );
  const measure = Array.from({ length: 13 }, (_, i) =>
    Array.from({ length: 8 }, (_, j) => Math.cos(2 + 5 * i + 11 * j * j) + (i === j ? 1 : 0)),
  );
  const made = dp.queries
    .linear({ workload: { matrix }, ...target, measurements: { measure } })
    .result();
  const { decoder, encoder, queries, numMeasurements } = made.matrices();
  assert.ok(numMeasurements >= 13);
  for (let i = 0; i < 5; ++i) {
    for (let j = 0; j < 8; ++j) {
      let sum = 0;
      for (let k = 0; k < numMeasurements; ++k) {
        sum += decoder[i * numMeasurements + k] * encoder[k * 8 + j];
      }
      assert.ok(Math.abs(sum - queries[i * 8 + j]) < 1e-9);
    }
  }
  // The rows of M, in proportion to its longest column.
  const column = Math.max(...measure[0].map((_, j) => Math.hypot(...measure.map((row) => row[j]))));
  measure.flat().forEach((entry, i) => close(encoder[i] + 2, entry / column + 2, 1e-6));
  assert.ok(made.unitError >= made.lowerBound);
  const exact = Array.from({ length: 8 }, (_, j) => j);
  const answers = Array.from({ length: 4000 }, (_, seed) =>
    made.release(exact, { insecureSeed: seed }).answers.slice(),
  );
  for (let i = 0; i < 5; ++i) {
    const truth = matrix[i].reduce((sum, entry, j) => sum + entry * j, 0);
    const squares = answers.reduce((sum, row) => sum + (row[i] - truth) ** 2, 0);
    // Off by 10 standard errors with probability 1e-23.
    close(squares / 4000 / made.standardErrors[i] ** 2, 1, 10 * Math.sqrt(2 / 4000));
  }
  made.dispose();
});

test('queries: a reconstruction of the caller is used, and refused if it does not answer', () => {
  const workload = { prefix: 4 };
  const reconstruct = [
    [0, 0, 1, 0],
    [0, 1, 0, 0],
    [0, 1, 0, 1],
    [1, 0, 0, 0],
  ];
  const of = (measurements) => dp.queries.linear({ workload, ...target, measurements }).result();
  const given = of({ measure: own, reconstruct });
  assert.equal(given.numMeasurements, 4, 'whole numbers are exact');
  // ||R||_F / sqrt k times the longest column of M.
  close(given.unitError, Math.sqrt(5 / 4) * Math.sqrt(3), 1e-12);
  const best = of({ measure: own });
  close(best.unitError, given.unitError, 1e-9, 'M is invertible: there is no other R');
  given.dispose();
  best.dispose();
  const refuse = (measurements, type, code, message) =>
    rejects(() => of(measurements), type, code, message);
  const wrong = reconstruct.map((row) => [...row]);
  wrong[2][0] = 0.5;
  refuse(
    { measure: own, reconstruct: wrong },
    RangeError,
    'invalid_argument',
    /reconstruct must be such that R M is F, got 1.5 for 1 in row 3, column 1/,
  );
  refuse(
    { measure: own.slice(1) },
    RangeError,
    'invalid_argument',
    /measure must be such that some R has R M = F, got .* in row 4/,
  );
  refuse(
    { measure: own.map((row) => row.slice(1)) },
    TypeError,
    'wrong_length',
    /measure must have 4 .*got 3/,
  );
  refuse(
    { measure: own, reconstruct: reconstruct.slice(1) },
    TypeError,
    'wrong_length',
    /reconstruct must have 4 .*got 3/,
  );
  refuse(
    { measure: [...own, [0, Number.NaN, 0, 0]] },
    RangeError,
    'invalid_argument',
    /measure\[17\] must be finite/,
  );
  refuse({ measure: [] }, RangeError, 'invalid_argument', /measure must have .* rows, got 0/);
  refuse({ reconstruct }, TypeError, 'wrong_type', /measure must be an array/);
  refuse({ measure: own, decoder: [] }, TypeError, 'wrong_type', /decoder is an unknown option/);
});

test('queries: the command reads measurements and reconstruction from files', async () => {
  const workload = file('prefix.csv', '1,0,0,0\n1,1,0,0\n1,1,1,0\n1,1,1,1\n');
  const measure = file('M.csv', own.map((row) => `${row.join(',')}\n`).join(''));
  const reconstruct = file('R.csv', '0,0,1,0\n0,1,0,0\n0,1,0,1\n1,0,0,0\n');
  const input = { input: 'v\n0\n1\n1\n3\n' };
  const run = ['queries', '--columns', 'v', '--domain', '0:3', '--epsilon', '1', '--delta', '1e-6'];
  const asked = [...run, '--workload', workload, '--measure', measure];
  const { code, stdout, stderr } = await dpFtrl([...asked, '--json'], input);
  assert.equal(code, 0, stderr);
  const found = JSON.parse(stdout);
  assert.equal(found.numMeasurements, 4);
  const made = dp.queries
    .linear({
      workload: { prefix: 4 },
      epsilon: 1,
      delta: found.delta,
      measurements: { measure: own },
    })
    .result();
  assert.deepEqual([found.noise, found.unitError], [made.noise, made.unitError]);
  made.dispose();
  const both = await dpFtrl([...asked, '--reconstruct', reconstruct, '--json'], input);
  assert.equal(both.code, 0, both.stderr);
  const wrong = file('wrong.csv', '0,0,1,0\n0,1,0,0\n0,1,0,2\n1,0,0,0\n');
  const misuse = [
    [
      [...asked, '--reconstruct', wrong],
      /--reconstruct .*wrong\.csv must be such that R M is F, got 2 for 1/,
    ],
    [
      [...run, '--workload', workload, '--reconstruct', reconstruct],
      /--reconstruct needs --measure/,
    ],
    [
      [...run, '--workload', workload, '--measure', 'none.csv'],
      /--measure none\.csv: there is no file none\.csv$/,
    ],
    [
      [...run, '--workload', workload, '--measure', file('short.csv', '1,0,0\n')],
      /--measure .*short\.csv has 1 row and 3 columns, the domain has 4 values$/,
    ],
    [
      [...run, '--workload', workload, '--measure', file('few.csv', '1,0,0,0\n')],
      /--measure .*few\.csv must be such that some R has R M = F, got/,
    ],
    [
      [...asked, '--reconstruct', file('R3.csv', '0,0,1\n0,1,0\n0,1,0\n1,0,0\n')],
      /--reconstruct .*R3\.csv has 4 rows and 3 columns; it must have 4 rows, one per query, and 4 columns, one per row of --measure$/,
    ],
    [
      [...run, '--workload', workload, '--measure', file('nan.csv', '1,0,0,NaN\n')],
      /--measure .*nan\.csv: .*"NaN"/,
    ],
  ];
  for (const [command, message] of misuse) await fails(command, 2, message, input);
});

test('queries: the best of several are claimed for the measurements that are chosen alone', async () => {
  const measure = file('I.csv', '1,0\n0,1\n');
  const run = ['queries', '--workload', 'prefix', '--columns', 'v', '--domain', '0:1'];
  for (const measured of [[], ['optimal'], ['identity'], ['queries'], [measure]]) {
    const option = measured.flatMap((name) => ['--measure', name]);
    const { code, stderr } = await dpFtrl([...run, '--epsilon', '1', '--delta', '0', ...option], {
      input: 'v\n0\n1\n',
    });
    assert.equal(code, 0, stderr);
    const isChosen = (measured[0] ?? 'optimal') === 'optimal';
    assert.equal(stderr.includes('measurements are the best of several'), isChosen, stderr);
    assert.equal(stderr.includes(`measurements are those of ${option.join(' ')}`), !isChosen);
  }
});

test('queries: gamma_2 lies between gamma_F over the root of the queries and gamma_F', () => {
  const ratioOf = (workload) => {
    const [mean, max] = ['mean', 'max'].map((objective) => {
      const found = dp.queries.linear({ workload, ...target, objective }).result();
      const { lowerBound, unitError, numQueries } = found;
      found.dispose();
      // Lower bounds are within 1e-3 of the least error.
      close(unitError / lowerBound, 1, 1e-3);
      return { least: unitError, numQueries };
    });
    const ratio = max.least / mean.least;
    assert.ok(ratio >= 1 - 1e-3 && ratio <= Math.sqrt(mean.numQueries) * (1 + 1e-3), `${ratio}`);
    return ratio;
  };
  assert.ok(ratioOf({ prefix: 16 }) > 1.005);
  assert.ok(ratioOf({ ranges: 8 }) > 1.005);
  close(ratioOf({ parities: 4, order: 2 }), 1, 1e-6);
  close(ratioOf({ matrix: [[1, 2, 3]] }), 1, 1e-6);
});

test('queries: Laplace noise gets measurements of its own, no worse than the usual ones', () => {
  for (const workload of [{ prefix: 64 }, { ranges: 16 }, { marginals: [2, 2, 2], order: 1 }]) {
    const errors = ['optimal', 'identity', 'queries'].map((measurements) => {
      const made = dp.queries.linear({ workload, epsilon: 1, delta: 0, measurements }).result();
      const { unitError, lowerBound } = made;
      made.dispose();
      assert.ok(lowerBound <= unitError);
      return unitError;
    });
    assert.ok(errors[0] <= Math.min(...errors.slice(1)) * (1 + 1e-9), `${errors}`);
    if (workload.prefix) assert.ok(errors[0] < 0.8 * Math.min(...errors.slice(1)), `${errors}`);
  }
});

test('queries: a search in pieces ends where the one at once does', () => {
  const options = { workload: { product: [{ prefix: 4 }, { ranges: 6 }] }, ...target };
  const search = dp.queries.linear(options);
  let last = 0;
  for (const { fraction } of search) {
    assert.ok(fraction >= last && fraction <= 1);
    last = fraction;
  }
  assert.ok(last > 0.5);
  const pieces = search.result();
  const whole = dp.queries.linear(options).result();
  assert.deepEqual(pieces.matrices(), whole.matrices());
  assert.equal(search.result(), pieces);
  for (const handle of [pieces, whole]) handle.dispose();
  const unfinished = dp.queries.linear(options);
  for (const _ of unfinished) break;
  unfinished.dispose();
  assert.throws(() => unfinished.result(), { code: 'disposed' });
  assert.equal(dp.liveHandles, 0);
});

test('queries: keys differ from release to release, seeds do not', () => {
  const made = dp.queries.linear({ workload: { identity: 3 }, ...target }).result();
  const release = (options) => made.release([1, 2, 3], options);
  assert.notDeepEqual(release().answers, release().answers);
  assert.deepEqual(release({ insecureSeed: 5 }), release({ insecureSeed: 5n }));
  assert.equal(release({ insecureSeed: 5 }).insecure, true);
  made.dispose();
  assert.throws(() => made.release([1, 2, 3]), { code: 'disposed' });
});

test('queries: consistent answers are those of a histogram', () => {
  const options = { workload: { ranges: 5 }, ...target, neighbours: 'replace-one' };
  const made = dp.queries.linear(options).result();
  assert.ok(made.textbookRatio > 1.3);
  assert.ok(made.ratio >= 1 && made.ratio < 1.0002);
  const consistent = { consistent: true, integer: true, total: 12 };
  const { answers, histogram } = made.release([0, 12, 0, 0, 0], consistent);
  assert.equal(
    histogram.reduce((sum, count) => sum + count),
    12,
  );
  assert.ok(histogram.every((count) => count >= 0 && Number.isInteger(count)));
  assert.equal(answers[4], 12);
  made.dispose();
  const secret = dp.queries.linear({ ...options, neighbours: 'zero-out' }).result();
  assert.throws(() => secret.release([1, 2, 3, 4, 5], consistent), { code: 'unsupported' });
  secret.dispose();
});

test('queries: replace-one has an optimum of its own, and the number of records is exact', () => {
  for (const [workload, before] of [
    [{ prefix: 8 }, 2.03],
    [{ ranges: 32 }, 2.84],
  ]) {
    for (const delta of [1e-6, 0]) {
      const options = { workload, epsilon: 1, delta, neighbours: 'replace-one' };
      const made = dp.queries.linear(options).result();
      if (delta > 0) {
        assert.ok(made.ratio >= 1 && made.ratio < 1.0002, `${made.ratio}`);
        assert.ok(made.unitError < 0.9 * before, `${made.unitError}`);
      }
      const all = made.labels().indexOf(workload.prefix ? '0..7' : '0..31');
      const counts = Array.from({ length: made.numValues }, (_, v) => v % 5);
      const total = counts.reduce((sum, count) => sum + count);
      const { answers } = made.release(counts);
      assert.equal(answers[all], total);
      assert.equal(made.standardErrors[all], 0);
      assert.notEqual(answers[0], counts[0]);
      // Consistent histograms have that number of records.
      const { histogram } = made.release(counts, { consistent: true });
      close(
        histogram.reduce((sum, count) => sum + count, 0),
        total,
        1e-9,
      );
      made.dispose();
      const secret = dp.queries.linear({ ...options, neighbours: 'zero-out' }).result();
      assert.ok(secret.standardErrors[all] > 0);
      assert.notEqual(secret.release(counts).answers[all], total);
      secret.dispose();
    }
  }
});

test('queries: all ranges of 400 values are answered, and the max objective is refused', () => {
  const made = dp.queries.linear({ workload: { ranges: 400 }, ...target }).result();
  assert.equal(made.numQueries, 80200);
  assert.equal(made.label(401), '1..2');
  assert.ok(made.ratio >= 1 && made.ratio < 1.00001);
  const counts = Array.from({ length: 400 }, () => 10);
  const { answers } = made.release(counts);
  for (const query of [0, 399, 401, 80199]) {
    const [first, last] = made.label(query).split('..').map(Number);
    // 8 standard errors: a false alarm in 10^14.
    assert.ok(Math.abs(answers[query] - 10 * (last - first + 1)) < 8 * made.standardErrors[query]);
  }
  made.dispose();
  const max = { workload: { ranges: 400 }, ...target, objective: 'max' };
  assert.throws(() => dp.queries.linear(max).result(), {
    code: 'unsupported',
    message: /at most 361 values/,
  });
});

test('choose: the exponential mechanism has the right probabilities for given utilities', () => {
  const utilities = [-5, 0, 7, 7, 1];
  const sharp = { utilities, sensitivity: 1, epsilon: 100 };
  for (let i = 0; i < 20; ++i) assert.ok([2, 3].includes(dp.queries.choose(sharp)));
  // Probabilities are exp(epsilon u / (2 sensitivity)), without the 2 if `monotone`. Standard
  // errors of 4000 draws are below 0.008; six of them give a false alarm in 10^8.
  for (const [sensitivity, monotone] of [
    [2, false],
    [1, false],
    [2, true],
  ]) {
    const epsilon = 0.5;
    const unit = epsilon / (monotone ? sensitivity : 2 * sensitivity);
    const odds = utilities.map((utility) => Math.exp(unit * utility));
    const total = odds.reduce((sum, one) => sum + one);
    const drawn = utilities.map(() => 0);
    const given = { utilities, sensitivity, epsilon, ...(monotone && { monotone }) };
    for (let seed = 0; seed < 4000; ++seed)
      drawn[dp.queries.choose({ ...given, insecureSeed: seed })] += 1;
    drawn.forEach((count, i) => assert.ok(Math.abs(count / 4000 - odds[i] / total) < 0.048));
  }
  // The result equals that of the winner.
  const histogram = Array.from({ length: 40 }, (_, i) => i % 9);
  for (const neighbours of ['zero-out', 'replace-one']) {
    for (let insecureSeed = 0; insecureSeed < 20; ++insecureSeed) {
      const common = { epsilon: 1, insecureSeed };
      const monotone = neighbours === 'zero-out';
      assert.equal(
        dp.queries.choose({ ...common, utilities: histogram, sensitivity: 1, monotone }),
        dp.queries.winner({ ...common, histogram, neighbours }),
      );
    }
  }
  const draws = Array.from({ length: 30 }, () =>
    dp.queries.choose({ utilities: new Float64Array(50), sensitivity: 1, epsilon: 1 }),
  );
  assert.ok(new Set(draws).size > 5, 'draws have keys of their own');
  const refused = [
    [{ utilities: [] }, /utilities must have between/],
    [{ utilities: [1, 0.5] }, /^choose: utilities\[1\] must be an integer below 2\^53/],
    [{ utilities: [2 ** 53] }, /utilities\[0\] must be an integer/],
    [{ utilities: [NaN] }, /utilities\[0\] must be an integer/],
    [{ sensitivity: 0 }, /sensitivity must be/],
    [{ sensitivity: undefined }, /sensitivity/],
    [{ monotone: 1 }, /monotone must be/],
    [{ epsilon: 0 }, /^choose: epsilon must be between/],
    [{ maxContributions: 2 }, /maxContributions is an unknown option/],
  ];
  for (const [options, message] of refused) {
    assert.throws(() => dp.queries.choose({ ...sharp, ...options }), { message });
  }
});

test('queries: workloads can be unions and matrices', () => {
  const matrix = [
    [1, 0.5, 0],
    [0, 1, -1],
  ];
  const made = dp.queries
    .linear({ workload: { union: [{ matrix }, { prefix: 3 }] }, ...target })
    .result();
  assert.equal(made.numQueries, 5);
  assert.equal(made.label(4), '0..2');
  const [first, second] = made.release([4, 10, 1], { insecureSeed: 1 }).answers;
  assert.ok(Math.abs(first - 9) < 10 * made.standardErrors[0]);
  assert.ok(Math.abs(second - 9) < 10 * made.standardErrors[1]);
  made.dispose();
});

test('queries: winner and quantile find what stands out', () => {
  const histogram = [20, 900, 3000, 800, 10];
  for (const neighbours of ['zero-out', 'replace-one']) {
    assert.equal(dp.queries.winner({ histogram, epsilon: 1, neighbours }), 2);
    assert.equal(dp.queries.quantile({ histogram, quantile: [1, 2], epsilon: 1, neighbours }), 2);
    assert.equal(dp.queries.quantile({ histogram, quantile: [1, 10], epsilon: 1, neighbours }), 1);
  }
  const flat = Array.from({ length: 50 }, () => 1);
  const draw = () => dp.queries.winner({ histogram: flat, epsilon: 1 });
  const drawn = new Set(Array.from({ length: 30 }, draw));
  assert.ok(drawn.size > 5, 'draws have keys of their own');
  const seeded = () => dp.queries.winner({ histogram: flat, epsilon: 1, insecureSeed: 3 });
  assert.equal(seeded(), seeded());
});

test('queries: invalid options are refused, and the error names them', () => {
  const make = (options) =>
    dp.queries.linear({ workload: { identity: 2 }, ...target, ...options }).result();
  const replaced = { neighbours: 'replace-one' };
  const onlyOne =
    /^linear: maxContributions must be 1 where the number of records is public: .*, got 2$/;
  const cases = [
    [{ workload: {} }, 'wrong_type', /one of identity, prefix/],
    [{ workload: { identity: 2, prefix: 2 } }, 'wrong_type', /one of identity, prefix/],
    [{ workload: { identity: 2, order: 1 } }, 'wrong_type', /order is an unknown option/],
    [
      { workload: { identity: 0 } },
      'invalid_argument',
      /workload\.identity must be at least 1, got 0/,
    ],
    [{ workload: { identity: 1.5 } }, 'invalid_argument', /identity must be an integer/],
    [{ workload: { matrix: [[1, 2], [3]] } }, 'wrong_length', /matrix\[1\] must have 2/],
    [{ workload: { matrix: [] } }, 'invalid_argument', /matrix must have between/],
    [{ workload: { product: { prefix: 2 } } }, 'wrong_type', /product must be an array/],
    [
      { workload: { union: [{ prefix: 2 }, { prefix: 3 }] } },
      'wrong_length',
      /workload must have 2 entries/,
    ],
    [{ workload: { marginals: [2, 2], order: 3 } }, 'invalid_argument', /order must be/],
    [{ epsilon: -1 }, 'invalid_argument', /epsilon must be positive/],
    [{ delta: 1 }, 'invalid_argument', /delta must be/],
    [{ neighbours: 'near' }, 'invalid_argument', /neighbours must be one of/],
    [{ maxContributions: 0 }, 'invalid_argument', /maxContributions must be/],
    [{ ...replaced, maxContributions: 2 }, 'invalid_argument', onlyOne],
    [{ ...replaced, maxContributions: 2, delta: 0 }, 'invalid_argument', onlyOne],
    [{ insecureSeed: 1 }, 'wrong_type', /unknown option/],
  ];
  for (const [options, code, message] of cases) {
    assert.throws(() => make(options), { code, message }, JSON.stringify(options));
  }
  let deep = { prefix: 2 };
  for (let i = 0; i < 9; ++i) deep = { union: [deep] };
  assert.throws(() => make({ workload: deep }), {
    message: /workload must be at most 8 deep, got 9/,
  });
  const made = make({});
  assert.throws(() => made.release([1]), { code: 'wrong_length' });
  assert.throws(() => made.release([1, -1]), { message: /histogram\[1\] must be an integer/ });
  assert.throws(() => made.release([1, 0.5]), { message: /histogram\[1\] must be an integer/ });
  assert.throws(() => made.release([1, 2], { integer: true }), { message: /consistent: true/ });
  assert.throws(() => made.label(2), { message: /query must be/ });
  made.dispose();
  const histogram = [1, 2];
  assert.throws(() => dp.queries.winner({ histogram, epsilon: 0 }), {
    message: /epsilon must be between/,
  });
  assert.throws(() => dp.queries.quantile({ histogram, epsilon: 1, quantile: [3, 2] }), {
    message: /numerator must be/,
  });
  assert.throws(() => dp.queries.quantile({ histogram, epsilon: 1 }), {
    message: /quantile must be an/,
  });
  assert.equal(dp.liveHandles, 0);
});

// --- the command -------------------------------------------------------------------------------

const rows = `${'3,red\n'.repeat(40)}${'5,blue\n'.repeat(25)}4,red\n`;
const table = file('table.csv', `size,colour\n${rows}`);
const privacy = ['--epsilon', '5000', '--delta', '1e-6'];
const sizes = ['--columns', 'size', '--domain', '2:5'];
const colours = ['--columns', 'colour', '--domain', 'red,blue'];

async function answersOf(args) {
  const { code, stdout, stderr } = await dpFtrl(['queries', ...args, ...privacy, table]);
  assert.equal(code, 0, stderr);
  const [header, ...lines] = stdout.trimEnd().split('\n');
  assert.equal(header, 'query,answer,std');
  return { stderr, answers: Object.fromEntries(lines.map((line) => line.split(',').slice(0, 2))) };
}

test('command: answers have the names of the domain, and the guarantee is stated', async () => {
  const whole = ['--consistent', '--integer'];
  const { stderr, answers } = await answersOf(['--workload', 'ranges', ...sizes, ...whole]);
  assert.match(stderr, /5000-differentially private \(pure\): one row .*; zero-out neighbours/);
  assert.equal(answers['3..3'], '40');
  assert.equal(answers['3..4'], '41');
  assert.equal(answers['2..5'], '66');
  const tables = await answersOf(['--workload', 'marginals=2', ...sizes, ...colours, ...whole]);
  assert.equal(tables.answers['size=5 colour=blue'], '25');
  assert.equal(tables.answers['size=5 colour=red'], '0');
  const both = await answersOf(['--workload', 'prefix', ...sizes, ...colours, ...whole]);
  assert.equal(both.answers['2..4 x red..blue'], '41');
  const other = ['--columns', 'colour', '--domain', 'blue', '--other'];
  const rest = await answersOf(['--workload', 'identity', ...other, ...whole]);
  assert.deepEqual(rest.answers, { blue: '25', other: '41' });
  const own = file('own.csv', '1,1,0,0\n0,0,2,0\n0,0,1,-1\n');
  const asked = await answersOf(['--workload', own, ...sizes, ...whole]);
  assert.deepEqual(asked.answers, { 'query 0': '40', 'query 1': '2', 'query 2': '-24' });
  const joined = ['--workload', 'identity+marginals=1+prefix', ...sizes, ...colours];
  const union = Object.entries((await answersOf([...joined, ...whole])).answers);
  // 8 cells, 4 sizes, 2 colours and 8 prefixes, each with a different kind of name.
  assert.equal(union.length, 22);
  assert.deepEqual(union.slice(6, 10), [
    ['5 x red', '0'],
    ['5 x blue', '25'],
    ['size=2', '0'],
    ['size=3', '40'],
  ]);
  assert.deepEqual(union.at(-2), ['2..5 x red..red', '41']);
  const more = await answersOf(['--workload', `${own}+parities=1+ranges`, ...sizes]);
  assert.deepEqual(Object.keys(more.answers).slice(2, 6), ['query 2', 'x0', 'x1', '2..2']);
  const parity = await answersOf(['--workload', 'parities=1', ...colours]);
  assert.equal(Math.round(Number(parity.answers.x0)), 16);
});

test('command: JSON has the answers of the library for a seed, and --output writes a file', async () => {
  const args = ['queries', '--workload', 'identity', ...sizes, ...privacy];
  const path = join(folder, 'out.json');
  const seeded = ['--seed', '3', '--json'];
  const { stdout, stderr } = await dpFtrl([...args, ...seeded, table]);
  assert.match(stderr, /NOT private/);
  const { answers, ...about } = JSON.parse(stdout);
  assert.equal(about.private, false);
  assert.equal(about.noise, 'laplace');
  assert.equal(about.delta, 0);
  assert.ok(about.ratio < 1.0001);
  assert.deepEqual(Object.keys(about.bounds), ['addedNoise', 'unbiased', 'every']);
  assert.deepEqual(
    answers.map(({ query }) => query),
    ['2', '3', '4', '5'],
  );
  const made = dp.queries.linear({ workload: { identity: 4 }, epsilon: 5000, delta: 0 }).result();
  const expected = made.release([0, 40, 1, 25], { insecureSeed: 3 });
  assert.deepEqual(
    answers.map(({ answer }) => answer),
    [...expected.answers],
  );
  made.dispose();
  const quiet = await dpFtrl([...args, '--output', path, '--quiet', table]);
  assert.match(
    quiet.stderr + quiet.stdout,
    /^dp-ftrl queries: warning: --epsilon 5000 is above 20 .*\n$/,
  );
  assert.match(readFileSync(path, 'utf8'), /^query,answer,std\n2,/);
});

test('command: --fractions divides answers by the public number of rows', async () => {
  const base = ['queries', '--workload', 'prefix', ...sizes, ...privacy, '--seed', '3'];
  const open = [...base, '--neighbours', 'replace-one', table];
  const [counts, parts, json] = await Promise.all(
    [[], ['--fractions'], ['--fractions', '--json']].map((more) => dpFtrl([...open, ...more])),
  );
  const numbers = ({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(','));
  const told = JSON.parse(json.stdout);
  assert.equal(told.fractionsOf, 66);
  numbers(counts).forEach(([query, answer, std], i) => {
    const [same, part, partStd] = numbers(parts)[i];
    assert.equal(same, query);
    close(Number(part), answer / 66, 1e-6);
    close(Number(partStd), std / 66, 1e-5);
    close(told.answers[i].answer, answer / 66, 1e-6);
  });
  await fails([...base, '--fractions', table], 2, /--fractions needs --neighbours replace-one/);
  const empty = ['--fractions', '--neighbours', 'replace-one', file('empty.csv', 'size\n')];
  await fails([...base, ...empty], 2, /--fractions needs a row/);
  // In the library, the caller divides.
  const options = { workload: { prefix: 4 }, epsilon: 5000, delta: 0 };
  const made = dp.queries.linear({ ...options, neighbours: 'replace-one' }).result();
  const { answers } = made.release([0, 40, 1, 25], { insecureSeed: 3 });
  const n = 66;
  const fractions = answers.map((answer) => answer / n);
  fractions.forEach((fraction, i) => close(fraction, told.answers[i].answer, 1e-12));
  made.dispose();
});

test('command: a budget counts answers and running totals alike', async () => {
  const path = join(folder, 'budget.json');
  const limit = ['--budget', path, '--budget-epsilon', '1', '--budget-delta', '1e-6'];
  const spend = ['--epsilon', '0.5', '--delta', '1e-6', '--quiet', ...limit];
  const ask = ['queries', '--workload', 'prefix', ...sizes, ...spend, table];
  assert.equal((await dpFtrl(ask)).code, 0);
  const sums = ['release', '--clip', '5', '--columns', 'size', ...spend, table];
  assert.equal((await dpFtrl(sums)).code, 0);
  const { releases, unit } = JSON.parse(readFileSync(path, 'utf8'));
  assert.equal(unit, 'one row');
  assert.deepEqual(
    releases.map(({ mechanism }) => mechanism.split(',')[0]),
    ['queries prefix', 'optimal'],
  );
  assert.ok(Math.abs(releases[0].mu / releases[1].mu - 1) < 1e-9);
  await dpFtrl(ask);
  await fails(ask, 2, /must fit what is left of the budget/);
});

test('command: misuse is refused with a clear error', async () => {
  const base = ['queries', '--workload', 'ranges', ...privacy];
  const cases = [
    [[...base, table], /--columns is required/],
    [
      [...base, '--columns', 'size', table],
      /--domain is required: add --domain A,B,C; --domain has the values/,
    ],
    [
      [...base, '--columns', 'size', '--columns', 'x', '--domain', '1:4', table],
      /one --domain for each of --columns, got 2 and 1/,
    ],
    [[...base, '--columns', 'size', '--domain', '5:2', table], /the lower one first/],
    [[...base, '--columns', 'size', '--domain', 'a,,b', table], /texts separated by commas/],
    [[...base, '--columns', 'size', '--domain', 'a,a', table], /a value twice/],
    [[...base, '--columns', 'weight', '--domain', '1:2', table], /unknown column|no column/],
    [
      [...base, '--columns', 'size', '--domain', '3:4', table],
      /row 41 .*outside --domain; values of LOW:HIGH are whole numbers; --other/,
    ],
    [[...base, ...sizes, '--integer', table], /--integer needs --consistent/],
    [
      [...base, '--columns', 'size', '--domain', '0:130000', table],
      /--domain or --workload must have .* values, got 130001/,
    ],
    [
      [...base.slice(0, 3), ...sizes, '--epsilon', '1e-17', '--delta', '1e-300', table],
      /--epsilon/,
    ],
    [[...base.with(2, 'ranges+'), ...sizes, table], /--workload must be .*joined by \+, got ""/],
    [[...base.with(2, 'marginals=2'), ...sizes, table], /marginals must be of 1 column, got 2/],
    [[...base.with(2, 'parities=1'), ...sizes.slice(0, 3), '1:3', table], /power of two/],
    [['queries', '--workload', 'tables=2', ...sizes, ...privacy, table], /--workload must be/],
    [['queries', '--workload', join(folder, 'none.csv'), ...sizes, ...privacy], /there is no file/],
    [['queries', '--workload', 'ranges', ...sizes, '--epsilon', '1', '--delta', '1'], /--delta/],
  ];
  for (const [args, message] of cases) await fails(args, 2, message);
});

test('randomizedResponse: reports lie with the right probability, and the estimated count is close', () => {
  const [reports, epsilon] = [20_000, 1];
  let ones = 0;
  let lies = 0;
  for (let i = 0; i < reports; i++) {
    const bit = i % 4 === 0;
    const report = dp.queries.randomizedResponse({ bit, epsilon, insecureSeed: i });
    ones += report;
    lies += report !== bit;
  }
  const lie = 1 / (1 + Math.E);
  // Fixed seeds; 5 standard deviations were chosen beforehand. Half the epsilon would be 40 away.
  assert.ok(Math.abs(lies - reports * lie) < 5 * Math.sqrt(reports * lie * (1 - lie)), `${lies}`);
  const { count, stddev } = dp.queries.estimateCount({ ones, reports, epsilon });
  assert.ok(Math.abs(count - reports / 4) < 5 * stddev, `${count}`);
  assert.ok(
    Math.abs(stddev - Math.sqrt(reports * lie * (1 - lie)) / (1 - 2 * lie)) < 1e-9 * stddev,
  );
  const fresh = new Set();
  for (let i = 0; i < 100; i++)
    fresh.add(dp.queries.randomizedResponse({ bit: true, epsilon: 0.1 }));
  assert.equal(fresh.size, 2, 'no key, no seed: another draw each time');
});

test('randomizedResponse: bad input is refused, and the error names the parameter', () => {
  const code = (expected, message) => (error) =>
    error.code === expected && message.test(error.message);
  for (const [options, expected, message] of [
    [{ epsilon: 1 }, 'wrong_type', /randomizedResponse: bit must be a boolean, got undefined/],
    [{ bit: 1, epsilon: 1 }, 'wrong_type', /bit must be a boolean/],
    [{ bit: true }, 'wrong_type', /epsilon must be a number/],
    [{ bit: true, epsilon: 0 }, 'invalid_argument', /randomizedResponse: epsilon must be between/],
    [{ bit: true, epsilon: NaN }, 'invalid_argument', /epsilon must be between .*got NaN/],
    [{ bit: true, epsilon: 1, delta: 0 }, 'wrong_type', /delta is an unknown option/],
  ]) {
    assert.throws(
      () => dp.queries.randomizedResponse(options),
      code(expected, message),
      String(message),
    );
  }
  for (const [options, expected, message] of [
    [
      { ones: 3, reports: 2, epsilon: 1 },
      'invalid_argument',
      /estimateCount: ones must be between 0 and 2, got 3/,
    ],
    [{ ones: 0.5, reports: 2, epsilon: 1 }, 'invalid_argument', /ones must be/],
    [{ ones: 0, reports: -1, epsilon: 1 }, 'invalid_argument', /reports must be/],
    [{ ones: 0, reports: 1, epsilon: 0 }, 'invalid_argument', /epsilon must be between/],
  ]) {
    assert.throws(
      () => dp.queries.estimateCount(options),
      code(expected, message),
      String(message),
    );
  }
});
