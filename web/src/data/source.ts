// SPDX-License-Identifier: Apache-2.0

// Describes a run on the page for the writers of programs and of the command, which print its
// numbers.

import type { SimulationOptions } from 'dp-ftrl';
import type { Roles } from './contributions.ts';

interface SourceFile extends Roles {
  name: string;
  columns: readonly string[];
  /** Column that is learned from the others; '' if columns are only summed. */
  label: string;
  /** True if every row is a step and some rows add nothing; all cells of these are empty. */
  hasGaps: boolean;
  /** Returns the file as the page read it; null for a file that comes with the programs. */
  text: (() => string) | null;
}

export interface SnippetSource {
  options: SimulationOptions;
  /** File and columns that are summed or learned from; null for synthetic records. */
  file: SourceFile | null;
}

export type Source = NonNullable<SnippetSource['file']>;

/** True if rows have persons or times, so that a step can have any number of rows. */
const hasRoles = ({ person, time }: Source): boolean => person !== '' || time !== '';

/**
 * True if programs release plain sums: of steps with any number of rows, of windows, or of decaying
 * records.
 */
export const sumsAlone = ({ workload }: SimulationOptions, file: Source): boolean =>
  hasRoles(file) || workload !== undefined;

/** Returns the number of rows within the horizon if each is a step; null if all rows are. */
export const numRowsOf = ({ numSteps, table, batchSize = 1 }: SimulationOptions): number | null =>
  table !== undefined && table.numRows / batchSize > numSteps ? numSteps : null;

/** Comment in programs that read a file written by the page. */
export const saved = ({ text }: Source): string =>
  text === null ? '' : '// The table as the page read it, which it saves beside this program.\n';

/** Comment in all programs. */
export const seeded =
  '// Its seed is fixed, so that it shows what the page shows: nothing is private here.\n';
