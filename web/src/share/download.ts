// SPDX-License-Identifier: Apache-2.0

// Files that the page hands out.

import { h } from '../page/dom.ts';
import { plot, type Picture } from '../figures/picture.ts';

export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Hands out a picture as SVG. */
export function downloadPicture(name: string, picture: Picture): void {
  download(`dp-ftrl-${name}.svg`, plot(picture), 'image/svg+xml');
}
