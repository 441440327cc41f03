// SPDX-License-Identifier: Apache-2.0

// Runs of the installed command that must succeed or fail in a certain way.

import assert from 'node:assert/strict';
import { dpFtrl } from './consumer.mjs';

/** What the command prints with --json. */
export async function json(args, options) {
  const { code, stdout, stderr } = await dpFtrl([...args, '--json'], options);
  assert.equal(stderr, '');
  assert.equal(code, 0);
  return JSON.parse(stdout);
}

/** The command fails with an exit code and one line on standard error that matches. */
export async function fails(args, code, message, options) {
  const result = await dpFtrl(args, options);
  const lines = result.stderr
    .trimEnd()
    .split('\n')
    .filter((line) => !/differentially private|NOT private|a new budget/.test(line));
  assert.equal(lines.length, 1, result.stderr);
  assert.match(lines[0], message);
  assert.match(lines[0], /^dp-ftrl( [a-z]+)?: /);
  assert.equal(result.code, code, result.stderr);
  return result;
}
