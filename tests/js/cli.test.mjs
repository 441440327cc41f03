// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { close } from './support/check.mjs';
import { fails, json } from './support/command.mjs';
import { cli, dpFtrl, dpFtrlProcess, importEntry } from './support/consumer.mjs';
import { installed, root, run } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';

const folder = scratchFolder('cli');

const privacy = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1'];
const release = ['release', ...privacy];
const file = writerIn(folder);

const daily = file('daily.csv', 'day,count,extra\nmon,1,0\ntue,0,1\nwed,1,0\n');

test('tests: the command prints the same in the process it shares as in one of its own', async () => {
  const input = 'x\n1\n0\n1\n';
  const cases = [
    [['--version'], 0],
    [['release', '--help'], 0],
    [['nothing'], 2],
    [['calibrate', '--epsilon', '0', '--delta', '1e-6'], 2],
    [['error', '--steps', '1000', '--json'], 0],
    [[...release, '--seed', '7', '--steps', '3'], 0],
    [[...release, '--seed', '7', '--steps', '2'], 2],
    [[...release, '--seed', '7', '--json', daily, '--columns', 'count'], 0],
    [[...release, 'missing.csv'], 2],
    [[...release, '--steps', '3', '--output', 'no/where.csv'], 2],
  ];
  for (const [args, code] of some(cases, 3)) {
    const hosted = await dpFtrl(args, { input });
    assert.equal(hosted.code, code, hosted.stderr);
    assert.deepEqual(await dpFtrlProcess(args, { input }), hosted);
  }
  const many = { input: `x\n${'1\n'.repeat(30_000)}` };
  const hosted = await dpFtrl([...release, '--seed', '7', '--quiet'], many);
  assert.ok(hosted.stdout.length > 500_000);
  assert.deepEqual(await dpFtrlProcess([...release, '--seed', '7', '--quiet'], many), hosted);
});

test('error: known answers at 1024 steps', async () => {
  const squareRoot = await json(['error', '--strategy', 'square-root', '--steps', '1024']);
  close(squareRoot.maxError, 3.272554150273, 1e-12);
  close(squareRoot.meanError, 3.10978990694, 1e-12);
  assert.deepEqual([squareRoot.mechanism, squareRoot.steps], ['square-root', 1024]);
  assert.equal(squareRoot.sensitivityExactness, 'exact');
  assert.ok(squareRoot.decoderResidual < 1e-12);
  const tree = await json(['error', '--strategy', 'tree', '--steps', '1024']);
  close(tree.maxError, 10.488088481702, 1e-12);
  const honaker = await json(['error', '--strategy', 'honaker', '--steps', '1024']);
  close(honaker.maxError, 7.989458711, 1e-9);
  close(honaker.meanError, 5.649876013, 1e-9);
});

test('calibrate: epsilon, rho and mu give the known answers', async () => {
  const it = await json(['calibrate', '--epsilon', '1', '--delta', '1e-6']);
  close(it.noiseMultiplier, 4.224679, 1e-6);
  assert.deepEqual(Object.keys(it).slice(0, 6), [
    'noiseMultiplier',
    'epsilon',
    'delta',
    'rho',
    'mu',
    'method',
  ]);
  const ofRho = await json(['calibrate', '--rho', '0.5', '--delta', '1e-3']);
  assert.deepEqual(Object.keys(ofRho), Object.keys(it));
  close(ofRho.epsilon, 3.536562, 2e-7);
  assert.deepEqual([ofRho.rho, ofRho.mu], [0.5, null]);
  close(ofRho.noiseMultiplier, 1, 1e-15);
  close((await json(['calibrate', `--mu=${it.mu}`, '--delta', '1e-6'])).epsilon, 1, 1e-9);
});

test('help and version are printed with exit code 0', async () => {
  const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  assert.deepEqual(await dpFtrl(['--version']), {
    code: 0,
    signal: null,
    stdout: `${version}\n`,
    stderr: '',
  });
  const main = (await dpFtrl(['--help'])).stdout;
  const commands = [...main.matchAll(/^ {2}dp-ftrl ([a-z]+) /gm)].map(([, name]) => name);
  assert.ok(commands.length >= 11 && commands.includes('bounds'), main);
  for (const command of commands) {
    const { code, stdout, stderr } = await dpFtrl([command, '--version']);
    assert.deepEqual([code, stdout, stderr], [0, `${version}\n`, ''], command);
  }
  for (const args of [
    ['--help'],
    ['-h'],
    ['help'],
    ['release', '--help'],
    ['release', '--help', 'all'],
    ['error', '-h'],
    ['error', '-h', 'all'],
    ['compare', '--help'],
    ['optimize', '--help'],
    ['calibrate', '--help'],
  ]) {
    const { code, stdout, stderr } = await dpFtrl(args);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    assert.match(stdout, /^dp-ftrl/);
    assert.ok(
      stdout.split('\n').every((line) => line.length <= 80),
      'fits a terminal',
    );
  }
});

