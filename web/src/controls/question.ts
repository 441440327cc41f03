// SPDX-License-Identifier: Apache-2.0

// Stands in place of the figures while the user's own table waits, and asks one question about it or
// says why it cannot be used.

import { byId, setText } from '../base/dom.ts';

interface QuestionText {
  /** Name of the table. */
  title: string;
  /** Why the table cannot be used; null if it can. */
  reason: string | null;
  /** Answers to choose from, or the place for a table. */
  answers: HTMLElement;
}

export class Question {
  private readonly box = byId('question');

  /** `left` is called if the user goes back to the figures without an answer. */
  constructor(left: () => void) {
    byId('question-back').addEventListener('click', left);
  }

  ask({ title, reason, answers }: QuestionText): void {
    this.setOpen(true);
    setText(byId('question-title'), title);
    const said = byId('question-reason');
    said.hidden = reason === null;
    setText(said, reason ?? '');
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
  }
}
