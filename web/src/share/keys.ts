// SPDX-License-Identifier: Apache-2.0

// The keys, shown by one of them.

import { byId } from '../page/dom.ts';

/** Opens the list of keys on `?`, except where a text is being written. */
export function connectKeys(): void {
  const dialog = byId<HTMLDialogElement>('keys');
  const open = (): void => {
    if (!dialog.open) dialog.showModal();
  };
  byId('keys-open').addEventListener('click', open);
  document.addEventListener('keydown', (event) => {
    if (event.key !== '?' || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.documentElement.dataset['view'] !== 'lab') return;
    if ((event.target as Element).closest('input[type=text], textarea, select') !== null) return;
    event.preventDefault();
    open();
  });
}