test('help: the mechanisms are those of the library', async () => {
  const { load } = await importEntry('dp-ftrl');
  const names = (await load()).strategies.map((entry) => entry.name);
  for (const command of ['release', 'error']) {
    const { stdout } = await dpFtrl([command, '--help', 'all']);
    const [, list] = stdout.match(/^ {2}--strategy S +([^;]*);/m);
    const listed = list.replace(/\s+/g, ' ').replace('optimal (default)', 'optimal');
    assert.deepEqual(listed.split(', '), names);
  }
  const { stdout } = await dpFtrl(['release', '--help', 'all']);
  assert.match(stdout, /--show-nonprivate\n +adds the sums of the clipped rows, without noise/);
});

test('release: CSV with step, columns and std; the guarantee on standard error', async () => {
  const args = [
    ...release,
    '--strategy',
    'honaker',
    '--columns',
    'count',
    '--columns',
    'extra',
    daily,
  ];
  const { code, stdout, stderr } = await dpFtrl(args);
  assert.equal(code, 0);
  const rows = parse(stdout, { columns: true, cast: true });
  assert.deepEqual(Object.keys(rows[0]), ['step', 'count', 'extra', 'std']);
  assert.deepEqual(
    rows.map((row) => row.step),
    [1, 2, 3],
  );
  assert.ok(rows.every((row) => Number.isFinite(row.count) && row.std > 0));
  for (const part of [
    '(1, 0.000001)',
    'zero-out',
    'one row',
    'l2-norm 1',
    'honaker',
    'grid',
    '3 rows',
  ]) {
    assert.ok(stderr.includes(part), part);
  }
  const [shared, , hidden, ...rest] = stderr.split('\n');
  assert.match(shared, /^dp-ftrl release: warning: count, extra share --clip 1: /);
  assert.match(hidden, /^dp-ftrl release: warning: no total of this run can be told from 0/);
  assert.deepEqual(rest, [''], 'a line each');
});

test('release: --quiet prints nothing on standard error', async () => {
  const { stderr } = await dpFtrl([...release, '--quiet', '--columns', 'count', daily]);
  assert.equal(stderr, '');
});

test('release: --seed gives the numbers of the library, and warns', async () => {
  const { load } = await importEntry('dp-ftrl');
  const counter = (await load()).counter({
    strategy: 'tree',
    steps: 3,
    epsilon: 1,
    delta: 1e-6,
    insecureSeed: 5n,
    neighbours: 'replace-one',
  });
  const expected = counter.releaseMany([1, 0, 1]);
  const args = [
    ...release,
    '--strategy',
    'tree',
    '--neighbours',
    'replace-one',
    '--columns',
    'count',
    '--seed',
    '5',
  ];
  const { stdout, stderr } = await dpFtrl([...args, '--quiet', daily]);
  const rows = parse(stdout, { columns: true, cast: true });
  assert.deepEqual(
    rows.map((row) => row.count),
    expected.map(({ value }) => value),
  );
  rows.forEach((row, t) => close(row.std, expected[t].stddev, 1e-15));
  assert.match(stderr, /warning: --seed .*NOT private/);
  counter.dispose();
});

test('release: every option of the guarantee reaches the library', async () => {
  const { load } = await importEntry('dp-ftrl');
  const args = ['release', '--epsilon', '2', '--delta', '1e-5', '--clip', '3', '--epochs', '2'];
  args.push('--neighbours', 'replace-one', '--strategy', 'tree', '--json', '--quiet');
  const input = 'x,y\n1,0.5\n-2,1\n4,3\n0,0\n';
  const seeded = JSON.parse((await dpFtrl([...args, '--seed', '5'], { input })).stdout);
  const sums = (await load()).totals({
    strategy: 'tree',
    steps: 4,
    dimension: 2,
    epsilon: 2,
    delta: 1e-5,
    clip: 3,
    neighbours: 'replace-one',
    participation: { epochs: 2 },
    insecureSeed: 5,
  });
  const readings = sums.releaseMany([1, 0.5, -2, 1, 4, 3, 0, 0]);
  assert.deepEqual(seeded.certificate, sums.certificate);
  const rows = readings.map(({ step, values: [x, y], stddev }) => ({
    step: step + 1,
    sums: { x, y },
    std: stddev,
  }));
  assert.deepEqual(seeded.rows, rows);
  assert.equal(seeded.private, false, 'a seed makes the noise known');
  const secret = JSON.parse((await dpFtrl(args, { input })).stdout);
  assert.deepEqual(secret.certificate, sums.certificate);
  assert.equal(secret.private, true);
  sums.dispose();
});

