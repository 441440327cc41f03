// SPDX-License-Identifier: Apache-2.0

// Formats the answers of dp-ftrl queries as text.

import type { LinearQueries, QueryAnswers } from '../../../types/all.js';
import type { QueryOutput } from '../../charts/answers.js';
import { RowText, type Format } from '../../output/row-text.js';
import type { NamedWorkload } from './asked.js';

/** Answers as counts of rows if `whole` is 1, or as fractions if `whole` is the number of rows. */
export function answersOf(
  queries: LinearQueries,
  { answers }: QueryAnswers,
  { names, whole }: { names: NamedWorkload; whole: number },
): QueryOutput[] {
  return Array.from(answers, (answer, i) => ({
    query: names.nameOf(i, queries.label(i)),
    answer: answer / whole,
    std: queries.standardErrors[i]! / whole,
  }));
}

export function asRows(
  answers: readonly QueryOutput[],
  { isFraction, format }: { isFraction: boolean; format: Format },
): string {
  const rows = new RowText(['query', 'answer', 'std'], format);
  const lines = answers.map(({ query, answer, std }) => {
    const shown = Number(isFraction ? answer.toPrecision(9) : answer.toFixed(6)) + 0;
    return rows.line([query, shown, Number(std.toPrecision(6))]);
  });
  return `${rows.head()}${lines.join('')}`;
}

export function asJson(
  answers: readonly QueryOutput[],
  queries: LinearQueries,
  about: { private: boolean; protects: string } & Record<string, unknown>,
): string {
  const { neighbours, noise, mu, unitError, lowerBound, ratio, numMeasurements } = queries;
  const { private: isPrivate, protects, ...privacy } = about;
  const rmsError = Math.sqrt(answers.reduce((sum, { std }) => sum + std * std, 0) / answers.length);
  const facts = { neighbours, ...privacy, noise, mu, unitError, lowerBound, ratio };
  const bounds = queries.bounds();
  const result = {
    private: isPrivate,
    protects,
    ...facts,
    bounds,
    numMeasurements,
    rmsError,
    answers,
  };
  return `${JSON.stringify(result)}\n`;
}
