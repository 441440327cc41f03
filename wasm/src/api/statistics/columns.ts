// SPDX-License-Identifier: Apache-2.0

// Turns records into the columns that are summed, and the sums into readings.

import { Turns } from '../../shared/turns.js';
import type { Core, CoreColumns, CorePrefixSum } from '../../core/core.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import type {
  Certificate,
  Estimate,
  Handle,
  Neighbours,
  Releases,
  Totals,
} from '../../types/all.js';

/** Number of values of an estimate as it crosses the boundary: value, low, high, stddev. */
const ESTIMATE = 4;

function estimatesOf(numbers: Float64Array): Estimate[] {
  return Array.from({ length: numbers.length / ESTIMATE }, (_, i) => {
    const at = i * ESTIMATE;
    const [value, low, high, stddev] = [0, 1, 2, 3].map((k) => numbers[at + k]!);
    return { value: value!, low: low!, high: high!, stddev: stddev! };
  });
}

/** Number of readings that are made without a pause. */
const SLICE_READINGS = 500;

/** Options common to all statistics. */
export interface Asked {
  confidence: number;
  neighbours: Neighbours;
  /** Whether a replaced record stays in its step. */
  fixedTimes: boolean;
}

const ZERO_OUT = { neighbours: 'zero-out', fixedTimes: false } as const;

/** Columns of records in pieces, with several records in each. */
export interface Parts {
  numRecords: number;
  pieces: Iterable<Float64Array>;
}

/** An object of the core that turns records into columns, and their sums into readings. */
export abstract class Columns<Reading = unknown> {
  constructor(
    protected readonly core: Core,
    readonly made: CoreColumns,
    private readonly relation: Pick<Asked, 'neighbours' | 'fixedTimes'> = ZERO_OUT,
  ) {}

  /** Number of values in a record, or of categories in a histogram. */
  abstract readonly dimension: number;
  /** Text that distinguishes sums of these columns from others. */
  abstract readonly about: string;
  /** Returns the columns of a single record. */
  abstract one(where: string, record: unknown): Float64Array;
  /** Returns the columns of records, after checking all of them. */
  abstract many(where: string, name: string, records: unknown): Float64Array;
  /** Returns four numbers per estimate, for each row of sums. */
  protected abstract numbersOf(
    sums: Float64Array,
    stddevs: Float64Array,
    firstStep: number,
  ): Float64Array;
  protected abstract named(estimates: Estimate[]): Reading;

  /** These make the sums if the columns have their own mechanism. */
  prefixSum?: (given: object) => CorePrefixSum;
  peopleSum?: (given: object) => CorePrefixSum;
  ledger?: (given: object) => CorePrefixSum;
  peopleLedger?: (given: { about: string }) => CorePrefixSum;

  /** Returns further members of a statistic; `use` throws if it was disposed of. */
  extras(_use: () => void): object {
    return {};
  }

  get id(): number {
    return this.made.id;
  }

  /** Frees the object; for use if no handle came to own it. */
  drop(): void {
    if (!this.core.aborted) this.core.call('dispose', this.id);
  }

  /** Converts the certificate of sums of the columns to one about records. */
  certified(certificate: Certificate): Certificate {
    const { neighbours, fixedTimes } = this.relation;
    const { distance } = this.made;
    const replaces = neighbours === 'replace-one';
    const own = { neighbours, clipNorm: replaces ? distance / 2 : distance };
    return Object.freeze({ ...certificate, ...own, ...(replaces && { fixedTimes }) });
  }

  /** Returns the same columns in pieces; all records have been checked when this returns. */
  parts(where: string, name: string, records: unknown): Parts {
    const columns = this.many(where, name, records);
    return { numRecords: columns.length / this.made.dimension, pieces: [columns] };
  }

  /**
   * Returns the predicted std of the noise that the statistic's `stddev` reports, from that of the
   * sums.
   */
  stddev(ofSums: number, _step: number, _which?: unknown): number {
    return ofSums / this.made.countWeight;
  }

  /** Returns the readings of rows of sums, given the std of the noise in each row. */
  read(sums: Float64Array, stddevs: Float64Array, firstStep: number): Reading[] {
    const numbers = this.numbersOf(sums, stddevs, firstStep);
    const width = numbers.length / stddevs.length;
    return Array.from(stddevs, (_, i) =>
      this.named(estimatesOf(numbers.subarray(i * width, (i + 1) * width))),
    );
  }
}

/** Private sums of columns. */
type Sums = Handle & Pick<Totals, 'certificate' | 'insecure' | 'stddev' | 'step'>;
type OpenSums = Sums & Pick<Totals, 'endSteps'>;

/** Base of statistics: columns, and private sums of them. */
export abstract class StatisticHandle<S extends Sums, Reading> extends CoreHandle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly insecure: boolean;

  constructor(
    instance: Instance,
    private readonly ownColumns: Columns<Reading>,
    private readonly ownSums: S,
  ) {
    super(instance, ownColumns.id, 'statistic');
    this.certificate = ownColumns.certified(ownSums.certificate);
    this.dimension = ownColumns.dimension;
    this.insecure = ownSums.insecure;
    Object.assign(
      this,
      ownColumns.extras(() => void this.id),
    );
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.sums.step;
  }

  stddev(step: number, which?: unknown): number {
    return this.columns.stddev(this.sums.stddev(step), step, which);
  }

  override dispose(): void {
    this.ownSums.dispose();
    super.dispose();
  }

  /** Throws if this was disposed of. */
  protected get sums(): S {
    void this.id;
    return this.ownSums;
  }

  /** Throws if this was disposed of. */
  protected get columns(): Columns<Reading> {
    void this.id;
    return this.ownColumns;
  }

  protected readingsOf(sums: Float64Array, firstStep: number): Reading[] {
    const numSteps = sums.length / this.ownColumns.made.dimension;
    const stddevs = Float64Array.from({ length: numSteps }, (_, i) =>
      this.sums.stddev(firstStep + i),
    );
    return this.ownColumns.read(sums, stddevs, firstStep);
  }

  /** Does the same in slices, between which the event loop runs. */
  protected async readings(sums: Releases): Promise<Reading[]> {
    const { dimension } = this.ownColumns.made;
    const turns = new Turns();
    const all: Reading[] = [];
    for (let begin = 0; begin < sums.length; begin += SLICE_READINGS * dimension) {
      const slice = sums.subarray(begin, begin + SLICE_READINGS * dimension);
      for (const reading of this.readingsOf(slice, sums.firstStep + begin / dimension))
        all.push(reading);
      await turns.pass();
    }
    return all;
  }
}

/** Base of statistics that live in one process. */
export abstract class OpenStatistic<S extends OpenSums, Reading> extends StatisticHandle<
  S,
  Reading
> {
  endSteps(numSteps?: number): Reading[] {
    return this.several(() => this.sums.endSteps(numSteps));
  }

  /** Returns the readings of steps. An error carries the readings of the steps before it. */
  protected several(release: () => Float64Array): Reading[] {
    const { step } = this;
    try {
      return this.readingsOf(release(), step);
    } catch (error) {
      const { released } = error as { released?: Float64Array };
      if (released === undefined) throw error;
      throw Object.assign(error as Error, { released: this.readingsOf(released, step) });
    }
  }
}
