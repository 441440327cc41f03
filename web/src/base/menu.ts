// SPDX-License-Identifier: Apache-2.0

// Marks the links to what is shown, in the menu and among the presets.

type IsShown = (link: HTMLAnchorElement) => boolean;

export const markInMenu = (isShown: IsShown): void => mark('.menu a', isShown);

/** `hash` is null if no preset is shown. */
export const markPreset = (hash: string | null): void =>
  mark('.presets a', (link) => link.hash === hash);

function mark(links: string, isShown: IsShown): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>(links)) {
    if (!isShown(link)) link.removeAttribute('aria-current');
    else if (!link.hasAttribute('aria-current')) {
      link.setAttribute('aria-current', 'true');
      bringIn(link);
    }
  }
}

/** Scrolls a row that is too long for the window until the link is in its middle. */
function bringIn(link: HTMLAnchorElement): void {
  const row = link.parentElement!;
  const middleOf = (one: Element): number => {
    const { left, width } = one.getBoundingClientRect();
    return left + width / 2;
  };
  row.scrollLeft += middleOf(link) - middleOf(row);
}
