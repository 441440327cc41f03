// SPDX-License-Identifier: Apache-2.0

// The blocks of a binary tree over the steps, and the blocks that add up to a total.

/** The 2^height steps that follow the first `start` steps. */
export interface Block {
  readonly height: number;
  readonly start: number;
}

/**
 * Number of heights whose blocks end within the horizon; a record is in at most one block of each
 * height.
 */
export function numHeights(numSteps: number): number {
  return 32 - Math.clz32(numSteps);
}

/** Number of blocks of a height that end within the horizon. */
export function numBlocks(numSteps: number, height: number): number {
  return Math.floor(numSteps / 2 ** height);
}

/** Blocks that add up to the total of the first `step` records, longest first. */
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
