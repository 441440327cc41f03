// SPDX-License-Identifier: Apache-2.0

// Keeps the address bar in step with the settings; Back undoes deliberate changes.

import { setText } from './dom.ts';

/** Changes of one setting within this many milliseconds share a history entry. */
const sameChange = 1500;

/** Mirrors a state in the fragment of the address. */
export class Address<Shown> {
  private last = { what: '', time: -Infinity };

  /** `textOf` returns the fragment, without `#`. */
  constructor(private readonly textOf: (shown: Shown) => string) {}

  /** True if the page wrote the current address; false if the user typed it or followed a link. */
  get isOwn(): boolean {
    return (history.state as { own?: boolean } | null)?.own === true;
  }

  /** Marks the current address as written by the page. */
  adopt(): void {
    history.replaceState({ own: true }, '');
  }

  /** `what` names the settings that the user changed; empty if none. */
  write(shown: Shown, what: string): void {
    const text = this.textOf(shown);
    const goesOn = what === this.last.what && performance.now() - this.last.time < sameChange;
    const isSame = location.hash.replace(/^#/, '') === text;
    if (what === '' || goesOn || isSame) history.replaceState({ own: true }, '', `#${text}`);
    else history.pushState({ own: true }, '', `#${text}`);
    this.last = { what, time: performance.now() };
  }
}

/** Connects the button that copies the address; `note` is appended to its confirmation. */
export function connectShare(button: HTMLElement, note: () => string): void {
  const label = button.textContent ?? '';
  let timer = 0;
  button.addEventListener('click', async () => {
    let done = `Copied${note()}`;
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {
      done = 'Copy it from the address bar';
    }
    setText(button, done);
    clearTimeout(timer);
    timer = window.setTimeout(() => setText(button, label), 2000);
  });
}
