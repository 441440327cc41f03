// SPDX-License-Identifier: Apache-2.0

// Mode lattice, with every kind of totals and the command.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const scratch = scratchFolder('lattice');

const plain = { mechanism: 'honaker', numSteps: 40, epsilon: 1, delta: 1e-6 };
const target = { ...plain, mode: 'lattice' };
const seeded = { ...target, clipNorm: 1.5, insecureSeed: 21 };
const NOISES = ['discrete-gaussian', 'rounded-gaussian'];

/** Passes a handle to `use` and disposes of it afterwards. */
function withHandle(handle, use) {
  try {
    return use(handle);
  } finally {
    handle.dispose();
  }
}
const withSums = (options, use) => withHandle(dp.prefixSum({ ...seeded, ...options }), use);

const records = (numSteps) =>
  Float64Array.from({ length: 2 * numSteps }, (_, k) => {
    const [t, i] = [Math.floor(k / 2), k % 2];
    return (((5 * t + 3 * i) % 13) - 6) / 8;
  });

test('lattice: the totals are those of the core, bit for bit', () => {
  // tests/cpp/release/lattice/lattice_test.cpp expects the same number.
  let hash = 0xcbf29ce484222325n;
  for (const mechanism of ['tree', 'honaker', 'banded-square-root', 'blt-rational']) {
    for (const latticeNoise of NOISES) {
      const totals = withSums({ mechanism, latticeNoise, dimension: 2 }, (sums) =>
        sums.releaseMany(records(40)),
      );
      for (const bits of new BigUint64Array(totals.buffer)) {
        hash = ((hash ^ bits) * 0x100000001b3n) & 0xffffffffffffffffn;
      }
    }
  }
  assert.equal(hash, 7493336178837884560n);
});

test('lattice: a tree releases multiples of the grid', () => {
  withSums({ mechanism: 'tree', dimension: 2 }, (sums) => {
    for (const x of sums.releaseMany(records(40))) assert.ok(Number.isInteger(x / sums.grid));
  });
});

test('lattice: the certificate claims zCDP with discrete noise, and GDP with rounded', () => {
  const expected = dp.certificate({ strategy: 'honaker', steps: 40, epsilon: 1, delta: 1e-6 });
  assert.equal(expected.lattice, undefined);
  withSums({ clipNorm: 1 }, ({ certificate }) => {
    assert.equal(certificate.mu, null);
    // zCDP alone gives a weaker guarantee than GDP and needs more noise.
    assert.ok(certificate.rho < expected.rho);
    const { lattice } = certificate;
    assert.equal(lattice.noise, 'discrete-gaussian');
    close(certificate.noiseMultiplier, 1 / Math.sqrt(2 * certificate.rho), 1e-8);
    assert.ok(lattice.noiseVariance >= lattice.distance ** 2 / (2 * certificate.rho));
  });
  withSums({ latticeNoise: 'rounded-gaussian', clipNorm: 1 }, (sums) => {
    assert.equal(sums.certificate.mu, expected.mu);
    close(sums.certificate.noiseStddev, expected.noiseStddev, 1e-3);
    const grid = dp.prefixSum(plain);
    for (const step of [0, 17, 39]) close(sums.stddev(step), grid.stddev(step), 1e-3);
    grid.dispose();
  });
  withSums({ mechanism: 'blt-rational', precisionBits: 20 }, ({ certificate }) => {
    assert.equal(certificate.lattice.precisionBits, 20);
    assert.equal(certificate.lattice.measurementUnit * 2 ** 20 < 1, true);
    assert.ok(certificate.lattice.roundingDeviation > 0);
  });
});

test('lattice: a step of several contributions equals a step with their sum', () => {
  for (const mechanism of ['honaker', 'blt-rational']) {
    const expected = withSums({ mechanism }, (sums) => sums.releaseMany([0.75, 1]));
    withSums({ mechanism }, (sums) => {
      sums.contribute([0.5, 0.25]);
      const first = sums.endSteps();
      sums.contribute([0.5]);
      sums.contribute([0.5]);
      assert.deepEqual([first[0], sums.endSteps()[0]], [...expected]);
    });
    withHandle(dp.peopleSum({ ...seeded, mechanism }), (sums) => {
      sums.contribute(['ann', 'bob'], [0.5, 0.25]);
      const first = sums.endSteps();
      sums.contribute('ann', [1.5]); // has contributed before
      sums.contribute('cid', [1]);
      assert.deepEqual([first[0], sums.endSteps()[0]], [...expected]);
      assert.equal(sums.numDropped, 1);
      assert.equal(sums.certificate.mu, null);
    });
  }
});

