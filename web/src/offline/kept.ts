// SPDX-License-Identifier: Apache-2.0

// Caches that keep builds of the page, oldest first.

/**
 * Returns the prefix of their names. Caches belong to the whole host, which may have this page in
 * several folders.
 */
export const familyOf = (scope: string): string => `dp-ftrl ${scope} `;

/** Returns the names of the caches of the page at `scope`, oldest first. */
export async function keptBuilds(scope: string): Promise<string[]> {
  return (await caches.keys()).filter((name) => name.startsWith(familyOf(scope)));
}

/** Returns the page of the newest completely cached build. */
export async function newestPage(scope: string): Promise<Response | undefined> {
  for (const name of (await keptBuilds(scope)).reverse()) {
    const page = await (await caches.open(name)).match(scope);
    if (page !== undefined) return page;
  }
  return undefined;
}
