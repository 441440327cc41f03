// SPDX-License-Identifier: Apache-2.0

// Colours by their names; style.css says what they are.

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
] as const;
export type Colour = (typeof names)[number];
export type Colours = Readonly<Record<Colour, string>>;

/** Custom property of a colour that is not called like it. */
const properties: Partial<Record<Colour, string>> = { honaker: 'map-negative' };

/** Returns what the colours are in the theme that the page has now. */
export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const valueOf = (name: Colour): string =>
    style.getPropertyValue(`--${properties[name] ?? name}`).trim();
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Colour, string>;
}

/** Returns what they are on white paper, whatever the theme. Nothing is drawn in between. */
export function readPaperColours(): Colours {
  const { dataset } = document.documentElement;
  const theme = dataset['theme'];
  dataset['theme'] = 'light';
  const colours = readColours();
  if (theme === undefined) delete dataset['theme'];
  else dataset['theme'] = theme;
  return colours;
}
