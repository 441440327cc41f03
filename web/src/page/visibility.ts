// SPDX-License-Identifier: Apache-2.0

// Tracks whether the figures are visible.

import type { Player } from '../run/player.ts';
import { byId } from '../base/dom.ts';

/** Suspends the player while the tab is hidden or the main figures are off screen. */
export function watchVisibility(player: Player): void {
  const hidden = (): void => player.suspend('hidden', document.hidden);
  document.addEventListener('visibilitychange', hidden);
  hidden();
  const visible = new Set<Element>();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) visible.add(target);
      else visible.delete(target);
    }
    player.suspend('off screen', visible.size === 0);
  });
  for (const id of ['sums', 'learning', 'mini']) observer.observe(byId(id));
}

/** Shows the miniature chart in a narrow window while the first figure is above the window. */
export function watchMini(shown: () => void): void {
  const mini = byId('mini');
  const narrow = matchMedia('(max-width: 1080px)');
  let isAbove = false;
  const update = (): void => {
    mini.hidden = !isAbove || !narrow.matches;
    if (!mini.hidden) shown();
  };
  narrow.addEventListener('change', update);
  new IntersectionObserver((entries) => {
    const { isIntersecting, boundingClientRect } = entries.at(-1)!;
    const { height, bottom } = boundingClientRect;
    isAbove = !isIntersecting && height > 0 && bottom <= 0;
    update();
  }).observe(byId('sums'));
}

/**
 * Makes a stage taller than the window stick at its lower edge, so that every part can be reached.
 */
export function keepStageInReach(): void {
  const stage = byId('stage');
  const bar = byId('pinned');
  const stick = (): void => {
    const top = Math.min(bar.offsetHeight, innerHeight - stage.offsetHeight);
    stage.style.setProperty('--stage-top', `${top}px`);
  };
  new ResizeObserver(stick).observe(stage);
  window.addEventListener('resize', stick);
}

/**
 * Changes the page without moving the element at which the user looks: the focused element if it is
 * visible, otherwise the element in the middle of the window.
 */
export function keepInPlace(change: () => void): void {
  const { activeElement: focused } = document;
  const isSeen = (one: Element): boolean => {
    const { top, bottom } = one.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
  const kept = focused !== null && focused !== document.body && isSeen(focused) ? focused : middle;
  const before = kept?.getBoundingClientRect().top ?? 0;
  change();
  if (kept === null || !kept.isConnected || scrollY === 0) return;
  const moved = kept.getBoundingClientRect().top - before;
  if (Math.abs(moved) >= 1) window.scrollBy({ top: moved, behavior: 'instant' });
}
