// SPDX-License-Identifier: Apache-2.0

// Tools below a scene, which copy its link or a frame for other pages, or save its picture.

import { h, setText } from '../base/dom.ts';
import type { Scene, SceneView } from './scene.ts';

const answered = 2000;
/** Height of what an embedded scene has below it: the link to the whole story. */
const belowScene = 64;

export class Tools {
  readonly element: HTMLElement;
  private readonly save: HTMLButtonElement;
  private address: string;

  constructor(
    private readonly scene: Scene,
    private readonly view: () => SceneView | null,
  ) {
    this.address = `scene=${scene.id}`;
    const { title } = scene;
    const copied = (label: string, text: () => string): HTMLButtonElement => {
      const button = h(
        'button',
        { type: 'button', class: 'plain', 'aria-label': `${label}: ${title}` },
        label,
      );
      button.addEventListener('click', () => void copy(button, label, text()));
      return button;
    };
    this.save = h(
      'button',
      {
        type: 'button',
        class: 'plain save',
        'aria-label': `Save as SVG: ${title}`,
        disabled: true,
        onclick: () => void this.download(),
      },
      'Save as SVG',
    );
    this.element = h(
      'div',
      { class: 'tools' },
      copied('Copy link', () => this.url().href),
      copied('Embed', () => this.frame()),
      this.save,
    );
  }

  /** Called when the scene is mounted; offers to save its picture, if it has one. */
  ready(): void {
    this.save.disabled = false;
    this.save.hidden = this.view()?.panels().length === 0;
  }

  /** Sets the address of the scene with the current positions of its handles. */
  link(address: string): void {
    this.address = address;
  }

  private url(): URL {
    return new URL(`#${this.address}`, new URL(location.pathname, location.href));
  }

  /** Markup that shows this scene alone in another page, as high as it is here. */
  private frame(): string {
    const url = this.url();
    url.search = `?embed=${this.scene.id}`;
    const height = this.element.closest<HTMLElement>('.scene')!.offsetHeight + belowScene;
    return `<iframe src="${url.href}" title="${this.scene.title}" width="100%" height="${height}" loading="lazy"></iframe>`;
  }

  /** The SVG writer is loaded on demand. */
  private async download(): Promise<void> {
    const view = this.view();
    if (view === null) return;
    const { id, title } = this.scene;
    const { downloadPicture } = await import('../share/download.ts');
    downloadPicture(`story-${id}`, { title, panels: view.panels(), perRow: 2 });
  }
}

async function copy(button: HTMLButtonElement, label: string, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without permission, the reader copies the text by hand.
    window.prompt(label, text);
    return;
  }
  setText(button, 'Copied');
  setTimeout(() => setText(button, label), answered);
}
