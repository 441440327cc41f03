// SPDX-License-Identifier: Apache-2.0

// Streams without a delta, the command and its budget.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const scratch = scratchFolder('pure');

const target = { steps: 40, epsilon: 1, delta: 0 };
const seeded = { ...target, dimension: 1, insecureSeed: 21 };

const records = Float64Array.from({ length: 80 }, (_, k) => (((5 * k) % 13) - 6) / 8);

/** Passes totals to `use` and disposes of them afterwards. */
function withTotals(options, use) {
  const totals = dp.totals({ ...seeded, ...options });
  try {
    return use(totals);
  } finally {
    totals.dispose();
  }
}

test('pure: the totals are those of the core, bit for bit', () => {
  // tests/cpp/release/pure_sum_test.cpp expects the same number.
  let hash = 0xcbf29ce484222325n;
  for (const tree of [{}, { arity: 2 }, { arity: 7, subtractive: true }]) {
    const strategy = { name: 'tree-k', ...tree };
    const readings = withTotals({ strategy, dimension: 2 }, (it) => it.releaseMany(records));
    const totals = Float64Array.from(readings.flatMap(({ values }) => [...values]));
    for (const bits of new BigUint64Array(totals.buffer)) {
      hash = ((hash ^ bits) * 0x100000001b3n) & 0xffffffffffffffffn;
    }
  }
  assert.equal(hash, 2062574483522438629n);
});

test('pure: the certificate has no delta, and says which norm clips', () => {
  withTotals({ epsilon: 0.5, clip: 3, neighbours: 'replace-one' }, ({ certificate, grid }) => {
    const { mechanism, delta, clipNorm, sensitivity, laplace } = certificate;
    assert.deepEqual([mechanism, delta, clipNorm, laplace.norm], ['tree-k', 0, 3, 'l1']);
    assert.equal(laplace.grid, grid);
    assert.equal(laplace.maxNorm, 3 / grid);
    assert.equal(laplace.distance, sensitivity * laplace.maxNorm * 2);
    assert.ok(0.5 * laplace.scale >= laplace.distance);
    assert.ok(0.5 * (laplace.scale - 1) < laplace.distance);
    assert.equal(certificate.mu, dp.calibrate({ epsilon: 0.5, delta: 0 }).mu);
    assert.equal(certificate.rho, dp.calibrate({ epsilon: 0.5, delta: 0 }).rho);
    assert.ok(certificate.rho <= 0.5 ** 2 / 2);
    const q = Math.exp(-1 / laplace.scale);
    close(certificate.noiseStddev, (Math.sqrt(2 * q) / (1 - q)) * grid, 1e-6);
  });
  const strategy = { name: 'tree-k', arity: 3, subtractive: true };
  withTotals({ strategy }, (totals) => {
    const { effectiveParameters, sensitivity, noiseStddev } = totals.certificate;
    assert.deepEqual(effectiveParameters, { arity: 3, subtractive: true });
    assert.equal(sensitivity, 4); // (3^4 - 1) / 2 = 40
    // Step 4 is 1 + 3, step 5 is 9 - 3 - 1.
    close(totals.stddev(3), Math.SQRT2 * noiseStddev, 1e-9);
    close(totals.stddev(4), Math.sqrt(3) * noiseStddev, 1e-9);
  });
  assert.equal(dp.certificate({ steps: 40, epsilon: 1, delta: 1e-6 }).laplace, undefined);
});

test('pure: a single step is a total, for the command, too', async () => {
  const args = ['release', '--pure', '--epsilon', '1', '--clip', '1', '--workload', 'window=1'];
  const { code, stdout, stderr } = await dpFtrl(args, { input: 'n\n1\n' });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^step,n,std\n1,.*,1\.4142/);
});

