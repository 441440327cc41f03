// SPDX-License-Identifier: Apache-2.0

// Builds dist/, the npm package, from the compiled core and the TypeScript facade, offline.
//
//     node wasm/build.mjs [--core FOLDER] [--code]
//
// FOLDER holds dp-ftrl and counter, each as .mjs and .wasm; default: build/wasm/wasm.
// --code rebuilds dist/ quickly: it checks no types, keeps the declarations of the last build, and
// leaves out counter if that was never compiled.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'wasm/src');
const { values: flags } = parseArgs({
  options: { core: { type: 'string' }, code: { type: 'boolean' } },
});
const core = flags.core ?? join(root, 'build/wasm/wasm');

const license = '/*! SPDX-License-Identifier: Apache-2.0 */';
const coreEntries = ['index', 'external', 'worker', 'worker-client', 'indexed-db', 'tfjs'];
/** Modules of the core, and the names under which the sources import their glue. */
const modules = {
  'dp-ftrl': 'dp-ftrl:glue',
  counter: 'dp-ftrl:counter-glue',
};
/** Entries with a module of their own. */
const moduleEntries = Object.keys(modules).filter((name) => name !== 'dp-ftrl');
const nodeEntries = ['file-store', 'postgres-store'];
/** Stands for the WebAssembly in base64 while the surrounding code is broken into lines. */
const placeholder = '@@wasm@@';
/**
 * Texts that no file for browsers may contain, because they break bundlers or a strict content
 * security policy.
 */
const forbidden = [
  'require(',
  '__dirname',
  '__filename',
  'module.exports',
  'new Function',
  'eval(',
];

function fail(message) {
  process.stderr.write(`wasm/build.mjs: ${message}\n`);
  process.exit(1);
}

async function readCore(name) {
  try {
    return await readFile(join(core, name));
  } catch {
    const shown = relative(root, join(core, name)) || name;
    return fail(`there is no ${shown}: build the core first (cmake --build --preset wasm)`);
  }
}

/**
 * Removes the glue's own lookup of the .wasm: our loader passes the module, and a bundler would
 * treat the URL as a file to ship.
 */
