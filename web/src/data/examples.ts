// SPDX-License-Identifier: Apache-2.0

// The tables of examples/, bundled with the page so that it needs no network.

const files = import.meta.glob('../../../examples/{shop_day,tide,calendar,pendulum}.csv', {
  query: '?raw',
  import: 'default',
  eager: true,
}) as Record<string, string>;

export interface Example {
  name: string;
  title: string;
  columns: string[];
  label: string;
  clipNorm: number;
  /** Coordinate shown first. */
  sums: number;
}

/** Initial settings for each table; examples/README.md derives the clip norms. */
const known: readonly Example[] = [
  {
    name: 'shop_day',
    title: 'A day in a shop (synthetic)',
    columns: ['count'],
    label: '-',
    clipNorm: 1,
    sums: 1,
  },
  {
    name: 'tide',
    title: 'Six weeks of tide (computed)',
    columns: ['height'],
    label: '-',
    clipNorm: 4,
    sums: 1,
  },
  {
    name: 'calendar',
    title: 'Months and Sundays (facts)',
    columns: ['sundays'],
    label: '-',
    clipNorm: 5,
    sums: 1,
  },
  {
    name: 'pendulum',
    title: 'Over the top? (computed, learns)',
    columns: [],
    label: 'label',
    clipNorm: 1,
    sums: 2,
  },
];

export function exampleText(name: string): string | undefined {
  return files[`../../../examples/${name}.csv`];
}

export const examples: readonly Example[] = known.filter(
  (example) => exampleText(example.name) !== undefined,
);
