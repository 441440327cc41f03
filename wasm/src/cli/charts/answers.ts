// SPDX-License-Identifier: Apache-2.0

// The figure of dp-ftrl queries: every answer with its noise.

import { BAND, BAND_TEXT, Thinning, type Figure } from './figure.js';

/** One answer of a release. */
export interface QueryOutput {
  query: string;
  answer: number;
  std: number;
}

export function answersFigure(answers: readonly QueryOutput[], unit: string): Figure {
  const thinning = new Thinning<QueryOutput>();
  answers.forEach((answer) => thinning.take(answer));
  const shown = thinning.points;
  return {
    title: 'Private answers',
    picture: {
      notes: thinning.notes('answers'),
      panels: [
        {
          title: `Lines: ${BAND_TEXT}`,
          x: { label: 'query', log: false, names: shown.map(({ query }) => query) },
          y: { label: unit, log: false, shows: [0] },
          series: [
            {
              name: 'answer',
              x: shown.map((_, i) => i),
              y: shown.map(({ answer }) => answer),
              spread: shown.map(({ std }) => BAND * std),
              look: 'marks',
            },
          ],
        },
      ],
    },
    numbers: {
      caption: `Answers, and the standard deviation of their noise${thinning.text}`,
      header: ['query', 'answer', 'std'],
      rows: shown.map(({ query, answer, std }) => [query, answer, std]),
    },
  };
}
