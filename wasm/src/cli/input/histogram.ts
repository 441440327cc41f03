// SPDX-License-Identifier: Apache-2.0

// Reads histograms of the rows of a file over declared domains or bins, and determines their
// privacy unit.

import { NEIGHBOURS } from '../../shared/defaults.js';
import type { Neighbours } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';
import type { Bins } from './bins.js';
import { FORMAT_OPTIONS, type TableFormat } from './format.js';
import { Domain, MAX_VALUES, outsideDomain } from './domain.js';
import { COLUMNS_OPTION, readNames } from './columns.js';
import { Missing, MISSING_OPTIONS } from './missing.js';
import { openInput } from './input.js';
import { PEOPLE_OPTIONS, personOf, readPeople, unitOf, warnOfMarks } from './people.js';
import type { PersonColumn } from './people.js';
import { placeOf } from './place.js';
import { readTable, type RowBatch, type RowRequest } from './rows.js';

export const HISTOGRAM_OPTIONS = {
  ...under('Columns', {
    columns: {
      ...COLUMNS_OPTION.columns,
      value: 'NAME,...',
      meaning:
        'columns to count, of which the first varies slowest. A name with a comma or = needs ' +
        'quotes: \'"a,b"\'. May be repeated',
      brief: 'columns to count',
    },
    domain: {
      value: 'D',
      isName: true,
      repeats: true,
      meaning:
        'the values of each column, in the order of the columns: LOW:HIGH (integers) or A,B,C ' +
        '(texts), or "$(paste -sd, FILE)" with one in each line of FILE. Declare it without looking at the data. A row with another value is refused',
      brief: 'its values, declared without the data: LOW:HIGH or A,B,C',
    },
    other: {
      meaning: 'adds a value, other, to every domain for all that it does not list',
      brief: 'adds a value for all that --domain does not list',
    },
  }),
  ...PEOPLE_OPTIONS,
  'user-column': {
    ...PEOPLE_OPTIONS['user-column'],
    meaning:
      'protects persons instead of rows: column ID says whose row it is. The first ' +
      '--max-contributions rows of each person count; memory grows with the number of persons. ' +
      'Needs zero-out neighbours',
  },
  ...FORMAT_OPTIONS,
  ...MISSING_OPTIONS,
};

export function readDomains(args: Args): Domain[] {
  const columns = readNames(args);
  const domains = args.texts('domain');
  if (columns.length !== domains.length) {
    const got = `${columns.length} and ${domains.length}`;
    throw new Misuse(`give one --domain for each of --columns, got ${got}`);
  }
  const all = columns.map((column, i) => Domain.read(column, domains[i]!, args.has('other')));
  const size = all.reduce((product, { labels }) => product * labels.length, 1);
  if (size > MAX_VALUES) throw new Misuse(`the domains must have at most 2^24 values, got ${size}`);
  return all;
}

/**
 * How answers about a histogram are protected: neighbours, privacy unit, and treatment of missing
 * cells.
 */
export interface HistogramProtection {
  missing: Missing;
  neighbours: Neighbours;
  people: PersonColumn | undefined;
  /** Privacy unit; a budget adds up releases with the same unit. */
  unit: string;
  /** A clause of the guarantee. */
  text: string;
}

/** Refuses --missing skip if the number of rows that count is public. */
export function requireZeroOut({ policy }: Missing, neighbours: Neighbours): void {
  if (neighbours === 'zero-out' || policy === 'refuse' || policy === 'zero') return;
  throw new Misuse('--missing skip needs zero-out neighbours: how many rows count is secret');
}

export function readProtected(args: Args): HistogramProtection {
  const neighbours = args.oneOf('neighbours', NEIGHBOURS);
  const people = readPeople(args);
  const isPublic = neighbours === 'replace-one';
  const missing = Missing.read(args, { areSteps: false });
  requireZeroOut(missing, neighbours);
  if (people && isPublic) {
    // Persons can have different numbers of rows, so replacing one can change how many rows count;
    // that number is public under replace-one.
    throw new Misuse('--user-column needs zero-out neighbours: how many rows count is secret');
  }
  const rows = isPublic ? 'the number of rows is public' : 'the number of rows is protected, too';
  if (!people) {
    const text = `one row is protected, not a person with several (${rows}; see --user-column)${missing.claim}`;
    return { missing, neighbours, people, unit: 'one row', text };
  }
  const { maxContributions: most } = people;
  const unit = unitOf(people);
  const which = most === 1 ? 'row counts' : `${most} rows count`;
  const text = `${unit} is protected, whose first ${which} and the rest is left out (${rows})${missing.claim}`;
  return { missing, neighbours, people, unit, text };
}

/** Selects the first rows of each person, up to a limit. */
class FirstRows {
  private readonly numRows = new Map<string, number>();

  constructor(private readonly most: number) {}

  /** Whether the next row of this person counts. */
  take(person: string): boolean {
    const before = this.numRows.get(person) ?? 0;
    if (before < this.most) this.numRows.set(person, before + 1);
    return before < this.most;
  }
}

/** Cells of a histogram, and the columns that determine the cell of a row. */
export interface Cells {
  size: number;
  wanted: Pick<RowRequest, 'columns' | 'texts' | 'onlyTexts' | 'domains' | 'ranges'>;
  /** Index of the cell of a row. */
  indexOf(batch: RowBatch, i: number): number;
}

/** One cell per combination of values; the values of the last column vary fastest. */
export function cellsOfDomains(domains: readonly Domain[], missing: Missing): Cells {
  return {
    size: domains.reduce((product, { labels }) => product * labels.length, 1),
    wanted: { columns: [], texts: domains.map(({ column }) => column), onlyTexts: true, domains },
    indexOf(batch, i) {
      let place = 0;
      domains.forEach((domain, j) => {
        const cell = batch.texts[j]![i]!;
        const index = domain.index(cell);
        if (index === undefined)
          throw outsideDomain(domain, cell, { where: placeOf(batch, i), missing });
        place = place * domain.labels.length + index;
      });
      return place;
    },
  };
}

/** Cells of a numeric column; numbers outside its range count as the nearest number inside. */
export function cellsOfBins(bins: Bins): Cells {
  return {
    size: bins.size,
    wanted: { columns: [bins.range.name], texts: [], ranges: () => [bins.range] },
    indexOf: (batch, i) => bins.indexOf(batch.values[i]!),
  };
}

export interface HistogramInput {
  command: string;
  cells: Cells;
  missing: Missing;
  people: PersonColumn | undefined;
  format: TableFormat;
}

/** Counts the rows; with --user-column, only the first rows of each person. */
export async function readHistogram(
  args: Args,
  { command, cells, missing, people, format }: HistogramInput,
): Promise<Float64Array> {
  const histogram = new Float64Array(cells.size);
  const texts = people ? [...cells.wanted.texts, people.column] : cells.wanted.texts;
  const first = people && new FirstRows(people.maxContributions);
  const table = await readTable(await openInput(args.files), {
    ...cells.wanted,
    texts,
    format,
    missing,
    ids: people?.column,
  });
  for await (const batch of table.batches) {
    for (let i = 0; i < batch.numRows; ++i) {
      const place = cells.indexOf(batch, i);
      if (!people || first!.take(personOf(batch, i, people, batch.texts.at(-1)!))) {
        ++histogram[place]!;
      }
    }
    if (batch.fault) throw batch.fault;
  }
  warnOfMarks(command, people, { marks: table.marks, missing });
  return histogram;
}
