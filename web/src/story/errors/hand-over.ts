// SPDX-License-Identifier: Apache-2.0

// Hands a file to the laboratory: opens the laboratory and puts the file into its file input.

import { h } from '../../base/dom.ts';
import { laboratory, routeOf } from '../../base/route.ts';

/** Resolves to the file input of the laboratory once it exists. */
function fileInput(): Promise<HTMLInputElement> {
  const find = (): HTMLInputElement | null => document.querySelector('#csv-file');
  return new Promise((resolve) => {
    const now = find();
    if (now !== null) return resolve(now);
    const watch = new MutationObserver(() => {
      const found = find();
      if (found === null) return;
      watch.disconnect();
      resolve(found);
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
}

export async function handOver(file: File): Promise<void> {
  if (routeOf(location).view !== 'lab') location.hash = laboratory;
  const input = await fileInput();
  const transfer = new DataTransfer();
  transfer.items.add(file);
  input.files = transfer.files;
  input.dispatchEvent(new Event('change'));
}

/** A visible place to drop a file, although files can be dropped anywhere on the story. */
export function dropPlace(): HTMLElement {
  const accept = '.csv,text/csv,text/plain';
  const input = h('input', { type: 'file', accept, id: 'yours-file' });
  const take = (files: FileList | null | undefined): void => {
    const [file] = files ?? [];
    if (file) void handOver(file);
  };
  input.addEventListener('change', () => {
    take(input.files);
    input.value = '';
  });
  return h(
    'div',
    { class: 'story-drop' },
    h('label', { class: 'file' }, input, 'Count a CSV of your own'),
    h(
      'span',
      {},
      ' or drop one anywhere on the page: it opens in the laboratory, which reads it in this tab.',
    ),
  );
}
