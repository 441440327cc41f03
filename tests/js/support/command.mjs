// SPDX-License-Identifier: Apache-2.0

// Runs the installed command and checks that it succeeds or fails as expected.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cli, dpFtrl } from './consumer.mjs';

/** Runs the command with --json, and returns what it prints. */
export async function json(args, options) {
  const { code, stdout, stderr } = await dpFtrl([...args, '--json'], options);
  assert.equal(stderr, '');
  assert.equal(code, 0);
  return JSON.parse(stdout);
}

/** Names of the package's options that are unknown to users of the command. */
const FOREIGN = new RegExp(
  '\\b(numSteps|clipNorm|minSeparation|maxIterations|epochLength|completeEpochs|horizonCap|' +
    'loglogPower|normalizeColumns|queryWeights|batchSize|numClasses|insecureSeed|huberThreshold|' +
    'maxContributions|noiseStddev|precisionBits|numValues|num_[a-z]+)\\b',
);

/** Asserts that the command fails with an exit code and one matching line on standard error. */
export async function fails(args, code, message, options) {
  const result = await dpFtrl(args, options);
  const lines = result.stderr
    .trimEnd()
    .split('\n')
    .filter(
      (line) =>
        !/differentially private|NOT private|a new budget|do not read a trend|is enough|share --clip|depends? on the data \(give|without a range, numbers beyond/.test(
          line,
        ),
    );
  assert.equal(lines.length, 1, result.stderr);
  assert.match(lines[0], message);
  assert.match(lines[0], /^dp-ftrl( [a-z]+)?: /);
  assert.doesNotMatch(lines[0], FOREIGN);
  assert.equal(result.code, code, result.stderr);
  return result;
}

/**
 * Starts a run whose input stays open, and resolves once `isReady` accepts its output; `ended`
 * resolves when it ends.
 */
export async function runningOn(input, args, isReady) {
  const child = spawn(cli, args);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (text) => (said.stdout += text));
  child.stderr.on('data', (text) => (said.stderr += text));
  child.stdin.on('error', () => {});
  child.stdin.write(input);
  try {
    while (!isReady(said)) await new Promise((resolve) => setTimeout(resolve, 10));
  } catch (error) {
    child.kill('SIGKILL'); // It would wait for its input, and the tests for it.
    throw error;
  }
  const ended = once(child, 'close').then(([code, signal]) => ({ ...said, code, signal }));
  return { child, ended };
}
