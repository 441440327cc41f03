// SPDX-License-Identifier: Apache-2.0

// Printing. A browser does not wait for what a page computes once it has begun to print: scenes that
// were not reached are made first, and then the page prints.

import { byId, setText } from '../page/dom.ts';

export interface Paper {
  /** Scenes without their finished frame. */
  numOpen(): number;
  /** Makes them; `advanced` is called after each. */
  finish(advanced: () => void): Promise<void>;
}

/** The button, and the keys that print; `isShown` says whether the story is what is printed. */
export function connectPaper(paper: Paper, isShown: () => boolean): void {
  const button = byId<HTMLButtonElement>('print');
  const note = byId('print-note');
  let busy = false;
  const tell = (): void => {
    const open = paper.numOpen();
    const scenes = open === 1 ? 'One scene' : `${open} scenes`;
    setText(note, open === 0 ? '' : `${scenes} to make ready…`);
  };
  const print = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    tell();
    await paper.finish(tell);
    setText(note, '');
    busy = false;
    window.print();
  };
  button.addEventListener('click', () => void print());
  document.addEventListener('keydown', (event) => {
    const isKey = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'p';
    if (!isKey || event.altKey || event.shiftKey || !isShown() || paper.numOpen() === 0) return;
    event.preventDefault();
    void print();
  });
  // From a menu: this print cannot wait, and says what it lacks; the next one is whole.
  window.addEventListener('beforeprint', () => {
    if (isShown()) void paper.finish(() => {});
  });
}
