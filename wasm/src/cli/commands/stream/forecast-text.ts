// SPDX-License-Identifier: Apache-2.0

// Prints what a run would promise, how noisy it would be and what it would cost (--dry-run).

import type { Certificate } from '../../../types/all.js';
import { choiceText, shownOf, stdText, type Choice, type Std } from './choice.js';

export interface Forecast {
  claim: string;
  steps: number;
  /** Largest standard deviation of one sum or of each of several; for a learner, a text. */
  std: Std | string | undefined;
  choice?: Choice | undefined;
  /** Says how much of a budget would be spent. */
  cost: string | undefined;
  /** Names the part of the table that was read. */
  read: string;
  certificate: Certificate;
}

function jsonOf({ choice, claim, ...rest }: Forecast): object {
  return { dryRun: true, guarantee: claim, ...rest, ...(choice && { choice: shownOf(choice) }) };
}

function textOf({ claim, steps, std, choice, cost, read, certificate }: Forecast): string {
  const noise = typeof std === 'object' || typeof std === 'number' ? stdText(std) : std;
  const lines = [
    `guarantee: ${claim}`,
    certificate.algorithm && `algorithm: ${certificate.algorithm}`,
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

/** Writes a forecast to standard output. */
export function writeForecast(forecast: Forecast, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(jsonOf(forecast))}\n` : textOf(forecast));
}
