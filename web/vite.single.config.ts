// SPDX-License-Identifier: Apache-2.0

import { defineConfig, mergeConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { shared, singlePolicy } from './vite.shared.ts';

/** Builds the page as one file that needs no server: dist/dp-ftrl.html. */
export default defineConfig(
  mergeConfig(shared, {
    define: { SINGLE_FILE: 'true' },
    plugins: [viteSingleFile(), singlePolicy('dp-ftrl.html')],
    build: {
      outDir: 'dist',
      emptyOutDir: false,
      target: 'es2022',
      modulePreload: { polyfill: false },
      // A page from file:// can start a worker from a blob only if it is a classic script, and the
      // page's script is also its worker, so it must not use module syntax.
      rolldownOptions: { output: { format: 'iife' }, checks: { emptyImportMeta: false } },
    },
  }),
);
