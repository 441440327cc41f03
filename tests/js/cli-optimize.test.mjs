// SPDX-License-Identifier: Apache-2.0

// The command optimize, and --strategy wherever a mechanism can be named.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails, json } from './support/command.mjs';
import { cli, dpFtrl, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('optimize');
const file = writerIn(folder);

const saved = dp.optimize({ steps: 30 }).result();
const strategy = file('strategy.json', JSON.stringify(saved));
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--quiet'];
const rows = `x\n${'1\n'.repeat(30)}`;

test('optimize: the JSON is that of the library', async () => {
  const search = ['optimize', '--steps', '30'];
  assert.deepEqual(await json(search), saved);
  const cases = [
    [
      ['--buffers', '3', '--objective', 'mean'],
      { strategy: { name: 'optimal', buffers: 3, objective: 'mean' } },
    ],
    [['--buffers', 'exact'], { strategy: { name: 'optimal', buffers: 'exact' } }],
    [['--solver', 'none'], { solver: 'none' }],
    [['--max-iterations', '2'], { maxIterations: 2 }],
    [['--gap', '1e-3'], { gap: 1e-3 }],
    [['--workload', 'momentum=0,decay=0.9'], { workload: { momentum: 0, decay: 0.9 } }],
    [['--strategy', 'blt', '--buffers', '1'], { strategy: { name: 'blt', buffers: 1 } }],
    [
      ['--strategy', 'blt', '--participations', '3', '--min-separation', '5'],
      { strategy: 'blt', participation: { times: 3, apart: 5 } },
    ],
  ];
  for (const [args, options] of cases) {
    assert.deepEqual(
      await json([...search, ...args]),
      dp.optimize({ steps: 30, ...options }).result(),
    );
  }
});

test('optimize: it prints a report, writes the whole file, and leaves standard error empty', async () => {
  const report = await dpFtrl(['optimize', '--steps', '30']);
  assert.equal(report.code, 0);
  assert.equal(report.stderr, '', 'it is not a terminal');
  const lines = [/^mechanism +optimal\n/, /\nmax error +1\.8/, /\nstatus +converged\n/, /\ngap +/];
  for (const line of lines) {
    assert.match(report.stdout, line);
  }
  const path = join(folder, 'written.json');
  const written = await dpFtrl(['optimize', '--steps', '30', '--output', path]);
  assert.equal(written.stdout, report.stdout);
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), saved);
  assert.deepEqual(await json(['optimize', '--steps', '30', '--output', path]), saved);
});

test('error, compare and release take a saved strategy', async () => {
  const { steps, parameters, ...rest } = await json(['error', '--strategy', strategy]);
  const { numSteps, ...expected } = dp.error({ strategy: saved, steps: 30 });
  assert.deepEqual([rest, steps, parameters], [expected, numSteps, {}]);
  const table = await dpFtrl(['error', '--strategy', strategy, '--steps', '30']);
  assert.match(table.stdout, /^mechanism +optimal from .*strategy\.json\n/);
  const compared = await json(['compare', '--steps', '30', '--strategy', strategy]);
  assert.deepEqual(compared, dp.compare({ steps: 30, strategies: [saved] }).result());
  const words = await dpFtrl(['compare', '--steps', '30', '--strategy', strategy]);
  assert.match(words.stdout, /^ *\d+ +optimal from /m);

  const release = async (...args) => {
    const given = ['release', ...privacy, '--seed', '5', ...args];
    const { code, stdout } = await dpFtrl(given, { input: rows });
    assert.equal(code, 0);
    return stdout;
  };
  const named = await release('--strategy', 'optimal', '--steps', '30');
  assert.equal(named.split('\n').length, 32);
  assert.equal(await release('--strategy', strategy), named, 'bit for bit, horizon from the file');
  assert.equal(await release('--strategy', strategy, '--steps', '30'), named);
  assert.notEqual(await release('--strategy', 'blt', '--steps', '30'), named);
  const mentions = await dpFtrl(['release', ...privacy.slice(0, -1), '--strategy', strategy], {
    input: rows,
  });
  assert.match(mentions.stderr, /mechanism optimal from .*strategy\.json, .*horizon 30 rows/);
});

