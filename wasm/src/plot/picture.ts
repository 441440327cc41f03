// SPDX-License-Identifier: Apache-2.0

// Contents of a picture, as plain data.

export interface Axis {
  label: string;
  log: boolean;
  /** Names of the values 0, 1, 2, ..., where they are places and not numbers. */
  names?: readonly string[];
  /** Values that are on the axis, whatever the curves have. */
  shows?: readonly number[];
}

/** Points of one curve; `spread` is a standard error up and down. */
export interface Series {
  name: string;
  /** The curve whose bound this is: drawn in its colour. */
  of?: string;
  x: number[];
  y: number[];
  spread?: number[];
  /** Another edge: the area between it and `y` is shaded, without a line or a name. */
  to?: number[];
  /** As SVG has it. Default: one of a palette, by its place; that of the curve it belongs to. */
  colour?: string;
  /**
   * `ghost`: one of many that only show how far they spread; `marks`: a dot for every value; `bars`:
   * one from zero to it.
   */
  look?: 'dashed' | 'ghost' | 'marks' | 'bars';
}

export interface Panel {
  title: string;
  x: Axis;
  y: Axis;
  series: Series[];
}

/** A matrix as colours. */
export interface MapPanel {
  title: string;
  /** Says what the strongest colours stand for. */
  note: string;
  numColumns: number;
  /** From -1 to 1, row after row. */
  shades: number[];
}

export interface Picture {
  title: string;
  /** Text that is not drawn, for those who do not see the picture. */
  description?: string;
  /** Sentences below the panels, each broken into as many lines as it takes. */
  notes?: readonly string[];
  panels: (Panel | MapPanel)[];
  /** Default: all panels stand in one row. */
  perRow?: number;
}
