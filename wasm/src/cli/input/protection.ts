// SPDX-License-Identifier: Apache-2.0

// Describes in words whom a release protects.

import { counted, withArticle } from '../../shared/counted.js';
import type { Certificate, Participation } from '../../types/all.js';
import { unitOf, type PersonColumn } from './people.js';
import type { TimeColumn } from './time.js';
import type { PublicCount } from '../output/weak.js';

export interface Protection {
  /** Privacy unit; a budget adds up releases with the same unit. */
  unit: string;
  /** A clause of the guarantee. */
  text: string;
  /** The horizon with the noun of its steps: `7 days in UTC`. */
  horizon: string;
  /** Facts that the guarantee treats as public. */
  isPublic: string;
  /** Says which rows are clipped together; empty if each row is clipped separately. */
  together: string;
}

export interface ProtectionFacts {
  participation: Participation;
  people: PersonColumn | undefined;
  times: TimeColumn | undefined;
  numSteps: number;
  /** Option that would protect persons, if the command has one. */
  instead?: string;
  /** Passes over the rows. Default 1. */
  passes?: number;
  /** Rows per step. Default 1. */
  batchSize?: number;
  /** Whether there is no horizon; then any 365 consecutive steps are protected. */
  isEndless?: boolean;
}

/** A number of steps with its noun: `1 row`, `7 days`, `4 batches of 8 rows in 2 passes`. */
function stepsText(count: number, { times, passes = 1, batchSize = 1 }: ProtectionFacts): string {
  if (times) return counted(count, times.bucket);
  const batches = `${counted(count, 'batch', 'batches')} of ${batchSize} rows`;
  const what = batchSize === 1 ? counted(count, 'row') : batches;
  return passes === 1 ? what : `${what} in ${passes} passes`;
}

/** Says that the first and the last bucket are set by options or, failing that, are public. */
function edgesText({ bucket, first, last }: TimeColumn): string {
  const areGiven = first !== undefined && last !== undefined;
  const how = areGiven ? 'those of --from and --to' : 'public';
  return `the first and the last ${bucket} are ${how}`;
}

export function protection(given: ProtectionFacts): Protection {
  const { people, times } = given;
  const areOne = people !== undefined && times !== undefined;
  const together = areOne ? `all rows of ${withArticle(times.bucket)} added up and ` : '';
  return { ...protectedBy(given), together };
}

function protectedBy(given: ProtectionFacts): Omit<Protection, 'together'> {
  const { participation, people, times, numSteps, instead, passes = 1 } = given;
  const zone = times ? ` in ${times.zone.name}` : '';
  const horizon = given.isEndless ? `none, days${zone}` : `${stepsText(numSteps, given)}${zone}`;
  const isPublic = times ? edgesText(times) : 'the number of rows is public';
  if (people) {
    const { maxContributions: most, minSeparation } = people;
    const step = times?.bucket ?? 'row';
    const isApart = most > 1 && minSeparation > 1;
    const apart = isApart ? ` that are at least ${minSeparation} ${step}s apart` : '';
    const rest = times ? 'the rest is left out' : 'the rest is released as rows of zeros';
    const unit = unitOf(people);
    if (most === Infinity) {
      const time = given.isEndless ? 'in any 365 days' : 'in all of these days and before';
      return { unit, text: `${unit} is protected, whatever it does ${time}`, horizon, isPublic };
    }
    const first = most === 1 ? `${step} counts` : `${most} ${step}s${apart} count`;
    return {
      unit,
      text: `${unit} is protected, whose first ${first} and ${rest}`,
      horizon,
      isPublic,
    };
  }
  if (participation === 'once') {
    const see = instead === undefined ? '' : ` (see ${instead})`;
    if (passes > 1) {
      const text = `one row is protected in all ${passes} passes, not a person with several`;
      return { unit: 'one row', text, horizon, isPublic };
    }
    const text = `one row is protected, not a person with several${see}`;
    return { unit: 'one row', text, horizon, isPublic };
  }
  if ('epochs' in participation) {
    const { epochs } = participation;
    const which = `one row in each of ${counted(epochs, 'epoch')} of ${counted(numSteps / epochs, 'row')}`;
    // The unit includes the epoch length, because users who fit one pattern need not fit another.
    const unit = `one user with ${which}`;
    const text = `one user is protected, with ${which}, always in the same place`;
    return { unit, text, horizon, isPublic };
  }
  const { times: most, apart } = participation;
  const which = `at most ${counted(most, 'row')}, at least ${counted(apart, 'row')} apart`;
  return {
    unit: `one user with ${which}`,
    text: `one user is protected, with ${which}`,
    horizon,
    isPublic,
  };
}

