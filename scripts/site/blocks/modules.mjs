// SPDX-License-Identifier: Apache-2.0

// The imports of a block of code, which decide whether the site can run it.

/** Modules that the site has: name in an import -> file of the package, without `.js`. */
export const MODULES = { 'dp-ftrl': 'index', 'dp-ftrl/counter': 'counter' };

const STATEMENT = /^(import\b[^'"]*)(['"])([^'"\n]+)\2/gm;

/** Names of the modules that a program imports. */
export function importsOf(code) {
  return Array.from(code.matchAll(STATEMENT), ([, , , name]) => name);
}

/** True if a block is a program that needs nothing but modules of the site. */
export function isRunnable(code) {
  const names = importsOf(code);
  return names.length > 0 && names.every((name) => Object.hasOwn(MODULES, name));
}

/** The program with the addresses of its modules in place of their names. */
export function linked(code, addressOf) {
  return code.replace(STATEMENT, (_, start, quote, name) =>
    [start, quote, addressOf(name), quote].join(''),
  );
}
