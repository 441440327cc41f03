// SPDX-License-Identifier: Apache-2.0

// Folders and files that are removed when a test file ends.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** Makes a folder, and removes it after the last test of the file. */
export function scratchFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `dp-ftrl-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a function that writes a file into a folder and returns its path. */
export const writerIn = (folder) => (name, text) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

/** Makes a function that writes a modified copy next to a file and returns its path. */
export function copierOf(path) {
  let numCopies = 0;
  return (change) => {
    const name = `${path}-copy-${++numCopies}`;
    writeFileSync(name, change(readFileSync(path)));
    return name;
  };
}

/** Flips the last bit of a byte; a negative position counts from the end. */
export const flipped = (at) => (bytes) => {
  bytes[at < 0 ? bytes.length + at : at] ^= 1;
  return bytes;
};
