// SPDX-License-Identifier: Apache-2.0

// The learners of a run: what they are called, and how they are told apart.

import type { Run } from '../page/run.ts';
import type { Colour } from './colours.ts';
import type { History } from './history.ts';
import { laneColours } from './lane_colours.ts';

export interface LearnerCurve {
  /** In a key. */
  name: string;
  /** In a sentence. */
  short: string;
  /** In a picture, which has no controls beside it. */
  full: string;
  /** Column of a table, after what is measured. */
  column: string;
  who: 'private' | 'twin';
  history: History;
  colour: Colour;
}

const ruleNames = { ftrl: 'FTRL', descent: 'descent' } as const;
const joined = (parts: readonly string[], between: string): string =>
  parts.filter((part) => part !== '').join(between);

/** Private learners, lane after lane, and their twins without noise, which all lanes have in common. */
export function curvesOf({ lanes }: Run): LearnerCurve[] {
  const two = lanes.length > 1;
  const several = lanes[0]!.learners.length > 1;
  const all = lanes.flatMap((lane, i) => lane.learners.map((learner) => ({ ...learner, lane, i })));
  const mechanisms = lanes.map(({ mechanism }) => mechanism);
  // A lane has its colour in all figures; further learners of it have those that are left.
  const colours = laneColours([...mechanisms, ...all.slice(lanes.length).map(() => '')]);
  let further = lanes.length;
  const curves = all.map(({ rule, history, lane, i }): LearnerCurve => {
    const isFirst = history === lane.history;
    const said = several ? ruleNames[rule] : '';
    const letter = two ? 'AB'[i]! : '';
    const full = joined([joined([letter, lane.mechanism], ' '), said], ', ');
    return {
      name: two ? full : said || 'private learner',
      short: joined([letter, said], ' ') || 'private',
      full,
      column: `${i === 0 ? '' : '-b'}${isFirst ? '' : `-${rule}`}`,
      who: 'private',
      history,
      colour: colours[isFirst ? i : further++]!,
    };
  });
  const twins = lanes[0]!.learners.map(({ rule, history }, i): LearnerCurve => {
    const said = several ? ruleNames[rule] : '';
    const name = joined(['non-private twin', said], ', ');
    return {
      ...{ name, full: name, short: joined(['twin', said], ' ') },
      column: `-twin${i === 0 ? '' : `-${rule}`}`,
      who: 'twin',
      history,
      colour: i === 0 ? 'secret' : 'muted',
    };
  });
  return [...curves, ...twins];
}
