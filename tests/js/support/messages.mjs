// SPDX-License-Identifier: Apache-2.0

// Runs the rows of the command's table in tests/messages.

import { cli, dpFtrl, run } from './consumer.mjs';

/** Splits a command line at spaces, except within single quotes. */
function wordsOf(line) {
  const words = line.match(/(?:'[^']*'|[^ '])+/g) ?? [];
  return words.map((word) => word.replaceAll("'", ''));
}

/** Last line of the command without its name and folder; `accepted` if it succeeds. */
function saidBy({ code, stderr }, cwd) {
  if (code === 0) return 'accepted';
  const [line] = stderr.trimEnd().split('\n').slice(-1);
  return line.replace(/^dp-ftrl( [a-z]+)?: /, '').replaceAll(`${cwd}/`, '');
}

/** Runs the command line of a row, after the command line of `after` if there is one. */
export async function runRow({ run: line, input = '', after, shell }, { words, cwd }) {
  const filled = (text) => text.replace(/\$[A-Z]/g, (name) => words[name]);
  const args = (text) => wordsOf(filled(text));
  if (after !== undefined) {
    const before = await dpFtrl(args(after), { cwd });
    if (before.code !== 0) throw new Error(`${after}: ${before.stderr}`);
  }
  if (shell === undefined) return saidBy(await dpFtrl(args(line), { cwd, input }), cwd);
  const script = shell.replace(
    'dp-ftrl',
    `'${cli}' ${args(line)
      .map((word) => `'${word}'`)
      .join(' ')}`,
  );
  return saidBy(await run('bash', ['-c', script], { cwd, input }), cwd);
}
