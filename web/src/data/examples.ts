// SPDX-License-Identifier: Apache-2.0

// Tables of examples/, bundled with the page so that it needs no network.

const files = import.meta.glob('../../../examples/{shop_day,tide,calendar,pendulum}.csv', {
  query: '?raw',
  import: 'default',
  eager: true,
}) as Record<string, string>;

const { appEvents } = import.meta.glob('../../../examples/app-events.mjs', { eager: true })[
  '../../../examples/app-events.mjs'
] as { appEvents(): (readonly string[])[] };

/** Tables that are generated here, by the program that also generated their files. */
const made: Readonly<Record<string, () => string>> = {
  app_events: () =>
    appEvents()
      .map((row) => `${row.join()}\n`)
      .join(''),
};

export interface Example {
  name: string;
  title: string;
  columns: string[];
  label: string;
  clipNorm: number;
  /** Coordinate shown first. */
  sums: number;
  /**
   * Columns of persons and times from which active people are counted; absent if columns are
   * summed.
   */
  people?: { person: string; time: string };
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
  {
    name: 'app_events',
    title: 'Four months of an app (synthetic)',
    columns: ['rows'],
    label: '-',
    clipNorm: 1,
    sums: 1,
    people: { person: 'user', time: 'time' },
  },
];

const fileOf = (name: string): string | undefined => files[`../../../examples/${name}.csv`];

export function exampleText(name: string): string | undefined {
  return fileOf(name) ?? made[name]?.();
}

export const examples: readonly Example[] = known.filter(
  ({ name }) => fileOf(name) !== undefined || name in made,
);
