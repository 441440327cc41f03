// SPDX-License-Identifier: Apache-2.0

// A table delivered with the page: `dp-ftrl page` writes one into the page that it serves.

export function givenTable(): File | null {
  const element = document.getElementById('given-table');
  if (element === null) return null;
  element.remove(); // Otherwise, its text would stay in the document.
  const { name, text } = JSON.parse(element.textContent) as { name: string; text: string };
  return new File([text], name, { type: 'text/csv' });
}
