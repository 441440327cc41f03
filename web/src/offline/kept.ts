// SPDX-License-Identifier: Apache-2.0

// The caches in which builds of the page are kept, the oldest first.

/** Begins their names. Caches belong to the whole host, which may have this page in several folders. */
export const familyOf = (scope: string): string => `dp-ftrl ${scope} `;

/** Names of the caches of the page at `scope`, the oldest first. */
export async function keptBuilds(scope: string): Promise<string[]> {
  return (await caches.keys()).filter((name) => name.startsWith(familyOf(scope)));
}

/** The page of the newest build that is kept whole. */
export async function newestPage(scope: string): Promise<Response | undefined> {
  for (const name of (await keptBuilds(scope)).reverse()) {
    const page = await (await caches.open(name)).match(scope);
    if (page !== undefined) return page;
  }
  return undefined;
}