test('pure: single steps have noise of their own, and days less than any correlated noise', () => {
  const options = { steps: 31, epsilon: 1, workload: { window: 1 } };
  const stddevOf = (rest) => {
    const days = dp.counter({ ...options, ...rest });
    try {
      return days.stddev(30);
    } finally {
      days.dispose();
    }
  };
  const laplace = stddevOf({ delta: 0 });
  close(laplace, Math.SQRT2, 1e-3);
  close(stddevOf({ delta: 0, neighbours: 'replace-one' }), 2 * laplace, 1e-3);
  close(stddevOf({ delta: 0, people: { times: 3, apart: 1 } }), 3 * laplace, 1e-3);
  assert.ok(laplace < stddevOf({ delta: 1e-6 }) / 2.9);
  const days = dp.totals({ ...options, delta: 0, dimension: 2, clip: 2, insecureSeed: 5 });
  const silent = dp.totals({ ...options, delta: 0, dimension: 2, clip: 2, insecureSeed: 5 });
  assert.equal(days.certificate.mechanism, 'independent');
  assert.equal(days.certificate.workload, 'window=1');
  for (let step = 0; step < 31; ++step) {
    const added = [step % 2, 1];
    days.addMany([...added, 0, -2]);
    const { values } = days.end();
    const { values: noise } = silent.release([0, 0]);
    assert.deepEqual([values[0] - noise[0], values[1] - noise[1]], [added[0], -1]);
  }
  days.dispose();
  silent.dispose();
});

test('pure: records are clipped in l1-norm over all entries', () => {
  const release = (record) => withTotals({ dimension: 2 }, (it) => it.release(record).values);
  const zero = release([0, 0]);
  const added = (record) => release(record).map((x, i) => x - zero[i]);
  assert.deepEqual(added([0.5, -0.5]), Float64Array.of(0.5, -0.5));
  assert.deepEqual(added([3, -3]), Float64Array.of(0.5, -0.5));
  assert.deepEqual(added([0, 8]), Float64Array.of(0, 1));
});

test('pure: noise exceeds its half width as often as stated, for one step and for all steps', () => {
  const [steps, dimension, grid] = [40, 4000, 2 ** -10];
  const shape = { steps, grid, strategy: { name: 'tree-k', arity: 3 } };
  const largest = new Float64Array(dimension);
  // Five standard deviations of a share; 40 steps and all of them together give a false alarm with
  // probability below 1e-4.
  const allowed = (share) => 5 * Math.sqrt((share * (1 - share)) / dimension);
  withTotals({ ...shape, dimension }, (totals) => {
    for (let step = 0; step < steps; ++step) {
      const noise = totals.end().values.map(Math.abs);
      const halfWidth = totals.halfWidth({ step, probability: 0.05 });
      const share = noise.filter((x) => x > halfWidth).length / dimension;
      assert.ok(Math.abs(share - 0.05) <= allowed(0.05), `step ${step}: ${share}`);
      noise.forEach((x, i) => (largest[i] = Math.max(largest[i], x)));
    }
  });
  withTotals(shape, (totals) => {
    const shareBeyond = (level) => largest.filter((x) => x > level).length / dimension;
    const together = totals.halfWidth({ probability: 0.1 });
    assert.ok(shareBeyond(together) <= 0.1 + allowed(0.1));
    assert.ok(shareBeyond(0.8 * together) > 0.1 + allowed(0.1), 'a bound too low would pass');
    const ofStep = (_, step) => totals.halfWidth({ step, probability: 0.1 });
    assert.ok(together > Math.max(...Array.from({ length: steps }, ofStep)));
    assert.equal(totals.halfWidth({ step: undefined, probability: 0.1 }), together);
  });
});

