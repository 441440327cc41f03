// SPDX-License-Identifier: Apache-2.0

// The blocks of a binary tree over the steps, and those that add up to a total.

/** The 2^height steps that follow the first `start` ones. */
export interface Block {
  readonly height: number;
  readonly start: number;
}

/**
 * Returns the number of heights with blocks that end within the horizon; a record is in one block
 * of each.
 */
export function numHeights(numSteps: number): number {
  return 32 - Math.clz32(numSteps);
}

/** Returns the number of blocks of a height that end within the horizon. */
export function numBlocks(numSteps: number, height: number): number {
  return Math.floor(numSteps / 2 ** height);
}

/** Returns the blocks that the total of the first `step` records adds up, longest first. */
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
