// SPDX-License-Identifier: Apache-2.0

// Worker and client in Node's worker threads; browser.test.mjs runs them in Chromium.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { consumer, entryUrl, importEntry, installed, node } from './support/consumer.mjs';
import { onlyInAll, sized } from './support/extent.mjs';

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

test('worker: ready resolves with the version of the library', async () => {
  assert.equal(await client.ready, dp.version);
});

test('worker: it gives the same answers as the library', async () => {
  assert.deepEqual(await client.strategies(), dp.strategies);
  assert.deepEqual(await client.calibrate(target), dp.calibrate(target));
  const rho = { rho: 0.5, delta: 1e-3 };
  assert.deepEqual(await client.calibrate(rho), dp.calibrate(rho));
  const facts = { rows: 100, dimension: 2, ...target };
  assert.deepEqual(await client.learnPlan(facts), dp.learnPlan(facts));
  const pure = { epsilon: 0.5, delta: 0 };
  assert.deepEqual(await client.calibrate(pure), dp.calibrate(pure));
  const options = { strategy: 'tree', steps: 100 };
  assert.deepEqual(await client.error(options), dp.error(options));
  assert.deepEqual(
    (await client.error({ ...options, perStep: true })).perStep,
    dp.error({ ...options, perStep: true }).perStep,
  );
  assert.deepEqual(
    (await client.error({ ...options, matrices: true })).matrices,
    dp.error({ ...options, matrices: true }).matrices,
  );
  const problem = { steps: sized(100, 20) };
  assert.deepEqual(await client.compare(problem), dp.compare(problem).result());
  const mechanism = { steps: 10, ...target };
  assert.deepEqual(await client.certificate(mechanism), { ...dp.certificate(mechanism) });
});

test('worker: error() gives the results and refusals of the library, pure and for several workloads', async () => {
  const pure = { steps: 100, epsilon: 1, delta: 0, beta: 0.05 };
  assert.deepEqual(await client.error(pure), dp.error(pure));
  const stack = { steps: 40, workloads: ['prefix', { window: 7 }], beta: 0.05 };
  assert.deepEqual(await client.error(stack), dp.error(stack));
  const wrong = [
    { ...pure, steps: 0 },
    { ...pure, epsilon: NaN },
    { ...pure, beta: 2 },
    { ...stack, workloads: [] },
    { ...stack, workloads: ['prefix', { window: 0 }] },
    { ...stack, beta: Infinity },
    { ...stack, nothing: 1 },
  ];
  for (const options of wrong) {
    const said = ({ name, code, message }) => `${name} ${code}: ${message}`;
    const direct = await (async () => dp.error(options))().then(assert.fail, said);
    assert.equal(await client.error(options).then(assert.fail, said), direct);
  }
});

