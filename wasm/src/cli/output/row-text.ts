// SPDX-License-Identifier: Apache-2.0

// Formats rows as CSV, or as one JSON object per line with the same names.

import { csvCell } from '../../shared/csv.js';
import { Misuse } from '../base/failure.js';
import { shortName } from '../base/short-name.js';

export const FORMATS = ['csv', 'jsonl'] as const;
export type Format = (typeof FORMATS)[number];

type Cell = string | number;

export class RowText {
  /** @throws Misuse for a duplicate name. */
  constructor(
    private readonly names: readonly string[],
    private readonly format: Format,
  ) {
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice !== undefined) {
      const name = JSON.stringify(shortName(twice));
      throw new Misuse(`the output would have two columns ${name}; rename the one in the input`);
    }
  }

  head(): string {
    return this.format === 'csv' ? `${this.names.map(csvCell).join(',')}\n` : '';
  }

  line(cells: readonly Cell[]): string {
    if (this.format === 'csv') {
      return `${cells.map((cell) => (typeof cell === 'string' ? csvCell(cell) : cell)).join(',')}\n`;
    }
    const named = Object.fromEntries(this.names.map((name, j) => [name, cells[j]]));
    return `${JSON.stringify(named)}\n`;
  }
}
