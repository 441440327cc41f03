// SPDX-License-Identifier: Apache-2.0

// The privacy guarantee as a game: an attacker who knows everyone else's record guesses whether one
// person came.

import './attacker.css';
import { h, setText } from '../base/dom.ts';
import type { Panel } from '../figures/picture.ts';
import { count, fixed, percent, quantity } from '../base/format.ts';
import type { Engine } from '../base/engine.ts';
import { Slider } from './handle.ts';
import { privacy } from './hero-numbers.ts';
import { bestGuess, density } from './normal.ts';
import { areaBetween, lineThrough, Plane, type Point } from './plane.ts';
import { positionIn } from './position.ts';
import type { Context, Mount, SceneView } from './scene.ts';

/** Values of epsilon that the slider can take. */
const epsilons: readonly number[] = [
  0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10,
];
/** Values that also have a button below the slider. */
const listed = [0.1, 1, 3, 10] as const;
/** Number of rounds that the machine plays per press. */
const manyRounds = 1000;
/** Distance in pixels between a word and the stem of the dot. */
const gap = 8;
/** Number of past rounds that stay in the picture. */
const remembered = 80;
/** Noise is drawn in multiples of 2^-20 standard deviations. */
const scale = 2 ** 20;
const sides = { from: -3.4, to: 5.2 } as const;

interface Round {
  came: boolean;
  /** The published count minus everyone else, in standard deviations of its noise. */
  left: number;
}

/** Source of coins and noise: secret, fresh, and from the library. */
class Rounds {
  private numbers: Float64Array = new Float64Array();
  private at = 0;

  private constructor(private readonly draw: () => Promise<Float64Array>) {}

  static async create({ engine, queue }: Context): Promise<Rounds> {
    // Two numbers per round; the sign of the first is the coin.
    const noise = await queue(() =>
      engine.noise({ strategy: 'output', steps: 2 ** 30, dimension: 2 }),
    );
    const rounds = new Rounds(() => noise.rounded({ numRows: manyRounds, scale }));
    await rounds.refill();
    return rounds;
  }

  async refill(): Promise<void> {
    this.numbers = await this.draw();
    this.at = 0;
  }

  get empty(): boolean {
    return this.at >= this.numbers.length;
  }

  next(mu: number): Round {
    const came = this.numbers[this.at]! > 0;
    const left = this.numbers[this.at + 1]! / scale + (came ? mu : 0);
    this.at += 2;
    return { came, left };
  }
}

/** The two bell curves, the current round, and previous ones. */
class Picture {
  readonly plane: Plane;
  private readonly parts: Record<'away' | 'came' | 'right', SVGPathElement>;
  private readonly words: { away: SVGTextElement; came: SVGTextElement };
  private readonly dot: SVGCircleElement;
  private readonly stem: SVGLineElement;
  private readonly past: SVGGElement;
  private readonly rounds: Round[] = [];
  private round: Round = { came: false, left: 0 };

  constructor(private mu: number) {
    this.plane = new Plane({
      label: 'How likely each published number is, if the person came and if not',
      xName: 'the published count, minus everyone else →',
      yName: '',
      x: { ...sides, ticks: [], text: String },
      y: { from: 0, to: 0.47, ticks: [], text: String },
      draw: () => this.draw(),
    });
    const path = (kind: string): SVGPathElement => this.plane.add('path', { class: kind });
    this.parts = { right: path('right'), away: path('bell away'), came: path('bell came') };
    this.past = this.plane.add('g', { class: 'past' });
    this.stem = this.plane.add('line', { class: 'stem' });
    // Words are in front of the line, which may cross them.
    const word = (text: string, kind: string, anchor: string): SVGTextElement => {
      const element = this.plane.add('text', { class: `word ${kind}`, 'text-anchor': anchor });
      element.textContent = text;
      return element;
    };
    this.words = {
      away: word('stayed away', 'away', 'end'),
      came: word('came', 'came', 'start'),
    };
    this.dot = this.plane.add('circle', { class: 'dot', r: 7 });
  }

  show(mu: number): void {
    this.mu = mu;
    this.draw();
  }

  play(round: Round): void {
    this.round = round;
    this.draw();
  }

  keep(round: Round): void {
    this.rounds.push(round);
    if (this.rounds.length > remembered) this.rounds.shift();
  }

  forget(): void {
    this.rounds.length = 0;
  }

  private bell(centre: number): Point[] {
    const { plane } = this;
    return Array.from({ length: 161 }, (_, i) => {
      const x = sides.from + (i / 160) * (sides.to - sides.from);
      return { x: plane.x(x), y: plane.y(density(x - centre)) };
    });
  }

  /**
   * Moves a word that the stem at `x` would cross beyond it, on the side away from the bells. If
   * there is no room, the outline of the word interrupts the stem.
   */
  private clear(word: SVGTextElement, x: number, side: 1 | -1): void {
    const length = word.getComputedTextLength();
    const beyond = side * (x - Number(word.getAttribute('x')));
    if (beyond < -gap || beyond > length + gap) return;
    const to = x + side * gap;
    const end = to + side * length;
    if (end >= 0 && end <= this.plane.width) word.setAttribute('x', String(to));
  }

