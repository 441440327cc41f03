// SPDX-License-Identifier: Apache-2.0

// Choice of a clip norm for a table: offers three norms, each with its effect on the rows.

import { h } from '../base/dom.ts';
import { percent, quantity } from '../base/format.ts';
import type { StepRecords } from './contributions.ts';

export interface ClipOffer {
  clipNorm: number;
  /** Share of rows that are longer than the clip norm. */
  shareClipped: number;
  /** Share of the sum of lengths that remains after clipping. */
  shareKept: number;
}

/** l2 norms of the records that count; norms of 0 come last. */
export function recordNorms({ table, numContributions }: StepRecords): Float64Array {
  const { numRows, numColumns, values } = table;
  const norms = new Float64Array(numContributions);
  let place = 0;
  for (let row = 0; row < numRows; ++row) {
    let squares = 0;
    for (let at = row * numColumns; at < (row + 1) * numColumns; ++at) squares += values[at]! ** 2;
    if (squares > 0) norms[place++] = Math.sqrt(squares);
  }
  return norms;
}

/** Rounds up to two significant digits, which are easy to remember. */
function roundedUp(value: number): number {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(2));
}

function effectOf(norms: Float64Array, clipNorm: number): ClipOffer {
  let clipped = 0;
  let kept = 0;
  let whole = 0;
  for (const norm of norms) {
    if (norm > clipNorm) clipped += 1;
    kept += Math.min(norm, clipNorm);
    whole += norm;
  }
  return {
    clipNorm,
    shareClipped: norms.length === 0 ? 0 : clipped / norms.length,
    shareKept: whole === 0 ? 1 : kept / whole,
  };
}

/**
 * Offers the largest norm, the 90 % quantile and the median of the norms, rounded up; the offers
 * are distinct.
 */
function clipOffers(norms: Float64Array): ClipOffer[] {
  const lengths = norms.filter((norm) => norm > 0).sort();
  if (lengths.length === 0) return [effectOf(norms, 1)];
  const at = (share: number): number => lengths[Math.ceil(share * lengths.length) - 1]!;
  const clips = [1, 0.9, 0.5].map((share) => roundedUp(at(share)));
  // If some of these are equal, a half and a quarter of the largest show the effect of clipping.
  const [longest] = clips as [number];
  if (new Set(clips).size < 3) clips.splice(1, 2, roundedUp(longest / 2), roundedUp(longest / 4));
  return [...new Set(clips)].map((clip) => effectOf(norms, clip));
}

interface ClipWords {
  /** Noun for the clipped quantity. */
  noun: 'row' | 'record';
  /** Unit of its length; '' if there is none. */
  unit: string;
  inForce: number | null;
}

/** Creates a button for each offer; the button of the current clip norm is pressed. */
export function clipButtons(
  norms: Float64Array,
  { noun, unit, inForce }: ClipWords,
  chosen: (clipNorm: number) => void,
): HTMLElement {
  const offers = clipOffers(norms);
  const greatest = offers[0]!.clipNorm;
  const buttons = offers.map(({ clipNorm, shareClipped, shareKept }) => {
    const effect =
      shareClipped === 0
        ? `no ${noun} is shortened`
        : `${percent(shareClipped)} of the ${noun}s are shortened, ${percent(shareKept)} of their ` +
          'length stays';
    const noise = clipNorm === greatest ? '' : `; noise × ${quantity(clipNorm / greatest, 2)}`;
    const button = h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(clipNorm === inForce),
        onclick: () => chosen(clipNorm),
      },
      h('b', {}, `Clip at ${quantity(clipNorm)} ${unit}`.trim()),
      h('span', {}, `${effect}${noise}`),
    );
    return h('li', {}, button);
  });
  return h('ul', { class: 'clips', 'aria-label': 'Clip norms to choose from' }, ...buttons);
}
