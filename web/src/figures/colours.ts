// SPDX-License-Identifier: Apache-2.0

// Colours by name; style.css defines them.

const names = [
  'paper',
  'ink',
  'muted',
  'rule',
  'private',
  'second',
  'fresh',
  'root',
  'honaker',
  'secret',
  'tree',
  'floor',
] as const;
export type Colour = (typeof names)[number];
export type Colours = Readonly<Record<Colour, string>>;

/** Custom properties whose names differ from those of their colours. */
const properties: Partial<Record<Colour, string>> = { honaker: 'map-negative' };

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const valueOf = (name: Colour): string =>
    style.getPropertyValue(`--${properties[name] ?? name}`).trim();
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Colour, string>;
}

/** Colours for white paper, whatever the theme. The page is not repainted meanwhile. */
export function readPaperColours(): Colours {
  const { dataset } = document.documentElement;
  const theme = dataset['theme'];
  dataset['theme'] = 'light';
  const colours = readColours();
  if (theme === undefined) delete dataset['theme'];
  else dataset['theme'] = theme;
  return colours;
}