test('release: without a seed two runs differ', async () => {
  const args = [...release, '--columns', 'count', daily];
  assert.notEqual((await dpFtrl(args)).stdout, (await dpFtrl(args)).stdout);
});

test('release: --show-nonprivate adds the sums of the clipped rows, and warns', async () => {
  const path = file('clip.csv', 'x,y\n3,4\n0.5,0\n');
  const args = [...release, '--show-nonprivate', '--seed', '1', path];
  const { stdout, stderr } = await dpFtrl(args);
  const rows = parse(stdout, { columns: true, cast: true });
  assert.deepEqual(Object.keys(rows[0]), ['step', 'x', 'y', 'x_true', 'y_true', 'std']);
  close(rows[0].x_true, 0.6, 1e-12);
  close(rows[1].x_true, 1.1, 1e-12);
  close(rows[1].y_true, 0.8, 1e-12);
  assert.match(stderr, /warning: --show-nonprivate .*NOT private/);
  assert.ok(!stderr.includes('differentially'), 'no guarantee is claimed');
});

test('release: --show-nonprivate clips rows whose norm is beyond the doubles', async () => {
  const args = [...release, '--show-nonprivate', '--seed', '1'];
  const { stdout } = await dpFtrl(args, { input: 'x,y\n1.7e308,-1.7e308\n0,0\n' });
  for (const row of parse(stdout, { columns: true, cast: true })) {
    close(row.x_true, Math.SQRT1_2, 1e-12);
    close(row.y_true, -Math.SQRT1_2, 1e-12);
  }
});

test('release: JSON is one object, also when it ends early', async () => {
  const { stdout } = await dpFtrl([...release, '--json', '--columns', 'count', daily]);
  const it = JSON.parse(stdout);
  assert.equal(it.private, true);
  assert.equal(it.complete, true);
  assert.equal(it.mode, 'grid');
  assert.equal(it.certificate.numSteps, 3);
  assert.deepEqual(it.columns, ['count']);
  assert.deepEqual(
    it.rows.map((row) => row.step),
    [1, 2, 3],
  );
  assert.ok(
    it.rows.every((row) => Number.isFinite(row.sums.count) && row.std > 0 && !('trueSums' in row)),
  );

  const shown = await dpFtrl([
    ...release,
    '--json',
    '--show-nonprivate',
    '--columns',
    'count',
    daily,
  ]);
  assert.equal(JSON.parse(shown.stdout).private, false);
  assert.equal(JSON.parse(shown.stdout).rows[2].trueSums.count, 2);

  const early = await dpFtrl([...release, '--json', '--steps', '2', '--columns', 'count', daily]);
  assert.equal(early.code, 2);
  const rest = JSON.parse(early.stdout);
  assert.deepEqual([rest.complete, rest.rows.length], [false, 2]);
  assert.deepEqual(rest.error, { code: 'past_horizon', row: 3, line: 4 });
});

test('release: JSON says where a fault is, without the text of a cell', async () => {
  const args = [...release, '--json', '--steps', '9', '--quiet'];
  const cases = [
    ['3,SECRET\n', { code: 'not_a_number', row: 2, line: 3, column: 'y' }],
    ['3, \n', { code: 'missing', row: 2, line: 3, column: 'y' }],
    ['SECRET\n', { code: 'wrong_width', row: 2, line: 3 }],
    ['\nSECRET,1\n', { code: 'blank', row: 2, line: 3 }],
    ['"SECRET,4\n', { code: 'malformed_csv', line: 3 }],
    ['SEC"RET,4\n', { code: 'malformed_csv', line: 3 }],
    [Buffer.from('SECRET,\xff\n', 'latin1'), { code: 'not_utf8' }],
  ];
  const messages = [];
  for (const [bad, where] of some(cases, 3)) {
    const child = spawn(cli, args);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    child.stdin.write('x,y\n1,2\n');
    while (!stdout.includes('"std":')) await once(child.stdout, 'data');
    child.stdin.end(bad);
    assert.deepEqual(await once(child, 'close'), [2, null]);
    assert.ok(!stdout.includes('SEC'), stdout);
    const { complete, rows, error } = JSON.parse(stdout);
    assert.deepEqual([complete, rows.length, error], [false, 1, where]);
    messages.push(stderr);
  }
  assert.match(messages[0], /row 2 \(line 3\), column "y" is not a number\b/);
  for (const message of messages) assert.ok(!message.includes('SEC'), message);
});

