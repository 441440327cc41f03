// SPDX-License-Identifier: Apache-2.0

// Computes the privacy parameters of the story with the built package while the page is built, as
// the module `virtual:privacy`, so that scenes are drawn before the library is loaded.

import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';
import { epsilons, privacy } from './src/story/hero-numbers.ts';

type Calibrate = (target: { epsilon: number; delta: number }) => {
  readonly mu: number;
  readonly noiseMultiplier: number;
};

/** `dist` is the folder of the built package. */
export function privacyNumbers(dist: string): Plugin {
  const name = 'virtual:privacy';
  return {
    name: 'privacy',
    resolveId: (source) => (source === name ? `\0${name}` : undefined),
    load: async (id) => {
      if (id !== `\0${name}`) return undefined;
      const { load } = (await import(pathToFileURL(`${dist}index.js`).href)) as {
        load(): Promise<{ readonly calibrate: Calibrate }>;
      };
      const { delta } = privacy;
      const library = await load();
      const mus = epsilons.map((epsilon) => library.calibrate({ epsilon, delta }).mu);
      const { noiseMultiplier } = library.calibrate(privacy);
      return (
        `export const mus = ${JSON.stringify(mus)};` +
        `export const noiseMultiplier = ${noiseMultiplier};`
      );
    },
  };
}
