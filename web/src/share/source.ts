// SPDX-License-Identifier: Apache-2.0

// Describes a run on the page to the writers of programs and of the command, which print its numbers.

import type { SimulationOptions } from 'dp-ftrl';
import type { Roles } from '../data/contributions.ts';

export interface SnippetSource {
  options: SimulationOptions;
  /** File and columns that are summed; null where records are made up or learned from. */
  file: (Roles & { name: string; columns: readonly string[] }) | null;
}

export type Source = NonNullable<SnippetSource['file']>;

/** True if rows have persons or times, so that a step has any number of them. */
export const hasRoles = ({ person, time }: Source): boolean => person !== '' || time !== '';

/** Comment in all programs. */
export const seeded =
  '// Its seed is fixed, so that it shows what the page shows: nothing is private here.\n';
