// SPDX-License-Identifier: Apache-2.0

// Stands for tests/js/support/consumer.mjs in the shell of JavaScriptCore. DIST is the folder of the
// installed package. The shell cannot fetch, so the module of counters is handed over.

export async function importEntry(specifier) {
  const [, name = 'index'] = specifier.split('/');
  const entry = await import(`${DIST}/${name}.js`);
  if (name !== 'counter') return entry;
  const wasm = readFile(`${DIST}/counter.wasm`, 'binary');
  return { ...entry, load: (options) => entry.load({ wasm, ...options }) };
}
