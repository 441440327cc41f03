// SPDX-License-Identifier: Apache-2.0

// Compares this library with others in one run: `npm run bench:peers`. Makes a virtual environment
// with the versions of requirements.txt, installs them the first time, and passes its options on to
// compare.py, whose --help lists them. Then it puts the printed tables into bench/PEERS.md, and draws
// their picture.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { redraw } from './draw.mjs';
import { page, withPrinted } from './page.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const place = here('../../build/peers/python');
const python = `${place}/bin/python`;

/** Runs a program, and ends this one if that fails. */
function run(program, ...args) {
  const { status, error } = spawnSync(program, args, { stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(here('../../dist/index.js'))) {
  throw new Error('there is no dist/: run `scripts/build package` first');
}
if (!existsSync(python)) run('python3', '-m', 'venv', place);
const quiet = ['--quiet', '--disable-pip-version-check'];
run(python, '-m', 'pip', 'install', ...quiet, '-r', here('requirements.txt'));

const compare = spawn(python, [here('compare.py'), ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
let printed = '';
compare.stdout.setEncoding('utf8').on('data', (text) => {
  process.stdout.write(text);
  printed += text;
});
const [status] = await once(compare, 'close');
if (status !== 0) process.exit(status ?? 1);

if (/^## /m.test(printed)) {
  writeFileSync(page, withPrinted(readFileSync(page, 'utf8'), printed));
  redraw();
  console.log('\nbench/PEERS.md and docs/images/peers.svg have these tables');
}
