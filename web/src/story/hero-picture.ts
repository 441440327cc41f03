// SPDX-License-Identifier: Apache-2.0

// The first picture. It is markup, written when the page is built, so that it is visible before
// scripts run and without them; the script then moves the same elements. Curves are in units of
// people and steps, stretched to the size of the picture; labels are placed in per cent of its
// height.

import { count, fixed } from '../base/format.ts';
import { numPeople, type Day, type HeroLane } from './hero-numbers.ts';

/** Range of counts in the picture. */
export const range = { from: -70, to: 880 } as const;
const ticks = [0, 200, 400] as const;
/** Number of pieces of the row of people; on phones, each piece is a row of its own. */
export const numPieces = 8;
export const pieceLength = numPeople / numPieces;

/**
 * Draws every second value, and the last, because neighbouring values are less than a pixel apart.
 */
const stride = 2;
const chosen = Array.from({ length: numPeople / stride }, (_, i) => stride * (i + 1) - 1);

const down = (value: number): number => Math.round(range.to - value);

/** Position of a number of people in the picture, measured from the top, as an SVG percentage. */
export const level = (value: number): string =>
  `${((100 * (range.to - value)) / (range.to - range.from)).toFixed(2)}%`;

export function curve(values: ArrayLike<number>): string {
  let before = down(0);
  let at = 0;
  const parts = chosen.map((i) => {
    const part = `l${i + 1 - at} ${down(values[i]!) - before}`;
    before = down(values[i]!);
    at = i + 1;
    return part;
  });
  return `M0 ${down(0)}${parts.join('')}`;
}

/** Area within `width` of the true count. */
export function band(truth: ArrayLike<number>, width: ArrayLike<number>): string {
  const steps = chosen.filter((i) => i % 16 === 15);
  const edge = (sign: number) => steps.map((i) => `${i + 1} ${down(truth[i]! + sign * width[i]!)}`);
  return `M0 ${down(0)}L${edge(1).join(' ')} ${edge(-1).reverse().join(' ')}Z`;
}

/** Mechanisms that the two big numbers show at first. */
export function ends({ lanes }: Day): { worst: HeroLane; best: HeroLane } {
  return { worst: lanes[0]!, best: lanes.at(-1)! };
}

/** Half the width of a mechanism's band where it is widest, in whole people. */
export const within = ({ worst }: HeroLane): string => `±${fixed(worst, 0)}`;

const explanations: Readonly<Record<string, string>> = {
  independent: 'Fresh noise for every person: all of it stays in the count and piles up.',
  tree: 'Noise on blocks of people: each count is the sum of a few blocks.',
  'square-root': 'Later noise takes back earlier noise, bit by bit, ever more faintly.',
  optimal: 'Later noise cancels part of the earlier noise, in proportions proven nearly optimal.',
};

/** Describes a mechanism in two sentences. */
export function explain(lane: HeroLane, day: Day): string {
  const times = ends(day).worst.worst / lane.worst;
  const less =
    times > 1
      ? `${fixed(times, 1)} times less noise, at exactly the same privacy.`
      : 'Both lines now carry the same noise.';
  return `${explanations[lane.mechanism]} ${less}`;
}

/** The initial visitor: somebody who came in well after the beginning. */
export const firstYou = ({ came }: Day): number => came.indexOf(1, 612);

/** Positions of the parts of a bracket: its ends and its back, from `x - 5` to `x`. */
export function bracket(x: number, truth: number, { worst }: HeroLane): Record<string, string>[] {
  const [top, bottom] = [level(truth + worst), level(truth - worst)];
  const [far, near] = [String(x), String(x - 5)];
  return [
    { x1: near, x2: far, y1: top, y2: top },
    { x1: far, x2: far, y1: top, y2: bottom },
    { x1: near, x2: far, y1: bottom, y2: bottom },
  ];
}

export const brackets = { best: 10, worst: 20 } as const;

function bracketMarkup(kind: keyof typeof brackets, truth: number, lane: HeroLane): string {
  const lines = bracket(brackets[kind], truth, lane).map((line) => {
    const attributes = Object.entries(line).map(([name, value]) => `${name}="${value}"`);
    return `<line ${attributes.join(' ')}/>`;
  });
  return `<g class="bracket ${kind}">${lines.join('')}</g>`;
}

/** Labels at the ends of the curves. */
export function labels(
  day: Day,
  lane: HeroLane,
  truth: number,
): { kind: string; y: string; text: string }[] {
  const { worst } = ends(day);
  return [
    { kind: 'worst', y: level(truth + worst.worst), text: `fresh noise, ${within(worst)}` },
    { kind: 'truth', y: level(truth), text: `the truth, secret: ${count(truth)}` },
    { kind: 'best', y: level(truth), text: `published, ${within(lane)}` },
  ];
}

