// SPDX-License-Identifier: Apache-2.0

// Worker and client in Node's worker threads; browser.test.mjs runs them in Chromium.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { entryUrl, importEntry, installed } from './support/consumer.mjs';

const { connect, DpError } = await importEntry('dp-ftrl/worker-client');
const { serve } = await importEntry('dp-ftrl/worker');
const library = await importEntry('dp-ftrl');
const dp = await library.load();
const target = { epsilon: 1, delta: 1e-6 };

const worker = new Worker(entryUrl('dp-ftrl/worker'));
const client = connect({ worker });
after(() => client.terminate());

function code(name) {
  return (error) => {
    assert.ok(error instanceof DpError, `${error.name}: ${error.message}`);
    assert.equal(error.code, name);
    return true;
  };
}

test('worker: ready with the version of the library', async () => {
  assert.equal(await client.ready, dp.version);
});

test('worker: the same answers as the library', async () => {
  assert.deepEqual(await client.mechanisms(), dp.mechanisms());
  assert.deepEqual(await client.calibrate(target), dp.calibrate(target));
  const options = { mechanism: 'tree', numSteps: 100 };
  assert.deepEqual(await client.error(options), dp.error(options));
  assert.deepEqual(await client.errorPerStep(options), dp.errorPerStep(options));
  assert.deepEqual(await client.matrices(options), dp.matrices(options));
  assert.deepEqual(await client.compare({ numSteps: 100 }), dp.compare({ numSteps: 100 }));
  const mechanism = { numSteps: 10, ...target };
  assert.deepEqual(await client.certificate(mechanism), { ...dp.certificate(mechanism) });
});

test('worker: a simulation gives the same numbers, however it is cut', async () => {
  const options = { numSteps: 3000, ...target, numRegretPrefixes: 20 };
  const own = dp.simulation(options);
  const expected = own.advance(3000);
  const remote = await client.simulation(options);
  for (const name of [
    'dimension',
    'numSteps',
    'learns',
    'classifies',
    'clippingImpossible',
    'grid',
  ]) {
    assert.equal(remote[name], own[name], name);
  }
  assert.deepEqual(remote.lambda, own.lambda);
  assert.deepEqual(remote.regretBound, own.regretBound);
  assert.deepEqual(remote.certificate, { ...own.certificate });
  const first = await remote.advance(10);
  assert.deepEqual([first.firstStep, first.numSteps, remote.step], [0, 10, 10]);
  const rest = await remote.advance(5000);
  assert.deepEqual([rest.firstStep, rest.numSteps], [10, 2990]);
  assert.equal(remote.finished, true);
  const join = (name) => [...first[name], ...rest[name]];
  for (const name of ['noisySums', 'trueSums', 'privateLoss', 'twinCorrect', 'stddev']) {
    assert.deepEqual(join(name), [...expected[name]], name);
  }
  assert.deepEqual([...first.regret.private, ...rest.regret.private], [...expected.regret.private]);
  assert.equal((await remote.advance(1)).numSteps, 0);
  remote.dispose();
  own.dispose();
  assert.equal(remote.disposed, true);
  assert.equal(await client.liveHandles(), 0);
  await assert.rejects(remote.advance(1), code('disposed'));
});

test('worker: a time budget ends a chunk early', async () => {
  const remote = await client.simulation({
    numSteps: 10_000_000,
    mechanism: 'tree',
    ...target,
    numRegretPrefixes: 0,
  });
  const chunk = await remote.advance(10_000_000, { maxMilliseconds: 20 });
  assert.ok(chunk.numSteps >= 1 && chunk.numSteps < 10_000_000);
  assert.equal(remote.step, chunk.numSteps);
  remote.dispose();
});

test('worker: cancel rejects at once, stops the work and disposes of what was made', async () => {
  const options = { numSteps: 10_000_000, mechanism: 'tree', ...target, numRegretPrefixes: 0 };
  const remote = await client.simulation(options);
  const running = remote.advance(10_000_000);
  const queued = client.calibrate(target);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const start = performance.now();
  client.cancel();
  await assert.rejects(running, code('cancelled'));
  await assert.rejects(queued, code('cancelled'));
  assert.ok(performance.now() - start < 50, 'at once');
  assert.equal(remote.disposed, true);
  await assert.rejects(remote.advance(1), code('disposed'));
  assert.equal(await client.liveHandles(), 0);
  assert.ok(performance.now() - start < 2000, 'the worker is free again soon');
  const next = await client.simulation({ ...options, numSteps: 10 });
  assert.equal((await next.advance(10)).numSteps, 10);
  next.dispose();
});

