// SPDX-License-Identifier: Apache-2.0

// Names and colours of the learners of a run.

import type { Run } from '../run/run.ts';
import { nameOf } from '../controls/mechanisms.ts';
import type { Colour } from './colours.ts';
import type { History } from '../run/history.ts';
import { laneColours } from './lane-colours.ts';

export interface LearnerCurve {
  /** Name in a legend. */
  name: string;
  /** Name in a sentence. */
  short: string;
  /** Name in a picture, which has no controls beside it. */
  full: string;
  /** Suffix of a table column, after the measured quantity. */
  column: string;
  who: 'private' | 'twin';
  history: History;
  colour: Colour;
}

const ruleNames = { ftrl: 'FTRL', descent: 'descent' } as const;
const joined = (parts: readonly string[], between: string): string =>
  parts.filter((part) => part !== '').join(between);

/** Private learners, lane by lane, then their non-private twins, which all lanes share. */
export function curvesOf({ lanes }: Run): LearnerCurve[] {
  const two = lanes.length > 1;
  const several = lanes[0]!.learners.length > 1;
  const all = lanes.flatMap((lane, i) => lane.learners.map((learner) => ({ ...learner, lane, i })));
  const mechanisms = lanes.map(({ mechanism }) => mechanism);
  // A lane has the same colour in all figures; its other learners take the remaining colours.
  const colours = laneColours([...mechanisms, ...all.slice(lanes.length).map(() => '')]);
  let further = lanes.length;
  const curves = all.map(({ rule, history, lane, i }): LearnerCurve => {
    const isFirst = history === lane.history;
    const said = several ? ruleNames[rule] : '';
    const letter = two ? 'AB'[i]! : '';
    const full = joined([joined([letter, nameOf(lane.mechanism)], ' '), said], ', ');
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
