// SPDX-License-Identifier: Apache-2.0

// Figures as pictures for download, drawn by the SVG writer of the command, in the page's colours.

import type * as written from '../../../wasm/src/plot/picture.ts';
import { plot as write } from '../../../wasm/src/plot/plot.ts';
import { readPaperColours, type Colour } from './colours.ts';

export { STEP_AXIS, type MapPanel } from '../../../wasm/src/plot/picture.ts';

export interface ColouredSeries extends written.Series {
  colour?: Colour;
}
export interface PicturePanel extends written.Panel {
  series: ColouredSeries[];
}
export interface ColouredPicture extends written.Picture {
  panels: (PicturePanel | written.MapPanel)[];
}

/** Draws the picture as SVG text, on white and in the colours of the light theme. */
export function plot(picture: ColouredPicture): string {
  const colours = readPaperColours();
  const painted = (one: ColouredSeries): written.Series =>
    one.colour === undefined ? one : { ...one, colour: colours[one.colour] };
  const panels = picture.panels.map((panel) =>
    'shades' in panel ? panel : { ...panel, series: panel.series.map(painted) },
  );
  return write({ ...picture, panels });
}

/** Horizontal line across a picture of `numSteps` steps, in the colour of the series `of`. */
export function levelLine(
  name: string,
  of: string,
  value: number,
  numSteps: number,
  from = 1,
): ColouredSeries {
  return { name, of, x: [from, numSteps], y: [value, value] };
}
