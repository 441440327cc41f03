// SPDX-License-Identifier: Apache-2.0

// Noise for integer measurements: its bits and claims, and the command.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const scratch = scratchFolder('lattice');

const plain = { steps: 40, epsilon: 1, delta: 1e-6, strategy: 'honaker' };
const lattice = { lattice: 'discrete-gaussian' };
const seeded = { ...plain, clip: 1.5, insecureSeed: 21 };
const NOISES = ['discrete-gaussian', 'rounded-gaussian'];

/** Passes a handle to `use` and disposes of it afterwards. */
function withHandle(handle, use) {
  try {
    return use(handle);
  } finally {
    handle.dispose();
  }
}
const withTotals = (options, use) =>
  withHandle(dp.totals({ ...seeded, ...lattice, dimension: 1, ...options }), use);
const valuesOf = (readings) => Float64Array.from(readings.flatMap(({ values }) => [...values]));

const records = (numSteps) =>
  Float64Array.from({ length: 2 * numSteps }, (_, k) => {
    const [t, i] = [Math.floor(k / 2), k % 2];
    return (((5 * t + 3 * i) % 13) - 6) / 8;
  });

test('lattice: the totals are those of the core, bit for bit', () => {
  // tests/cpp/release/lattice/lattice_test.cpp expects the same number.
  let hash = 0xcbf29ce484222325n;
  for (const strategy of ['tree', 'honaker', 'banded-square-root', 'blt-rational']) {
    for (const noise of NOISES) {
      const totals = withTotals({ strategy, lattice: noise, dimension: 2 }, (it) =>
        valuesOf(it.releaseMany(records(40))),
      );
      for (const bits of new BigUint64Array(totals.buffer)) {
        hash = ((hash ^ bits) * 0x100000001b3n) & 0xffffffffffffffffn;
      }
    }
  }
  assert.equal(hash, 7493336178837884560n);
});

test('lattice: a tree releases multiples of the grid', () => {
  withTotals({ strategy: 'tree', dimension: 2 }, (totals) => {
    for (const x of valuesOf(totals.releaseMany(records(40)))) {
      assert.ok(Number.isInteger(x / totals.grid));
    }
  });
});

test('lattice: the certificate claims zCDP with discrete noise, and GDP with rounded', () => {
  const expected = dp.certificate({ strategy: 'honaker', steps: 40, epsilon: 1, delta: 1e-6 });
  assert.equal(expected.lattice, undefined);
  withTotals({ clip: 1 }, ({ certificate }) => {
    assert.equal(certificate.mu, null);
    // zCDP alone gives a weaker guarantee than GDP and needs more noise.
    assert.ok(certificate.rho < expected.rho);
    const { lattice } = certificate;
    assert.equal(lattice.noise, 'discrete-gaussian');
    close(certificate.noiseMultiplier, 1 / Math.sqrt(2 * certificate.rho), 1e-8);
    assert.ok(lattice.noiseVariance >= lattice.distance ** 2 / (2 * certificate.rho));
  });
  withTotals({ lattice: 'rounded-gaussian', clip: 1 }, (totals) => {
    assert.equal(totals.certificate.mu, expected.mu);
    close(totals.certificate.noiseStddev, expected.noiseStddev, 1e-3);
    withHandle(dp.counter(plain), (grid) => {
      for (const step of [0, 17, 39]) close(totals.stddev(step), grid.stddev(step), 1e-3);
    });
  });
  const fine = { noise: 'discrete-gaussian', precisionBits: 20 };
  withTotals({ strategy: 'blt-rational', lattice: fine }, ({ certificate }) => {
    assert.equal(certificate.lattice.precisionBits, 20);
    assert.equal(certificate.lattice.measurementUnit * 2 ** 20 < 1, true);
    assert.ok(certificate.lattice.roundingDeviation > 0);
  });
});

test('lattice: a step of several records equals a step with their sum', () => {
  for (const strategy of ['honaker', 'blt-rational']) {
    const options = { ...seeded, ...lattice, strategy };
    const [one, parts] = [dp.counter(options), dp.counter(options)];
    const wanted = one.releaseMany([0.75, 1]);
    const found = [parts.releaseBatch([0.5, 0.25]), parts.releaseBatch([0.5, 0.5])];
    assert.deepEqual(found, wanted);
    for (const counter of [one, parts]) counter.dispose();
  }
});