test('lattice: a learner has the noise of the mode', () => {
  const { numSteps: steps, epsilon, delta } = plain;
  const target = { steps, epsilon, delta, strategy: 'honaker', clip: 1.5, insecureSeed: 21 };
  const options = { ...target, dimension: 2 };
  const weights = (more) =>
    withHandle(dp.learner({ ...options, ...more }), (learner) => {
      learner.learn(
        records(40),
        Float64Array.from({ length: 40 }, (_, t) => t % 2),
      );
      const { certificate, lastWeights } = learner.model();
      return { certificate, lastWeights };
    });
  const found = NOISES.map((lattice) => weights({ lattice }));
  assert.deepEqual(
    found.map(({ certificate }) => certificate.lattice.noise),
    NOISES,
  );
  assert.equal(found[0].certificate.mu, null);
  assert.notDeepEqual(weights({}).lastWeights, found[0].lastWeights);
  assert.notDeepEqual(found[1].lastWeights, found[0].lastWeights);
});

test('lattice: a ledger goes on where it stopped', async () => {
  for (const mechanism of ['honaker', 'blt-rational', 'square-root']) {
    const options = { ...seeded, mechanism, dimension: 2 };
    const all = records(40);
    const expected = withSums({ mechanism, dimension: 2 }, (sums) => sums.releaseMany(all));
    const path = join(scratch, mechanism);
    for (let life = 0; life < 4; ++life) {
      const store = await FileStore.open(path);
      const ledger = await dp.ledger({ ...options, store });
      assert.equal(ledger.step, 10 * life);
      const part = all.slice(20 * life, 20 * (life + 1));
      const totals = await ledger.releaseMany(10 * life, part);
      assert.deepEqual(totals, expected.slice(20 * life, 20 * (life + 1)));
      await assert.rejects(ledger.release(10 * life, [9, 9]), { code: 'already_released' });
      ledger.dispose();
      await store.close();
    }
    const store = await FileStore.open(path);
    await assert.rejects(dp.ledger({ ...options, mode: 'grid', store }), { code: 'bad_state' });
    await store.close();
  }
});

test('lattice: mechanisms and options without integer measurements are refused by name', () => {
  const refuse = (options, code, message) =>
    rejects(
      () => dp.prefixSum({ ...target, ...options }),
      code === 'unsupported' ? DpError : RangeError,
      code,
      message,
    );
  const whole = /must be tree, honaker, blt or another .*, got "optimal": its columns have/;
  refuse({ mechanism: undefined }, 'unsupported', whole);
  refuse({ mechanism: 'haar' }, 'unsupported', /got "haar": some of its measurements read/);
  refuse({ epochLength: 10 }, 'unsupported', /a restart has one encoder a block/);
  refuse({ precisionBits: 3 }, 'invalid_argument', /precisionBits must be between 0 and 0/);
  refuse({ mode: 'float' }, 'invalid_argument', /mode must be one of grid, lattice, got "float"/);
  const noise = { latticeNoise: 'rounded-gaussian' };
  refuse({ ...noise, mode: 'grid' }, 'invalid_argument', /latticeNoise must be left out in mode/);
  refuse({ ...noise, mode: undefined }, 'invalid_argument', /latticeNoise must be left out/);
  assert.equal(dp.liveHandles, 0);
});

test('release: --mode lattice gives the totals of the package, with its claim', async () => {
  const csv = `x,y\n${Array.from({ length: 6 }, (_, t) => `${t / 8},${-t / 16}`).join('\n')}\n`;
  const args = ['release', '--mode', 'lattice', '--mechanism', 'honaker'];
  const privacy = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1.5'];
  for (const latticeNoise of NOISES) {
    const how = [...args, ...privacy, '--lattice-noise', latticeNoise];
    const { stdout } = await dpFtrl([...how, '--json', '--seed', '21'], { input: csv });
    const it = JSON.parse(stdout);
    assert.equal(it.mode, 'lattice');
    assert.equal(it.certificate.lattice.noise, latticeNoise);
    withSums({ numSteps: 6, dimension: 2, latticeNoise }, (sums) => {
      const flat = Float64Array.from({ length: 12 }, (_, k) =>
        k % 2 === 0 ? k / 16 : -(k - 1) / 32,
      );
      const totals = sums.releaseMany(flat);
      assert.deepEqual(
        it.rows.flatMap(({ sums: { x, y } }) => [x, y]),
        [...totals],
      );
      assert.deepEqual(
        it.rows.map(({ std }) => std),
        Array.from({ length: 6 }, (_, t) => sums.stddev(t)),
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
