// SPDX-License-Identifier: Apache-2.0

// Figures as pictures for download, drawn by the SVG writer of the command, in the page's colours.

import type * as written from '../../../wasm/src/plot/picture.ts';
import { plot as write } from '../../../wasm/src/plot/plot.ts';
import { readPaperColours, type Colour } from './colours.ts';

export { STEP_AXIS, type MapPanel } from '../../../wasm/src/plot/picture.ts';

export interface Series extends written.Series {
  colour?: Colour;
}
export interface Panel extends written.Panel {
  series: Series[];
}
export interface Picture extends written.Picture {
  panels: (Panel | written.MapPanel)[];
}

/** Returns the picture as SVG text, on white and in the colours of the light theme. */
export function plot(picture: Picture): string {
  const colours = readPaperColours();
  const painted = (one: Series): written.Series =>
    one.colour === undefined ? one : { ...one, colour: colours[one.colour] };
  const panels = picture.panels.map((panel) =>
    'shades' in panel ? panel : { ...panel, series: panel.series.map(painted) },
  );
  return write({ ...picture, panels });
}

/**
 * Returns a horizontal line across a picture of `numSteps` steps, in the colour of another series.
 */
export function levelLine(name: string, of: string, value: number, numSteps: number): Series {
  return { name, of, x: [1, numSteps], y: [value, value] };
}
