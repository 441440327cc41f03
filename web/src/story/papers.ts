// SPDX-License-Identifier: Apache-2.0

// The last scene: the papers behind the story, and how to cite the project.

import { h } from '../base/dom.ts';
import { unbroken } from '../base/format.ts';
import { citation } from './citation.ts';
import type { Frame, Mount } from './scene.ts';
import { sources, type Reference } from './sources.ts';

function entry(source: Reference): HTMLElement {
  const { authors, title, place, brought } = source;
  return h(
    'li',
    {},
    h('p', {}, citation(source), `: ${brought}.`),
    h(
      'p',
      { class: 'small' },
      authors === null ? '' : `${authors}: `,
      h('cite', {}, title),
      `. ${place}.`,
    ),
  );
}

export const mount: Mount<Frame> = async (stage) => {
  stage.figure.append(h('ol', { class: 'papers' }, ...Object.values(sources).map(entry)));
  const { author, title, version, license, repository } = ABOUT;
  stage.words.append(
    h('p', {}, 'Each scene names the papers that it shows.'),
    h(
      'p',
      {},
      `To cite this page: ${author}, `,
      h('cite', {}, title),
      `, version ${version}, ${unbroken(`${license} licence`)}.`,
    ),
    // Names the repository only if it has an address.
    ...(repository === ''
      ? []
      : [
          h(
            'p',
            {},
            h('a', { href: repository }, 'The repository'),
            ' has the documentation with the proofs, and a CITATION.cff.',
          ),
        ]),
    h(
      'p',
      { class: 'small' },
      'Set in Source Serif 4 by Frank Grießhammer (Adobe), SIL Open Font License 1.1.',
    ),
  );
  return {
    restyle: () => {},
    panels: () => [],
    position: { read: () => '', put: (text) => text === '' },
  };
};