/** Control with one segment for each mechanism. */
function segments(day: Day): string {
  const { best } = ends(day);
  const one = ({ mechanism, name }: HeroLane): string =>
    `<label><input type="radio" name="hero-noise" value="${mechanism}" autocomplete="off"` +
    `${mechanism === best.mechanism ? ' checked' : ''} disabled><span>${name}</span></label>`;
  return (
    '<fieldset class="segments"><legend class="visually-hidden">How the noise is made</legend>' +
    `${day.lanes.map(one).join('')}</fieldset>`
  );
}

function numeral(kind: string, lane: HeroLane): string {
  return (
    `<div class="numeral ${kind}"><data value="${lane.worst}">${within(lane)}</data>` +
    `<span>${lane.noise}</span></div>`
  );
}

/**
 * The row of passers-by, in which a tall bar is someone who came in. On phones, each piece is a row
 * of its own.
 */
function passers(day: Day): string {
  const bars = [...day.came].map((one, i) => (one === 1 ? `M${i} 0h.75v1h-.75z` : '')).join('');
  const you = firstYou(day);
  const pieces = Array.from({ length: numPieces }, (_, i) => {
    const first = i * pieceLength;
    const isHere = you >= first && you < first + pieceLength;
    const mark = isHere ? `<path class="you" d="M${you - 0.5} 0h2v1h-2z"/>` : '';
    return (
      `<svg viewBox="${first} 0 ${pieceLength} 1" preserveAspectRatio="none">` +
      `<use href="#came"/>${mark}</svg>`
    );
  });
  return (
    `<svg class="symbols" aria-hidden="true" width="0" height="0"><path id="came" d="${bars}"/></svg>` +
    `<div class="passers" role="group" aria-label="Everyone who passed">${pieces.join('')}</div>`
  );
}

export function heroMarkup(day: Day): string {
  const { worst, best } = ends(day);
  const truth = day.truth.at(-1)!;
  const you = firstYou(day);
  const path = (kind: string, d: string): string => `<path class="${kind}" d="${d}"/>`;
  const curves = [
    path('band worst', band(day.truth, worst.band)),
    path('band best', band(day.truth, best.band)),
    ...ticks.map((value) => path('grid', `M0 ${down(value)}H${numPeople}`)),
    path('line worst', curve(worst.release)),
    path('line best', curve(best.release)),
    path('line truth', curve(day.truth)),
    path('stem', stem(day.truth, you)),
  ];
  const what =
    `The number of people in a shop, published after each of ${count(numPeople)} passers-by. ` +
    `With fresh noise, 95 of 100 counts are within ${fixed(worst.worst, 0)} people of the true one; ` +
    `with noise that later noise takes back, within ${fixed(best.worst, 0)}.`;
  const scale = ticks.map((value) => {
    // The curves begin at zero, so the text of that tick stands beside them.
    const at = value === 0 ? 'x="-4" dy="5" text-anchor="end"' : 'x="0" dy="-5"';
    return `<text class="tick" y="${level(value)}" ${at}>${tick(value)}</text>`;
  });
  const word = `<text class="stem-word" x="${(100 * (you + 0.5)) / numPeople}%" y="100%" dy="-2">you</text>`;
  const named = labels(day, best, truth).map(
    ({ kind, y, text }) => `<text class="${kind}" y="${y}">${text}</text>`,
  );
  return (
    `<div class="numerals">${numeral('worst', worst)}${numeral('best', best)}</div>` +
    `${segments(day)}<div class="hero-picture" role="img" aria-label="${what}">` +
    `<svg class="curves" viewBox="0 0 ${numPeople} ${range.to - range.from}" preserveAspectRatio="none">` +
    `${curves.join('')}</svg><svg class="scale">${scale.join('')}${word}</svg>` +
    `<svg class="ends">${bracketMarkup('worst', truth, worst)}${bracketMarkup('best', truth, best)}` +
    `<g class="labels">${named.join('')}</g></svg></div>` +
    `<p class="hero-rows">${count(numPeople)} people, row by row: tall bars came in.</p>${passers(day)}` +
    `<div class="hero-you"><span class="passing">${count(numPeople)} people pass the shop; tall bars came in</span>` +
    '<p><strong>you came in</strong> <button type="button" class="plain away" disabled>pretend you stayed away</button></p>' +
    '<button type="button" class="plain again" disabled>watch the day again</button></div>' +
    `<p class="hero-says" aria-live="polite">${explain(best, day)}</p>`
  );
}

const tick = (value: number): string =>
  value === ticks.at(-1) ? `${value} people` : String(value);

/** Line from the visitor, below the picture, up to the true count. */
export const stem = (truth: ArrayLike<number>, you: number): string =>
  `M${you + 0.5} ${down(truth[you]!)}V${range.to - range.from}`;
