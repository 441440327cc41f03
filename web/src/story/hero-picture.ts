// SPDX-License-Identifier: Apache-2.0

// The first picture as markup, generated when the page is built, so that it is visible before
// scripts run, and without them.

import { fixed } from '../base/format.ts';
import { numPeople, type Day, type Lane } from './hero-numbers.ts';

/** Range of counts in the picture. */
export const range = { from: -100, to: 800 } as const;
export const ticks = { people: [0, 200, 400, 600, 800], steps: [0, 256, 512, 768, 1024] } as const;

export const names = { people: 'people who came in', steps: 'people who passed the shop' } as const;

/** Neighbouring values are less than a pixel apart, so every second one is enough, and the last. */
const stride = 2;
const chosen = Array.from({ length: numPeople / stride }, (_, i) => stride * (i + 1) - 1);

const height = (value: number): number => Math.round(range.to - value);

/** Returns a path in relative coordinates, which are shorter. */
function line(values: ArrayLike<number>, steps: readonly number[] = chosen): string {
  let before = height(0);
  let at = 0;
  const parts = steps.map((i) => {
    const part = `l${i + 1 - at} ${height(values[i]!) - before}`;
    before = height(values[i]!);
    at = i + 1;
    return part;
  });
  return `M0 ${height(0)}${parts.join('')}`;
}

function band(truth: Float64Array, { band: width }: Lane): string {
  const steps = chosen.filter((i) => i % 16 === 15);
  const edge = (sign: number) =>
    steps.map((i) => `${i + 1} ${height(truth[i]! + sign * width[i]!)}`);
  return `M0 ${height(0)}L${edge(1).join(' ')} ${edge(-1).reverse().join(' ')}Z`;
}

const whole = (value: number): string => fixed(value, 0);

/** Returns the two mechanisms shown first. */
export function ends({ lanes }: Day): { worst: Lane; best: Lane } {
  return { worst: lanes[0]!, best: lanes.at(-1)! };
}

export const published = ({ noise }: Lane): string => `Published with ${noise}`;
export const within = ({ worst }: Lane): string => `within ± ${fixed(worst, 1)} people`;

/** Returns the legend above the picture: the curves and the widths of their bands. */
function legend(day: Day): string {
  const { worst, best } = ends(day);
  const last = numPeople - 1;
  const item = (kind: string, name: string, text: string): string =>
    `<li class="${kind}"><span class="mark"></span><span class="name">${name}</span> ` +
    `<span class="value">${text}</span></li>`;
  return `<ul class="hero-legend">${[
    item('truth', 'The true count, kept secret', `${whole(day.truth[last]!)} people in the end`),
    item('worst', published(worst), within(worst)),
    item('best', published(best), within(best)),
  ].join('')}</ul>`;
}

const explanations: Readonly<Record<string, string>> = {
  independent: 'Fresh noise for every person: all of it stays in the count and piles up.',
  tree: 'Noise on blocks of people: any count is the sum of a few blocks.',
  'square-root': 'Each noise is taken back bit by bit, ever more faintly.',
  optimal:
    'Each noise is taken back bit by bit, in shares that are provably almost the best possible.',
};

export function describe(lane: Lane, day: Day): string {
  const times = ends(day).worst.worst / lane.worst;
  const less = times > 1 ? `, ${fixed(times, 1)} times less than fresh noise` : '';
  return `${within(lane)}${less}`;
}

/** Describes a mechanism in a sentence, and its error. */
export function explain(lane: Lane, day: Day): string {
  return `${explanations[lane.mechanism]} Now the count is ${describe(lane, day)}.`;
}

/** Returns the placeholder of the slider, with the numbers of its stops. */
function handle(day: Day): string {
  const last = day.lanes.length - 1;
  const stops = day.lanes.map(
    ({ name, worst }, i) =>
      `<li${i === last ? ' class="chosen"' : ''}><span class="name">${name}</span> ` +
      `<data value="${worst}">± ${fixed(worst, 1)}</data></li>`,
  );
  return (
    `<div class="hero-handle"><div class="hero-slider"></div><ul class="stops">${stops.join('')}</ul>` +
    `<p class="hero-says" aria-live="polite">${explain(ends(day).best, day)}</p></div>` +
    '<button type="button" class="again" disabled>Watch the day again</button>'
  );
}

export function heroMarkup(day: Day): string {
  const { worst, best } = ends(day);
  const label = (value: number): string => `<span>${whole(value)}</span>`;
  // One label per hundred, from top to bottom; every other one is empty.
  const hundreds = ticks.people.flatMap((value) => ['<span></span>', label(value)]).reverse();
  const path = (kind: string, d: string): string => `<path class="${kind}" d="${d}"/>`;
  const curves = [
    path('band worst', band(day.truth, worst)),
    path('band best', band(day.truth, best)),
    path('line worst', line(worst.release)),
    path('line best', line(best.release)),
    path('line truth', line(day.truth)),
  ];
  const what =
    `The number of people in a shop, published after each of ${whole(numPeople)} passers-by. ` +
    `With fresh noise, 95 of 100 counts are within ${whole(worst.worst)} people of the true one; ` +
    `with noise that later noise takes back, within ${whole(best.worst)}.`;
  return (
    legend(day) +
    `<div class="hero-picture"><div class="hero-still" role="img" aria-label="${what}">` +
    `<div class="name-y">${names.people}</div><div class="ticks-y">${hundreds.join('')}</div>` +
    `<svg viewBox="0 0 ${numPeople} ${range.to - range.from}" preserveAspectRatio="none">` +
    `${curves.join('')}</svg>` +
    `<div class="ticks-x">${ticks.steps.map(label).join('')}` +
    `<div class="name-x">${names.steps}</div></div></div></div>` +
    '<p class="note">Shaded: where 95 of 100 published counts fall. ± is half its width at the widest point.</p>' +
    handle(day)
  );
}