test('--strategy: the participation is that of the file, and another one is reported', async () => {
  const found = dp.optimize({ steps: 8, participation: { epochs: 4 } }).result();
  const epochs = file('epochs.json', JSON.stringify(found));
  const own = await dpFtrl(['error', '--strategy', epochs]);
  assert.match(own.stdout, /\nparticipation +4 epochs\n/);
  assert.doesNotMatch(own.stdout, /optimised for/);
  const once = ['--participations', '1', '--min-separation', '1'];
  const other = await dpFtrl(['error', '--strategy', epochs, '--epochs', '2']);
  assert.match(other.stdout, /\nparticipation +2 epochs\nneighbours.*\noptimised for +4 epochs\n/);
  assert.equal((await json(['error', '--strategy', epochs, ...once])).optimisedFor, '4 epochs');
  const spoken = ['release', ...privacy.slice(0, -1), '--strategy', epochs];
  const release = (...args) => dpFtrl([...spoken, ...args], { input: `x\n${'1\n'.repeat(8)}` });
  const { code, stderr } = await release();
  assert.equal(code, 0, stderr);
  assert.match(stderr, /one user is protected, with one row in each of 4 epochs of 2 rows/);
  const warned = await release(...once);
  assert.match(
    warned.stderr,
    /warning: the strategy was optimised for 4 epochs; this run protects/,
  );
});

test('an optimal strategy made for another participation is reported as such', async () => {
  const chosen = ['--strategy', 'optimal', '--buffers', '4', '--epochs', '2'];
  const other = await dpFtrl(['error', '--steps', '8', ...chosen]);
  const named = /\nparticipation +2 epochs\nneighbours.*\noptimised for +single participation\n/;
  assert.match(other.stdout, named);
  const searched = ['error', '--steps', '8', '--strategy', 'optimal', '--epochs', '2'];
  assert.doesNotMatch((await dpFtrl(searched)).stdout, /optimised for/);
  const warning =
    /warning: the strategy was optimised for single participation; this run protects 2 epochs\n/;
  const released = await dpFtrl(['release', ...privacy.slice(0, -1), '--steps', '8', ...chosen], {
    input: `x\n${'1\n'.repeat(8)}`,
  });
  assert.equal(released.code, 0, released.stderr);
  assert.match(released.stderr, warning);
});

test('misuse: unsuitable strategy files and options are refused', async () => {
  const error = ['error', '--strategy'];
  const text = JSON.stringify(saved);
  const changed = (change) => {
    const it = structuredClone(saved);
    change(it);
    return file('changed.json', JSON.stringify(it));
  };
  const cases = [
    [[...error, join(folder, 'none.json')], /--strategy .*none\.json: there is no such file/],
    [[...error, folder], /--strategy .* is a folder/],
    [[...error, file('cut.json', text.slice(0, -9))], /--strategy .*cut\.json is not JSON/],
    [[...error, file('empty.json', '')], /empty\.json is not JSON/],
    [[...error, file('list.json', '[1]')], /--strategy .*list\.json is not a saved strategy/],
    [[...error, file('other.json', '{"a":1}')], /format must be "dp-ftrl strategy", got undefined/],
    [[...error, changed((it) => (it.version = 1))], /version must be 2, the one .* reads, got 1/],
    [[...error, strategy, '--steps', '31'], /: --steps must be 30, that of .*, got 31/],
    [[...error, strategy, '--strategy', 'tree'], /--strategy is given twice/],
    [
      [...error, strategy, '--buffers', '3'],
      /--buffers does not go with a saved strategy, got --strategy .*strategy\.json/,
    ],
    [[...error, strategy, '--workload', 'window=2'], /workload must be that of the saved strategy/],
    [['compare', '--steps', '4', '--strategy', strategy], /--steps must be 30, that of the saved/],
    [['release', ...privacy, '--strategy', strategy, '--steps', '9'], /--steps must be 30/],
    [['optimize'], /--steps is required/],
    [['optimize', '--steps', '4', 'x'], /optimize reads no file, got x/],
    [
      ['optimize', '--steps', '4', '--strategy', 'tree'],
      /--strategy must be one that a search finds: .*, got "tree"/,
    ],
    [['optimize', '--steps', '4', '--solver', 'fast'], /--solver must be one of exact, none/],
    [['optimize', '--steps', '4', '--buffers', 'all'], /--buffers must be a whole number/],
    [['optimize', '--steps', '4', '--gap', '0'], /--gap must be a number between 0 and 1, got "0"/],
    [
      ['optimize', '--steps', '4', '--bands', '2'],
      /^dp-ftrl optimize: --bands is not a parameter of/,
    ],
    [
      ['optimize', '--steps', '9', '--strategy', 'blt', '--normalize', '--gap', '0.1'],
      /^dp-ftrl optimize: --gap is for a search, and blt --normalize has none/,
    ],
    [
      ['optimize', '--steps', '9', '--strategy', 'tree', '--nu', '0.5'],
      /^dp-ftrl optimize: --nu is not a parameter of tree/,
    ],
    [
      ['error', '--steps', '9', '--buffers', '99'],
      /^dp-ftrl error: optimal: --buffers must be between/,
    ],
    [['optimize', '--steps', '4', '--strategy', strategy], /unknown option "--strategy"/],
    [
      ['optimize', '--steps', '4', '--output', join(folder, 'no/where.json')],
      /--output .*where\.json: the folder does not exist/,
    ],
  ];
  for (const [args, message] of some(cases, 3)) {
    const { stdout } = await fails(args, 2, message, { input: rows });
    assert.equal(stdout, '', args.join(' '));
  }
});

