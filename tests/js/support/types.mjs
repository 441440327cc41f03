// SPDX-License-Identifier: Apache-2.0

// Compiles programs that use the package.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { consumer, node, root } from './consumer.mjs';

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/**
 * Compiles a separate project that contains only the package and the named packages: the types of
 * Node, or TensorFlow.js.
 */
export async function compile(
  text,
  options,
  nodeTypes,
  packages = nodeTypes ? ['@types/node', 'undici-types'] : [],
) {
  const folder = mkdtempSync(join(consumer, 'types-'));
  try {
    for (const name of packages) {
      const place = join(folder, 'node_modules', name);
      mkdirSync(dirname(place), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), place);
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'use.ts'), text);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
      skipDefaultLibCheck: true,
      types: nodeTypes ? ['node'] : [],
      ...options,
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['use.ts'] }),
    );
    return await node([tsc, '-p', folder]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
