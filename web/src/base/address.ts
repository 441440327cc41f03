// SPDX-License-Identifier: Apache-2.0

// Keeps the address bar in step with the settings; Back undoes deliberate changes. Settings that
// addresses omit because they reveal the user's own data stay in the memory of this document and
// never enter the browser's history, which is written to disk.

import { setText } from './dom.ts';

/** Changes to one setting within this many milliseconds share a history entry. */
const sameChange = 1500;

/** Mirrors a state in the fragment of the address. */
export class Address<State> {
  private last = { what: '', time: -Infinity };
  /** Settings omitted from addresses, keyed by history entry. */
  private readonly rests = new Map<string, Partial<State>>();
  private latest: Partial<State> = {};
  /** Hash last read or written. */
  private hash = '';

  /** `textOf` returns the fragment without `#`; `restOf` returns the omitted settings. */
  constructor(
    private readonly textOf: (shown: State) => string,
    private readonly restOf: (shown: State) => Partial<State> = () => ({}),
  ) {}

  /** True if the page wrote the current address; false if the user typed it or followed a link. */
  get isOwn(): boolean {
    return this.entry !== undefined;
  }

  /**
   * Reads the settings omitted from the current address. If this document did not write it, reads
   * those that were last omitted from any address.
   */
  read(): Partial<State> {
    this.hash = location.hash;
    return this.rest;
  }

  /**
   * Calls `moved` when the user goes to another entry with the same address but other omitted
   * settings; the hash then does not change.
   */
  watch(moved: () => void): void {
    window.addEventListener('popstate', () => {
      if (location.hash === this.hash) moved();
    });
  }

  private get rest(): Partial<State> {
    return this.rests.get(this.entry ?? '') ?? this.latest;
  }

  /** Marks the current address as written by the page. */
  adopt(): void {
    history.replaceState({ entry: '' }, '');
  }

  /** `what` names the settings that the user changed; empty if none. */
  write(shown: State, what: string): void {
    const text = this.textOf(shown);
    const rest = this.restOf(shown);
    const goesOn = what === this.last.what && performance.now() - this.last.time < sameChange;
    const isSame =
      location.hash.replace(/^#/, '') === text &&
      JSON.stringify(rest) === JSON.stringify(this.rest);
    // The time distinguishes entries from those that the document wrote before a reload.
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
