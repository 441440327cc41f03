// SPDX-License-Identifier: Apache-2.0

// An encoder C of the user's own, pasted as rows of numbers, for the table of all mechanisms. The
// encoder is never part of the address, which would have to hold every entry.

import type { Refusal } from 'dp-ftrl';
import { encoderFault, faultText, parseRows } from '../../../wasm/src/shared/encoder.ts';
import { byId } from '../base/dom.ts';
import { counted } from '../base/format.ts';

/** Name of the pasted matrix in a refusal of the comparison. */
const encoderName = 'strategies[0].encoder';

/** Maximum number of rows of a pasted matrix; its decoder then takes a few seconds to compute. */
const maxRows = 512;

/** A pasted encoder, or the reason why the text is not one. */
type Pasted = { encoder: number[][] } | { fault: string };

function read(text: string): Pasted {
  const { rows, fault } = parseRows(text);
  if (rows.length > maxRows)
    return { fault: `C must have at most ${maxRows} rows here, got ${rows.length}` };
  const found = fault ?? encoderFault(rows);
  if (found !== undefined)
    return { fault: `C: ${faultText(found, '--measure of dp-ftrl queries')}` };
  return { encoder: rows };
}

export class OwnEncoder {
  private readonly box = byId<HTMLTextAreaElement>('own-encoder-rows');
  private readonly error = byId('own-encoder-error');
  private pasted: Pasted | null = null;
  /** Counts the changes. */
  version = 0;

  constructor(changed: () => void) {
    this.box.addEventListener('change', () => {
      const { value } = this.box;
      this.pasted = value.trim() === '' ? null : read(value);
      ++this.version;
      changed();
    });
  }

  /**
   * Returns the encoder if there is one for this horizon; otherwise shows what is wrong with the
   * pasted text.
   */
  encoderFor(numSteps: number): number[][] | undefined {
    const why = this.faultFor(numSteps);
    this.error.textContent = why;
    this.error.hidden = why === '';
    this.box.setAttribute('aria-invalid', String(why !== ''));
    return why === '' && this.pasted !== null && 'encoder' in this.pasted
      ? this.pasted.encoder
      : undefined;
  }

  /** Leaves the matrix out, because the library refuses it. */
  refuse(error: unknown): void {
    const { parameter, constraint } = (error ?? {}) as Refusal;
    const message = error instanceof Error ? error.message : String(error);
    this.pasted = { fault: parameter === encoderName ? `C ${constraint}` : message };
  }

  private faultFor(numSteps: number): string {
    const { pasted } = this;
    if (pasted === null) return '';
    if ('fault' in pasted) return pasted.fault;
    const { length } = pasted.encoder;
    if (length === numSteps) return '';
    return (
      `C has ${counted(length, 'row')}, one per step, but the horizon is ` +
      `${counted(numSteps, 'step')}: set “Horizon” to ${length}`
    );
  }
}
