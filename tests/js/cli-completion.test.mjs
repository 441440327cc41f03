// SPDX-License-Identifier: Apache-2.0

// Shell completion and the man page, generated from the table of options and run by the shells
// themselves.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry, installed, run } from './support/consumer.mjs';
import { commandNames, optionsOf } from './support/help.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const write = writerIn(scratchFolder('completion'));

const scripts = new Map();

async function scriptFor(shell) {
  if (!scripts.has(shell)) {
    const { code, stdout, stderr } = await dpFtrl(['completion', shell]);
    assert.equal(code, 0, stderr);
    scripts.set(shell, stdout);
  }
  return scripts.get(shell);
}

const hasShell = async (shell) => (await run('bash', ['-c', `command -v ${shell}`], {})).code === 0;

/** Completions of bash after some words, the last of which is incomplete. */
async function completed(...words) {
  const list = words.map((word) => `'${word}'`).join(' ');
  const text = `${await scriptFor('bash')}
COMP_WORDS=(dp-ftrl ${list}); COMP_CWORD=${words.length}; _dp_ftrl; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { code, stdout, stderr } = await run('bash', ['-c', text], {});
  assert.equal(code + stderr, '0');
  return stdout.split('\n').filter((word) => word !== '');
}

test('completion: bash completes commands, options of each, and names of values', async () => {
  assert.deepEqual(await completed('rel'), ['release']);
  assert.deepEqual(await completed(''), [...(await commandNames()), 'help', '--help', '--version']);
  assert.deepEqual(await completed('release', '--strat'), ['--strategy']);
  const names = dp.strategies.map(({ name }) => name);
  assert.deepEqual(await completed('release', '--strategy', ''), names);
  assert.deepEqual(await completed('release', '--strategy', 'hon'), ['honaker', 'honaker-full']);
  assert.deepEqual(await completed('count', '--bucket', 'm'), ['minute', 'month']);
  assert.deepEqual(await completed('count', '--clip'), []);
  assert.deepEqual(await completed('completion', ''), [
    '--help',
    '--version',
    'bash',
    'zsh',
    'fish',
  ]);
  assert.deepEqual(await completed('help', 'co'), ['count', 'compare', 'completion']);
  // Files are completed by the shell.
  assert.deepEqual(await completed('release', '--output', 'x'), []);
  assert.deepEqual(await completed('release', 'x'), []);
});

test('completion: every option that a help explains is completed', async () => {
  for (const command of await commandNames()) {
    const names = (await optionsOf(command)).map(({ name }) => `--${name}`);
    assert.deepEqual((await completed(command, '--')).toSorted(), names.toSorted(), command);
    for (const shell of ['zsh', 'fish']) {
      const script = await scriptFor(shell);
      for (const name of names) {
        const line = shell === 'zsh' ? `${name}[` : `from ${command}' -l ${name.slice(2)} `;
        assert.ok(script.includes(line), `${shell}: ${command} ${name}`);
      }
    }
  }
});

test('completion: an option is described by a clause, or by its name if its values say enough', async () => {
  assert.match(
    await scriptFor('fish'),
    /from release' -l epsilon -x -d 'how much one row may reveal'/,
  );
  assert.match(
    await scriptFor('zsh'),
    /'--strategy\[strategy\]:strategy:\{compadd independent .*; _files\}'/,
  );
});

test('completion: each shell parses its script without an error', async (t) => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    if (!(await hasShell(shell))) {
      t.diagnostic(`${shell} is not installed`);
      continue;
    }
    const path = write(`script.${shell}`, await scriptFor(shell));
    const { code, stderr } = await run(shell, ['-n', path], {});
    assert.equal(code + stderr, '0', shell);
  }
});

test('completion: other shells are refused', async () => {
  await fails(['completion'], 2, /give a shell: bash, zsh, fish/);
  await fails(['completion', 'fsh'], 2, /unknown shell "fsh"; did you mean (zsh|fish)\?/);
  await fails(['completion', 'bash', 'zsh'], 2, /give one shell, got 2/);
});

test('man page: the package contains the page that package.json names, with every option', async (t) => {
  const { man } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const path = join(installed, man);
  const text = readFileSync(path, 'utf8');
  const sections = text.split(/^\.SS /m).slice(1);
  assert.deepEqual(
    sections.map((section) => section.split('\n')[0]),
    await commandNames(),
  );
  for (const section of sections) {
    for (const { name } of await optionsOf(section.split('\n')[0]))
      assert.ok(section.includes(`--${name}`.replaceAll('-', '\\-')), name);
  }
  // Lines that begin with a dot are requests of the man page.
  const requests = new Set(text.match(/^\.\S+/gm));
  for (const request of requests)
    assert.ok(['.\\"', '.TH', '.SH', '.SS', '.PP', '.TP', '.B', '.nf', '.fi'].includes(request));
  if (!(await hasShell('groff'))) return t.diagnostic('groff is not installed');
  const { code, stderr } = await run('groff', ['-man', '-ww', '-z', path], {});
  assert.deepEqual([code, stderr], [0, '']);
});
