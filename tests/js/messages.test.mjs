// SPDX-License-Identifier: Apache-2.0

// The tables of tests/messages: wrong inputs and calls of each surface, with the message that is
// wanted. A row with `today` is open: the surface still gives the message of `today`. For a row
// without it, the surface gives the wanted message.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { consumer, importEntry, node, root, run } from './support/consumer.mjs';
import { holds, tableOf } from './support/message-table.mjs';
import { runRow } from './support/messages.mjs';
import { scratchFolder } from './support/scratch.mjs';

test('messages: a row fails that says something else, that is mended or that is not open', async () => {
  const says = (text) => async () => text;
  await holds([{ wanted: 'a' }, { wanted: 'b', today: 'a' }], says('a'));
  await assert.rejects(holds([{ wanted: 'a' }], says('b')), /said: 'b'/);
  await assert.rejects(holds([{ wanted: 'a', today: 'b' }], says('a')), /mended/);
  await assert.rejects(holds([{ wanted: 'a', today: 'a' }], says('a')), /not open/);
});

test('messages: the command says what its table says', {
  skip: process.platform !== 'linux',
}, async () => {
  const { words, files, rows } = tableOf('command');
  const cwd = scratchFolder('command-messages');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  await holds(rows, (row) => runRow(row, { words, cwd }));
});

const dp = await (await importEntry('dp-ftrl')).load();
const { privateOptimizer } = await importEntry('dp-ftrl/tfjs');
const { FileStore } = await importEntry('dp-ftrl/file-store');

const target = { steps: 4, epsilon: 1, delta: 1e-6, insecureSeed: 1 };

/** A store in memory that fails to save with this code, if there is one. */
function storeOf(code) {
  let kept;
  return {
    load: async () => kept,
    async save(bytes) {
      if (code !== undefined) throw Object.assign(new Error('no space'), { code });
      kept = bytes;
    },
    close: async () => {},
  };
}

/** Names that the calls of the table may use. */
const scope = {
  dp,
  FileStore,
  counter: (options) => dp.counter({ ...target, ...options }),
  totals: () => dp.totals({ ...target, dimension: 1 }),
  people: () => dp.counter({ ...target, people: 'once' }),
  stored: (options, store = storeOf()) => dp.counter({ ...target, ...options, store }),
  disposed() {
    const counter = dp.counter(target);
    counter.dispose();
    return counter;
  },
  async reopened(options) {
    const store = storeOf();
    const counter = await dp.counter({ ...target, store });
    await counter.release(1);
    await counter.dispose();
    return dp.counter({ ...target, ...options, store });
  },
  storeOf,
  optimizer(options) {
    const variable = {
      assign() {},
      dtype: 'float32',
      trainable: true,
      size: 1,
      dataSync: () => [0],
    };
    return privateOptimizer({}, dp, { variables: [variable], ...target, ...options });
  },
};

async function saidByCall({ call }) {
  const evaluate = new Function(...Object.keys(scope), `return (async () => ${call})();`);
  try {
    (await evaluate(...Object.values(scope)))?.dispose?.();
    return 'accepted';
  } catch (error) {
    return `${error.code === undefined ? `${error.name}: ` : ''}${error.message}`;
  }
}

test('messages: the package says what its table says', async () => {
  await holds(tableOf('package').rows, saidByCall);
});

test('messages: the compiler says of the declarations what their table says', async () => {
  const { head, rows } = tableOf('types');
  const name = `messages-${process.pid}.ts`;
  const file = join(consumer, name);
  writeFileSync(file, `${head.join(' ')}\n${rows.map(({ call }) => `${call};`).join('\n')}\n`);
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck'];
  const { stdout } = await node([
    tsc,
    ...options,
    '--target',
    'es2022',
    '--module',
    'nodenext',
    name,
  ]);
  execFileSync('rm', [file]);
  // The innermost explanation, which comes last, is about the property at fault.
  const said = new Map();
  for (const [, line, text] of stdout.matchAll(/\((\d+),\d+\): (error.*(?:\n +.*)*)/g)) {
    said.set(
      Number(line),
      text
        .split('\n')
        .at(-1)
        .trim()
        .replace(/^error TS\d+: /, ''),
    );
  }
  await holds(rows, (row) => said.get(rows.indexOf(row) + 2) ?? 'accepted');
});

const compiler = ['g++', 'clang++-19'].find((name) => existsSync(`/usr/bin/${name}`));

test('messages: a program in C++ compiles as its table says', { skip: !compiler }, async () => {
  const folder = scratchFolder('cpp-messages');
  const include = ['cpp/include', '.toolchain/include'].map((path) => `-I${join(root, path)}`);
  await holds(tableOf('cpp').rows, async ({ program }) => {
    const file = join(folder, 'program.cpp');
    writeFileSync(file, `${program.join('\n')}\n`);
    const options = ['-std=c++20', '-fsyntax-only', '-H', ...include, file];
    const { code, stderr } = await run(`/usr/bin/${compiler}`, options);
    if (code !== 0) return 'does not compile';
    return /\/Eigen\//.test(stderr) ? 'compiles Eigen, too' : 'compiles';
  });
});
