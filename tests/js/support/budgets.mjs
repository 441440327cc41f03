// SPDX-License-Identifier: Apache-2.0

// Files of --budget, read and written as the command does.

import { readFileSync } from 'node:fs';
import { importSource } from './sources.mjs';

const { fileText } = await importSource('cli/state/budget-file.ts');

/** Reads a file without its checksum. */
export function readBudget(path) {
  const { checksum: _, ...file } = JSON.parse(readFileSync(path, 'utf8'));
  return file;
}

/** Text of a changed file with a checksum that fits. */
export const sealed = (file) => fileText(file);
