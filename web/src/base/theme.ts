// SPDX-License-Identifier: Apache-2.0

// The theme of the page: light, dark, or as the system is set.

import { setText } from './dom.ts';

type Theme = 'system' | 'light' | 'dark';
const order: readonly Theme[] = ['system', 'light', 'dark'];
const storageKey = 'dp-ftrl-theme';

function remembered(): Theme {
  try {
    const text = localStorage.getItem(storageKey);
    return order.find((theme) => theme === text) ?? 'system';
  } catch {
    return 'system'; // Storage is disabled.
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(storageKey, theme);
  } catch {
    // Without storage, the theme lasts for this visit only.
  }
}

export function setUpTheme(button: HTMLButtonElement, changed: () => void): void {
  let theme = remembered();
  /** Matches if the system forces its own colours, which override the theme. */
  const forced = matchMedia('(forced-colors: active)');
  const apply = (): void => {
    if (theme === 'system' || forced.matches) delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    button.title = `Theme: ${theme}`;
    setText(button.querySelector('span')!, button.title);
    changed();
  };
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length]!;
    remember(theme);
    apply();
  });
  // Another tab has changed the theme.
  window.addEventListener('storage', ({ key }) => {
    if (key !== storageKey) return;
    theme = remembered();
    apply();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  forced.addEventListener('change', apply);
  apply();
}