/**
 * Warns that contributions beyond the bound per person are missing from later steps, or that the
 * bound is larger than necessary.
 */
export function boundNotice(given: ProtectionFacts): string | undefined {
  const { people, times, numSteps } = given;
  if (!people || people.maxContributions === Infinity) return undefined;
  const { maxContributions: most, minSeparation } = people;
  const step = times?.bucket ?? 'row';
  const enough = Math.ceil(numSteps / minSeparation);
  if (most > enough) {
    return `--max-contributions ${most} is more than can count in ${counted(numSteps, step)}: ${enough} is enough`;
  }
  if (most === enough) return undefined;
  const which = most === 1 ? `first ${step}` : `first ${most} ${step}s`;
  const others = times ? `, a longer --bucket or fewer ${step}s` : '';
  return (
    `each person counts only in their ${which}, so later ${step}s are too low: do not read ` +
    `a trend from them. A larger --max-contributions (up to ${enough}, with more noise)` +
    `${others} leaves out less`
  );
}

/** Number of rows or users, if it is public. */
export function publicCount(given: ProtectionFacts): PublicCount | undefined {
  const { participation, people, times, numSteps, passes = 1, batchSize = 1 } = given;
  if (people || times) return undefined;
  if (participation === 'once') {
    return { count: (numSteps / passes) * batchSize, units: 'rows' };
  }
  if ('epochs' in participation) {
    return { count: numSteps / participation.epochs, units: 'users' };
  }
  return undefined; // The number of users is unknown, as some may participate less often.
}

interface GuaranteeFacts {
  name: string;
  mode: string;
  whom: Protection;
  /** Name of the clipped quantity if it is not obvious, such as 'its gradient '. */
  what?: string;
  /** Description of the clipping, if it is not to the norm in the certificate. */
  clippedTo?: string | undefined;
  /** A clause about rows with a missing cell. */
  missing?: string | undefined;
}

/**
 * The kind of noise in mode lattice, and the guarantee that is proved before the conversion to
 * epsilon and delta.
 */
function claimOf({ lattice, mu, rho }: Certificate): string {
  if (lattice === undefined) return '';
  return ` (${lattice.noise}, ${mu === null ? `${rho}-zCDP` : `${mu}-GDP`})`;
}

function pairOf(epsilon: number, delta: number): string {
  return `(${epsilon}, ${delta})-differentially private`;
}

/** Neighbours of a guarantee; with fixed times there are fewer. */
export function neighboursOf({ neighbours, fixedTimes }: Certificate): string {
  return fixedTimes ? `${neighbours} at fixed times` : neighbours;
}

/** The whole guarantee of a release, in one sentence. */
export function guarantee(
  certificate: Certificate,
  { name, mode, whom, what = '', clippedTo, missing = '' }: GuaranteeFacts,
): string {
  const { epsilon, delta, neighbours, fixedTimes, clipNorm, workload, laplace } = certificate;
  const target = laplace ? `${epsilon}-differentially private (pure)` : pairOf(epsilon, delta);
  const norm = laplace ? 'l1-norm over all columns' : 'l2-norm';
  const clip = clippedTo ?? `${whom.together}clipped to ${norm} ${clipNorm}`;
  const how = laplace ? 'discrete Laplace noise' : `mode ${mode}${claimOf(certificate)}`;
  const times = neighbours === 'replace-one' ? ` at ${fixedTimes ? 'fixed' : 'any'} times` : '';
  return (
    `${target}: ${whom.text}, ${what}${clip}${missing}; ` +
    `${workload === 'prefix' ? '' : `workload ${workload}, `}mechanism ${name}, ${how}, ` +
    `${neighbours} neighbours${times}, horizon ${whom.horizon} (${whom.isPublic})`
  );
}