test('worker: errors keep kind, code and message', async () => {
  await assert.rejects(client.calibrate({ epsilon: -1, delta: 0.1 }), (error) => {
    assert.ok(error instanceof RangeError);
    assert.equal(error.code, 'invalid_argument');
    assert.match(error.message, /epsilon must be .*, got -1/);
    return true;
  });
  await assert.rejects(client.calibrate({ epsilon: '1', delta: 0.1 }), TypeError);
  await assert.rejects(client.simulation({ numSteps: 4, ...target, neighbors: 'x' }), TypeError);
  await assert.rejects(
    client.calibrate({ epsilon: () => 1, delta: 0.1 }),
    /calibrate: options cannot be sent to a worker/,
  );
  const remote = await client.simulation({ numSteps: 4, ...target });
  await assert.rejects(remote.advance(0), RangeError);
  await assert.rejects(remote.advance(1, { maxMilliseconds: NaN }), RangeError);
  remote.dispose();
  assert.throws(
    () => connect({ worker: {} }),
    /connect: worker must be a Worker or a MessagePort, got object/,
  );
  assert.throws(() => connect({ wrker: worker }), /unknown option "wrker"/);
});

test('worker: errors of one entry are DpErrors of every other', async () => {
  const error = await client
    .simulation({ numSteps: 2 ** 24, dimension: 2 ** 30, mechanism: 'square-root', ...target })
    .then(
      () => undefined,
      (it) => it,
    );
  assert.ok(error instanceof DpError || error instanceof RangeError);
  assert.ok(new DpError('internal', 'x') instanceof library.DpError);
  assert.ok(!(new Error('x') instanceof library.DpError));
  assert.ok(!(null instanceof library.DpError));
});

test('worker: serve() answers on any port', async () => {
  const { port1, port2 } = new MessageChannel();
  serve(port1);
  const other = connect({ worker: port2 });
  assert.deepEqual(await other.calibrate(target), dp.calibrate(target));
  other.terminate();
  await assert.rejects(other.calibrate(target), code('disposed'));
});

test('worker: given bytes are used; bad ones are refused, and so is every later call', async () => {
  const good = connect({
    worker: new Worker(entryUrl('dp-ftrl/worker')),
    wasm: readFileSync(join(installed, 'dist/dp-ftrl.wasm')),
  });
  assert.equal(await good.ready, dp.version);
  good.terminate();
  const bad = connect({
    worker: new Worker(entryUrl('dp-ftrl/worker')),
    wasm: new Uint8Array([60, 33, 68, 79, 67]),
  });
  await assert.rejects(bad.ready, code('load_failed'));
  await assert.rejects(bad.calibrate(target), code('load_failed'));
  bad.terminate();
});

test('worker: one that cannot start fails every call', async () => {
  const broken = connect({ worker: new Worker('throw new Error("no luck")', { eval: true }) });
  await assert.rejects(
    broken.ready,
    (error) => code('load_failed')(error) && /no luck/.test(error.message),
  );
  await assert.rejects(broken.calibrate(target), code('load_failed'));
});

test('worker: optimize gives what the library gives, and reports its progress', async () => {
  const options = { numSteps: 2000 };
  const seen = [];
  const saved = await client.optimize(options, { onProgress: (progress) => seen.push(progress) });
  assert.deepEqual(saved, dp.optimize(options));
  assert.ok(seen.length >= 1);
  assert.equal(seen.at(-1).fraction, 1);
  seen.reduce((before, { iterations, fraction }) => {
    assert.ok(iterations >= before.iterations && fraction >= before.fraction);
    return { iterations, fraction };
  });
  assert.deepEqual(
    await client.error({ mechanism: saved, numSteps: 2000 }),
    dp.error({ mechanism: saved, numSteps: 2000 }),
  );
  const blt = { mechanism: 'blt', numSteps: 50 };
  assert.deepEqual(await client.optimize(blt), dp.optimize(blt));
  assert.equal(await client.liveHandles(), 0);
});

test('worker: optimize can be aborted, alone, at any time', async () => {
  const reason = new Error('enough');
  const options = { numSteps: 50_000 };
  await assert.rejects(client.optimize(options, { signal: AbortSignal.abort(reason) }), reason);
  const controller = new AbortController();
  let calls = 0;
  const search = client.optimize(options, {
    signal: controller.signal,
    onProgress: () => {
      if (++calls === 2) controller.abort(reason);
    },
  });
  const waiting = client.optimize(options, { signal: controller.signal });
  const other = client.error({ mechanism: 'tree', numSteps: 10 });
  await assert.rejects(search, (error) => error === reason);
  await assert.rejects(waiting, (error) => error === reason);
  assert.equal((await other).mechanism, 'tree', 'other calls are not affected');
  assert.equal(calls, 2, 'nothing is reported afterwards');
  assert.equal(await client.liveHandles(), 0, 'the worker has stopped');
  const cancelled = client.optimize(options);
  client.cancel();
  await assert.rejects(cancelled, code('cancelled'));
  assert.equal(await client.liveHandles(), 0);
});

test('worker: what is wrong with a search is told', async () => {
  const options = { numSteps: 4 };
  const tree = client.optimize({ mechanism: 'tree', ...options });
  await assert.rejects(tree, /not found by a search/);
  await assert.rejects(client.optimize(options, { signal: 1 }), /an AbortSignal, got number/);
  await assert.rejects(client.optimize(options, { onProgress: 1 }), /a function, got number/);
  await assert.rejects(client.optimize(options, { progress() {} }), /unknown option/);
});