function cleanGlue(text) {
  const clean = text
    .replace(/new URL\((["'])[^"']*\.wasm\1,\s*import\.meta\.url\)\.href/g, '""')
    .replaceAll('import.meta.url', '""');
  if (/\.wasm["'],\s*import\.meta|import\.meta/.test(clean)) {
    fail('the glue of this Emscripten version refers to its own address in an unknown way');
  }
  return clean;
}

/**
 * Resolves the glues and `dp-ftrl:wasm-base64`. Imports of `index.js`, which holds the core, become
 * imports of the separate file `core`.
 */
function corePlugin(glues, core = './index.js') {
  return {
    name: 'core',
    setup(builder) {
      builder.onResolve({ filter: /^dp-ftrl:/ }, ({ path }) => ({ path, namespace: 'core' }));
      builder.onLoad({ filter: /glue$/, namespace: 'core' }, ({ path }) => ({
        contents: glues[path],
      }));
      builder.onLoad({ filter: /^dp-ftrl:wasm-base64$/, namespace: 'core' }, () => ({
        contents: `export default ${JSON.stringify(placeholder)};`,
      }));
      // The worker and the command import the core, so as not to contain a second copy of it.
      builder.onResolve({ filter: /^(\.\.?\/)+index\.js$/ }, ({ kind }) =>
        kind === 'entry-point' ? undefined : { path: core, external: true },
      );
    },
  };
}

async function bundle(out, entries, glues, wasm, version) {
  const common = {
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    lineLimit: 500, // Node prints the source line of an uncaught error, so lines are short.
    legalComments: 'none',
    charset: 'utf8',
    sourcemap: false,
    define: { PACKAGE_VERSION: JSON.stringify(version) },
    plugins: [corePlugin(glues)],
    logLevel: 'warning',
    outdir: out,
  };
  await build({
    ...common,
    platform: 'browser',
    entryPoints: entries.map((name) => join(sources, `${name}.ts`)),
    banner: { js: license },
  });
  const index = join(out, 'index.js');
  const parts = (await readFile(index, 'utf8')).split(`"${placeholder}"`);
  if (parts.length !== 2) fail('dist/index.js should hold the WebAssembly text exactly once');
  // On a separate line, for the same reason as `lineLimit`.
  await writeFile(index, parts.join(`\n"${wasm.toString('base64')}"\n`));
  await build({
    ...common,
    platform: 'node',
    // The command loads the .wasm file, which is faster than decoding two megabytes of text.
    plugins: [corePlugin(glues, './external.js')],
    entryPoints: [{ in: join(sources, 'cli/main.ts'), out: 'cli' }],
    banner: { js: `#!/usr/bin/env node\n${license}` },
  });
  await build({
    ...common,
    platform: 'node',
    entryPoints: nodeEntries.map((name) => join(sources, `${name}.ts`)),
    banner: { js: license },
  });
  await chmod(join(out, 'cli.js'), 0o755);
}

/** Writes the man page, which is generated from the descriptions of the commands. */
async function manPage(out, scratch, version) {
  const outfile = join(scratch, 'man.mjs');
  await writeFile(join(scratch, 'package.json'), '{ "type": "module" }\n');
  const index = pathToFileURL(join(out, 'index.js')).href;
  await build({
    entryPoints: [join(sources, 'cli/man.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    plugins: [corePlugin({}, index)],
  });
  const { pageFor } = await import(pathToFileURL(outfile));
  const { load } = await import(index);
  await writeFile(join(out, 'dp-ftrl.1'), pageFor(version, (await load()).strategies));
}
/** Copies the declarations of the last build; returns false if there are none. */
async function keepDeclarations(dist, out) {
  const names = (await readdir(dist).catch(() => [])).filter((name) => name.endsWith('.d.ts'));
  for (const name of names) await copyFile(join(dist, name), join(out, name));
  return names.length > 0;
}

/**
 * Lets every optional property be undefined, as it may be at run time, even in projects with
 * `exactOptionalPropertyTypes`. The sources of the package are checked with that option.
 */
function withUndefined(text) {
  const places = [];
  const visit = (node) => {
    const { type, questionToken } = node;
    if (ts.isPropertySignature(node) && questionToken && !/\bundefined$/.test(type.getText())) {
      const isOpen = ts.isFunctionTypeNode(type);
      places.push([type.end, `${isOpen ? ')' : ''} | undefined`]);
      if (isOpen) places.push([type.getStart(), '(']);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('.d.ts', text, ts.ScriptTarget.Latest, true));
  places.sort(([a], [b]) => b - a);
  return places.reduce((all, [at, more]) => all.slice(0, at) + more + all.slice(at), text);
}

/**
 * Writes the declarations of the entries and of everything they import, all in one folder, because
 * the source folders are not part of the package.
 */
async function declarations(out, scratch) {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  try {
    execFileSync(
      process.execPath,
      [tsc, '-p', join(root, 'wasm/tsconfig.json'), '--outDir', scratch],
      { stdio: 'pipe', encoding: 'utf8' },
    );
  } catch (error) {
    fail(`the TypeScript compiler found errors:\n${error.stdout ?? error.message}`);
  }
  const wanted = [...coreEntries, ...moduleEntries, ...nodeEntries].map((name) => `${name}.d.ts`);
  const done = new Set();
  const written = new Set();
  for (let file = wanted.pop(); file; file = wanted.pop()) {
    if (done.has(file)) continue;
    done.add(file);
    const nested = await readFile(join(scratch, file), 'utf8');
    const imported = /((?:from|import\() ?['"])(\.\.?\/[\w/.-]+)\.js(?=['"])/g;
    const flat = nested.replace(imported, (_, head, name) => {
      wanted.push(`${join(dirname(file), name)}.d.ts`);
      return `${head}./${basename(name)}.js`;
    });
    const text = withUndefined(flat);
    if (written.has(basename(file))) fail(`two declarations are called ${basename(file)}`);
    written.add(basename(file));
    const line = '// SPDX-License-Identifier: Apache-2.0\n';
    await writeFile(join(out, basename(file)), text.startsWith(line) ? text : line + text);
  }
}

async function check(out, entries) {
  for (const name of entries) {
    const text = await readFile(join(out, `${name}.js`), 'utf8');
    for (const word of forbidden) {
      if (text.includes(word)) fail(`dist/${name}.js contains ${JSON.stringify(word)}`);
    }
  }
}

async function printSizes(out) {
  for (const name of (await readdir(out)).sort()) {
    if (name.endsWith('.d.ts')) continue;
    const bytes = await readFile(join(out, name));
    const packed = brotliCompressSync(bytes).length;
    const line = `${name.padEnd(18)} ${String(bytes.length).padStart(8)} bytes`;
    process.stdout.write(`${line} ${String(packed).padStart(8)} Brotli\n`);
  }
}

const glues = {};
const binaries = {};
const built = moduleEntries.filter((name) => !flags.code || existsSync(join(core, `${name}.wasm`)));
const browserEntries = [...coreEntries, ...built];
for (const name of ['dp-ftrl', ...built]) {
  const glue = modules[name];
  glues[glue] = cleanGlue((await readCore(`${name}.mjs`)).toString('utf8'));
  binaries[name] = await readCore(`${name}.wasm`);
  if (!WebAssembly.validate(binaries[name])) fail(`${name}.wasm is not valid WebAssembly`);
}
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

const dist = join(root, 'dist');
const scratch = join(root, 'build/package');
const out = join(scratch, 'dist');
await rm(scratch, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await bundle(out, browserEntries, glues, binaries['dp-ftrl'], version);
const isKept = flags.code && (await keepDeclarations(dist, out));
if (!isKept) await declarations(out, join(scratch, 'types'));
const sums = [];
for (const [name, binary] of Object.entries(binaries)) {
  await writeFile(join(out, `${name}.wasm`), binary);
  sums.push(`${createHash('sha256').update(binary).digest('hex')}  ${name}.wasm\n`);
}
await writeFile(join(out, 'SHA256SUMS'), sums.join(''));
await manPage(out, scratch, version);
await check(out, browserEntries);
// dist/ is replaced only at the end, so a failed build keeps the old one.
await rm(dist, { recursive: true, force: true });
await rename(out, dist);
await rm(scratch, { recursive: true, force: true });
if (!flags.code) await printSizes(dist);
