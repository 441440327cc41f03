// SPDX-License-Identifier: Apache-2.0

// Cuts the page's serif, Source Serif 4 under the SIL Open Font License 1.1, down to the characters
// and weights of the page, as the module `virtual:serif`.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import subset from 'subset-font';
import type { Plugin } from 'vite';

const file = import.meta.resolve(
  '@fontsource-variable/source-serif-4/files/source-serif-4-latin-wght-normal.woff2',
);

const ascii = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('');
const others = ' ±×·−–—‘’“”…½éèöüß';

export function serif(): Plugin {
  const name = 'virtual:serif';
  return {
    name: 'serif',
    resolveId: (source) => (source === name ? `\0${name}` : undefined),
    load: async (id) => {
      if (id !== `\0${name}`) return undefined;
      const whole = await readFile(fileURLToPath(file));
      const cut = await subset(whole, ascii + others, {
        targetFormat: 'woff2',
        variationAxes: { wght: { min: 400, max: 700 } },
      });
      return `export const bytes = '${cut.toString('base64')}';`;
    },
  };
}