test('pure: half widths are those of the formula, and of what has no meaning there are none', () => {
  // P[|k| > x] = 2 q^(x + 1) / (1 + q) for the single node of step 0, q = e^(-1 / scale).
  const ofOneNode = ({ scale }, probability) => {
    const q = Math.exp(-1 / scale);
    return Math.ceil(Math.log((probability * (1 + q)) / 2) / Math.log(q)) - 1;
  };
  withTotals({}, (totals) => {
    const { laplace } = totals.certificate;
    for (const probability of [0.5, 0.05, 1e-12]) {
      const found = totals.halfWidth({ step: 0, probability });
      assert.equal(found / totals.grid, ofOneNode(laplace, probability));
    }
    assert.ok(totals.halfWidth({ probability: 1e-200 }) < Infinity);
    for (const [wanted, parameter] of [
      [{ step: 0, probability: 0 }, 'probability'],
      [{ step: 0, probability: 1 }, 'probability'],
      [{ step: 0, probability: NaN }, 'probability'],
      [{ probability: 1e-201 }, 'probability'],
      [{ probability: Infinity }, 'probability'],
      [{ probability: '0.1' }, 'probability'],
      [{ step: 0 }, 'probability'],
      [{ step: 40, probability: 0.1 }, 'step'],
      [{ step: -1, probability: 0.1 }, 'step'],
      [{ step: 0.5, probability: 0.1 }, 'step'],
      [{ step: '0', probability: 0.1 }, 'step'],
      [{ steps: 0, probability: 0.1 }, 'steps'],
      [undefined, 'options'],
    ]) {
      assert.throws(() => totals.halfWidth(wanted), { call: 'halfWidth', parameter });
    }
  });
});

test('pure: what has no meaning without a delta is refused by name', async () => {
  const refused = (options, parameter, text) =>
    assert.throws(
      () => dp.counter({ ...target, ...options }),
      (error) => error.parameter === parameter && text.test(error.message),
      parameter,
    );
  const tree = (own) => ({ strategy: { name: 'tree-k', ...own } });
  refused({ lattice: 'discrete-gaussian' }, 'lattice', /left out/);
  refused(tree({ normalizeColumns: true }), 'strategy.normalizeColumns', /left out/);
  refused(tree({ bands: 4 }), 'strategy.bands', /left out/);
  refused({ strategy: 'honaker' }, 'strategy', /tree-k/);
  const saved = dp.optimize({ strategy: { name: 'blt', buffers: 2 }, steps: 40 }).result();
  refused({ strategy: saved }, 'strategy', /a saved strategy/);
  refused({ workload: { window: 3 } }, 'workload', /prefix/);
  refused(tree({ arity: 4, subtractive: true }), 'strategy.arity', /odd/);
  refused({ epsilon: 0 }, 'epsilon', /positive/);
  refused({ grid: 0.3 }, 'grid', /power of two/);
  const { load: loadCounter } = await importEntry('dp-ftrl/counter');
  const counter = await loadCounter();
  assert.throws(() => counter.counter(target), { code: 'unsupported', parameter: 'delta' });
});

test('compare: pure and approximate DP have the same error at the crossover delta', () => {
  // Phi(-e / mu + mu / 2) - e^e Phi(-e / mu - mu / 2) with 30 digits, where mu is the quotient of
  // the errors 2.9554525 (the optimum at multiplier 1) and sqrt(170.5078125) / e.
  for (const [epsilon, delta] of [
    [0.1, 2.45694e-8],
    [1, 3.83078e-7],
    [4, 6.28513e-6],
  ]) {
    const { pure, mechanisms } = dp.compare({ steps: 1024, objective: 'mean', epsilon }).result();
    close(pure.crossoverDelta / delta, 1, 1e-4);
    assert.deepEqual(pure.parameters, { arity: 13, subtractive: true });
    close((pure.meanError * epsilon) ** 2, 170.5078125, 1e-9);
    // At the crossover, the best mechanism of the table has the same error; on either side, one is
    // better.
    const gaussian = (at) =>
      mechanisms[0].meanError * dp.calibrate({ epsilon, delta: at }).noiseMultiplier;
    close(gaussian(pure.crossoverDelta), pure.meanError, 1e-9);
    assert.ok(gaussian(pure.crossoverDelta / 2) > pure.meanError);
    assert.ok(gaussian(pure.crossoverDelta * 2) < pure.meanError);
  }
  assert.equal(dp.compare({ steps: 8 }).result().pure, undefined);
  for (const epsilon of [0, -1, NaN, Infinity]) {
    assert.throws(() => dp.compare({ steps: 8, epsilon }).result(), { parameter: 'epsilon' });
  }
  const window = { steps: 8, epsilon: 1, workload: { window: 3 } };
  assert.throws(() => dp.compare(window).result(), { parameter: 'workload' });
});