test('optimize: parameters are saved without a search, and every command takes them by --strategy', async () => {
  const path = join(folder, 'nu.json');
  const nu = ['--strategy', 'nu', '--nu', '0.3'];
  const report = await dpFtrl(['optimize', '--steps', '30', ...nu, '--output', path]);
  assert.equal(report.code, 0, report.stderr);
  assert.match(report.stdout, /^mechanism +nu --nu 0\.3\n[^]*\nmax error +\d/);
  const named = JSON.parse(readFileSync(path, 'utf8'));
  assert.deepEqual(named, { name: 'nu', nu: 0.3 });
  assert.deepEqual(await json(['optimize', '--steps', '30', ...nu]), named);
  assert.deepEqual(
    await json(['error', '--steps', '30', '--strategy', path]),
    await json(['error', '--steps', '30', ...nu]),
  );
  const table = { input: 'when,room,x,y\n2026-03-01,a,1,0\n2026-03-02,b,0,1\n' };
  const target = ['--epsilon', '1', '--delta', '1e-6', '--quiet', '--json'];
  const by = ['--by', 'room', '--domain', 'a,b'];
  const commands = [
    ['release', '--clip', '1', '--columns', 'x'],
    ['count', '--time-column', 'when', '--bucket', 'day'],
    ['moments', '--columns', 'x=0:1'],
    ['histogram', ...by],
    ['learn', '--label', 'y', '--columns', 'x=-1:1', '--clip', '1'],
  ];
  for (const command of commands) {
    const { code, stdout, stderr } = await dpFtrl(
      [...command, ...target, '--strategy', path],
      table,
    );
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).certificate.mechanism, 'nu', command[0]);
    await fails(
      [...command, ...target, ...nu],
      2,
      /"--nu"; save it by dp-ftrl optimize --nu \.\.\. --output FILE, and name it by --strategy FILE$/,
      table,
    );
  }
  const tree = file('tree.json', '{"name":"tree-k","arity":3}');
  const pure = ['release', '--pure', '--epsilon', '1', '--clip', '1', '--columns', 'x'];
  const { stdout } = await dpFtrl([...pure, '--quiet', '--json', '--strategy', tree], table);
  assert.equal(JSON.parse(stdout).certificate.mechanism, 'tree-k');
  await fails(
    [...pure, '--strategy', strategy],
    2,
    /--pure does not go with a saved strategy, got --strategy .*json/,
    table,
  );
  for (const [text, message] of [
    ['{"name":"trees"}', /unknown strategy "trees"; did you mean tree\?/],
    ['{"name":"nu","mu":1}', /wrong\.json has the unknown parameter "mu"$/],
    ['{"name":"nu","nu":"1"}', /--nu must be a number, got/],
  ]) {
    const wrong = file('wrong.json', text);
    await fails(['error', '--steps', '9', '--strategy', wrong], 2, message);
  }
  await fails(['compare', '--steps', '9', '--strategy', path], 2, /must be the result of a search/);
});

test('release: rows past the horizon of the file are refused', async () => {
  const args = ['release', ...privacy, '--strategy', strategy];
  const input = `${rows}1\n`;
  const { stdout } = await fails(args, 2, /row 31 .* is past the horizon of --steps 30/, { input });
  assert.equal(stdout.trimEnd().split('\n').length, 31);
});

test('optimize: interrupted, it leaves nothing behind', async () => {
  const before = readdirSync(folder);
  const path = join(folder, 'interrupted.json');
  const child = spawn(cli, ['optimize', '--steps', '2000000', '--output', path, '--json']);
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  child.kill('SIGINT');
  const [code, signal] = await new Promise((resolve) => {
    child.on('close', (...how) => resolve(how));
  });
  // A shell reports exit code 130 for a command ended by this signal.
  assert.deepEqual([code, signal, stdout], [null, 'SIGINT', '']);
  assert.deepEqual(readdirSync(folder), before);
});

