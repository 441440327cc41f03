// SPDX-License-Identifier: Apache-2.0

/**
 * Calls `draw` in each frame with the elapsed fraction of the duration, until the fraction is 1 or
 * `still` returns false; then the promise resolves.
 */
export function animate(
  time: number,
  draw: (part: number) => void,
  still: () => boolean,
): Promise<void> {
  const start = performance.now();
  return new Promise((resolve) => {
    const frame = (now: number): void => {
      if (!still()) {
        resolve();
        return;
      }
      const part = Math.min(1, Math.max(0, (now - start) / time));
      draw(part);
      if (part < 1) requestAnimationFrame(frame);
      else resolve();
    };
    requestAnimationFrame(frame);
  });
}
