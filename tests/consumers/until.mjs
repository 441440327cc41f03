// SPDX-License-Identifier: Apache-2.0

const PATIENCE_MILLISECONDS = 60_000;

/** Asks again and again until the answer is true; a minute without it is the error `complaint`. */
export async function until(holds, complaint) {
  const end = Date.now() + PATIENCE_MILLISECONDS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(complaint);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
