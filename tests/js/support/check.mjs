// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';

/** |actual - expected| <= tolerance * max(1, |expected|), and not NaN. */
export function close(actual, expected, tolerance) {
  const allowed = tolerance * Math.max(1, Math.abs(expected));
  assert.ok(
    Math.abs(actual - expected) <= allowed,
    `${actual} is not within ${allowed} of ${expected}`,
  );
}

/** The call throws an error of exactly this kind, with a code and a message. */
export function rejects(call, Kind, code, message) {
  assert.throws(call, (error) => {
    assert.ok(error instanceof Kind, `${error?.name}: ${error?.message}`);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.ok(!error.message.includes('\n'), 'one line');
    return true;
  });
}
