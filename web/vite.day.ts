// SPDX-License-Identifier: Apache-2.0

// Computes the day of the story's first scene with the built package while the page is built. The
// day becomes markup in place of `<!-- first picture -->`, and the module `virtual:day`, so that
// the picture moves without the library.

import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';
import { countDay, type Day, type Simulator } from './src/story/hero-numbers.ts';
import { heroMarkup } from './src/story/hero-picture.ts';

/** Returns the source of the module: noise in whole people, as it is drawn. */
function moduleSource({ came, truth, lanes }: Day): string {
  const short = (value: number): number => Number(value.toPrecision(6));
  const stored = lanes.map(({ release, band, worst }) => ({
    noise: Array.from(release, (value, i) => Math.round(value - truth[i]!)),
    band: Array.from(band, short),
    worst,
  }));
  return `export const came = '${came.join('')}';\nexport const lanes = ${JSON.stringify(stored)};`;
}

/** `dist` is the folder of the built package. */
export function day(dist: string): Plugin {
  const name = 'virtual:day';
  let counted: Promise<Day> | undefined;
  const count = async (): Promise<Day> => {
    const { load } = (await import(pathToFileURL(`${dist}index.js`).href)) as {
      load(): Promise<Simulator>;
    };
    return countDay(await load());
  };
  const theDay = (): Promise<Day> => (counted ??= count());
  return {
    name: 'day',
    resolveId: (source) => (source === name ? `\0${name}` : undefined),
    load: async (id) => (id === `\0${name}` ? moduleSource(await theDay()) : undefined),
    transformIndexHtml: {
      order: 'pre',
      handler: async (html) => {
        const markup = heroMarkup(await theDay());
        return html.replace('<!-- first picture -->', () => markup);
      },
    },
  };
}
