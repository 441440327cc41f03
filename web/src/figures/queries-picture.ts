// SPDX-License-Identifier: Apache-2.0

// The histogram, its queries and their matrices as a picture for download.

import { extentOf, type Matrix } from '../data/matrix.ts';
import { matrixPanel } from './heat-map.ts';
import type { MapPanel, PicturePanel, ColouredSeries } from './picture.ts';

/** True and noisy answers to one query. */
export interface QueryAnswer {
  label: string;
  truth: number;
  each: number;
  eachStd: number;
  best: number;
  bestStd: number;
}

export interface QueriesContent {
  counts: readonly number[];
  answers: readonly QueryAnswer[];
  /** Shows the errors of the answers instead of the answers. */
  isError: boolean;
  /** Leaves out the histogram and the true answers, which stay secret. */
  deployed: boolean;
}

function histogramPanel(counts: readonly number[]): PicturePanel {
  return {
    title: 'The histogram',
    x: { label: 'value', log: false },
    y: { label: 'records', log: false },
    series: [
      {
        name: 'records',
        x: counts.map((_, i) => i),
        y: [...counts],
        look: 'bars',
        colour: 'secret',
      },
    ],
  };
}

function answersPanel({ answers, isError, deployed }: QueriesContent): PicturePanel {
  const x = answers.map((_, i) => i + 1);
  const marks = (
    name: string,
    value: (one: QueryAnswer) => number,
    std?: (one: QueryAnswer) => number,
  ): ColouredSeries => ({
    name,
    x,
    y: answers.map(value),
    ...(std === undefined ? {} : { spread: answers.map(std) }),
    look: 'marks',
  });
  const line = (name: string, value: (one: QueryAnswer) => number): ColouredSeries => ({
    name,
    x,
    y: answers.map(value),
  });
  const stds: ColouredSeries[] = [
    { ...line('std, noise on each', ({ eachStd }) => eachStd), colour: 'fresh' },
    { ...line('std, factorization', ({ bestStd }) => bestStd), colour: 'private' },
  ];
  const errors = [
    {
      ...marks('error, noise on each', ({ each, truth }) => Math.abs(each - truth)),
      of: stds[0]!.name,
    },
    {
      ...marks('error, factorization', ({ best, truth }) => Math.abs(best - truth)),
      of: stds[1]!.name,
    },
  ];
  const noisy: ColouredSeries[] = [
    {
      ...marks(
        'noise on each',
        ({ each }) => each,
        ({ eachStd }) => eachStd,
      ),
      colour: 'fresh',
    },
    {
      ...marks(
        'factorization',
        ({ best }) => best,
        ({ bestStd }) => bestStd,
      ),
      colour: 'private',
    },
  ];
  const truth: ColouredSeries = {
    ...line('true answer', (one) => one.truth),
    look: 'dashed',
    colour: 'secret',
  };
  const [published, secret] = isError ? [stds, errors] : [noisy, [truth]];
  return {
    title: isError ? 'Errors of the answers' : 'Answers, with one standard deviation',
    x: { label: 'query', log: false },
    y: { label: isError ? 'error' : 'answer', log: false },
    series: deployed ? published : [...published, ...secret],
  };
}

export function queriesPanels(
  shown: QueriesContent,
  matrices: readonly Matrix[],
  of: string,
): (PicturePanel | MapPanel)[] {
  const maps = matrices.map((matrix) => matrixPanel(matrix, extentOf([matrix]), of));
  return [...(shown.deployed ? [] : [histogramPanel(shown.counts)]), answersPanel(shown), ...maps];
}
