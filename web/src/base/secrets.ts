// SPDX-License-Identifier: Apache-2.0

// Notes in place of secrets. While secrets are hidden, nothing that depends on
// records without noise is in the document: not in closed parts, attributes or fields, either.

import { h, icon } from './dom.ts';

/** Returns a note that says what is hidden; `what` is the start of a sentence, with its verb. */
export function hiddenNote(what: string): HTMLElement {
  return h('p', { class: 'hint hidden-note' }, icon('lock'), ` ${what} hidden with the secrets.`);
}

/** Says, in place of the reason, why records cannot be used: a reason may quote them. */
export const hiddenReason =
  'the table cannot be used like this; the reason is hidden with the secrets';

/** A part of the page that leaves the document while secrets are hidden. */
export class SecretPart {
  readonly element = h('div', { class: 'secret-part' });
  private readonly note: HTMLElement;
  private isHidden = true;

  /** `what` begins the note, with its verb. */
  constructor(
    what: string,
    private readonly content: readonly HTMLElement[],
  ) {
    this.note = hiddenNote(what);
    this.hide(false);
  }

  hide(isHidden: boolean): void {
    if (isHidden === this.isHidden) return;
    this.isHidden = isHidden;
    this.element.replaceChildren(...(isHidden ? [this.note] : this.content));
  }
}
