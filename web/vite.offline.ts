// SPDX-License-Identifier: Apache-2.0

// Makes the page of files installable and usable offline: adds a manifest with icons, and a service
// worker that knows the files of this build.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import type { HtmlTagDescriptor, Plugin, Rolldown } from 'vite';
import { digits, framed } from './src/offline/framed.ts';

interface File {
  name: string;
  source: string | Buffer;
}

function hash(parts: readonly (string | Uint8Array)[]): string {
  return createHash('sha256').update(framed(parts)).digest('hex').slice(0, digits);
}

function named(name: string, ending: string, source: string | Buffer): File {
  return { name: `assets/${name}-${hash([source])}.${ending}`, source };
}

/** The page's icon: a count with fresh noise, and the same count with correlated noise. */
function iconOf(file: string): File {
  const source = readFileSync(new URL(`icons/${file}`, import.meta.url));
  return named('icon', extname(file).slice(1), source);
}

/**
 * Returns the tags that other sites read to show a preview of the page. They need absolute
 * addresses, so the picture is named only if DPFTRL_SITE is the address of the page.
 */
function card(): HtmlTagDescriptor[] {
  const site = process.env['DPFTRL_SITE'];
  const facts: [name: string, content: string][] = [
    ['og:type', 'website'],
    ['og:title', 'Count everyone. Reveal no one.'],
    ['og:description', 'The same privacy, a tenth of the noise: computed live in your browser.'],
    ['twitter:card', 'summary_large_image'],
  ];
  if (site !== undefined) {
    facts.push(['og:url', site], ['og:image', new URL(`./${picture.name}`, site).href]);
    facts.push(['og:image:width', '1200'], ['og:image:height', '630']);
  }
  return facts.map(([property, content]) => ({
    tag: 'meta',
    attrs: { property, content },
    injectTo: 'head',
  }));
}

/** The picture of the preview: scripts/draw-card.mjs. */
const picture: File = {
  name: 'card.png',
  source: readFileSync(new URL('icons/card.png', import.meta.url)),
};

/** Returns icons as files, and the manifest that names them, which is in the same folder. */
function installable(): { icons: File[]; touch: File; manifest: File } {
  const pictures = [192, 512].map((size) => ({ size, file: iconOf(`icon-${size}.png`) }));
  const drawing = iconOf('icon.svg');
  const icon = ({ name }: File, sizes: string, type: string): object => ({
    src: name.replace('assets/', ''),
    sizes,
    type,
    purpose: 'any maskable',
  });
  const manifest = {
    name: 'dp-ftrl: private running totals',
    short_name: 'dp-ftrl',
    description: 'Private prefix sums and private online learning with correlated noise.',
    lang: 'en',
    start_url: '../',
    scope: '../',
    display: 'minimal-ui',
    background_color: '#fbfaf6',
    theme_color: '#fbfaf6',
    icons: [
      icon(drawing, 'any', 'image/svg+xml'),
      ...pictures.map(({ size, file }) => icon(file, `${size}x${size}`, 'image/png')),
    ],
  };
  const touch = iconOf('icon-180.png');
  return {
    icons: [drawing, ...pictures.map(({ file }) => file), touch],
    touch,
    manifest: named('manifest', 'webmanifest', JSON.stringify(manifest)),
  };
}

function serviceWorker(files: readonly string[], build: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('src/offline/service-worker.ts', import.meta.url))],
    bundle: true,
    format: 'iife',
    minify: true,
    write: false,
    define: { FILES: JSON.stringify(files), BUILD: JSON.stringify(build) },
  });
  return outputFiles[0]!.text;
}

const contentOf = (file: Rolldown.OutputChunk | Rolldown.OutputAsset): string | Uint8Array =>
  file.type === 'chunk' ? file.code : file.source;

/** Writes the build into the page, so that an open page can tell when another is cached. */
function sign(page: Rolldown.OutputChunk | Rolldown.OutputAsset | undefined, build: string): void {
  if (page?.type !== 'asset') throw new Error('the build has no page');
  const text = page.source.toString();
  page.source = text.replace('</head>', `<meta name="build" content="${build}">\n  </head>`);
  if (page.source === text) throw new Error('the page has no head');
}

export function offline(): Plugin {
  const { icons, touch, manifest } = installable();
  const link = (rel: string, { name }: File): HtmlTagDescriptor => ({
    tag: 'link',
    attrs: { rel, href: `./${name}` },
    injectTo: 'head',
  });
  return {
    name: 'offline',
    apply: 'build',
    enforce: 'post',
    transformIndexHtml: () => [
      link('manifest', manifest),
      link('apple-touch-icon', touch),
      ...card(),
    ],
    buildStart() {
      for (const { name, source } of [...icons, manifest, picture]) {
        this.emitFile({ type: 'asset', fileName: name, source });
      }
    },
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        // The page itself never shows the picture of its preview.
        const made = Object.values(bundle).filter(({ fileName }) => fileName !== picture.name);
        made.sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
        const names = made.map(({ fileName }) => fileName);
        const hashOf = (): string => hash(made.flatMap((file) => [file.fileName, contentOf(file)]));
        sign(
          made.find(({ fileName }) => fileName === 'index.html'),
          hashOf(),
        );
        const source = serviceWorker(
          names.filter((name) => name !== 'index.html'),
          hashOf(),
        );
        this.emitFile({ type: 'asset', fileName: 'service-worker.js', source });
      },
    },
  };
}
