// SPDX-License-Identifier: Apache-2.0

// Caches that keep builds of the page, oldest first.

/**
 * Prefix of the names of this page's caches. Caches belong to the whole host, which may serve the
 * page from several folders.
 */
export const familyOf = (scope: string): string => `dp-ftrl ${scope} `;

/** Caches of the page at `scope`, oldest first. */
export async function keptBuilds(scope: string): Promise<string[]> {
  return (await caches.keys()).filter((name) => name.startsWith(familyOf(scope)));
}

/** Page of the newest completely cached build. */
export async function newestPage(scope: string): Promise<Response | undefined> {
  for (const name of (await keptBuilds(scope)).reverse()) {
    const page = await (await caches.open(name)).match(scope);
    if (page !== undefined) return page;
  }
  return undefined;
}
