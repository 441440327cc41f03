// SPDX-License-Identifier: Apache-2.0

// Permissions of the files that the command writes; their names are in tests/transcripts/files.txt.

import assert from 'node:assert/strict';
import { chmodSync, chownSync } from 'node:fs';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const target = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--quiet'];
const release = ['release', ...target, '--strategy', 'tree', '--steps', '4'];
const limit = ['--budget-epsilon', '3', '--budget-delta', '1e-5'];

test('files: what is replaced keeps its permissions, and a read-only budget stays', async () => {
  const cwd = scratchFolder('permissions');
  writeFileSync(join(cwd, 'in.csv'), 'x,y\n1,0\n0,1\n');
  const modeOf = (name) => statSync(join(cwd, name)).mode & 0o777;
  const more = ['--budget', 'b.json', '--output', 'out.csv', 'in.csv'];
  assert.equal((await dpFtrl([...release, ...limit, ...more], { cwd })).code, 0);
  assert.equal(modeOf('b.json'), 0o600);
  // Sets permissions beyond those of a usual umask, and a group of this process, or another group
  // if the process may choose one.
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

test('files: a name that is too long is told in words, whatever the file is for', async () => {
  const cwd = scratchFolder('long-names');
  writeFileSync(join(cwd, 'in.csv'), 'x\n1\n');
  const name = 'a'.repeat(300);
  const model = ['predict', '--model', name, 'in.csv'];
  const uses = [
    [...release, name],
    model,
    ...['--state', '--output', '--plot', '--budget'].map((option) => [
      ...[...release, ...(option === '--budget' ? limit : [])],
      ...[option, option === '--plot' ? `${name}.svg` : name, 'in.csv'],
    ]),
    ['release', ...target, '--steps', '4', '--strategy', `${name}.csv`, 'in.csv'],
    ['error', '--steps', '4', '--workload', `${name}.csv`],
  ];
  for (const args of uses) {
    const { code, stderr } = await dpFtrl(args, { cwd });
    assert.notEqual(code, 0, args.join(' '));
    assert.match(stderr, /name too long|there is no such/, args.join(' '));
    assert.doesNotMatch(stderr, /ENAMETOOLONG:|realpath|open '/, args.join(' '));
  }
});
