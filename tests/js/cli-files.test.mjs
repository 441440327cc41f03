// SPDX-License-Identifier: Apache-2.0

// Files of the command: using one file in two roles, missing folders, and permissions.

import assert from 'node:assert/strict';
import { chmodSync, chownSync, linkSync, mkdirSync, readdirSync } from 'node:fs';
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { cli, dpFtrl, run } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const scratch = scratchFolder('command-files');

const target = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--quiet'];
const release = ['release', ...target, '--mechanism', 'tree', '--steps', '4'];
const counts = ['--workload', 'identity', '--columns', 'x', '--domain', '0,1'];
const limit = ['--budget-epsilon', '3', '--budget-delta', '1e-5'];
const table = 'x,y\n1,0\n0,1\n';

/** A fresh folder with a table and links to it. */
function makeFolder(name) {
  const folder = join(scratch, name);
  mkdirSync(join(folder, 'sub'), { recursive: true });
  writeFileSync(join(folder, 'in.csv'), table);
  symlinkSync('in.csv', join(folder, 'link.csv'));
  linkSync(join(folder, 'in.csv'), join(folder, 'hard.csv'));
  return folder;
}

test('files: one file cannot have two roles, whatever paths lead to it', async () => {
  const cwd = makeFolder('roles');
  const before = readdirSync(cwd);
  const cases = [
    [...release, '--output', 'in.csv', 'in.csv'],
    [...release, '--output', 'sub/../link.csv', './in.csv'],
    [...release, '--output', 'hard.csv', 'in.csv'],
    [...release, '--budget', 'new', ...limit, '--output', './new', 'in.csv'],
    [...release, '--state', 'new', '--output', 'sub/../new', 'in.csv'],
    [...release, '--state', 'new', '--output', 'new.new', 'in.csv'],
    [...release, '--state', 'new', '--budget', 'new', ...limit, 'in.csv'],
    ['release', ...target, '--strategy', 'in.csv', '--output', 'in.csv'],
    ['learn', ...target, '--label', 'y', '--model', 'in.csv', 'in.csv'],
    ['queries', ...counts, ...target.slice(0, 4), '--output', 'in.csv', 'in.csv'],
    ['optimize', '--steps', '2', '--workload', 'in.csv', '--output', 'in.csv'],
    ['optimize', '--steps', '2', '--query-weights', 'in.csv', '--output', 'in.csv'],
  ];
  for (const args of cases) {
    const { stdout } = await fails(args, 2, /: \S.* and \S.* are the same file$/, { cwd });
    assert.equal(stdout, '');
  }
  const command = ['-c', '"$@" < in.csv', '-', cli, ...release, '--output', 'in.csv'];
  const piped = await run('bash', command, { cwd });
  assert.match(piped.stderr, /--output in.csv and standard input are the same file/);
  assert.deepEqual(readdirSync(cwd), before);
  assert.equal(readFileSync(join(cwd, 'in.csv'), 'utf8'), table);
});

test('files: reading a file twice, or using one name in two folders, is allowed', async () => {
  const cwd = makeFolder('allowed');
  const learn = ['learn', ...target, '--label', 'y', '--mechanism', 'tree', '--steps', '4'];
  const shown = ['--show-nonprivate', '--test', 'in.csv', '--model', 'sub/in.csv', 'in.csv'];
  const { code, stderr } = await dpFtrl([...learn, ...shown], { cwd });
  assert.equal(code, 0, stderr);
  assert.deepEqual(readdirSync(join(cwd, 'sub')), ['in.csv']);
});

test('files: a folder that is not there is named with the option', async () => {
  const cwd = makeFolder('folders');
  const learn = ['learn', ...target, '--label', 'y', '--steps', '4'];
  for (const [args, option] of [
    [[...release, '--state'], 'state'],
    [[...release, '--output'], 'output'],
    [[...release, ...limit, '--budget'], 'budget'],
    [[...learn, '--model'], 'model'],
  ]) {
    const wanted = new RegExp(`: --${option} nodir/x: the folder does not exist$`);
    await fails([...args, 'nodir/x'], 2, wanted, { cwd, input: table });
  }
});

test('files: what is replaced keeps its permissions, and a read-only budget stays', async () => {
  const cwd = makeFolder('permissions');
  const modeOf = (name) => statSync(join(cwd, name)).mode & 0o777;
  const more = ['--budget', 'b.json', '--output', 'out.csv', 'in.csv'];
  assert.equal((await dpFtrl([...release, ...limit, ...more], { cwd })).code, 0);
  assert.equal(modeOf('b.json'), 0o600);
  // Permissions beyond those of a usual umask, and one of the groups of this process, or another
  // one if it may choose.
  const group = process.getuid() === 0 ? 1 : process.getgid();
  for (const name of ['b.json', 'out.csv']) {
    chownSync(join(cwd, name), process.getuid(), group);
    chmodSync(join(cwd, name), 0o664);
  }
  assert.equal((await dpFtrl([...release, ...more], { cwd })).code, 0);
  for (const name of ['b.json', 'out.csv']) {
    assert.deepEqual([modeOf(name), statSync(join(cwd, name)).gid], [0o664, group], name);
  }
  chmodSync(join(cwd, 'b.json'), 0o444);
  const before = readFileSync(join(cwd, 'b.json'), 'utf8');
  await fails([...release, ...more], 2, /--budget b\.json is read-only$/, { cwd });
  assert.equal(readFileSync(join(cwd, 'b.json'), 'utf8'), before);
  assert.equal(modeOf('b.json'), 0o444);
});
