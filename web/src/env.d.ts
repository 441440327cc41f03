// SPDX-License-Identifier: Apache-2.0

declare module '*.css';

/** True in the single-file build. */
declare const SINGLE_FILE: boolean;

/** Handwritten digits, generated when the page is built: vite.digits.ts. */
declare module 'virtual:digits' {
  export const numTraining: number;
  /** A digit for each image, training images first. */
  export const labels: string;
  /** The images, packed, deflated and in base64. */
  export const images: string;
}

/** The day of the first scene, counted when the page is built: vite.day.ts. */
declare module 'virtual:day' {
  /** A 1 for each passer-by who came in, and else a 0. */
  export const came: string;
  /** By mechanism: the noise in each count in whole people, and the band. */
  export const lanes: readonly { noise: number[]; band: number[]; worst: number }[];
}

/** Facts of package.json about the project. */
declare const ABOUT: {
  readonly version: string;
  readonly license: string;
  /** Address of the repository; empty if it has none. */
  readonly repository: string;
};
