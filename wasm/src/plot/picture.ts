// SPDX-License-Identifier: Apache-2.0

// The contents of a picture, as plain data.

export interface Axis {
  label: string;
  log: boolean;
  /** Whether values are whole numbers, such as steps; ticks then are as well. */
  isWhole?: boolean;
  /** Names of the values 0, 1, 2, ..., if they are categories and not numbers. */
  names?: readonly string[];
  /** Values that a vertical axis includes, whatever the curves contain. */
  shows?: readonly number[];
}

/** The axis for steps that are not times. */
export const STEP_AXIS: Axis = { label: 'step', log: false, isWhole: true };

/** Points of one curve; `spread` is half the length of a vertical line through each point. */
export interface Series {
  name: string;
  /** Name of the curve that this series belongs to, and whose colour it takes. */
  of?: string;
  x: number[];
  y: number[];
  spread?: number[];
  /**
   * A second edge: the area between `y` and this edge is shaded, without a line or a legend entry.
   */
  to?: number[];
  /**
   * An SVG colour. Default: the colour of the curve it belongs to, or the colour of the palette at
   * its index.
   */
  colour?: string;
  /**
   * `ghost`: a faint curve, one of many that show their spread; `marks`: a dot for every value;
   * `bars`: a bar from zero to each value.
   */
  look?: 'dashed' | 'ghost' | 'marks' | 'bars';
}

export interface Panel {
  title: string;
  x: Axis;
  y: Axis;
  series: Series[];
}

/** A matrix drawn in colours. */
export interface MapPanel {
  title: string;
  /** Meaning of the strongest colours. */
  note: string;
  numColumns: number;
  /** From -1 to 1, row after row. */
  shades: number[];
}

export interface Picture {
  title: string;
  /** Alternative text for readers who do not see the picture; it is not drawn. */
  description?: string;
  /** Sentences below the panels, each wrapped into as many lines as it needs. */
  notes?: readonly string[];
  panels: (Panel | MapPanel)[];
  /** Default: all panels in one row. */
  perRow?: number;
}
