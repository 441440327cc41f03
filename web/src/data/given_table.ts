// SPDX-License-Identifier: Apache-2.0

// A table that came with the page: dp-ftrl page writes one into what it serves.

/** The table as if it had been chosen; null where there is none. */
export function givenTable(): File | null {
  const element = document.getElementById('given-table');
  if (element === null) return null;
  const { name, text } = JSON.parse(element.textContent) as { name: string; text: string };
  return new File([text], name, { type: 'text/csv' });
}
