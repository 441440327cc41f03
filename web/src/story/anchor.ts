// SPDX-License-Identifier: Apache-2.0

// Keeps a part of the page in place while content above it loads and grows, until the reader
// scrolls.

const moves = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;
let current: ResizeObserver | null = null;

/**
 * Scrolls `element` into view, or to `offset` pixels below the top of the window, and keeps it
 * there.
 */
export function anchor(element: HTMLElement, offset?: number): void {
  current?.disconnect();
  const go = (): void => {
    if (offset === undefined) element.scrollIntoView();
    else scrollBy(0, element.getBoundingClientRect().top - offset);
  };
  const observer = new ResizeObserver(go);
  current = observer;
  observer.observe(document.body);
  const release = (): void => {
    observer.disconnect();
    for (const type of moves) removeEventListener(type, release, true);
  };
  for (const type of moves) addEventListener(type, release, { capture: true, passive: true });
  go();
}