test(
  'worker: a long search by name runs in pieces, before the call that needs it',
  onlyInAll,
  async () => {
    const options = { strategy: { name: 'banded', bands: 4 }, steps: 160 };
    const seen = [];
    const onProgress = ({ fraction }) => seen.push(fraction);
    const { effectiveParameters, ...error } = await client.error(options, { onProgress });
    assert.ok(seen.length >= 1 && seen.at(-1) === 1, `${seen}`);
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    );
    const expected = dp.error(options);
    assert.deepEqual(effectiveParameters, expected.effectiveParameters);
    assert.equal(error.maxError, expected.maxError);
    const mechanism = { ...options, ...target };
    const { maxError } = await client.certificate(mechanism, { onProgress });
    assert.equal(maxError, expected.maxError);
    assert.deepEqual(
      (await client.error({ ...options, perStep: true })).perStep,
      dp.error({ ...options, perStep: true }).perStep,
    );
    const told = [];
    const banded = {
      steps: 160,
      strategy: { name: 'banded', bands: 4 },
      ...target,
      insecureSeed: 3,
    };
    const visits = await client.counter(banded, {
      onProgress: ({ fraction }) => told.push(fraction),
    });
    assert.equal(told.at(-1), 1);
    const own = dp.counter(banded);
    assert.deepEqual(await visits.releaseMany([1, 2]), own.releaseMany([1, 2]));
    await visits.dispose();
    own.dispose();

    const rows = [];
    const compared = await client.compare(
      { steps: 64 },
      { onProgress: ({ fraction }) => rows.push(fraction) },
    );
    assert.deepEqual(compared, dp.compare({ steps: 64 }).result());
    assert.ok(rows.length >= 1);

    const long = { strategy: 'optimal', steps: 1000, workload: { window: 9 } };
    const controller = new AbortController();
    const given = client.error(long, {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await assert.rejects(given, { name: 'AbortError' });
    assert.equal(await client.liveHandles(), 0, 'and the search is disposed of');
  },
);

test('worker: a simulation gives the same numbers, however it is cut', async () => {
  const options = { steps: 3000, ...target, numRegretPrefixes: 20 };
  const own = dp.study.simulation(options);
  const expected = own.advance(3000);
  const remote = await client.study.simulation(options);
  for (const name of 'dimension steps learns classifies clippingImpossible grid'.split(' ')) {
    assert.equal(remote[name], own[name], name);
  }
  assert.deepEqual(remote.lambda, own.lambda);
  assert.deepEqual(remote.regretBound, own.regretBound);
  assert.deepEqual(remote.certificate, { ...own.certificate });
  const first = await remote.advance(10);
  assert.deepEqual([first.firstStep, first.steps, remote.step], [0, 10, 10]);
  const rest = await remote.advance(5000);
  assert.deepEqual([rest.firstStep, rest.steps], [10, 2990]);
  assert.equal(remote.finished, true);
  const join = (name) => [...first[name], ...rest[name]];
  for (const name of ['noisySums', 'trueSums', 'privateLoss', 'twinCorrect', 'stddev']) {
    assert.deepEqual(join(name), [...expected[name]], name);
  }
  assert.deepEqual([...first.regret.private, ...rest.regret.private], [...expected.regret.private]);
  assert.equal((await remote.advance(1)).steps, 0);
  remote.dispose();
  own.dispose();
  assert.equal(remote.disposed, true);
  assert.equal(await client.liveHandles(), 0);
  await assert.rejects(remote.advance(1), code('disposed'));
});

test('worker: a time budget ends a chunk early', async () => {
  const remote = await client.study.simulation({
    steps: 10_000_000,
    strategy: 'tree',
    ...target,
    numRegretPrefixes: 0,
  });
  const chunk = await remote.advance(10_000_000, { maxMilliseconds: 20 });
  assert.ok(chunk.steps >= 1 && chunk.steps < 10_000_000);
  assert.equal(remote.step, chunk.steps);
  remote.dispose();
});

test('worker: cancel rejects at once, stops the work and disposes of what was made', async () => {
  const steps = 10_000_000;
  const options = { steps, strategy: 'tree', ...target, numRegretPrefixes: 0 };
  const remote = await client.study.simulation(options);
  let done;
  let listener;
  const hasBegun = new Promise((resolve) => {
    listener = ({ dpFtrl, progress }) => {
      if (dpFtrl === 'progress') resolve((done = progress.fraction));
    };
  });
  worker.on('message', listener);
  const running = remote.advance(steps);
  const queued = client.calibrate(target);
  await hasBegun;
  let heardOfWorker = false;
  setImmediate(() => (heardOfWorker = true));
  client.cancel();
  await assert.rejects(running, code('cancelled'));
  await assert.rejects(queued, code('cancelled'));
  assert.equal(heardOfWorker, false, 'at once: before any message can arrive');
  assert.equal(remote.disposed, true);
  await assert.rejects(remote.advance(1), code('disposed'));
  assert.equal(await client.liveHandles(), 0);
  worker.off('message', listener);
  assert.ok(done < 1 / 2, `the work went on to ${done}`);
  const next = await client.study.simulation({ ...options, steps: 10 });
  assert.equal((await next.advance(10)).steps, 10);
  next.dispose();
});

test('worker: making any object can be given up, which stops its search', async () => {
  const reason = new Error('enough');
  const search = { strategy: { name: 'blt-scaled', buffers: 6 }, steps: 2 ** 20 }; // hundreds of pieces
  let last;
  const listener = ({ dpFtrl, progress }) => {
    if (dpFtrl === 'progress') last = progress;
  };
  worker.on('message', listener);
  const stream = { ...search, ...target };
  const streams = {
    counter: stream,
    totals: { ...stream, dimension: 2, people: 'once' },
    moments: { ...stream, columns: { age: [0, 1] } },
    histogram: { ...stream, categories: ['a'], participation: { times: 2, apart: 3 } },
    learner: { ...stream, dimension: 2 },
  };
  const { simulation } = client.study;
  for (const kind of [...Object.keys(streams), 'simulation', 'noise']) {
    const options = streams[kind] ?? { ...search, ...(kind !== 'noise' && target) };
    const make = kind === 'simulation' ? simulation : client[kind];
    const given = make(options, { signal: AbortSignal.abort(reason) });
    await assert.rejects(given, (error) => error === reason, kind);
    const controller = new AbortController();
    const { signal } = controller;
    const made = make(options, { signal, onProgress: () => controller.abort(reason) });
    await assert.rejects(made, (error) => error === reason, kind);
    assert.equal(await client.liveHandles(), 0, kind);
    assert.ok(last.fraction < 1, `${kind}: the search went on to its end`);
  }
  worker.off('message', listener);
});

test('worker: a simulation that is given up goes on from where it stopped', async () => {
  const steps = 10_000_000;
  const options = { steps, strategy: 'tree', ...target, numRegretPrefixes: 0 };
  const remote = await client.study.simulation(options);
  const controller = new AbortController();
  const seen = [];
  const { signal } = controller;
  const onProgress = ({ fraction }) => {
    seen.push(fraction);
    controller.abort();
  };
  const running = remote.advance(2 * steps, {}, { signal, onProgress });
  await assert.rejects(running, code('aborted'));
  assert.ok(seen.length >= 1 && seen[0] > 0 && seen[0] < 1, `${seen}`);
  const { step } = remote;
  assert.ok(step >= seen[0] * steps && step < steps, `${step}`);
  const { firstStep } = await remote.advance(1);
  assert.deepEqual([firstStep, remote.step], [step, step + 1]);
  await assert.rejects(remote.advance(1, {}, { signal: 1 }), /signal must be an AbortSignal/);
  await assert.rejects(remote.advance(1, { progress: 1 }), /progress is an unknown option/);
  await assert.rejects(remote.heldOutRisk(1, { signal }), code('aborted'));
  remote.dispose();
  assert.equal(await client.liveHandles(), 0);
});

/** Options of objects of several kinds, by the path of the client's function that makes them. */
const kinds = {
  counter: { steps: 4, ...target },
  histogram: { steps: 4, ...target, categories: ['a'], people: 'once' },
  learner: { steps: 4, dimension: 1, ...target },
  'study.twin': { steps: 4 },
  'study.simulation': { steps: 4, ...target },
  'queries.linear': { workload: { ranges: 4 }, ...target },
  noise: { strategy: 'tree', steps: 4 },
};

function functionAt(client, path) {
  return path.split('.').reduce((object, name) => object[name], client);
}

test('worker: everything counts as one handle, and can be disposed of by symbol', async () => {
  for (const [kind, options] of Object.entries(kinds)) {
    const remote = await functionAt(client, kind)(options);
    assert.equal(await client.liveHandles(), 1, kind);
    assert.equal(remote.disposed, false);
    await remote[Symbol.asyncDispose]();
    assert.equal(remote.disposed, true);
    await remote.dispose();
    assert.equal(await client.liveHandles(), 0, kind);
    assert.ok(Object.isFrozen(remote), kind);
  }
});

test('worker: an object that is given up while it is made is disposed of', async () => {
  const { port1, port2 } = new MessageChannel();
  serve(port1);
  // Cancels when the answer has arrived but has not been processed.
  let controller;
  const other = connect({
    worker: {
      postMessage: (message) => port2.postMessage(message),
      close: () => port2.close(),
      on: (type, listener) =>
        port2.on(type, (data) => {
          controller?.abort();
          listener(data);
        }),
    },
  });
  await other.ready;
  for (const [kind, options] of Object.entries(kinds)) {
    controller = new AbortController();
    const { signal } = controller;
    await assert.rejects(
      functionAt(other, kind)(options, { signal }),
      { name: 'AbortError' },
      kind,
    );
    assert.equal(await other.liveHandles(), 0, kind);
  }
  other.terminate();
});

test('worker: garbage collection disposes of forgotten objects, and of nothing else', async () => {
  const source = `
    import { Worker } from 'node:worker_threads';
    import { connect } from 'dp-ftrl/worker-client';
    const script = new URL('${entryUrl('dp-ftrl/worker')}');
    const client = connect({ worker: new Worker(script, { execArgv: [] }) });
    const kinds = ${JSON.stringify(kinds)};
    const functionAt = ${functionAt};
    const make = (kind) => functionAt(client, kind)(kinds[kind]);
    const { weights } = await make('study.twin'); // one method is as good as all
    const before = await (async () => {
      const remotes = [];
      for (const kind of Object.keys(kinds)) remotes.push(await make(kind));
      return [await client.liveHandles(), remotes.length];
    })();
    let after = Infinity;
    for (let i = 0; i < 200 && after > 1; ++i) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
      after = await client.liveHandles();
    }
    process.stdout.write([...before, after, (await weights()).length].join());
    client.terminate();`;
  const { stdout, stderr } = await node(['--expose-gc', '--input-type=module', '-e', source]);
  assert.equal(stderr, '');
  assert.equal(stdout, '8,7,1,1');
});

test('worker: errors keep kind, code and message', async () => {
  await assert.rejects(client.calibrate({ epsilon: -1, delta: 0.1 }), (error) => {
    assert.ok(error instanceof RangeError);
    assert.equal(error.code, 'invalid_argument');
    assert.match(error.message, /epsilon must be .*, got -1/);
    return true;
  });
  await assert.rejects(client.calibrate({ epsilon: '1', delta: 0.1 }), TypeError);
  await assert.rejects(client.study.simulation({ steps: 4, ...target, neighbors: 'x' }), TypeError);
  await assert.rejects(
    client.calibrate({ epsilon: () => 1, delta: 0.1 }),
    /calibrate: options must be something that can be sent to a worker, got a function, a proxy or/,
  );
  const remote = await client.study.simulation({ steps: 4, ...target });
  await assert.rejects(remote.advance(0), RangeError);
  await assert.rejects(remote.advance(1, { maxMilliseconds: NaN }), RangeError);
  remote.dispose();
  assert.throws(
    () => connect({ worker: {} }),
    /connect: worker must be a Worker or a MessagePort, got object/,
  );
  assert.throws(() => connect({ wrker: worker }), /wrker is an unknown option/);
});

test('worker: errors of one entry are DpErrors of every other', async () => {
  const error = await client.study
    .simulation({ steps: 2 ** 24, dimension: 2 ** 30, strategy: 'square-root', ...target })
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

test('worker: when a worker ends, pending and later calls are rejected', async () => {
  const script = entryUrl('dp-ftrl/worker');
  const stopped = new Worker(script);
  const source = `import(${JSON.stringify(script.href)}).then(() => process.exit(3))`;
  const { port1, port2 } = new MessageChannel();
  for (const [port, end, message] of [
    [stopped, () => stopped.terminate(), /^worker: it has ended with exit code [01]$/],
    [new Worker(source, { eval: true }), () => {}, /^worker: it has ended with exit code 3$/],
    [port2, () => port1.close(), /^worker: it has ended$/],
  ]) {
    const other = connect({ worker: port });
    const isEnded = { code: 'disposed', message };
    // It may end immediately.
    const rejected = assert.rejects(other.compare({ steps: 512 }), isEnded);
    await new Promise((resolve) => setTimeout(resolve, 20));
    void end();
    await rejected;
    await assert.rejects(other.calibrate(target), isEnded);
  }
});

test('worker: in Node connect says how to pass one', async () => {
  let message;
  assert.throws(
    () => connect(),
    (error) => {
      ({ message } = error);
      return error instanceof DpError && error.code === 'unsupported';
    },
  );
  const made = /in Node `(new Worker\(.*\))` of node:worker_threads$/.exec(message)[1];
  const source = `import { Worker } from 'node:worker_threads';
    import { connect } from 'dp-ftrl/worker-client';
    const client = connect({ worker: ${made} });
    console.log(await client.ready);
    client.terminate();`;
  // A file, since command-line options would be passed on to the worker.
  const path = join(consumer, `connect-${process.pid}.mjs`);
  writeFileSync(path, source);
  try {
    assert.equal((await node([path])).stdout, `${dp.version}\n`);
  } finally {
    rmSync(path);
  }
});

test('worker: given bytes are used; with bad bytes, every call is rejected', async () => {
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

test('worker: when a worker cannot start, every call fails', async () => {
  const broken = connect({ worker: new Worker('throw new Error("no luck")', { eval: true }) });
  await assert.rejects(
    broken.ready,
    (error) => code('load_failed')(error) && /no luck/.test(error.message),
  );
  await assert.rejects(broken.calibrate(target), code('load_failed'));
});

test('worker: optimize gives what the library gives, and reports its progress', async () => {
  const options = { steps: 2000 };
  const seen = [];
  const saved = await client.optimize(options, { onProgress: (progress) => seen.push(progress) });
  assert.deepEqual(saved, dp.optimize(options).result());
  assert.ok(seen.length >= 1);
  assert.equal(seen.at(-1).fraction, 1);
  seen.reduce((before, { iterations, fraction }) => {
    assert.ok(iterations >= before.iterations && fraction >= before.fraction);
    return { iterations, fraction };
  });
  assert.deepEqual(
    await client.error({ strategy: saved, steps: 2000 }),
    dp.error({ strategy: saved, steps: 2000 }),
  );
  const blt = { strategy: 'blt', steps: 50 };
  assert.deepEqual(await client.optimize(blt), dp.optimize(blt).result());
  assert.equal(await client.liveHandles(), 0);
});

test('worker: optimize can be aborted at any time without affecting other calls', async () => {
  const reason = new Error('enough');
  const options = { steps: 50_000 };
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
  const other = client.error({ strategy: 'tree', steps: 10 });
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

test('worker: bad options of optimize are refused', async () => {
  const options = { steps: 4 };
  const tree = client.optimize({ strategy: 'tree', ...options });
  await assert.rejects(tree, /strategy must be one that a search finds/);
  await assert.rejects(client.optimize(options, { signal: 1 }), /an AbortSignal, got number/);
  await assert.rejects(client.optimize(options, { onProgress: 1 }), /a function, got number/);
  await assert.rejects(client.optimize(options, { progress() {} }), /unknown option/);
});

test('worker: twin, comparator and bounds are those of the library', async () => {
  for (const [loss, numClasses] of [
    [{}, 1],
    [{ loss: { softmax: 3 } }, 3],
  ]) {
    const shared = { ...loss, dimension: 2, radius: 2 };
    const features = Float64Array.from({ length: 40_000 }, (_, i) => Math.sin(i * i));
    const labels = Float64Array.from({ length: 20_000 }, (_, i) => i % Math.max(2, numClasses));
    const [twin, comparator] = [
      dp.study.twin({ ...shared, steps: 1e5 }),
      dp.study.comparator(shared),
    ];
    const remote = await client.study.twin({ ...shared, steps: 1e5 });
    const best = await client.study.comparator(shared);
    assert.equal(remote.numScores, numClasses);
    assert.equal(best.dimension, 2);
    assert.deepEqual(await remote.learn(features, labels), twin.learn(features, labels));
    for (const each of [twin, remote]) await each.endBatch();
    assert.deepEqual(await remote.weights(), twin.weights());
    await assert.rejects(remote.learn([1, 1, 1, 1], [1, 7]), ({ message, row }) => {
      assert.match(message, /example 1: .*label must be/);
      return row.index === 1;
    });
    await assert.rejects(remote.learn([1, 1, 1], [1]), /features must have 2 entries, got 3/);
    await assert.rejects(remote.learn([1, 1], 'x'), /labels must be /);
    const some = features.subarray(0, 400);
    comparator.append(some, labels.subarray(0, 200));
    await best.append(some, labels.subarray(0, 200));
    assert.deepEqual(await best.best(), comparator.best());
    for (const each of [twin, comparator, remote, best]) each.dispose();
  }
  const options = { strategy: 'tree', steps: 100, ...target, dimension: 3 };
  const { certificate } = await client.learner(options);
  assert.deepEqual(
    await client.study.regretBounds(certificate, { dimension: 3 }),
    dp.study.regretBounds(certificate, { dimension: 3 }),
  );
  assert.deepEqual(await client.bounds({ steps: 64 }), dp.bounds({ steps: 64 }));
  assert.deepEqual(await client.bounds({ steps: 64, rho: 1 }), dp.bounds({ steps: 64, rho: 1 }));
  const { signal } = new AbortController();
  const promise = { epsilon: 1, delta: 1e-6 };
  assert.deepEqual(
    await client.bounds({ steps: 64, ...promise }, { signal }),
    dp.bounds({ steps: 64, ...promise }),
  );
  assert.deepEqual(await client.bounds({ steps: 64 }, { signal }), dp.bounds({ steps: 64 }));
  await assert.rejects(client.bounds({ steps: 64 }, { signal: AbortSignal.abort() }), {
    name: 'AbortError',
  });
  await assert.rejects(client.bounds({ steps: 64, sigma: 1 }), /sigma is an unknown option/);
  await assert.rejects(client.bounds({ steps: 64, delta: 0.1 }), /epsilon/);
  const wide = { strategy: 'tree', steps: 100, beta: 0.05, dimension: 3 };
  assert.deepEqual(await client.error(wide), dp.error(wide));
  await assert.rejects(client.study.twin({ dimension: 2, loss: 'none' }), /loss must be one of/);
  await assert.rejects(client.study.twin({ dimension: 2 }, { signals: 1 }), /unknown option/);
  client.cancel();
  assert.equal(await client.liveHandles(), 0);
});

test('worker: the error of an example refused within a batch gives its index in the batch', async () => {
  const options = { strategy: 'tree', steps: 5000, ...target, dimension: 1, insecureSeed: 4 };
  const learner = await client.learner(options);
  const labels = Array.from({ length: 3000 }, (_, i) => (i === 2000 ? 7 : 1));
  await assert.rejects(learner.learn(new Float64Array(3000), labels), ({ message, row }) => {
    assert.match(message, /^learn: record 2000: .*label/);
    return row.index === 2000;
  });
  await assert.rejects(learner.learn([1, 2], [1]), /features must have 1 entry, got 2/);
  await learner.dispose();
  const loss = () => ({ slopes: [0] });
  await assert.rejects(client.learner({ ...options, loss }), /loss must be a name or an object in/);
});

test('worker: held-out risk is that of the library', async () => {
  const options = { steps: 50, ...target };
  const [own, remote] = [dp.study.simulation(options), await client.study.simulation(options)];
  own.advance(50);
  await remote.advance(50);
  assert.deepEqual(await remote.heldOutRisk(20), own.heldOutRisk(20));
  await assert.rejects(remote.heldOutRisk(0), /numExamples must be between 1 and/);
  own.dispose();
  remote.dispose();
  await assert.rejects(remote.heldOutRisk(20), code('disposed'));
});

test('worker: batches can be aborted, and what was cancelled is gone', async () => {
  const options = { strategy: 'tree', steps: 2 ** 20, ...target, dimension: 1 };
  const remote = await client.learner(options);
  const controller = new AbortController();
  const reason = new Error('enough');
  const [features, labels] = [new Float64Array(2 ** 20), new Float64Array(2 ** 20).fill(1)];
  const batch = remote.learn(features, labels, {
    signal: controller.signal,
    onProgress: () => controller.abort(reason),
  });
  await assert.rejects(batch, ({ code, cause }) => code === 'aborted' && cause === reason);
  const { step } = remote;
  assert.ok(step > 0 && step < 2 ** 20, `${step}`);
  await remote.learn([0.5], [1]);
  assert.equal(remote.step, step + 1, 'it goes on from there');
  await assert.rejects(remote.learn([1], [1], { signal: 1 }), /signal must be an AbortSignal/);
  client.cancel();
  assert.equal(remote.disposed, true);
  assert.equal(await client.liveHandles(), 0);
  // A handle made after its request was cancelled is disposed of.
  const giveUp = new AbortController();
  const soon = client.learner(options, { signal: giveUp.signal });
  giveUp.abort(reason);
  await assert.rejects(soon, (error) => error === reason);
  await client.strategies(); // answered after it was made
  assert.equal(await client.liveHandles(), 0);
  // Analyses also accept a signal.
  const signal = AbortSignal.abort(reason);
  for (const name of ['error', 'compare', 'certificate']) {
    await assert.rejects(client[name]({ steps: 4 }, { signal }), (error) => error === reason);
  }
});

test('worker: a comparison reports its progress, and is given up between mechanisms', async () => {
  const seen = [];
  const problem = { steps: 50 };
  const onProgress = ({ fraction }) => seen.push(fraction);
  assert.deepEqual(await client.compare(problem, { onProgress }), dp.compare(problem).result());
  assert.equal(seen.at(-1), 1);
  const controller = new AbortController();
  const { signal } = controller;
  const given = client.compare({ steps: 3000 }, { signal, onProgress: () => controller.abort() });
  await assert.rejects(given, { name: 'AbortError' });
  assert.equal(await client.liveHandles(), 0);
});

test('worker: queries give what the library gives, with progress, and are disposed of', async () => {
  const options = { workload: { ranges: 12 }, ...target, neighbours: 'replace-one' };
  const own = dp.queries.linear(options).result();
  const seen = [];
  const remote = await client.queries.linear(options, {
    onProgress: (told) => seen.push(told.fraction),
  });
  assert.equal(seen.at(-1), 1);
  assert.ok(
    seen.every((fraction, i) => fraction >= (seen[i - 1] ?? 0)),
    `${seen}`,
  );
  const facts = ['numQueries', 'numMeasurements', 'neighbours', 'noise', 'mu', 'ratio'];
  for (const name of [...facts, 'standardErrors']) assert.deepEqual(remote[name], own[name], name);
  assert.deepEqual(await remote.labels(), own.labels());
  assert.equal(await remote.label(3), own.label(3));
  assert.deepEqual(await remote.matrices(), own.matrices());
  const histogram = Array.from({ length: 12 }, (_, v) => 3 * v);
  for (const more of [{}, { consistent: true, integer: true, total: 198 }]) {
    const seeded = { ...more, insecureSeed: 4 };
    assert.deepEqual(await remote.release(histogram, seeded), own.release(histogram, seeded));
  }
  await assert.rejects(remote.release([1]), { code: 'wrong_length' });
  const abort = new AbortController();
  const { signal } = abort;
  const running = remote.release(histogram);
  const waiting = remote.matrices({ signal });
  abort.abort();
  await assert.rejects(waiting, code('aborted'));
  assert.equal((await running).insecure, false, 'another call is not affected');
  await assert.rejects(remote.release(histogram, {}, { sig: signal }), { code: 'wrong_type' });
  assert.equal(await remote.label(0), own.label(0), 'it goes on');
  await assert.rejects(client.queries.linear({ ...options, delta: 1 }), {
    code: 'invalid_argument',
  });
  const several = client.queries.linear({ ...options, maxContributions: 2 });
  const onlyOne = /^linear: maxContributions must be 1 where the number of records is public/;
  await assert.rejects(several, { code: 'invalid_argument', message: onlyOne });
  const choice = { histogram, epsilon: 1, insecureSeed: 2 };
  assert.equal(await client.queries.winner(choice), dp.queries.winner(choice));
  const asked = { utilities: [3, 1, 4, 1, 5], sensitivity: 1, epsilon: 1, insecureSeed: 7 };
  assert.equal(await client.queries.choose(asked), dp.queries.choose(asked));
  const secret = { bit: true, epsilon: 0.5, insecureSeed: 3 };
  assert.equal(
    await client.queries.randomizedResponse(secret),
    dp.queries.randomizedResponse(secret),
  );
  const counted = { ones: 3, reports: 8, epsilon: 0.5 };
  assert.deepEqual(await client.queries.estimateCount(counted), dp.queries.estimateCount(counted));
  const median = { ...choice, quantile: [1, 2] };
  assert.equal(await client.queries.quantile(median), dp.queries.quantile(median));
  own.dispose();
  remote.dispose();
  await assert.rejects(remote.labels(), code('disposed'));
  const gone = await client.queries.linear(options);
  client.cancel();
  assert.equal(gone.disposed, true);
  assert.equal(await client.liveHandles(), 0);
});

test('worker: noise and predictions are those of the library', async () => {
  const options = { strategy: 'tree', steps: 20, dimension: 3, insecureSeed: 9 };
  const own = dp.noise(options);
  const remote = await client.noise(options);
  assert.deepEqual([remote.dimension, remote.steps], [3, 20]);
  const rows = { numRows: 4, scale: 100 };
  assert.deepEqual(await remote.rounded(rows), own.rounded(rows));
  assert.equal(remote.step, 4);
  assert.deepEqual(await remote.checkpoint(), own.checkpoint());
  await remote.seek(10);
  own.seek(10);
  const abort = AbortSignal.abort();
  await assert.rejects(remote.rounded(rows, undefined, { signal: abort }), code('aborted'));
  assert.deepEqual(await remote.rounded(rows), own.rounded(rows));
  await assert.rejects(remote.seek(21), { code: 'invalid_argument' });
  await assert.rejects(client.noise({ ...options, steps: 0 }), { code: 'invalid_argument' });
  own.dispose();
  remote.dispose();
  await assert.rejects(remote.rounded(rows), code('disposed'));
  const learner = dp.learner({ ...target, steps: 4, dimension: 2 });
  learner.learn([1, 1], [1]);
  const model = learner.model();
  learner.dispose();
  const features = [0.5, 1, -1, 2];
  assert.deepEqual(await client.predict(model, features), dp.predict(model, features));
  await assert.rejects(client.predict({}, features), { message: /^predict: model/ });
  assert.equal(await client.liveHandles(), 0);
});

test('worker: a search for what to measure is given up at once', async () => {
  const controller = new AbortController();
  const large = { workload: { ranges: 64 }, ...target, objective: 'max' };
  const onProgress = ({ fraction }) => fraction > 0 && controller.abort();
  const call = client.queries.linear(large, { signal: controller.signal, onProgress });
  await assert.rejects(call, { name: 'AbortError' });
  assert.equal(await client.liveHandles(), 0, 'the worker has stopped');
});
