// SPDX-License-Identifier: Apache-2.0

// The blocks of a binary tree over the steps: which of them add up to a total.

/** The 2^height steps that begin after the first `start` ones. */
export interface Block {
  readonly height: number;
  readonly start: number;
}

/** Heights of blocks that end within the horizon: a record is in one block of each. */
export function numHeights(numSteps: number): number {
  return 32 - Math.clz32(numSteps);
}

/** Blocks of a height that end within the horizon. */
export function numBlocks(numSteps: number, height: number): number {
  return Math.floor(numSteps / 2 ** height);
}

/** The blocks that the total of the first `step` records adds up, the longest first. */
export function blocksOf(step: number): Block[] {
  const blocks: Block[] = [];
  let start = 0;
  for (let height = 31 - Math.clz32(step); height >= 0; --height) {
    const size = 2 ** height;
    if (start + size > step) continue;
    blocks.push({ height, start });
    start += size;
  }
  return blocks;
}
