// SPDX-License-Identifier: Apache-2.0

// Hands a file to the laboratory: opens it, and puts the file where its reader would have put it.

import { h } from '../../page/dom.ts';
import { laboratory } from '../route.ts';

/** The laboratory's own input for a file, once it is there. */
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

async function handOver(file: File): Promise<void> {
  location.hash = laboratory;
  const input = await fileInput();
  const transfer = new DataTransfer();
  transfer.items.add(file);
  input.files = transfer.files;
  input.dispatchEvent(new Event('change'));
}

/** A place to drop a file on, or to choose one. */
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
  const place = h(
    'div',
    { class: 'story-drop' },
    h('label', { class: 'file' }, input, 'Count a CSV of your own'),
    h('span', {}, ' or drop one here: the laboratory opens with it. It is read in this tab.'),
  );
  const over = (event: DragEvent, now: boolean): void => {
    event.preventDefault();
    event.stopPropagation();
    place.classList.toggle('over', now);
  };
  place.addEventListener('dragover', (event) => over(event, true));
  place.addEventListener('dragleave', (event) => over(event, false));
  place.addEventListener('drop', (event) => {
    over(event, false);
    take(event.dataTransfer?.files);
  });
  return place;
}
