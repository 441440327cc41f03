// SPDX-License-Identifier: Apache-2.0

// Figures as pictures to take away, drawn by the writer that the command has.

export { plot } from '../../../wasm/src/plot/plot.ts';
export type { MapPanel, Panel, Picture, Series } from '../../../wasm/src/plot/picture.ts';

/** A horizontal line across a picture of `numSteps` steps, in the colour of another one. */
export function levelLine(
  name: string,
  of: string,
  value: number,
  numSteps: number,
): { name: string; of: string; x: number[]; y: number[] } {
  return { name, of, x: [1, numSteps], y: [value, value] };
}
