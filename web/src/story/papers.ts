// SPDX-License-Identifier: Apache-2.0

// The last scene: the papers behind the story, and how to cite the project.

import { h } from '../base/dom.ts';
import { citation } from './citation.ts';
import type { Frame, Mount } from './scene.ts';
import { sources, type Source } from './sources.ts';

function entry(source: Source): HTMLElement {
  const { authors, title, place, brought } = source;
  return h(
    'li',
    {},
    h('p', {}, citation(source), `: ${brought}.`),
    h('p', { class: 'small' }, `${authors}: `, h('cite', {}, title), `. ${place}.`),
  );
}

export const mount: Mount<Frame> = async (stage) => {
  stage.figure.append(h('ol', { class: 'papers' }, ...Object.values(sources).map(entry)));
  stage.words.append(
    h(
      'p',
      {},
      'Each scene names the papers that it shows. The documentation has the proofs, with a source ' +
        'for each statement.',
    ),
    h(
      'p',
      {},
      `To cite this page: dp-ftrl, version ${ABOUT.version}, ${ABOUT.license} licence`,
      ...(ABOUT.repository === ''
        ? []
        : [', ', h('a', { href: ABOUT.repository }, ABOUT.repository)]),
      '. The repository has a CITATION.cff.',
    ),
  );
  return {
    restyle: () => {},
    panels: () => [],
    position: { read: () => '', put: (text) => text === '' },
  };
};
