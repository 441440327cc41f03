// SPDX-License-Identifier: Apache-2.0

declare module '*.css';

/** True in the build that is one file. */
declare const SINGLE_FILE: boolean;

/** Handwriting, made while the page is built: vite.digits.ts. */
declare module 'virtual:digits' {
  export const numTraining: number;
  /** A digit for each image, those learned from first. */
  export const labels: string;
  /** The images, packed, deflated and in base64. */
  export const images: string;
}
