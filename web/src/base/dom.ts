// SPDX-License-Identifier: Apache-2.0

type Child = Node | string | null | undefined | false;

/** Controls whose content a browser would write to its session files, to restore it later. */
const restored: readonly string[] = ['input', 'select', 'textarea'];

/**
 * Creates an element with attributes and children. Attributes such as `onclick` add listeners. The
 * browser is kept from restoring controls, because they may hold the user's own data. Firefox looks
 * for `autocomplete` on the control itself, not on its form.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (restored.includes(tag)) element.setAttribute('autocomplete', 'off');
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child): child is Node | string => !!child));
  return element;
}

/** Throws unless the element exists. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element as T;
}

/** Creates an SVG element with attributes and children. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
  ...children: SVGElement[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Creates an icon from a picture defined in index.html. */
export function icon(id: string): SVGSVGElement {
  const use = svg('use', { href: `#icon-${id}` });
  return svg('svg', { class: 'icon', 'aria-hidden': 'true' }, use);
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
