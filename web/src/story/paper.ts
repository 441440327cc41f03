// SPDX-License-Identifier: Apache-2.0

// Prints the story. Browsers do not wait for computations once printing has begun, so unvisited
// scenes are finished first.

import { byId, setText } from '../base/dom.ts';
import { counted } from '../base/format.ts';

export interface Paper {
  /** Scenes without a finished frame. */
  numOpen(): number;
  /** Finishes these scenes; calls `advanced` after each scene. */
  finish(advanced: () => void): Promise<void>;
}

/** Connects the button and the keys that print; `isShown` is true if the story would be printed. */
export function connectPaper(paper: Paper, isShown: () => boolean): void {
  const button = byId<HTMLButtonElement>('print');
  const note = byId('print-note');
  let busy = false;
  const tell = (): void => {
    const open = paper.numOpen();
    const scenes = open === 1 ? 'one scene' : counted(open, 'scene');
    setText(note, open === 0 ? '' : `Preparing ${scenes}…`);
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
  // A print from the menu cannot wait; it lists the missing scenes, and the next print is complete.
  window.addEventListener('beforeprint', () => {
    if (isShown()) void paper.finish(() => {});
  });
}
