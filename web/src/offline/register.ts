// SPDX-License-Identifier: Apache-2.0

// Has the browser keep the page for use without a network, and finds out when the host has a newer
// build than the one that is open.

import { newestPage } from './kept.ts';

/** Milliseconds until it is tried again. */
const pause = 3000;
/** Milliseconds between two looks for a newer build while the page is seen. */
const hour = 3_600_000;

/** The build that a page is of; undefined for one that the build made no files of. */
const buildOf = (page: Document): string | undefined =>
  page.querySelector<HTMLMetaElement>('meta[name=build]')?.content;

class Keeper {
  private registration: ServiceWorkerRegistration | null = null;
  private readonly own = buildOf(document);
  /** The newest build that was spoken of. */
  private told = this.own;

  constructor(private readonly heard: (isNewest: boolean) => void) {}

  /** Once more where it fails: the host may have been given a new build meanwhile. */
  start(again: boolean): void {
    void this.keep(again).catch(() => {});
  }

  /** Asks the host for a newer build, if somebody may be looking. */
  look(): void {
    if (document.hidden || this.registration === null) return;
    const { registration } = this;
    const looked = registration.update().then(async () => {
      // One may have come while the page slept and heard nothing.
      if (registration.installing === null) await this.compare();
    });
    looked.catch(() => {}); // Without a network there is nothing newer.
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

  /** Follows a worker that keeps its build now. */
  private readonly found = (): void => {
    const worker = this.registration?.installing;
    worker?.addEventListener('statechange', () => {
      if (worker.state === 'installed') void this.compare().catch(() => {});
    });
  };

  /**
   * Says whether this page is of the newest build that is kept. That a worker waits does not tell: the
   * page comes from the host, and may be as new; nor does one wait for a page that none serves yet.
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
 * Does so once the page has loaded; where browsers or hosts do not allow it, the page works as
 * before, with a network. `heard` is told whether this page is the newest, whenever that changes.
 */
export function keepForOffline(heard: (isNewest: boolean) => void): void {
  if (!/^https?:$/.test(location.protocol) || navigator.serviceWorker === undefined) return;
  const keeper = new Keeper(heard);
  addEventListener('load', () => keeper.start(true));
  document.addEventListener('visibilitychange', () => keeper.look());
  setInterval(() => keeper.look(), hour);
}