  private draw(): void {
    const { plane, mu, parts } = this;
    const [away, came] = [this.bell(0), this.bell(mu)];
    parts.away.setAttribute('d', lineThrough(away));
    parts.came.setAttribute('d', lineThrough(came));
    const between = (at: number): boolean => came[at]!.y < away[at]!.y;
    const where = came.map((_, i) => i).filter(between);
    parts.right.setAttribute(
      'd',
      areaBetween(
        where.map((i) => came[i]!),
        where.map((i) => away[i]!),
      ),
    );
    const place = (word: SVGTextElement, value: number, side: number): void => {
      word.setAttribute('x', String(plane.x(value + side)));
      word.setAttribute('y', String(plane.y(density(side)) - 8));
    };
    place(this.words.away, 0, -0.75);
    place(this.words.came, mu, 0.75);
    const inside = (value: number): number => Math.min(sides.to, Math.max(sides.from, value));
    const x = plane.x(inside(this.round.left));
    this.clear(this.words.away, x, -1);
    this.clear(this.words.came, x, 1);
    const [low, high] = [plane.bottom, plane.y(0.44)];
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: low, y2: high })) {
      this.stem.setAttribute(name, String(value));
    }
    this.dot.setAttribute('cx', String(x));
    this.dot.setAttribute('cy', String(high));
    this.past.replaceChildren(
      ...this.rounds.map(({ came: there, left }) => {
        const at = plane.x(inside(left));
        const [top, height] = [plane.bottom + (there ? 3 : 11), 6];
        return tick(at, top, height, there ? 'came' : 'away');
      }),
    );
  }
}

function tick(x: number, y: number, height: number, kind: string): SVGRectElement {
  const rect = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [name, value] of Object.entries({ x: x - 1, y, width: 2, height, class: kind })) {
    rect.setAttribute(name, String(value));
  }
  return rect;
}

/** Returns the bells at some epsilon, and the gain of the best guess. */
function panelOf(epsilon: number, mu: number): Panel {
  const x = Array.from({ length: 161 }, (_, i) => sides.from + (i / 160) * (sides.to - sides.from));
  const bell = (centre: number): number[] => x.map((at) => density(at - centre));
  const right = x.filter((at) => at > mu / 2);
  const [away, came] = ['the person stayed away', 'the person came'];
  return {
    title: `ε = ${epsilon}: the best guess is right ${percent(bestGuess(mu))} of the time`,
    x: { label: 'the published count, minus everyone else', log: false },
    y: { label: 'how likely', log: false },
    series: [
      { name: came, x, y: bell(mu), colour: 'ink' },
      { name: away, x, y: bell(0), colour: 'muted' },
      {
        name: 'gain',
        of: came,
        x: right,
        y: right.map((at) => density(at - mu)),
        to: right.map((at) => density(at)),
      },
    ],
  };
}

/** Count of right guesses. */
class Tally {
  right = 0;
  rounds = 0;
  readonly element = h('data', { value: 0 }, 'no guess yet');

  add(right: boolean): void {
    this.right += right ? 1 : 0;
    this.rounds += 1;
    this.show();
  }

  clear(): void {
    this.right = 0;
    this.rounds = 0;
    this.show();
  }

  private show(): void {
    const { right, rounds } = this;
    this.element.value = String(right);
    const share = `${count(right)} of ${count(rounds)} right, ${percent(right / rounds)}`;
    setText(this.element, rounds === 0 ? 'no guess yet' : share);
  }
}

/** The game: a dot, two answers, and the score of each player. */
class Game {
  readonly element: HTMLElement;
  private readonly yours = new Tally();
  private readonly machine = new Tally();
  private readonly verdict = h('p', { class: 'verdict', role: 'status' });
  private round: Round;

  constructor(
    private readonly rounds: Rounds,
    private readonly picture: Picture,
    private mu: number,
  ) {
    this.round = rounds.next(mu);
    picture.play(this.round);
    const answer = (text: string, came: boolean): HTMLElement =>
      h('button', { type: 'button', onclick: () => void this.guess(came) }, text);
    const many = `Let the best attacker play ${count(manyRounds)} rounds`;
    this.element = h(
      'div',
      { class: 'game' },
      h(
        'p',
        {},
        'You are the attacker now. You know everyone else’s record and subtract it from the ' +
          'published count: the dot is what is left. Did the person come?',
      ),
      h('div', { class: 'answers' }, answer('Came', true), answer('Stayed away', false)),
      this.verdict,
      h(
        'dl',
        { class: 'tally' },
        h('dt', {}, 'You'),
        h('dd', { class: 'yours' }, this.yours.element),
        h('dt', {}, 'Best attacker'),
        h('dd', { class: 'machine' }, this.machine.element),
      ),
      h('button', { type: 'button', class: 'many', onclick: () => void this.playMany() }, many),
    );
  }

