// SPDX-License-Identifier: Apache-2.0

// Describes a run on the page to the writers of programs and of the command, which print its numbers.

import type { SimulationOptions } from 'dp-ftrl';
import type { Roles } from '../data/contributions.ts';

interface SourceFile extends Roles {
  name: string;
  columns: readonly string[];
  /** Column that is learned from the others; '' where columns are only summed. */
  label: string;
  /** Writes the file as the page read it; null for one that the programs find beside them. */
  text: (() => string) | null;
}

export interface SnippetSource {
  options: SimulationOptions;
  /** File and columns that are summed or learned from; null where records are made up. */
  file: SourceFile | null;
}

export type Source = NonNullable<SnippetSource['file']>;

/** True if rows have persons or times, so that a step has any number of them. */
const hasRoles = ({ person, time }: Source): boolean => person !== '' || time !== '';

/** True if programs release sums: of steps with any number of rows, of windows, or of what decays. */
export const sumsAlone = ({ workload }: SimulationOptions, file: Source): boolean =>
  hasRoles(file) || workload !== undefined;

/** Rows that a horizon has room for, where each is a step; null where it has room for all. */
export const numRowsOf = ({ numSteps, table, batchSize = 1 }: SimulationOptions): number | null =>
  table !== undefined && table.numRows / batchSize > numSteps ? numSteps : null;

/** Comment in programs about a file that the page writes. */
export const saved = ({ text }: Source): string =>
  text === null ? '' : '// The table as the page read it, which it saves beside this program.\n';

/** Comment in all programs. */
export const seeded =
  '// Its seed is fixed, so that it shows what the page shows: nothing is private here.\n';
