// SPDX-License-Identifier: Apache-2.0

// The address bar: it follows the settings, and Back undoes what was changed on purpose.

import { setText } from './dom.ts';

/** Changes of one setting that follow each other faster than this are one change, in ms. */
const sameChange = 1500;

/** Addresses of what there is a text for. */
export class Address<Shown> {
  private last = { what: '', time: -Infinity };

  /** `textOf`: what stands after `#`. */
  constructor(private readonly textOf: (shown: Shown) => string) {}

  /** Whether the page wrote the address in force, rather than someone who entered it or came by it. */
  get isOwn(): boolean {
    return (history.state as { own?: boolean } | null)?.own === true;
  }

  /** Takes the address in force as if the page had written it. */
  adopt(): void {
    history.replaceState({ own: true }, '');
  }

  /** `what`: names of the settings that were changed on purpose; empty if none were. */
  write(shown: Shown, what: string): void {
    const text = this.textOf(shown);
    const goesOn = what === this.last.what && performance.now() - this.last.time < sameChange;
    const isSame = location.hash.replace(/^#/, '') === text;
    if (what === '' || goesOn || isSame) history.replaceState({ own: true }, '', `#${text}`);
    else history.pushState({ own: true }, '', `#${text}`);
    this.last = { what, time: performance.now() };
  }
}

/** The button that copies the address; `note` is added to what it says. */
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
