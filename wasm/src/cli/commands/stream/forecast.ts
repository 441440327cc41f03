// SPDX-License-Identifier: Apache-2.0

// Shows what a release would promise, how noisy it would be and what it would cost, and releases
// nothing (--dry-run). Of a table it reads the names of the columns, and its times or the number of
// its rows where the horizon follows from them.

import type { Certificate, DpFtrl } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import { Misuse } from '../../base/failure.js';
import { isRegularFile } from '../../input/input.js';
import { guarantee, protection } from '../../input/protection.js';
import { RowStream } from '../../input/stream.js';
import { spendingOf } from '../../state/budget.js';
import { choiceText, shownOf, type Choice } from './choice.js';
import { openStream } from './open.js';
import { countSteps, givenSteps, prepare, sortByTime } from './prepare.js';
import type { Question } from './question.js';
import type { Settings } from './settings.js';

/** Returns settings with a horizon, and what had to be read for it. */
async function withHorizon(settings: Settings): Promise<{ known: Settings; read: string }> {
  if (givenSteps(settings) !== undefined) {
    return { known: settings, read: 'nothing but the names of its columns' };
  }
  const { times, files, format, missing } = settings;
  // A pipe can be read only once, for the names of the columns and for all else.
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

/** Returns the standard deviation of the noisiest number, of one sum or of each of several. */
function stdOf({ clipNorm, maxError, noiseMultiplier, neighbours, workloads }: Certificate) {
  // Replacing a record moves it twice as far as leaving it out.
  const size = clipNorm * noiseMultiplier * (neighbours === 'replace-one' ? 2 : 1);
  if (workloads === undefined) return size * maxError;
  return Object.fromEntries(
    Object.entries(workloads).map(([name, { maxError: error }]) => [name, size * error]),
  );
}

const short = (value: number): string => String(Number(value.toPrecision(3)));

/** Writes the forecast of a question to standard output. */
export async function forecast<R extends Reading>(
  dp: DpFtrl,
  question: Question<R>,
): Promise<void> {
  const { settings } = question;
  if (settings.state !== undefined) {
    throw new Misuse('--dry-run does not go with --state, whose first run has decided all of it');
  }
  const { known, read } = await withHorizon(settings);
  const prepared = await prepare(dp, known, question);
  const opened = await openStream<R>(dp, question, { settings: known, prepared });
  const { certificate } = opened.stream;
  await opened.close();
  const { chosen, choice, rows, problem } = prepared;
  const { numSteps: steps } = problem;
  const protects = { ...known, numSteps: steps };
  const whom = protection({ ...protects, instead: '--user-column' });
  const about = { mechanism: chosen.name, columns: rows.columns, unit: whom.unit };
  const cost = await settings.budget?.quote(dp, spendingOf(certificate, about));
  const { clippedTo } = question;
  const spoken = {
    name: chosen.name,
    mode: known.mode,
    whom,
    clippedTo,
    missing: known.missing.claim,
  };
  const claim = guarantee(certificate, spoken);
  // Moments and shares are divided by noisy counts, so that their noise depends on the data.
  const isOfSums = question.name === 'totals' || question.name === 'sums';
  const std = isOfSums ? stdOf(certificate) : undefined;
  const text = settings.json
    ? `${JSON.stringify(jsonOf({ claim, steps, std, choice, cost, read, certificate }))}\n`
    : textOf({ claim, steps, std, choice, cost, read });
  process.stdout.write(text);
}

interface Forecast {
  claim: string;
  steps: number;
  std: number | Record<string, number> | undefined;
  choice: Choice | undefined;
  cost: string | undefined;
  read: string;
}

function jsonOf({ choice, claim, ...rest }: Forecast & { certificate: Certificate }): object {
  return { dryRun: true, guarantee: claim, ...rest, ...(choice && { choice: shownOf(choice) }) };
}

function textOf({ claim, steps, std, choice, cost, read }: Forecast): string {
  const noise =
    typeof std === 'object'
      ? Object.entries(std)
          .map(([name, one]) => `${name} ${short(one)}`)
          .join(', ')
      : std === undefined
        ? undefined
        : short(std);
  const lines = [
    `guarantee: ${claim}`,
    choice && choiceText(choice),
    noise && `largest standard deviation: ${noise}`,
    `horizon: ${steps}`,
    cost,
    `nothing was released or charged; of the table, ${read} was read`,
  ];
  return lines
    .filter((line) => line !== undefined && line !== '')
    .map((line) => `${line}\n`)
    .join('');
}
