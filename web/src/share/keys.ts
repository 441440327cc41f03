// SPDX-License-Identifier: Apache-2.0

// The list of keyboard shortcuts, which a shortcut opens.

import { byId } from '../base/dom.ts';

/** Opens the list of shortcuts on `?`, except while a text is being typed. */
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
