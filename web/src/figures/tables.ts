// SPDX-License-Identifier: Apache-2.0

// The figures as tables of about thirty evenly spaced steps and the last step. Each cell is a
// <data> element whose value has all digits.

import type { Settings } from '../controls/settings.ts';
import { wordsOf } from '../controls/workload.ts';
import { h } from '../base/dom.ts';
import { count, fixed, percent, quantity } from '../base/format.ts';
import type { Run } from '../run/run.ts';
import { curvesOf } from './learner-curves.ts';
import { learningAt } from './learning-figure.ts';
import type { Additions } from './sums-figure.ts';
import { SumsView } from './sums-view.ts';

const numRows = 32;

/** Number of steps of the run, and number of steps taken so far. */
type StepCounts = Pick<Run, 'numSteps' | 'step'>;

function stepsToShow(run: StepCounts): number[] {
  const stride = Math.max(1, Math.ceil(run.numSteps / numRows));
  const steps: number[] = [];
  for (let step = stride; step < run.step; step += stride) steps.push(step);
  if (run.step > 0) steps.push(run.step);
  return steps;
}

export interface TableColumn {
  title: string;
  secret: boolean;
  name: string;
  at(step: number): number;
  print(value: number): string;
}

export function makeTable(run: StepCounts, columns: TableColumn[]): HTMLElement {
  const head = h('tr', {}, h('th', { scope: 'col' }, 'Step'));
  for (const { title, secret } of columns) {
    head.append(h('th', { scope: 'col' }, title, secret && h('span', { class: 'note' }, 'secret')));
  }
  const body = h('tbody');
  for (const step of stepsToShow(run)) {
    const line = h('tr', { 'data-step': step }, h('th', { scope: 'row' }, count(step)));
    for (const column of columns) {
      const value = column.at(step);
      const cell = Number.isFinite(value)
        ? h('data', { value, 'data-column': column.name }, column.print(value))
        : '–';
      line.append(h('td', {}, cell));
    }
    body.append(line);
  }
  return h('table', {}, h('thead', {}, head), body);
}

function laneSuffix(run: Run, lane: number): string {
  return run.lanes.length > 1 ? ` ${lane === 0 ? 'A' : 'B'}` : '';
}

export function sumsTable(
  run: Run,
  { sums: view, deployed }: Pick<Settings, 'sums' | 'deployed'>,
  { simultaneous }: Additions,
): HTMLElement {
  const columns = run.lanes.flatMap(({ sums: history }, i): TableColumn[] => {
    const shown = Math.min(view, history.info.dimension);
    const sums = new SumsView(history, shown, simultaneous?.[i]);
    const suffix = laneSuffix(run, i);
    const tag = i === 0 ? '' : '-b';
    const print = (value: number): string => quantity(value, 5);
    return [
      {
        title: `Release${suffix}`,
        secret: false,
        name: `release${tag}`,
        print,
        at: (t) => sums.at(t - 1).release,
      },
      {
        title: `Band ±${suffix}`,
        secret: false,
        name: `band${tag}`,
        print,
        at: (t) => sums.at(t - 1).band,
      },
      ...(simultaneous === undefined
        ? []
        : [
            {
              title: `Every step ±${suffix}`,
              secret: false,
              name: `wide${tag}`,
              print,
              at: (t: number) => sums.at(t - 1).wide,
            },
          ]),
      {
        title: `Std${suffix}`,
        secret: false,
        name: `stddev${tag}`,
        print,
        at: (t) => history.stddev[t - 1] ?? NaN,
      },
      {
        title: `True ${wordsOf(run.settings).noun}${suffix}`,
        secret: true,
        name: `truth${tag}`,
        print,
        at: (t) => sums.at(t - 1).truth,
      },
    ];
  });
  return makeTable(run, deployed ? columns.filter(({ secret }) => !secret) : columns);
}

export function learningTable(run: Run, deployed: boolean): HTMLElement {
  const { info } = run.first;
  if (deployed) return h('p', {}, 'All of these numbers are secret in a deployment.');
  const columns: TableColumn[] = [];
  for (const view of ['loss', 'regret', 'accuracy'] as const) {
    if (view === 'accuracy' && !info.classifies) continue;
    const print = view === 'accuracy' ? percent : (value: number) => fixed(value, 4);
    const title = view === 'accuracy' ? 'Accuracy' : `Average ${view}`;
    for (const curve of curvesOf(run)) {
      const { column, short, who } = curve;
      columns.push({
        title: `${title}, ${who === 'twin' || short === 'private' ? short : `private ${short}`}`,
        secret: true,
        name: `${view}${column}`,
        print,
        at: (step) => learningAt(curve, view, step),
      });
    }
  }
  return makeTable(run, columns);
}
