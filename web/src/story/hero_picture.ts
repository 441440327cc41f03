// SPDX-License-Identifier: Apache-2.0

// The first picture as markup, made when the page is built: it is seen before any script has run,
// and by those who run none.

import { fixed } from '../page/format.ts';
import { numPeople, type Day, type Lane } from './hero_numbers.ts';

/** The counts that the picture has room for. */
export const range = { from: -100, to: 800 } as const;
export const ticks = { people: [0, 200, 400, 600, 800], steps: [0, 256, 512, 768, 1024] } as const;

/** Neighbouring values are less than a pixel apart: every second one is enough, and the last. */
const stride = 2;
const chosen = Array.from({ length: numPeople / stride }, (_, i) => stride * (i + 1) - 1);

const height = (value: number): number => Math.round(range.to - value);

/** A line in relative steps, which are shorter. */
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
  const edge = (sign: number) => steps.map((i) => `${i + 1} ${height(truth[i]! + sign * width[i]!)}`);
  return `M0 ${height(0)}L${edge(1).join(' ')} ${edge(-1).reverse().join(' ')}Z`;
}

const whole = (value: number): string => fixed(value, 0);

/** The two mechanisms that are seen first. */
export function ends({ lanes }: Day): { worst: Lane; best: Lane } {
  return { worst: lanes[0]!, best: lanes.at(-1)! };
}

/** The lines above the picture: whose curves these are, and how wide their bands. */
function legend(day: Day): string {
  const { worst, best } = ends(day);
  const last = numPeople - 1;
  const item = (kind: string, name: string, text: string): string =>
    `<li class="${kind}"><span class="mark"></span><span class="name">${name}</span> ` +
    `<span class="value">${text}</span></li>`;
  return `<ul class="hero-legend">${[
    item('truth', 'The true count, kept secret', `${whole(day.truth[last]!)} people`),
    item('worst', 'Published with fresh noise', `within ± ${fixed(worst.worst, 1)}`),
    item('best', 'Published with noise that takes itself back', `within ± ${fixed(best.worst, 1)}`),
  ].join('')}</ul>`;
}

export function heroMarkup(day: Day): string {
  const { worst, best } = ends(day);
  const label = (value: number): string => `<span>${value}</span>`;
  const everyOther = ticks.people.flatMap((value) => [label(value), '<span></span>']).reverse();
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
    `With fresh noise it strays from the true count by up to ${whole(worst.worst)} people, ` +
    `with noise that takes itself back by up to ${whole(best.worst)}.`;
  return (
    legend(day) +
    `<div class="hero-picture"><div class="hero-still" role="img" aria-label="${what}">` +
    `<div class="ticks-y">${everyOther.join('')}</div>` +
    `<svg viewBox="0 0 ${numPeople} ${range.to - range.from}" preserveAspectRatio="none">` +
    `${curves.join('')}</svg>` +
    `<div class="ticks-x">${ticks.steps.map(label).join('')}</div></div></div>`
  );
}
