// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** Reads results of an independent computation from tests/golden. */
export function golden(name) {
  const url = new URL(`../../golden/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8'));
}

/** Asserts that |actual - expected| <= tolerance * max(1, |expected|); fails for NaN. */
export function close(actual, expected, tolerance) {
  const allowed = tolerance * Math.max(1, Math.abs(expected));
  assert.ok(
    Math.abs(actual - expected) <= allowed,
    `${actual} is not within ${allowed} of ${expected}`,
  );
}

const PATH = /^[a-zA-Z]\w*(\[[^\]]*\]|\([^)]*\)|\.\w+)*$/;

/** Asserts that the message of a package error agrees with its fields, in JavaScript's names. */
export function wellTold({ message, call, row, part, parameter, constraint, value }) {
  if (constraint === undefined) return;
  const where = [call, part, row && `${row.kind} ${row.index}`].filter((it) => it !== undefined);
  const subject = parameter === undefined ? '' : `${parameter} `;
  const got = value === undefined ? '' : `, got ${value}`;
  const text = `${subject}${constraint.replaceAll(/[{}]/g, '')}${got}`;
  assert.equal(message, [...where, text].join(': '));
  const others = [...constraint.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name);
  for (const name of [...others, ...(parameter === undefined ? [] : [parameter])]) {
    assert.match(name, PATH, message);
    assert.doesNotMatch(name, /_/, `a name of the core: ${message}`);
  }
}

/** Asserts that the call throws an error of exactly this kind, with this code and message. */
export function rejects(call, Kind, code, message) {
  assert.throws(call, (error) => {
    assert.ok(error instanceof Kind, `${error?.name}: ${error?.message}`);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.ok(!error.message.includes('\n'), 'one line');
    wellTold(error);
    return true;
  });
}