test('optimize: an infeasible status comes with an explanation', async () => {
  const apart = ['--participations', '2', '--min-separation', '4'];
  const { code, stdout } = await dpFtrl(['optimize', '--steps', '16', ...apart]);
  assert.equal(code, 0);
  assert.match(stdout, /\nstatus +infeasible: this mechanism has no search for what was asked/);
});

test('error: a long search shows progress, and the result has its bound', async () => {
  const distance = ['--neighbours', 'replace-one'];
  const problem = ['error', '--steps', '160', '--workload', 'momentum=0.9', ...distance];
  const command = `${cli} ${problem.join(' ')} --json > ${folder}/error.json`;
  const child = spawn('script', ['-qec', command, '/dev/null']);
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (shown += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, shown);
  const { ratio, boundMethod, gap } = JSON.parse(readFileSync(join(folder, 'error.json'), 'utf8'));
  assert.equal(boundMethod, 'dense dual');
  assert.ok(ratio >= 1 && ratio < 1.001 && gap === ratio - 1, `${ratio}`);
  const line = /^(\r\x1b\[Kerror: optimal (\[[#.]{30}\] \d+ iterations, )?\d+ s)*(\r\x1b\[K)?$/;
  assert.match(shown, line);
});

test('progress: on a terminal, a line shows it on standard error and is erased at the end', async () => {
  // `script` runs a command in a pseudo-terminal.
  const command = `${cli} optimize --steps 400000 --max-iterations 12 --json > ${folder}/out.json`;
  const child = spawn('script', ['-qec', command, '/dev/null']);
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (shown += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, shown);
  assert.match(shown, /\r\x1b\[Koptimize: optimal (\[[#.]{30}\] \d+ iterations, )?\d+ s/);
  assert.match(shown, /\r\x1b\[K$/, 'and it is wiped at the end');
  assert.equal(JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8')).iterations, 12);
});

test('progress: it is shown before the first piece ends, and a signal ends the search there', async () => {
  const before = readdirSync(folder);
  const command = `${cli} error --steps 1024 --workload momentum=0.9 > ${folder}/none.json`;
  const child = spawn('script', ['-qec', command, '/dev/null']);
  let shown = '';
  await new Promise((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      shown += text;
      if (/error: optimal \d+ s/.test(shown)) resolve();
    });
    child.on('close', resolve);
  });
  assert.match(shown, /^(\r\x1b\[Kerror: optimal \d+ s)+/, 'no iteration has ended yet');
  child.stdin.write('\x03');
  if (child.exitCode === null) await new Promise((resolve) => child.on('close', resolve));
  assert.equal(readFileSync(join(folder, 'none.json'), 'utf8'), '');
  assert.deepEqual(readdirSync(folder), [...before, 'none.json'].sort());
});

test('query weights: the search finds the least weighted error, and saves the weights', async () => {
  const weights = Array.from({ length: 12 }, (_, i) => 1 + ((7 * i) % 5));
  const path = join(folder, 'weights.csv');
  writeFileSync(path, `${weights.join('\n')}\n`);
  const options = ['optimize', '--steps', '12', '--objective', 'mean', '--buffers', 'exact'];
  const saved = await json([...options, '--query-weights', path]);
  assert.deepEqual([saved.queryWeights, saved.status], [weights, 'converged']);
  assert.ok(saved.ratio >= 1 && saved.ratio < 1 + 1e-7, `${saved.ratio}`);
  const weighted = (mechanism) => {
    const errors = dp.error({ strategy: mechanism, steps: 12, perStep: true }).perStep;
    return Math.sqrt(errors.reduce((sum, e, i) => sum + weights[i] * e * e, 0) / 12);
  };
  close(weighted(saved), saved.error, 1e-12);
  const plain = dp
    .optimize({ steps: 12, strategy: { name: 'optimal', objective: 'mean', buffers: 'exact' } })
    .result();
  assert.ok(weighted(plain) > saved.error * 1.001, 'others are worse by that measure');
  const error = dp.error({ strategy: saved, steps: 12 });
  assert.ok(error.meanError > plain.error && error.ratio >= 1, 'and this one without weights');
  await fails(
    ['optimize', '--steps', '12', '--query-weights', path],
    2,
    /--query-weights can be given only for --objective mean, got max/,
  );
  await fails([...options, '--query-weights', `${path}x`], 2, /weights\.csvx: there is no file/);
  writeFileSync(path, '1,2\n');
  await fails(
    [...options, '--query-weights', path],
    2,
    /one column of 12 weights, has 1 row and 2/,
  );
  writeFileSync(path, `${weights.slice(1).join('\n')}\n-1\n`);
  await fails([...options, '--query-weights', path], 2, /--query-weights\[11\] must be between/);
});
