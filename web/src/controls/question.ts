// SPDX-License-Identifier: Apache-2.0

// Replaces the figures while the user's own table waits, and either asks a question about the table
// or explains why it cannot be used.

import { byId, setText } from '../base/dom.ts';
import { markPreset } from '../base/menu.ts';

interface QuestionText {
  /** Name of the table. */
  title: string;
  /** Why the table cannot be used; null if it can. */
  reason: string | null;
  /** Answers to choose from, or the control for a table. */
  answers: HTMLElement;
}

/** Writes a reason as a sentence. A file name at its beginning keeps its case. */
function sentence(reason: string): string {
  const begun = reason.replace(/^[a-z]+ /, (word) => word[0]!.toUpperCase() + word.slice(1));
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export class QuestionBox {
  private readonly box = byId('question');

  /** `left` is called when the user goes back to the figures without an answer. */
  constructor(left: () => void) {
    byId('question-back').addEventListener('click', left);
  }

  ask({ title, reason, answers }: QuestionText): void {
    this.setOpen(true);
    setText(byId('question-title'), title);
    const said = byId('question-reason');
    said.hidden = reason === null;
    setText(said, reason === null ? '' : sentence(reason));
    const body = byId('question-answers');
    if (body.firstChild !== answers) body.replaceChildren(answers);
  }

  close(): void {
    this.setOpen(false);
  }

  get isOpen(): boolean {
    return !this.box.hidden;
  }

  private setOpen(isOpen: boolean): void {
    this.box.hidden = !isOpen;
    byId('stage').classList.toggle('asks', isOpen);
    // Preset and main settings are those of the hidden figures.
    byId('pinned').inert = isOpen;
    markPreset(isOpen ? null : location.hash);
  }
}
