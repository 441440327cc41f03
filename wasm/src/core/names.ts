// SPDX-License-Identifier: Apache-2.0

// Converts names of the core to JavaScript spelling.

/**
 * Names of the core that the options of `error`, `certificate`, `learner` and the other functions
 * without streams differ from by more than spelling.
 */
const RENAMED: Readonly<Record<string, string>> = {
  steps: 'numSteps',
  clip: 'clipNorm',
  times: 'participations',
  apart: 'minSeparation',
  strategy: 'mechanism',
  use_solver: 'solver',
  encoder_workload: 'descent',
};

/** Joins the words of a core name in camel case: `loglog_power` -> `loglogPower`. */
function joined(name: string): string {
  const [first = '', ...words] = name.split('_');
  return first + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/**
 * Splits a path into a parameter at the end of its first name: `'rates[3]'` into `'rates'` and the
 * rest.
 */
export function rootOf(path: string): [root: string, rest: string] {
  const end = [...path].findIndex((letter) => '[(.'.includes(letter));
  return end < 0 ? [path, ''] : [path.slice(0, end), path.slice(end)];
}

/** Returns the JavaScript name of a parameter of the core: `max_iterations` -> `maxIterations`. */
export function nameOfCore(path: string): string {
  const [root, rest] = rootOf(path);
  return (RENAMED[root] ?? joined(root)) + joined(rest);
}

/** Converts the core's names in a text of the catalogue to JavaScript spelling. */
export function camelCase(text: string): string {
  return text.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, nameOfCore);
}