const input = 'who,x,y\na,1,2\nb,0,0\na,3,-1\nc,1,1\n';
const pureRelease = ['release', '--pure', '--epsilon', '1', '--clip', '1', '--columns', 'x'];

test('release --pure: the guarantee has no delta, and names the l1-norm', async () => {
  const { code, stdout, stderr } = await dpFtrl([...pureRelease, '--columns', 'y'], { input });
  assert.equal(code, 0, stderr);
  const [head, ...rows] = stdout.trim().split('\n');
  assert.equal(head, 'step,x,y,std');
  assert.equal(rows.length, 4);
  assert.match(stderr, /release: 1-differentially private \(pure\): .*, zero-out neighbours/);
  assert.match(stderr, /clipped to l1-norm over all columns 1; mechanism tree-k, discrete Laplace/);
  assert.doesNotMatch(stderr, /delta|l2-norm/);
  const json = JSON.parse((await dpFtrl([...pureRelease, '--json'], { input })).stdout);
  assert.equal(json.private, true);
  assert.equal(json.certificate.delta, 0);
  assert.equal(json.certificate.laplace.norm, 'l1');
});

test('release --pure --json: every step has the half width of the package', async () => {
  const path = join(scratch, 'half-widths.state');
  const steps = ['--steps', '40', '--json', '--quiet'];
  for (const more of [
    [],
    ['--user-column', 'who', '--max-contributions', '1'],
    ['--state', path],
  ]) {
    const { stdout, stderr } = await dpFtrl([...pureRelease, ...steps, ...more], { input });
    assert.equal(stderr, '');
    const found = JSON.parse(stdout);
    assert.equal(found.halfWidthProbability, 0.05);
    withTotals({}, (totals) =>
      found.rows.forEach(({ step, std, halfWidth }) => {
        assert.equal(std, totals.stddev(step - 1));
        assert.equal(halfWidth, totals.halfWidth({ step: step - 1, probability: 0.05 }));
      }),
    );
    assert.equal(found.rows.length, 4);
  }
  const gaussian = [
    'release',
    '--epsilon',
    '1',
    '--delta',
    '1e-6',
    '--strategy',
    'optimal',
    '--clip',
    '1',
    '--columns',
    'x',
  ];
  const { stdout } = await dpFtrl([...gaussian, '--json', '--quiet'], { input });
  assert.doesNotMatch(stdout, /halfWidth/);
});

test('release --pure --show-nonprivate: the true sums are clipped in l1-norm', async () => {
  const shown = ['--columns', 'y', '--show-nonprivate', '--json', '--quiet'];
  const { stdout } = await dpFtrl([...pureRelease, ...shown], { input });
  const last = JSON.parse(stdout).rows.at(-1).trueSums;
  close(last.x, 1 / 3 + 3 / 4 + 1 / 2, 1e-12);
  close(last.y, 2 / 3 - 1 / 4 + 1 / 2, 1e-12);
});

test('release --pure: what does not go with it is refused', async () => {
  for (const [more, text] of [
    [['--delta', '1e-6'], /give --pure or --delta, not both/],
    [['--strategy', 'honaker'], /--strategy must be tree-k/],
    [['--mode', 'lattice'], /--mode must be left out with --pure/],
    [['--bands', '3'], /--bands must be left out with --pure/],
  ]) {
    const { stdout } = await fails([...pureRelease, ...more], 2, text, { input });
    assert.equal(stdout, '');
  }
  await fails(['release', '--epsilon', '1', '--delta', '0', '--clip', '1'], 2, /release --pure/, {
    input,
  });
  await fails(['learn', '--pure'], 2, /--pure/, { input });
});

