// SPDX-License-Identifier: Apache-2.0

const PATIENCE_MILLISECONDS = 60_000;

/** Polls until the answer is true; throws the error `complaint` after a minute. */
export async function until(holds, complaint) {
  const end = Date.now() + PATIENCE_MILLISECONDS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(complaint);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
