// SPDX-License-Identifier: Apache-2.0

// The export dialog, whose contents are loaded when it is first opened.

import { byId } from '../base/dom.ts';
import { messageOf, showNotice } from '../run/failures.ts';
import type { PeopleExport, RunExport } from './export.ts';

/**
 * Connects the export dialog; `taken` returns a snapshot of the page, or null if there is nothing
 * to export.
 */
export function connectExport(taken: () => RunExport | PeopleExport | null): void {
  const dialog = byId<HTMLDialogElement>('export');
  const open = async (): Promise<void> => {
    const { partsOf } = await import('./export.ts');
    // Taken after loading, because secrets may have been hidden meanwhile.
    const exported = taken();
    if (exported === null || dialog.open) return;
    byId('export-parts').replaceChildren(...partsOf(exported));
    dialog.showModal();
  };
  byId('export-open').addEventListener('click', () => {
    open().catch((error: unknown) => showNotice(messageOf(error)));
  });
  // A snapshot holds secrets that may be hidden later.
  dialog.addEventListener('close', () => byId('export-parts').replaceChildren());
  window.addEventListener('hashchange', () => dialog.close());
}