test('increments: those of the tree match the noise of totals without a delta', () => {
  const steps = 25;
  const strategy = { name: 'tree-k', arity: 5, subtractive: true };
  const unit = dp.error({ strategy, steps, increments: true }).increments;
  const dimension = 4000;
  withTotals({ strategy, steps, dimension }, (totals) => {
    const { noiseStddev } = totals.certificate;
    let before = new Float64Array(dimension);
    for (const { step, values } of totals.endMany(steps)) {
      const squares = values.reduce((sum, x, i) => sum + (x - before[i]) ** 2, 0);
      before = values;
      // Squares of Laplace noise have a standard deviation of sqrt(5) times their mean; the
      // tolerance is five standard deviations of the mean of 4000 squares.
      const measured = squares / dimension / (noiseStddev * unit[step]) ** 2;
      assert.ok(Math.abs(measured - 1) < 5 * Math.sqrt(5 / dimension), `${step}: ${measured}`);
    }
  });
});

const visits = 'time,who,what\n2026-01-01,a,x\n2026-01-02,b,y\n2026-01-02,c,x\n2026-01-04,a,z\n';
const pureCount = ['count', '--pure', '--epsilon', '2', '--time-column', 'time', '--bucket', 'day'];

test('count --pure: counts by category have the predicted std, and the guarantee has no delta', async () => {
  const more = ['--by', 'what', '--domain', 'x,y', '--other', '--show-nonprivate', '--json'];
  const { code, stdout, stderr } = await dpFtrl([...pureCount, ...more], { input: visits });
  assert.equal(code, 0, stderr);
  const { certificate, rows } = JSON.parse(stdout);
  const { delta, laplace, noiseStddev, numSteps } = certificate;
  assert.deepEqual(
    [delta, laplace.norm, laplace.maxNorm * laplace.grid, numSteps],
    [0, 'l1', 1, 4],
  );
  const ofDays = ['1 0 0', '1 1 0', '0 0 0', '0 0 1']; // x, y, other
  assert.equal(rows.map(({ countTrue }) => countTrue).join(' '), ofDays.join(' '));
  rows.forEach(({ count, countStd, countTrue }) => {
    close(countStd, noiseStddev, 1e-12);
    assert.ok(Number.isInteger((count - countTrue) / laplace.grid));
  });
  const plain = await dpFtrl(pureCount, { input: visits });
  assert.match(plain.stderr, /count: 2-differentially private \(pure\): .*, zero-out neighbours/);
  assert.doesNotMatch(plain.stderr, /delta|l2-norm/);
});

test('count --pure: a person changes a bucket by at most 1 in l1-norm, and --delta is refused', async () => {
  const people = [
    '--user-column',
    'who',
    '--max-contributions',
    '1',
    '--by',
    'what',
    '--domain',
    'x,y',
  ];
  const shown = [...people, '--show-nonprivate', '--json'];
  const input = 'time,who,what\n2026-01-01,a,x\n2026-01-01,a,y\n2026-01-02,a,x\n';
  const { stdout } = await dpFtrl([...pureCount, ...shown], { input });
  const { rows, certificate } = JSON.parse(stdout);
  assert.equal(certificate.participation, 'single');
  assert.deepEqual(
    rows.map(({ countTrue }) => countTrue),
    [0.5, 0.5, 0, 0],
  );
  await fails([...pureCount, '--delta', '1e-6'], 2, /give --pure or --delta, not both/, { input });
  const without = pureCount.filter((word) => word !== '--pure');
  await fails(without, 2, /--delta is required/, { input });
});

