// SPDX-License-Identifier: Apache-2.0

declare module '*.css';

/** True in the single-file build. */
declare const SINGLE_FILE: boolean;

/** Handwritten digits, generated when the page is built: vite.digits.ts. */
declare module 'virtual:digits' {
  export const numTraining: number;
  /** One digit per image; training images come first. */
  export const labels: string;
  /** The images, packed, deflated and in base64. */
  export const images: string;
}

/** The day of the first scene, computed at build time: vite.day.ts. */
declare module 'virtual:day' {
  /** One character per passer-by: 1 if they came in, otherwise 0. */
  export const came: string;
  /** For each mechanism, the noise in each count, in whole people, and the band. */
  export const lanes: readonly { noise: number[]; band: number[]; worst: number }[];
}

/** Privacy parameters of the story, computed at build time: vite.privacy.ts. */
declare module 'virtual:privacy' {
  /** Distance between the attacker's two bells at each of the `epsilons` of hero-numbers.ts. */
  export const mus: readonly number[];
  /** Noise multiplier at the `privacy` of hero-numbers.ts. */
  export const noiseMultiplier: number;
}

/** The page's serif as WOFF2 in base64, subset when the page is built: vite.serif.ts. */
declare module 'virtual:serif' {
  export const bytes: string;
}

/** Facts about the project, from package.json and CITATION.cff. */
declare const ABOUT: {
  readonly author: string;
  readonly title: string;
  readonly version: string;
  readonly license: string;
  /** Address of the repository; empty if package.json names none. */
  readonly repository: string;
};
