// SPDX-License-Identifier: Apache-2.0

// Configuration shared by the two builds of the page: resolves the package under its own name,
// converts formulas to MathML, and sets the page's content security policy.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import temml from 'temml';
import type { Plugin, UserConfig } from 'vite';
import { day } from './vite.day.ts';
import { digits } from './vite.digits.ts';
import { privacyNumbers } from './vite.privacy.ts';
import { serif } from './vite.serif.ts';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));

/**
 * Converts `<tex>…</tex>` in index.html to MathML; `<tex display>` is a formula on its own line.
 */
function formulas(): Plugin {
  return {
    name: 'formulas',
    transformIndexHtml: {
      order: 'pre',
      handler: (html) =>
        html.replace(/<tex( display)?>([^<]*)<\/tex>/g, (_, display, tex: string) => {
          const source = tex
            .replaceAll('&amp;', '&')
            .replaceAll('&gt;', '>')
            .replaceAll('&lt;', '<');
          const math = temml.renderToString(source, {
            displayMode: display !== undefined,
            throwOnError: true,
          });
          // The policy forbids style attributes; these only shift glyphs slightly.
          return math.replace(/ style="[^"]*"/g, '').replace(/ class="[^"]*"/g, '');
        }),
    },
  };
}

function sha256(text: string): string {
  return `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;
}

function policyTag(script: string, style: string, worker: string, more: string[] = []): string {
  const policy = [
    "default-src 'none'",
    `script-src ${script} 'wasm-unsafe-eval'`,
    `style-src ${style}`,
    `worker-src ${worker}`,
    "img-src 'self' data:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    ...more,
  ].join('; ');
  return `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
}

const charset = '<meta charset="utf-8">';

/** Sets the policy of the page of files. */
export function filesPolicy(): Plugin {
  return {
    name: 'files-policy',
    apply: 'build',
    transformIndexHtml(html) {
      const tag = policyTag("'self'", "'self'", "'self'", ["manifest-src 'self'"]);
      return html.replace(charset, `${charset}\n    ${tag}`);
    },
  };
}

/** Sets the policy of the single file, by hashes of its contents, and the file's name. */
export function singlePolicy(fileName: string): Plugin {
  return {
    name: 'single-policy',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        const page = bundle['index.html'];
        if (page?.type !== 'asset') throw new Error('single-policy: no index.html in the bundle');
        const html = String(page.source);
        const hashes = (tag: string): string =>
          [...html.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))]
            .map((match) => sha256(match[1] ?? ''))
            .join(' ');
        const tag = policyTag(`${hashes('script')} blob:`, hashes('style'), 'blob:');
        page.source = html.replace(charset, () => `${charset}\n    ${tag}`);
        page.fileName = fileName;
        // Removes the package's worker; here the page's own script takes its role.
        for (const name of Object.keys(bundle)) if (name !== 'index.html') delete bundle[name];
      },
    },
  };
}

/**
 * Makes one file both the script of the worker and the module that is imported where no worker can
 * be started; otherwise the same code would be built twice.
 */
export function oneWorker(): Plugin {
  const address = 'new URL("./worker.js",import.meta.url)';
  return {
    name: 'one-worker',
    apply: 'build',
    enforce: 'pre',
    transform(code, id) {
      if (id !== `${dist}worker-client.js`) return null;
      if (!code.includes(address)) throw new Error(`one-worker: no ${address} in ${id}`);
      const script = this.emitFile({ type: 'chunk', id: `${dist}worker.js`, name: 'worker' });
      return code.replace(address, `import.meta.ROLLUP_FILE_URL_${script}`);
    },
  };
}

function about(): object {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version, license, repository } = JSON.parse(text) as Record<string, string | undefined>;
  const citation = readFileSync(new URL('../CITATION.cff', import.meta.url), 'utf8');
  const [, title] = /^title: '(.*)'$/m.exec(citation)!;
  const [, author] = /^authors:\n {2}- name: (.*)$/m.exec(citation)!;
  return { author, title, version, license, repository: repository ?? '' };
}

export const shared: UserConfig = {
  define: { ABOUT: JSON.stringify(about()) },
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  publicDir: false,
  resolve: {
    alias: [
      { find: /^dp-ftrl$/, replacement: `${dist}index.js` },
      { find: /^dp-ftrl\/(.*)$/, replacement: `${dist}$1.js` },
    ],
  },
  plugins: [formulas(), day(dist), privacyNumbers(dist), digits(), serif()],
  // A classic script runs in every browser with workers.
  worker: { format: 'iife' },
};
