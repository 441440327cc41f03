// SPDX-License-Identifier: Apache-2.0

// Input for the user's own CSV, which is pasted, chosen as a file, or dropped on the box or, with
// `anywhere`, on the page.

import { h } from '../base/dom.ts';
import { SecretPart } from '../base/secrets.ts';
import { counted } from '../base/format.ts';
import { CsvError, maxBytes, RaggedError, type Csv, type ParseOptions } from './csv.ts';
import { loadCsv } from './csv-source.ts';

export interface CsvBoxEvents {
  /** Called with a parsed table; `name` is that of the file. */
  taken(csv: Csv, name: string): void;
  /** Reports an error; null clears it. */
  refused(message: string | null, name: string): void;
}

const placeholder = 'day,visits,bought\n1,14,0\n2,9,1';
const promise =
  'It is read in this tab, and the page sends nothing. Neither it nor its columns, clip norm and seed are ' +
  'in the address that “Copy link” copies.';

export interface CsvBoxOptions {
  /** Prefix of ids. */
  id: string;
  describedBy: string;
  /** Accepts files dropped anywhere on the page. */
  anywhere: boolean;
}

export class CsvBox {
  readonly element: HTMLElement;
  private readonly text: HTMLTextAreaElement;
  private readonly pasted: SecretPart;
  private readonly use: HTMLButtonElement;
  private readonly progress: HTMLProgressElement;
  private readonly offer = h('button', { type: 'button', hidden: true });
  private isHidden = false;
  /** Latest source; results for earlier sources are discarded. */
  private source: string | File = '';

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
    this.progress = h('progress', { max: 1, 'aria-label': 'Reading the table', hidden: true });
    file.addEventListener('change', () => {
      const [first] = file.files ?? [];
      if (first) void this.take(first);
      file.value = '';
    });
    const takeText = (): void => void this.take(this.text.value);
    this.text.addEventListener('paste', () => setTimeout(takeText));
    this.use = h('button', { type: 'button', id: `${id}-use`, onclick: takeText }, 'Use this text');
    this.offer.addEventListener('click', () => {
      void this.take(this.source, { leaveOutRagged: true });
    });
    const label = h(
      'label',
      { for: `${id}-text` },
      `Paste a CSV, ${anywhere ? 'drop a file on the page, ' : ''}or choose one`,
    );
    this.pasted = new SecretPart('Pasted text is', [label, this.text]);
    this.element = h(
      'div',
      { class: 'drop', hidden: true },
      this.pasted.element,
      h(
        'div',
        { class: 'drop-tools' },
        this.use,
        h('label', { class: 'file' }, file, 'Choose a file'),
      ),
      this.progress,
      this.offer,
      h('p', { class: 'hint' }, promise),
    );
    if (anywhere) this.takeDrops();
  }

  focus(): void {
    this.text.focus();
  }

  /** Hides the pasted text, and withdraws an offer that reveals how many of its rows are faulty. */
  hide(isHidden: boolean): void {
    this.isHidden = isHidden;
    this.pasted.hide(isHidden);
    this.use.hidden = isHidden;
    if (isHidden) this.offerWithout(0);
  }

  private async take(source: string | File, options: ParseOptions = {}): Promise<void> {
    this.source = source;
    this.offer.hidden = true;
    const name = typeof source === 'string' ? 'Pasted table' : source.name;
    if (typeof source !== 'string' && source.size > maxBytes) {
      const most = `${maxBytes / 1e6} MB`;
      this.events.refused(
        `the file must be at most ${most}, got ${counted(source.size, 'byte')}`,
        name,
      );
      return;
    }
    try {
      const csv = await loadCsv(source, options, (share) => this.report(source, share));
      if (source !== this.source) return;
      this.events.refused(null, name);
      this.events.taken(csv, name);
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      if (source !== this.source) return;
      this.events.refused(error.message, name);
      if (error instanceof RaggedError) this.offerWithout(error.numRows);
    } finally {
      if (source === this.source) this.progress.hidden = true;
    }
  }

  private report(source: string | File, share: number): void {
    if (source !== this.source) return;
    this.element.hidden = false;
    this.progress.hidden = false;
    this.progress.value = share;
  }

  private offerWithout(numRows: number): void {
    const isOffered = numRows > 0 && !this.isHidden;
    const rows = numRows === 1 ? 'this row' : `these ${counted(numRows, 'row')}`;
    this.offer.textContent = isOffered ? `Read it without ${rows}` : '';
    this.offer.hidden = !isOffered;
  }

  private takeDrops(): void {
    const isOver = (over: boolean): void => {
      document.documentElement.classList.toggle('dropping', over);
    };
    document.addEventListener('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      isOver(true);
    });
    document.addEventListener('dragleave', ({ relatedTarget }) => {
      if (relatedTarget === null) isOver(false);
    });
    document.addEventListener('drop', (event) => {
      isOver(false);
      const [file] = event.dataTransfer?.files ?? [];
      if (!file) return;
      event.preventDefault();
      void this.take(file);
    });
  }
}