test('lattice: a learner has the noise of the mode', () => {
  const options = { ...seeded, dimension: 2 };
  const weights = (more) =>
    withHandle(dp.learner({ ...options, ...more }), (learner) => {
      learner.learn(
        records(40),
        Float64Array.from({ length: 40 }, (_, t) => t % 2),
      );
      const { certificate, lastWeights } = learner.model();
      return { certificate, lastWeights };
    });
  const found = NOISES.map((noise) => weights({ lattice: noise }));
  assert.deepEqual(
    found.map(({ certificate }) => certificate.lattice.noise),
    NOISES,
  );
  assert.equal(found[0].certificate.mu, null);
  assert.notDeepEqual(weights({}).lastWeights, found[0].lastWeights);
  assert.notDeepEqual(found[1].lastWeights, found[0].lastWeights);
});

test('lattice: strategies and options without integer measurements are refused by name', () => {
  const refuse = (options, code, message) =>
    rejects(
      () => dp.counter({ ...seeded, ...lattice, ...options }),
      code === 'unsupported' ? DpError : RangeError,
      code,
      message,
    );
  const whole = /must be tree, honaker, blt or another .*, got "optimal": its columns have/;
  refuse({ strategy: undefined }, 'unsupported', whole);
  refuse({ strategy: 'haar' }, 'unsupported', /got "haar": some of its measurements read/);
  const blocks = { name: 'honaker', epochLength: 10 };
  refuse({ strategy: blocks }, 'unsupported', /a restart has one encoder a block/);
  const fine = { noise: 'discrete-gaussian', precisionBits: 3 };
  refuse({ lattice: fine }, 'invalid_argument', /precisionBits must be between 0 and 0/);
  assert.equal(dp.liveHandles, 0);
});

test('release: --mode lattice gives the totals of the package, with its claim', async () => {
  const csv = `x,y\n${Array.from({ length: 6 }, (_, t) => `${t / 8},${-t / 16}`).join('\n')}\n`;
  const args = ['release', '--mode', 'lattice', '--strategy', 'honaker'];
  const privacy = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1.5'];
  for (const latticeNoise of NOISES) {
    const how = [...args, ...privacy, '--lattice-noise', latticeNoise];
    const { stdout } = await dpFtrl([...how, '--json', '--seed', '21'], { input: csv });
    const it = JSON.parse(stdout);
    assert.equal(it.mode, 'lattice');
    assert.equal(it.certificate.lattice.noise, latticeNoise);
    withTotals({ steps: 6, dimension: 2, lattice: latticeNoise }, (totals) => {
      const flat = Float64Array.from({ length: 12 }, (_, k) =>
        k % 2 === 0 ? k / 16 : -(k - 1) / 32,
      );
      const readings = totals.releaseMany(flat);
      assert.deepEqual(
        it.rows.map(({ sums: { x, y } }) => Float64Array.of(x, y)),
        readings.map(({ values }) => values),
      );
      assert.deepEqual(
        it.rows.map(({ std }) => std),
        readings.map(({ stddev }) => stddev),
      );
    });
    const { stderr } = await dpFtrl(how, { input: csv });
    const claim = latticeNoise === NOISES[0] ? /, 0\.0\d+-zCDP\)/ : /, 0\.\d+-GDP\)/;
    assert.match(stderr, /\(1, 0.000001\)-differentially private/);
    assert.match(stderr, claim);
  }
  const budget = ['--budget', join(scratch, 'budget.json'), '--budget-epsilon', '2'];
  const all = [...args, ...privacy];
  const given = { input: csv };
  const limited = [...all, ...budget, '--budget-delta', '1e-6'];
  const wanted = /account mu, .*--lattice-noise rounded-gaussian .*--budget-account rho/;
  await fails(limited, 2, wanted, given);
  await fails(['release', ...privacy, '--lattice-noise', NOISES[0]], 2, /goes with --mode/, given);
  await fails([...args.slice(0, 3), ...privacy], 2, /got "optimal"/, given);
});
