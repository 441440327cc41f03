// SPDX-License-Identifier: Apache-2.0

// Shows what a release would promise, how noisy it would be and what it would cost, and releases
// nothing (--dry-run). Reads only the column names of a file and, if the horizon depends on them,
// its times or the number of its rows; standard input is then read to its end.

import type { Certificate, DpFtrl } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import { Misuse } from '../../base/failure.js';
import { isRegularFile } from '../../input/input.js';
import { guarantee, protection } from '../../input/protection.js';
import { RowStream } from '../../input/stream.js';
import { spendingOf } from '../../state/budget.js';
import { MOST_COMPARED } from './choice.js';
import { writeForecast } from './forecast-text.js';
import { openStream } from './open.js';
import { countSteps, givenSteps, openTable, prepare, sortByTime } from './prepare.js';
import type { Question } from './question.js';
import type { OpenStream } from './releases.js';
import type { ReleaseSettings } from './settings.js';
import { warnBefore } from './warnings.js';

/** Maximum number of readings kept at once. */
const MOST_READ = 1000;

/** @throws Misuse for a dry run of a state. */
export function refuseState(state: object | undefined): void {
  if (state === undefined) return;
  throw new Misuse('--dry-run does not go with --state, whose first run has decided all of it');
}

/** Settings with a horizon, and the part of the table that was read to find it. */
async function withHorizon(
  settings: ReleaseSettings,
): Promise<{ known: ReleaseSettings; read: string }> {
  if (givenSteps(settings) !== undefined) {
    return { known: settings, read: 'nothing but the names of its columns' };
  }
  const { times, files, format, missing } = settings;
  // A pipe can be read only once, for column names and everything else.
  if (!(await isRegularFile(files))) return { known: settings, read: 'all of it' };
  const texts = times ? [times.column] : [];
  const rows = await RowStream.open(files, {
    columns: [],
    onlyTexts: true,
    texts,
    format,
    missing,
  });
  if (times?.sorts) await sortByTime(rows, times);
  const steps = await countSteps({ ...settings, people: undefined }, rows);
  return {
    known: { ...settings, steps, times: times && { ...times, sorts: false } },
    read: times ? `its column ${times.column}` : 'the number of its rows',
  };
}

/** Standard deviation of the noisiest number: one value, or one per workload. */
export function stdOf({ clipNorm, maxError, noiseMultiplier, neighbours, workloads }: Certificate) {
  // Replacing a record moves a sum twice as far as leaving the record out.
  const size = clipNorm * noiseMultiplier * (neighbours === 'replace-one' ? 2 : 1);
  if (workloads === undefined) return size * maxError;
  return Object.fromEntries(
    Object.entries(workloads).map(([name, { maxError: error }]) => [name, size * error]),
  );
}

/** Standard deviation of the counts of each window of active people. */
function stdsOf({ active }: Certificate): Record<string, number> | undefined {
  if (active === undefined) return undefined;
  return Object.fromEntries(Object.entries(active).map(([name, { stddev }]) => [name, stddev]));
}

/** The maximum over the steps of each standard deviation, read off a stream without records. */
async function largestOf<R extends Reading>(
  stream: OpenStream<R>,
  stdsOf: NonNullable<Question<R>['stdsOf']>,
): Promise<Record<string, number> | undefined> {
  if (stream.steps > MOST_COMPARED) return undefined;
  const largest: Record<string, number> = {};
  while (stream.step < stream.steps) {
    const readings = await stream.endMany(Math.min(stream.steps - stream.step, MOST_READ));
    for (const [name, std] of readings.flatMap((reading) => Object.entries(stdsOf(reading)))) {
      largest[name] = Math.max(largest[name] ?? 0, std);
    }
  }
  return largest;
}

/** Writes the forecast of a question to standard output, and its warnings to standard error. */
export async function forecast<R extends Reading>(dp: DpFtrl, asked: Question<R>): Promise<void> {
  const { settings } = asked;
  refuseState(settings.state);
  const { known, read } = await withHorizon(settings);
  const table = await openTable(known, asked);
  const question = asked.atHorizon?.(dp, table.numSteps) ?? asked;
  const prepared = await prepare(dp, known, { question, table });
  const opened = await openStream<R>(dp, question, { settings: known, prepared });
  const { certificate } = opened.stream;
  const largest = question.stdsOf && (await largestOf(opened.stream, question.stdsOf));
  warnBefore({ question, settings: known, prepared, opened });
  await opened.close();
  const { chosen, rows, problem } = prepared;
  const choice = question.choice ?? prepared.choice;
  const { steps } = problem;
  const protects = { ...known, numSteps: steps };
  const whom = protection({ ...protects, instead: '--user-column' });
  const name = question.isOfPeople ? certificate.mechanism : chosen.name;
  const about = { mechanism: name, columns: rows.columns, unit: whom.unit };
  const cost = await settings.budget?.quote(dp, spendingOf(certificate, about));
  const { clippedTo } = question;
  const spoken = {
    name,
    mode: known.mode,
    whom,
    clippedTo,
    missing: known.missing.claim,
  };
  const claim = guarantee(certificate, spoken);
  // Moments and shares are quotients by noisy counts, so their noise depends on the data.
  const isOfSums = question.name === 'totals' || question.name === 'sums';
  const std =
    largest ??
    question.largestStd?.(certificate) ??
    (isOfSums ? stdOf(certificate) : stdsOf(certificate));
  writeForecast({ claim, steps, std, choice, cost, read, certificate }, settings.json);
}
