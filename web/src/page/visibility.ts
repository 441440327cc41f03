// SPDX-License-Identifier: Apache-2.0

// Whether anybody can see the figures.

import type { Player } from '../controls/player.ts';
import { byId } from './dom.ts';

/** Lets time stand still while the tab is hidden or both figures are off screen. */
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
  observer.observe(byId('sums'));
  observer.observe(byId('learning'));
}

/** A stage taller than the window sticks by its lower edge, so that no part is out of reach. */
export function keepStageInReach(): void {
  const stage = byId('stage');
  const stick = (): void => {
    const top = Math.min(0, innerHeight - stage.offsetHeight);
    stage.style.setProperty('--stage-top', `${top}px`);
  };
  new ResizeObserver(stick).observe(stage);
  window.addEventListener('resize', stick);
}
