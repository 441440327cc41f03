// SPDX-License-Identifier: Apache-2.0

// The page's serif. It is loaded as a script, so that the content security policy needs no address
// for fonts. It arrives after the first picture, which is drawn in a system serif.

import { bytes } from 'virtual:serif';

export async function useSerif(): Promise<void> {
  const data = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
  document.fonts.add(await new FontFace('Source Serif 4', data, { weight: '400 700' }).load());
}
