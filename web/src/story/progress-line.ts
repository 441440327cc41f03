// SPDX-License-Identifier: Apache-2.0

// Says what is being computed, above a progress bar.

import { h, setText } from '../base/dom.ts';

export class ProgressLine {
  private readonly text = h('p', {});
  private readonly bar = h('progress', { max: 1, 'aria-label': 'Done so far' });
  readonly element = h('div', { class: 'progress-line' }, this.text, this.bar);

  /** `share` is the completed fraction; null if unknown. */
  show(text: string, share: number | null): void {
    setText(this.text, text);
    if (share === null) this.bar.removeAttribute('value');
    else this.bar.value = share;
  }
}