test('release: standard input with CR LF and quotes is read with and without a horizon', async () => {
  const input = '"my ""count"""\r\n1\r\n" 2 "\r\n-0.5e0';
  for (const more of [[], ['--steps', '3'], ['-'], ['--steps', '5', '-']]) {
    const { code, stdout } = await dpFtrl([...release, ...more], { input });
    assert.equal(code, 0);
    const rows = parse(stdout, { columns: true });
    assert.deepEqual(Object.keys(rows[0]), ['step', 'my "count"', 'std']);
    assert.equal(rows.length, 3);
  }
});

test('release: every column by default', async () => {
  const { stdout } = await dpFtrl(release, { input: 'a,b,c\n1,2,3\n' });
  assert.match(stdout, /^step,a,b,c,std\n1,/);
});

test('release: with --steps each row is answered as soon as it arrives', async () => {
  const child = spawn(cli, [...release, '--steps', '10', '--quiet']);
  child.stdout.setEncoding('utf8');
  const next = async () => (await once(child.stdout, 'data'))[0];
  child.stdin.write('count\n1\n');
  let seen = await next();
  while (!/\n1,.*\n$/.test(seen)) seen += await next();
  for (let step = 2; step <= 4; ++step) {
    child.stdin.write('1\n');
    assert.match(await next(), new RegExp(`^${step},[^\\n]*\\n$`));
  }
  child.stdin.end();
  const [code] = await once(child, 'close');
  assert.equal(code, 0);
});

test('release: a slow reader holds the writer back', async () => {
  const child = spawn(cli, [...release, '--steps', '1000000', '--quiet', '--strategy', 'tree']);
  child.stdout.pause();
  child.stdin.on('error', () => {});
  child.stdin.write('count\n');
  // Far more than pipes and buffers hold: writing must stall while no one reads.
  const piece = '1\n'.repeat(50_000);
  let accepted = 0;
  for (; accepted < 20; ++accepted) {
    if (child.stdin.write(piece)) continue;
    const drained = await Promise.race([
      once(child.stdin, 'drain').then(() => true),
      new Promise((resolve) => setTimeout(resolve, 1000, false)),
    ]);
    if (!drained) break;
  }
  assert.ok(accepted < 20, 'the input was swallowed although nobody reads the output');
  child.kill();
  await once(child, 'close');
});

test('release: an input that loses rows after they were counted is not complete', async () => {
  const numRows = 400_000;
  const path = file('shrinking.csv', `x\n${'1\n'.repeat(numRows)}`);
  const child = spawn(cli, [...release, '--strategy', 'tree', '--json', path]);
  child.stdout.pause();
  // The guarantee is printed after the rows are counted. Far more output than pipes hold follows,
  // so when the writer stalls it has not yet read the rows that are lost.
  const [guarantee] = await once(child.stderr.setEncoding('utf8'), 'data');
  truncateSync(path, 2 + numRows);
  let stdout = '';
  let stderr = guarantee;
  child.stderr.on('data', (text) => (stderr += text));
  child.stdout
    .setEncoding('utf8')
    .on('data', (text) => (stdout += text))
    .resume();
  const [code] = await once(child, 'close');
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /the input changed while it was read: 200000 of 400000 steps; the table is incomplete, and what it shows has been released\n$/,
  );
  const { complete, rows } = JSON.parse(stdout);
  assert.deepEqual([complete, rows.length], [false, numRows / 2]);
});

test('release: a closed pipe ends the command quietly', async () => {
  const args = [...release, '--steps', '1000000', '--strategy', 'tree', '--quiet'].join(' ');
  const pipe = `(echo count; yes 1) | '${cli}' ${args} | head -n 2`;
  const command = `${pipe}; echo "\${PIPESTATUS[1]}"`;
  const { stdout, stderr } = await run('bash', ['-c', command]);
  assert.equal(stderr, '');
  assert.match(stdout, /^step,count,std\n1,.*\n0\n$/);
});

test('failure: a lack of memory gives exit code 1', async () => {
  const header = Array.from({ length: 4096 }, (_, i) => `c${i}`).join(',');
  const args = [...release, '--strategy', 'square-root', '--steps', '16777216'];
  const { stdout } = await fails(args, 1, /memory/, { input: `${header}\n` });
  assert.equal(stdout, '');
});

