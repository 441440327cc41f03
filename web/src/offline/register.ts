// SPDX-License-Identifier: Apache-2.0

// Caches the page for offline use, and detects when the host has a newer build than the open one.

import { newestPage } from './kept.ts';

/** Milliseconds before a retry. */
const pause = 3000;
/** Milliseconds between two checks for a newer build while the page is visible. */
const hour = 3_600_000;

/** The build of a page; undefined if the page does not come from a build into files. */
const buildOf = (page: Document): string | undefined =>
  page.querySelector<HTMLMetaElement>('meta[name=build]')?.content;

class Keeper {
  private registration: ServiceWorkerRegistration | null = null;
  private readonly own = buildOf(document);
  /** The build reported last; initially the page's own. */
  private told = this.own;

  constructor(private readonly heard: (isNewest: boolean) => void) {}

  /**
   * Registers the worker; with `again`, retries once after a failure, because the host may have
   * received a new build meanwhile.
   */
  start(again: boolean): void {
    void this.keep(again).catch(() => {});
  }

  /** Checks the host for a newer build if the page is visible. */
  look(): void {
    if (document.hidden || this.registration === null) return;
    const { registration } = this;
    const looked = registration.update().then(async () => {
      // A build may have arrived while the page was suspended.
      if (registration.installing === null) await this.compare();
    });
    looked.catch(() => {}); // Without a network, no newer build can be found.
  }

  private async keep(again: boolean): Promise<void> {
    this.registration = await navigator.serviceWorker.register('./service-worker.js');
    this.registration.addEventListener('updatefound', this.found);
    const { installing } = this.registration;
    const changed = (): void => {
      if (installing?.state === 'redundant' && again) setTimeout(() => this.start(false), pause);
    };
    installing?.addEventListener('statechange', changed, { once: true });
    this.found();
  }

  /** Tracks a worker that is installing its build. */
  private readonly found = (): void => {
    const worker = this.registration?.installing;
    worker?.addEventListener('statechange', () => {
      if (worker.state === 'installed') void this.compare().catch(() => {});
    });
  };

  /**
   * Reports whether this page is the newest cached build. A waiting worker does not prove that the
   * page is older: the page comes from the host and may be just as new. Nor does a worker wait if
   * no worker serves the page yet.
   */
  private async compare(): Promise<void> {
    const page = await newestPage(this.registration!.scope);
    if (page === undefined) return;
    const build = buildOf(new DOMParser().parseFromString(await page.text(), 'text/html'));
    if (build === this.told) return;
    this.told = build;
    this.heard(build === this.own);
  }
}

/**
 * Caches the page once it has loaded. If the browser or the host does not allow this, the page
 * still works with a network. Calls `heard` whenever this page becomes, or ceases to be, the
 * newest.
 */
export function keepForOffline(heard: (isNewest: boolean) => void): void {
  if (!/^https?:$/.test(location.protocol) || navigator.serviceWorker === undefined) return;
  const keeper = new Keeper(heard);
  addEventListener('load', () => keeper.start(true));
  document.addEventListener('visibilitychange', () => keeper.look());
  setInterval(() => keeper.look(), hour);
}
