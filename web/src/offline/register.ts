// SPDX-License-Identifier: Apache-2.0

// Has the browser keep the page for use without a network.

/**
 * Does so once the page has loaded; where browsers or hosts do not allow it, the page works as
 * before, with a network.
 */
export function keepForOffline(): void {
  if (!/^https?:$/.test(location.protocol) || navigator.serviceWorker === undefined) return;
  addEventListener('load', () => {
    navigator.serviceWorker.register('./service-worker.js').catch(() => {});
  });
}