test('release --pure: budgets of either account add it up, with other releases', async () => {
  for (const account of ['mu', 'rho']) {
    const path = join(scratch, `budget-${account}.json`);
    const limit = ['--budget-epsilon', '3', '--budget-delta', '1e-6', '--budget-account', account];
    limit.push('--budget-pure', '0');
    const budget = [...pureRelease.with(3, '0.1'), '--quiet', '--budget', path];
    assert.equal((await dpFtrl([...budget, ...limit], { input })).code, 0);
    const gaussian = ['release', '--epsilon', '0.5', '--delta', '1e-7', '--clip', '1'];
    const other = [...gaussian, '--columns', 'x', '--quiet', '--budget', path];
    assert.equal((await dpFtrl(other, { input })).code, 0);
    const file = JSON.parse(readFileSync(path, 'utf8'));
    const costs = file.releases.map((each) => each[account]);
    const { mu, rho } = dp.certificate({ steps: 4, epsilon: 0.5, delta: 1e-7 });
    const expected = {
      mu: [dp.calibrate({ epsilon: 0.1, delta: 0 }).mu, mu],
      rho: [dp.calibrate({ epsilon: 0.1, delta: 0 }).rho, rho],
    };
    assert.deepEqual(costs, expected[account]);
    assert.equal(file.releases[0].delta, 0);
    const all = dp.budget({ account, epsilon: 3, delta: 1e-6 });
    for (const cost of costs) all.charge('', { [account]: cost });
    assert.equal(file.spent.epsilon, all.spent.epsilon);
    const before = readFileSync(path, 'utf8');
    const large = budget.with(3, '3');
    const { stdout } = await fails(large, 2, /must fit what is left of the budget/, { input });
    assert.equal(stdout, '');
    assert.equal(readFileSync(path, 'utf8'), before);
  }
});

test('release --pure --state: goes on where it stopped, and refuses another target', async () => {
  const path = join(scratch, 'run.state');
  const state = [...pureRelease, '--steps', '8', '--quiet', '--state', path];
  const first = await dpFtrl(state, { input });
  assert.equal(first.code, 0, first.stderr);
  const second = await dpFtrl(state, { input });
  assert.match(second.stdout, /^5,/m);
  const again = await dpFtrl([...state, '--first-step', '1'], { input });
  assert.equal(again.stdout, first.stdout);
  const gaussian = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--columns', 'x'];
  await fails(['release', ...gaussian, '--steps', '8', '--state', path], 2, /--pure|--state/, {
    input,
  });
});

test('compare --epsilon: one table shows the errors of both kinds of noise by delta', async () => {
  const compare = ['compare', '--steps', '40', '--epsilon', '1'];
  const json = JSON.parse((await dpFtrl([...compare, '--json'])).stdout);
  assert.deepEqual(json, dp.compare({ steps: 40, epsilon: 1 }).result());
  const { stdout } = await dpFtrl(compare);
  const crossover = json.pure.crossoverDelta.toPrecision(3);
  assert.ok(stdout.includes(`Below delta ${crossover} its error is smaller.`), stdout);
  const lines = stdout.split('clip norm 1:\n')[1].split('\n');
  assert.match(lines[0], /^ *delta +optimal +pure$/);
  const cells = lines.slice(1, 7).map((line) => line.trim().split(/ +/));
  const errors = cells.map(([, gaussian, pure]) => [Number(gaussian), Number(pure)]);
  for (const [, pure] of errors) close(pure / json.pure.maxError, 1, 1e-4);
  // Gaussian noise grows as delta decreases, is equal at the crossover, and does not exist at 0.
  const at = cells.findIndex(([delta]) => delta === crossover);
  close(errors[at][0], errors[at][1], 1e-9);
  for (let i = 0; i < 5; ++i) assert.equal(errors[i][0] < errors[i][1], i < at, `row ${i}`);
  assert.deepEqual(cells[5].slice(0, 2), ['0', '-']);
  await fails(['compare', '--steps', '9', '--epsilon', '0'], 2, /--epsilon must be/);
  const window = ['compare', '--steps', '9', '--epsilon', '1', '--workload', 'window=3'];
  await fails(window, 2, /--workload must be prefix with --epsilon/);
});
