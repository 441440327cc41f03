// SPDX-License-Identifier: Apache-2.0

// Input for one's own CSV: pasted, dropped anywhere on the page, or chosen.

import { h } from '../page/dom.ts';
import { maxBytes } from './csv.ts';

export interface CsvBoxEvents {
  text(text: string): void;
  refused(message: string): void;
}

const placeholder = 'day,visits,bought\n1,14,0\n2,9,1';
const promise =
  'Your data never leaves this computer: the page’s own security policy forbids it to send anything.';

export interface CsvBoxOptions {
  /** Prefix of ids. */
  id: string;
  describedBy: string;
  /** Also takes what is dropped anywhere on the page. */
  anywhere: boolean;
}

export class CsvBox {
  readonly element: HTMLElement;
  private readonly text: HTMLTextAreaElement;

  constructor(
    private readonly events: CsvBoxEvents,
    { id, describedBy, anywhere }: CsvBoxOptions,
  ) {
    const accept = '.csv,text/csv,text/plain';
    const file = h('input', { type: 'file', accept, id: `${id}-file` });
    this.text = h('textarea', {
      id: `${id}-text`,
      rows: 4,
      spellcheck: 'false',
      placeholder,
      'aria-describedby': describedBy,
    });
    file.addEventListener('change', () => {
      const [first] = file.files ?? [];
      if (first) void this.takeFile(first);
      file.value = '';
    });
    this.text.addEventListener('paste', () => setTimeout(() => events.text(this.text.value)));
    const use = h('button', { type: 'button', id: `${id}-use` }, 'Use this text');
    use.addEventListener('click', () => events.text(this.text.value));
    this.element = h(
      'div',
      { class: 'drop', hidden: true },
      h(
        'label',
        { for: `${id}-text` },
        `Paste a CSV, ${anywhere ? 'drop a file on the page, ' : ''}or choose one`,
      ),
      this.text,
      h('div', { class: 'drop-tools' }, use, h('label', { class: 'file' }, file, 'Choose a file')),
      h('p', { class: 'hint' }, promise),
    );
    if (anywhere) this.takeDrops();
  }

  focus(): void {
    this.text.focus();
  }

  private async takeFile(file: File): Promise<void> {
    if (file.size > maxBytes) {
      const most = `${maxBytes / 1e6} MB`;
      this.events.refused(`the file must be at most ${most}, got ${file.size} bytes`);
      return;
    }
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    let text: string;
    try {
      text = decoder.decode(await file.arrayBuffer());
    } catch {
      this.events.refused(`${file.name} must be text in UTF-8`);
      return;
    }
    this.events.text(text);
  }

  private takeDrops(): void {
    document.addEventListener('dragover', (event) => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
    });
    document.addEventListener('drop', (event) => {
      const [file] = event.dataTransfer?.files ?? [];
      if (!file) return;
      event.preventDefault();
      void this.takeFile(file);
    });
  }
}
