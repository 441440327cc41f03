// SPDX-License-Identifier: Apache-2.0

import { defineConfig, mergeConfig } from 'vite';
import { offline } from './vite.offline.ts';
import { filesPolicy, oneWorker, shared } from './vite.shared.ts';

/** Builds the page as files, for any static host and any path. */
export default defineConfig(
  mergeConfig(shared, {
    define: { SINGLE_FILE: 'false' },
    plugins: [oneWorker(), filesPolicy(), offline()],
    build: {
      outDir: 'dist',
      emptyOutDir: true,
      target: 'es2022',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 1000,
    },
  }),
);
