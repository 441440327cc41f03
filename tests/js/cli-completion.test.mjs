// SPDX-License-Identifier: Apache-2.0

// Shell completion and the man page, generated from the table of options and run by the shells
// themselves.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry, installed, run } from './support/consumer.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const { parseHelp, meaningOf } = await importSource('cli/help/parsed.ts');
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

async function commands() {
  const { stdout } = await dpFtrl(['--help']);
  return [...stdout.matchAll(/^ {2}dp-ftrl ([a-z]+) +(?![A-Z-])/gm)].map(([, name]) => name);
}

/** Options of a command, as listed in its help. */
async function optionsOf(command) {
  const { stdout } = await dpFtrl([command, '--help', 'all']);
  const entries = parseHelp(stdout).blocks.flatMap((block) => block.entries ?? []);
  const names = entries.flatMap(({ names }) => names.match(/--[a-z][a-z0-9-]*/g) ?? []);
  return { names: [...new Set(names)] };
}

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
  assert.deepEqual(await completed(''), [...(await commands()), 'help', '--help', '--version']);
  assert.deepEqual(await completed('release', '--mecha'), ['--mechanism']);
  const names = dp.strategies.map(({ name }) => name);
  assert.deepEqual(await completed('release', '--mechanism', ''), names);
  assert.deepEqual(await completed('release', '--mechanism', 'hon'), ['honaker', 'honaker-full']);
  assert.deepEqual(await completed('count', '--bucket', 'm'), ['minute', 'month']);
  assert.deepEqual(await completed('count', '--clip'), []);
  assert.deepEqual(
    await completed('completion', ''),
    ['bash', 'zsh', 'fish', '--help', '--version'].sort(byShell),
  );
  assert.deepEqual(await completed('help', 'co'), ['count', 'compare', 'completion']);
  // Files are completed by the shell.
  assert.deepEqual(await completed('release', '--output', 'x'), []);
  assert.deepEqual(await completed('release', 'x'), []);
});

const byShell = (a, b) => Number(!a.startsWith('-')) - Number(!b.startsWith('-'));

test('completion: every option that a help explains is completed', async () => {
  for (const command of await commands()) {
    const { names } = await optionsOf(command);
    const offered = (await completed(command, '--')).filter(
      (name) => !['--help', '--version'].includes(name),
    );
    for (const name of names) assert.ok(offered.includes(name), `${command} ${name}`);
    for (const shell of ['zsh', 'fish']) {
      const script = await scriptFor(shell);
      for (const name of names) {
        const line =
          shell === 'zsh' ? `--${name.slice(2)}[` : `from ${command}' -l ${name.slice(2)} `;
        assert.ok(script.includes(line), `${shell}: ${command} ${name}`);
      }
    }
  }
});

test('completion: the description of an option is its clause in the help', async () => {
  const { stdout } = await dpFtrl(['release', '--help', 'all']);
  assert.equal(meaningOf(parseHelp(stdout), 'epsilon'), 'privacy target, > 0');
  assert.equal(meaningOf(parseHelp(stdout), 'mechanism'), undefined);
  assert.equal(meaningOf(parseHelp(stdout), 'nothing'), undefined);
  assert.match(await scriptFor('fish'), /from release' -l epsilon -x -d 'privacy target, > 0'/);
  assert.match(await scriptFor('zsh'), /'--mechanism\[mechanism\]:mechanism:\(independent /);
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
    await commands(),
  );
  for (const section of sections) {
    const { names } = await optionsOf(section.split('\n')[0]);
    for (const name of names) assert.ok(section.includes(name.replaceAll('-', '\\-')), name);
  }
  // Lines that begin with a dot are requests of the man page.
  const requests = new Set(text.match(/^\.\S+/gm));
  for (const request of requests)
    assert.ok(['.\\"', '.TH', '.SH', '.SS', '.PP', '.TP', '.B', '.nf', '.fi'].includes(request));
  if (!(await hasShell('groff'))) return t.diagnostic('groff is not installed');
  const { code, stderr } = await run('groff', ['-man', '-ww', '-z', path], {});
  assert.deepEqual([code, stderr], [0, '']);
});
