// SPDX-License-Identifier: Apache-2.0

// Names of the core in the spelling of this language.

/** Names of the core that differ from those of this language by more than their spelling. */
const RENAMED: Readonly<Record<string, string>> = {
  num_bands: 'bands',
  num_buffers: 'buffers',
  num_epochs: 'epochs',
  max_participations: 'participations',
  use_solver: 'solver',
  width: 'window',
  strategy: 'mechanism',
  encoder_workload: 'descent',
  level: 'quantile',
  threshold: 'huberThreshold',
  attribute_sizes: 'marginals',
};

/** Words of a core name, joined as this language does: `clip_norm` -> `clipNorm`. */
function joined(name: string): string {
  const [first = '', ...words] = name.split('_');
  return first + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** The first name of a path into a parameter, `'rates'` of `'rates[3]'`, and the rest. */
export function rootOf(path: string): [root: string, rest: string] {
  const end = [...path].findIndex((letter) => '[(.'.includes(letter));
  return end < 0 ? [path, ''] : [path.slice(0, end), path.slice(end)];
}

/** A parameter of the core in the words of this language: `clip_norm` -> `clipNorm`. */
export function nameOfCore(path: string): string {
  const [root, rest] = rootOf(path);
  return (RENAMED[root] ?? joined(root)) + joined(rest);
}

/** A text of the catalogue, whose names are in the core's spelling, in that of this language. */
export function camelCase(text: string): string {
  return text.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, nameOfCore);
}
