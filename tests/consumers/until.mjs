// SPDX-License-Identifier: Apache-2.0

const PATIENCE_MILLISECONDS = 60_000;

/** Polls until `holds` resolves to true; throws the error `complaint` after `patience` ms. */
export async function until(holds, complaint, patience = PATIENCE_MILLISECONDS) {
  const end = Date.now() + patience;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(complaint);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
