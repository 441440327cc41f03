// SPDX-License-Identifier: Apache-2.0

// TypeDoc plugin that lets readers run and edit the JavaScript blocks of the site. It needs no
// server: the site has the modules of the package as scripts that contain their text, and a page
// passes the text to a frame with an opaque origin, the only place where code of a block runs.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { JSX, RendererEvent } from 'typedoc';
import { MODULES } from './blocks/modules.mjs';

const dist = new URL('../../dist/', import.meta.url);

function bundle(name, define) {
  const entry = fileURLToPath(new URL(`blocks/${name}`, import.meta.url));
  const options = { bundle: true, format: 'iife', minify: true, write: false, define };
  return buildSync({ ...options, entryPoints: [entry] }).outputFiles[0].text;
}

/** The document of the frame. Its policy lets only its own script start, and forbids requests. */
function frame() {
  const script = bundle('frame.mjs');
  const hash = createHash('sha256').update(script).digest('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash}' blob: 'wasm-unsafe-eval'`,
    'worker-src blob:',
    'connect-src data:', // the WebAssembly of counters
  ].join('; ');
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
  return `<!doctype html><meta charset="utf-8">${meta}<script>${script}</script>`;
}

/** Text of a module, with its WebAssembly inside instead of in a file beside it. */
function textOf(file) {
  const text = readFileSync(new URL(`${file}.js`, dist), 'utf8');
  return text.replace(/new URL\("\.\/(\w+\.wasm)",import\.meta\.url\)/, (_, wasm) => {
    const bytes = readFileSync(new URL(wasm, dist), 'base64');
    return `new URL("data:application/wasm;base64,${bytes}")`;
  });
}

function writeFiles(folder) {
  mkdirSync(folder, { recursive: true });
  const page = bundle('page.mjs', { FRAME: JSON.stringify(frame()) });
  writeFileSync(join(folder, 'page.js'), page);
  for (const file of Object.values(MODULES)) {
    const text = `(globalThis.dpFtrlTexts ??= {}).${file} = ${JSON.stringify(textOf(file))};\n`;
    writeFileSync(join(folder, `${file}.js`), text);
  }
}

/** Called by TypeDoc. */
export function load(app) {
  app.renderer.hooks.on('head.end', (context) =>
    JSX.createElement('script', {
      defer: true,
      src: context.relativeURL('assets/blocks/page.js', true),
    }),
  );
  app.renderer.on(RendererEvent.END, ({ outputDirectory }) =>
    writeFiles(join(outputDirectory, 'assets/blocks')),
  );
}
