// SPDX-License-Identifier: Apache-2.0

// Stands for `node:test` in the shell of JavaScriptCore: collects tests, and runs them in order.

const tests = [];

export function test(name, ...rest) {
  const use = rest.pop();
  if (!rest[0]?.skip) tests.push({ name, use });
}

/** Prints what failed, and at the end the number of tests that passed and failed. */
export async function runTests() {
  let numFailed = 0;
  for (const { name, use } of tests) {
    try {
      await use({ diagnostic() {} });
    } catch (error) {
      ++numFailed;
      print(`${name}: ${error}\n${error?.stack}`);
    }
  }
  print(`passed ${tests.length - numFailed} failed ${numFailed}`);
}
