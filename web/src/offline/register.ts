// SPDX-License-Identifier: Apache-2.0

// Has the browser keep the page for use without a network.

/** Milliseconds until it is tried again. */
const pause = 3000;

/** Once more where it fails: the host may have been given a new build meanwhile. */
async function keep(again: boolean): Promise<void> {
  const { installing } = await navigator.serviceWorker.register('./service-worker.js');
  const changed = (): void => {
    if (installing?.state === 'redundant' && again) setTimeout(() => start(false), pause);
  };
  installing?.addEventListener('statechange', changed, { once: true });
}

const start = (again: boolean): void => void keep(again).catch(() => {});

/**
 * Does so once the page has loaded; where browsers or hosts do not allow it, the page works as
 * before, with a network.
 */
export function keepForOffline(): void {
  if (!/^https?:$/.test(location.protocol) || navigator.serviceWorker === undefined) return;
  addEventListener('load', () => start(true));
}
