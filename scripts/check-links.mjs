// SPDX-License-Identifier: Apache-2.0

// Checks that every relative link in the documentation leads to a file, and every anchor to a
// heading.
//
//     node scripts/check-links.mjs

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Pages below docs/, as paths from the root. */
export const documented = readdirSync(join(root, 'docs'), { recursive: true })
  .map((name) => `docs/${name}`)
  .filter((name) => name.endsWith('.md'));

/** All pages whose links are checked. */
export const pages = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples/README.md'],
  ...['bench/METHOD.md', 'bench/PEERS.md', 'bench/RESULTS.md', 'tests/vectors/README.md'],
  ...documented,
];

export const read = (page) => readFileSync(join(root, page), 'utf8');

const withoutCode = (text) => text.replace(/^```.*?^```$/gms, '');

/** Anchors that GitHub generates for a page's headings. */
export function anchors(text) {
  const seen = new Map();
  const headings = withoutCode(text).matchAll(/^#{1,6} (.*)$/gm);
  return new Set(
    Array.from(headings, ([, heading]) => {
      const slug = heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-');
      const times = seen.get(slug) ?? 0;
      seen.set(slug, times + 1);
      return times === 0 ? slug : `${slug}-${times}`;
    }),
  );
}

/** Targets of the relative links and images of a page, ignoring code. */
export function relativeLinks(text) {
  const prose = withoutCode(text)
    .replace(/^ {4,}.*$/gm, '')
    .replace(/`[^`]*`/g, '');
  const all = prose.matchAll(/\]\(\s*([^)\s]+)[^)]*\)/g);
  return Array.from(all, ([, target]) => target).filter((target) => !/^[a-z]+:/i.test(target));
}

/** File that a link of a page leads to, as a path from the root. */
export function fileOf(page, target) {
  const [path] = target.split('#');
  return path === '' ? page : normalize(join(dirname(page), path));
}

/** Describes what is wrong with a link of a page; undefined if nothing is. */
export function fault(page, target) {
  const file = fileOf(page, target);
  if (!existsSync(join(root, file))) return 'no such file';
  const [, anchor] = target.split('#');
  if (anchor === undefined) return undefined;
  if (!file.endsWith('.md')) return 'no page';
  return anchors(read(file)).has(anchor) ? undefined : 'no such heading';
}

/** All dead links, one per line. */
export function deadLinks() {
  return pages.flatMap((page) =>
    relativeLinks(read(page)).flatMap((target) => {
      const wrong = fault(page, target);
      return wrong === undefined ? [] : [`${page}: ${target}: ${wrong}`];
    }),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const dead = deadLinks();
  for (const line of dead) console.error(line);
  process.exitCode = dead.length > 0 ? 1 : 0;
}