test('--output: the whole table is in the file, and no temporary file is left', async () => {
  const output = join(folder, 'out.csv');
  const { code, stdout } = await dpFtrl([
    ...release,
    '--columns',
    'count',
    '--output',
    output,
    daily,
  ]);
  assert.equal(code, 0);
  assert.equal(stdout, '');
  assert.match(readFileSync(output, 'utf8'), /^step,count,std\n1,.*\n2,.*\n3,.*\n$/);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.tmp')),
    [],
  );
});

test('--output: keeps the mode of the file and follows a link to it', async () => {
  const target = file('target.csv', 'old\n');
  chmodSync(target, 0o600);
  const link = join(folder, 'link.csv');
  symlinkSync(target, link);
  await dpFtrl([...release, '--columns', 'count', '--output', link, daily]);
  assert.match(readFileSync(target, 'utf8'), /^step,/);
  assert.equal(statSync(target).mode & 0o777, 0o600);
});

test('--output: on failure the old file is untouched and nothing is left behind', async () => {
  const output = file('kept.csv', 'precious\n');
  const bad = [
    [['--steps', '9'], 'x\n1\n2\noops\n'],
    [['--steps', '1'], 'x\n1\n2\n'],
    [[], 'x\n1\noops\n'],
  ];
  for (const [more, input] of bad) {
    const { code } = await dpFtrl([...release, ...more, '--output', output], { input });
    assert.equal(code, 2);
    assert.equal(readFileSync(output, 'utf8'), 'precious\n');
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.tmp')),
      [],
    );
  }
});

test('--output: a signal in the middle leaves the old file and no other', async () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    const output = file('signal.csv', 'precious\n');
    const child = spawn(cli, [...release, '--steps', '9', '--output', output], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.write('x\n1\n2\n');
    await once(child.stderr, 'data'); // The guarantee follows the opening of the file.
    child.kill(signal);
    const [, by] = await once(child, 'close');
    assert.equal(by, signal);
    assert.equal(readFileSync(output, 'utf8'), 'precious\n');
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.tmp')),
      [],
    );
  }
});

test('examples: release runs on every example with a column "count"', async () => {
  const examples = join(root, 'examples');
  const tables = readdirSync(examples).filter((name) => name.endsWith('.csv'));
  let numRun = 0;
  for (const name of tables) {
    const header = readFileSync(join(examples, name), 'utf8').split(/\r?\n/)[0].split(',');
    if (!header.includes('count')) continue;
    const { code, stderr } = await dpFtrl([
      ...release,
      '--strategy',
      'honaker',
      '--columns',
      'count',
      join(examples, name),
    ]);
    assert.equal(code, 0, stderr);
    ++numRun;
  }
  assert.ok(numRun > 0);
});

test('release --count: each row counts as 1, whatever its columns are', async () => {
  const input = 'who,when\nann,2026-01-01\nbob,2026-01-01\nann,2026-01-02\n';
  const seeded = ['--epsilon', '1', '--delta', '1e-6', '--seed', '4', '--strategy', 'tree'];
  const days = ['--time-column', 'when', '--bucket', 'day'];
  const counted = await dpFtrl(['release', ...seeded, '--count', ...days], { input });
  assert.equal(counted.code, 0, counted.stderr);
  const ones = 'x,when\n1,2026-01-01\n1,2026-01-01\n1,2026-01-02\n';
  const summed = await dpFtrl(['release', ...seeded, '--clip', '1', '--columns', 'x', ...days], {
    input: ones,
  });
  assert.equal(counted.stdout, summed.stdout.replace('when,x,', 'when,rows,'));
  const both = ['release', ...seeded, '--count', '--columns', 'who'];
  await fails(both, 2, /--count sums no column: give it or --columns/, { input });
});

test('release: a warning says when noise hides every total, and only then', async () => {
  const input = `x\n${'1\n'.repeat(200)}`;
  const run = async (...more) => {
    const { code, stderr } = await dpFtrl(
      ['release', '--epsilon', '1', '--delta', '1e-6', ...more],
      { input },
    );
    assert.equal(code, 0, stderr);
    return stderr;
  };
  const hidden =
    /warning: no total of this run can be told from 0.* or --clip allows far larger ones/;
  assert.match(await run('--clip', '1e6'), hidden);
  assert.doesNotMatch(await run('--clip', '1'), hidden);
  assert.doesNotMatch(await run('--clip', '1e6', '--quiet'), /warning: no total/);
});
