// SPDX-License-Identifier: Apache-2.0

// Keeps the address bar in step with the settings; Back undoes deliberate changes. What an address
// leaves out about the user's own data is neither in the history of the browser, which it writes to
// its disk, but only in the memory of this document.

import { setText } from './dom.ts';

/** Changes of one setting within this many milliseconds share a history entry. */
const sameChange = 1500;

/** Mirrors a state in the fragment of the address. */
export class Address<Shown> {
  private last = { what: '', time: -Infinity };
  /** Settings that the entries of the history leave out, by entry. */
  private readonly rests = new Map<string, Partial<Shown>>();
  private latest: Partial<Shown> = {};
  /** Hash that was read or written last. */
  private hash = '';

  /** `textOf` returns the fragment, without `#`, and `restOf` what it leaves out. */
  constructor(
    private readonly textOf: (shown: Shown) => string,
    private readonly restOf: (shown: Shown) => Partial<Shown> = () => ({}),
  ) {}

  /** True if the page wrote the current address; false if the user typed it or followed a link. */
  get isOwn(): boolean {
    return this.entry !== undefined;
  }

  /**
   * Returns what the current address, which is being read, leaves out; if this document did not write
   * it, what the latest address that it wrote about the user's own data did.
   */
  read(): Partial<Shown> {
    this.hash = location.hash;
    return this.rest;
  }

  /**
   * Calls `moved` when the user goes to another entry with the same address, which differs in what it
   * leaves out. No other event tells it.
   */
  watch(moved: () => void): void {
    window.addEventListener('popstate', () => {
      if (location.hash === this.hash) moved();
    });
  }

  private get rest(): Partial<Shown> {
    return this.rests.get(this.entry ?? '') ?? this.latest;
  }

  /** Marks the current address as written by the page. */
  adopt(): void {
    history.replaceState({ entry: '' }, '');
  }

  /** `what` names the settings that the user changed; empty if none. */
  write(shown: Shown, what: string): void {
    const text = this.textOf(shown);
    const rest = this.restOf(shown);
    const goesOn = what === this.last.what && performance.now() - this.last.time < sameChange;
    const isSame =
      location.hash.replace(/^#/, '') === text &&
      JSON.stringify(rest) === JSON.stringify(this.rest);
    // A reloaded document finds entries of the one before.
    const entry = `${performance.timeOrigin} ${this.rests.size}`;
    this.rests.set(entry, rest);
    if (Object.keys(rest).length > 0) this.latest = rest;
    if (what === '' || goesOn || isSame) history.replaceState({ entry }, '', `#${text}`);
    else history.pushState({ entry }, '', `#${text}`);
    this.hash = location.hash;
    this.last = { what, time: performance.now() };
  }

  private get entry(): string | undefined {
    return (history.state as { entry?: string } | null)?.entry;
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
