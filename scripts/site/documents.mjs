// SPDX-License-Identifier: Apache-2.0

// TypeDoc plugin for the pages of the documentation. Each page is named after its first heading,
// grouped by its folder, and keeps its path as its address.

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Converter, KindRouter } from 'typedoc';

const root = fileURLToPath(new URL('../..', import.meta.url));

const groups = [
  [/^docs\/(guide\/|README\.md$)/, 'Guides'],
  [/^docs\/(math\/|sources\.md$)/, 'Mathematics'],
  [/./, 'Reference'],
];

/** Path of a page relative to the root of the repository. */
const pathOf = (page) => relative(root, page.project.files.getReflectionPath(page));

class PathRouter extends KindRouter {
  getIdealBaseName(reflection) {
    if (!reflection.isDocument()) return super.getIdealBaseName(reflection);
    return pathOf(reflection)
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
      .replace(/^README$/, 'documentation');
  }
}

/** Called by TypeDoc. */
export function load(app) {
  app.renderer.defineRouter('path', PathRouter);
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, page) => {
    const text = page.content.map((part) => part.text).join('');
    page.name = /^# (.*)$/m.exec(text)[1].replaceAll('`', '');
    page.frontmatter.group = groups.find(([pattern]) => pattern.test(pathOf(page)))[1];
  });
}
