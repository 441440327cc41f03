// SPDX-License-Identifier: Apache-2.0

// The theme: light, dark, or as the system is set.

type Theme = 'system' | 'light' | 'dark';
const order: readonly Theme[] = ['system', 'light', 'dark'];
const storageKey = 'dp-ftrl-theme';

function remembered(): Theme {
  try {
    const text = localStorage.getItem(storageKey);
    return order.find((theme) => theme === text) ?? 'system';
  } catch {
    return 'system'; // Storage is switched off.
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(storageKey, theme);
  } catch {
    // Then it holds for this visit.
  }
}

export function setUpTheme(button: HTMLButtonElement, changed: () => void): void {
  let theme = remembered();
  /** Colours that the system forces come with a theme of their own. */
  const forced = matchMedia('(forced-colors: active)');
  const apply = (): void => {
    if (theme === 'system' || forced.matches) delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    button.textContent = `Theme: ${theme}`;
    changed();
  };
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length]!;
    remember(theme);
    apply();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  forced.addEventListener('change', apply);
  apply();
}
