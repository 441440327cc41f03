// SPDX-License-Identifier: Apache-2.0

// Notes that take the place of secrets. While secrets are hidden, the document contains nothing
// that depends on records without noise, not even in folded parts, attributes or fields.

import { h, icon } from './dom.ts';

/** `what` is the beginning of a sentence, including its verb. */
export function hiddenNote(what: string): HTMLElement {
  return h('p', { class: 'hint hidden-note' }, icon('lock'), ` ${what} hidden with the secrets.`);
}

/** Generic message that records cannot be used; the actual reason may quote records. */
export const hiddenReason =
  'the table cannot be used like this; the reason is hidden with the secrets';

/** A part of the page that is removed from the document while secrets are hidden. */
export class SecretPart {
  readonly element = h('div', { class: 'secret-part' });
  private readonly note: HTMLElement;
  private isHidden = true;

  /** `what` is the beginning of the note, including its verb. */
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
