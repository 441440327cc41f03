// SPDX-License-Identifier: Apache-2.0

// Describes a run on the page, from which programs and commands that print its numbers are
// generated.

import type { Neighbours, SimulationOptions, Workload } from 'dp-ftrl';
import type { Roles } from './contributions.ts';

interface SourceFile extends Roles {
  name: string;
  columns: readonly string[];
  /** Column that is learned from the others; '' if columns are only summed. */
  label: string;
  /** True if every row is a step and some rows add nothing; all cells of such rows are empty. */
  hasGaps: boolean;
  /** The file as the page read it; null for a file that is distributed with the programs. */
  text: (() => string) | null;
}

/** Options of a simulation or, with a workload, of sums. */
export type RunOptions = SimulationOptions & { workload?: Workload };

/** Options that count active people. */
export interface ActiveProgramOptions {
  epsilon: number;
  delta: number;
  windows: Record<string, number>;
  steps: number;
  neighbours: Neighbours;
  insecureSeed: number;
}

export interface SnippetSource {
  options: RunOptions;
  /** File and columns that are summed or learned from; null for synthetic records. */
  file: SourceFile | null;
}

export type Source = NonNullable<SnippetSource['file']>;

/** True if rows have persons or times, so that a step can have any number of rows. */
const hasRoles = ({ person, time }: Source): boolean => person !== '' || time !== '';

/**
 * True if programs release plain sums: over steps with any number of rows, over windows, or of
 * decaying records.
 */
export const sumsAlone = ({ workload }: RunOptions, file: Source): boolean =>
  hasRoles(file) || workload !== undefined;

/** Number of rows within the horizon if each row is a step; null if all rows lie within it. */
export const numRowsOf = ({ steps, table, batchSize = 1 }: RunOptions): number | null =>
  table !== undefined && table.numRows / batchSize > steps ? steps : null;

/** Comment in programs that read a file written by the page. */
export const saved = ({ text }: Source): string =>
  text === null ? '' : '// The table as the page read it, which it saves beside this program.\n';

/** Comment in all programs. */
export const seeded =
  '// Its seed is fixed, so that it shows what the page shows: nothing is private here.\n';