  /** Starts a new game, because another epsilon changes the odds. */
  restart(mu: number): void {
    this.mu = mu;
    this.yours.clear();
    this.machine.clear();
    this.picture.forget();
    setText(this.verdict, '');
    this.round = this.rounds.next(mu);
    this.picture.play(this.round);
    if (this.rounds.empty) void this.rounds.refill();
  }

  private async guess(came: boolean): Promise<void> {
    const { round } = this;
    this.yours.add(came === round.came);
    const truth = round.came ? 'the person came' : 'the person stayed away';
    setText(this.verdict, `${came === round.came ? 'Right' : 'Wrong'}: ${truth}.`);
    this.picture.keep(round);
    if (this.rounds.empty) await this.rounds.refill();
    this.round = this.rounds.next(this.mu);
    this.picture.play(this.round);
  }

  /** Plays rounds with the best guess, which is the bell that is higher at the dot. */
  private async playMany(): Promise<void> {
    await this.rounds.refill();
    while (!this.rounds.empty) {
      const round = this.rounds.next(this.mu);
      this.machine.add(round.left > this.mu / 2 === round.came);
      this.picture.keep(round);
    }
    await this.rounds.refill();
    this.picture.play(this.round);
  }
}

async function distances({ engine, queue }: Context): Promise<number[]> {
  const mu = async (epsilon: number, client: Engine): Promise<number> =>
    (await client.calibrate({ epsilon, delta: privacy.delta })).mu;
  return queue(() => Promise.all(epsilons.map((epsilon) => mu(epsilon, engine))));
}

/** Explains why all counts together reveal no more than one dot. */
const sameForAll = (mu: number): string =>
  'The attacker sees not one count but all 1,024. That does not help: however the noise is made, ' +
  'there is enough of it that all counts together reveal exactly as much as this one dot. That is ' +
  'what “same privacy” means here. (In numbers: privacy is stated by two numbers, ε and δ, and ' +
  `δ is 10⁻⁶ throughout this story. For ε = ${fixed(privacy.epsilon, 0)} the two bells are ` +
  `μ = ${quantity(mu)} standard deviations apart.)`;

export const mount: Mount = async (stage, context): Promise<SceneView> => {
  const mus = await distances(context);
  const rounds = await Rounds.create(context);
  const muOf = (epsilon: number): number => mus[epsilons.indexOf(epsilon)]!;
  const picture = new Picture(muOf(privacy.epsilon));
  const game = new Game(rounds, picture, muOf(privacy.epsilon));
  const chance = h('data', {});
  const shown = h('data', {});
  const buttons = listed.map((epsilon) => {
    const text = `ε = ${epsilon}: ${percent(bestGuess(muOf(epsilon)))}`;
    const press = (): void => {
      choose(epsilons.indexOf(epsilon));
      context.settled();
    };
    return h('button', { type: 'button', 'data-epsilon': epsilon, onclick: press }, text);
  });
  const say = (at: number): string =>
    `epsilon ${epsilons[at]}: the best guess is right ${percent(bestGuess(mus[at]!))} of the time`;
  const show = (at: number): void => {
    chance.value = String(bestGuess(mus[at]!));
    setText(chance, percent(bestGuess(mus[at]!)));
    shown.value = String(epsilons[at]);
    setText(shown, String(epsilons[at]));
    for (const button of buttons) {
      button.setAttribute(
        'aria-pressed',
        String(Number(button.dataset['epsilon']) === epsilons[at]),
      );
    }
    picture.show(mus[at]!);
    game.restart(mus[at]!);
  };
  const first = epsilons.indexOf(privacy.epsilon);
  const slider = new Slider({
    label: 'ε, how much privacy may be lost',
    ends: ['much privacy', 'little privacy'],
    min: 0,
    max: epsilons.length - 1,
    value: first,
    step: 1,
    say,
    moved: show,
    settled: context.settled,
  });
  const choose = (at: number): void => {
    slider.put(at);
    show(at);
  };
  stage.words.append(
    h(
      'p',
      { class: 'claim' },
      'At ε = ',
      shown,
      ' the best possible attacker is right ',
      h('strong', {}, chance),
      ' of the time; a coin toss, 50\u00a0%. The gain comes from the shaded sliver alone.',
    ),
    game.element,
    h('p', {}, sameForAll(muOf(privacy.epsilon))),
  );
  stage.figure.append(
    picture.plane.element,
    slider.element,
    h('div', { class: 'listed' }, ...buttons),
  );
  show(first);
  return {
    restyle: () => {},
    panels: () => [panelOf(epsilons[slider.value]!, mus[slider.value]!)],
    position: positionIn(epsilons, () => slider.value, choose),
    dispose: () => picture.plane.dispose(),
  };
};
