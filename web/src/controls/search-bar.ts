// SPDX-License-Identifier: Apache-2.0

// Progress bar of a slow search, with a button that cancels it.

import type { MechanismName } from 'dp-ftrl';
import { byId, setText } from '../base/dom.ts';
import { counted } from '../base/format.ts';
import { nameOf } from './mechanisms.ts';
import type { SearchOptions } from './strategies.ts';

/** Time in milliseconds before a search shows the bar. */
const patience = 300;

export class SearchBar {
  private readonly box = byId('search');
  private readonly progress = byId<HTMLProgressElement>('search-progress');
  private readonly button = byId<HTMLButtonElement>('search-cancel');
  private current: AbortController | null = null;

  constructor() {
    this.button.addEventListener('click', () => this.cancel());
    this.box.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.cancel();
    });
  }

  /** Cancels the current search, if any; its promise rejects. */
  cancel(): void {
    this.current?.abort();
  }

  /** Runs a search, and shows the bar if the search takes long. */
  async watch<T>(
    what: { mechanism: MechanismName; numSteps: number },
    search: (options: SearchOptions) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    this.current = controller;
    this.progress.removeAttribute('value');
    setText(this.progress, '');
    const timer = setTimeout(() => {
      const { mechanism, numSteps } = what;
      setText(
        byId('search-text'),
        `Searching for ${nameOf(mechanism)}, ${counted(numSteps, 'step')}…`,
      );
      this.box.hidden = false;
      delete document.documentElement.dataset['loading']; // The page now has something to show.
    }, patience);
    try {
      return await search({
        signal: controller.signal,
        onProgress: ({ fraction }) => {
          // A search that runs in one piece reports no progress before its end.
          if (fraction > 0) this.progress.value = fraction;
        },
      });
    } finally {
      clearTimeout(timer);
      const focused = this.box.contains(document.activeElement);
      this.box.hidden = true;
      if (focused) byId('play').focus();
      this.current = null;
    }
  }
}
