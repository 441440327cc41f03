// SPDX-License-Identifier: Apache-2.0

// The privacy guarantee as a game: an attacker who knows everyone else's record guesses whether one
// person came.

import './attacker.css';
import { h, setText } from '../base/dom.ts';
import type { PicturePanel } from '../figures/picture.ts';
import { count, percent, quantity } from '../base/format.ts';
import { mus } from 'virtual:privacy';
import { animate } from './animate.ts';
import { DragHandle, Slider } from './handle.ts';
import { epsilons, privacy } from './hero-numbers.ts';
import { bestGuess, density, rightAt } from './normal.ts';
import {
  areaBetween,
  lineThrough,
  Plane,
  type Point,
  makeGrip,
  place,
  setFitting,
} from './plane.ts';
import { joined } from './position.ts';
import type { Frame, Mount, SceneView } from './scene.ts';

/** Values of epsilon that also have a button below the slider. */
const listed = [0.1, 1, 3, 10] as const;
/** Number of rounds that the machine plays per press of the button. */
const manyRounds = 1000;
/** Durations in milliseconds: the pause and the fall of a dot, and all rounds of the machine. */
const pauseTime = 350;
const fallTime = 450;
const manyTime = 3000;
/** Width of a bin of the histograms, in standard deviations. */
const binWidth = 0.2;
/** Height of a round in the histograms, in pixels, while there are few rounds. */
const tallest = 9;
/** Noise is drawn in multiples of 2^-20 standard deviations. */
const scale = 2 ** 20;
const sides = { from: -3.4, to: 5.2 } as const;

interface GameRound {
  came: boolean;
  /** The published count minus the count of everyone else, in standard deviations of the noise. */
  left: number;
}

/** Source of coin flips and noise, drawn by the library with a secret, fresh key. */
class Rounds {
  private numbers: Float64Array = new Float64Array();
  private at = 0;

  private constructor(private readonly draw: () => Promise<Float64Array>) {}

  static async create({ library, queue }: Frame): Promise<Rounds> {
    const engine = await library();
    // Two numbers per round; the sign of the first is the coin flip.
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

  next(mu: number): GameRound {
    const came = this.numbers[this.at]! > 0;
    const left = this.numbers[this.at + 1]! / scale + (came ? mu : 0);
    this.at += 2;
    return { came, left };
  }
}

const numBins = Math.round((sides.to - sides.from) / binWidth);
const inside = (value: number): number => Math.min(sides.to, Math.max(sides.from, value));
const binOf = (value: number): number =>
  Math.min(numBins - 1, Math.floor((inside(value) - sides.from) / binWidth));

/**
 * Histogram of rounds by what is left of the published count; one histogram for rounds in which the
 * person came, another for those in which they stayed away.
 */
class RoundHistogram {
  readonly counts = new Uint32Array(numBins);

  add({ left }: GameRound): void {
    this.counts[binOf(left)]! += 1;
  }

  clear(): void {
    this.counts.fill(0);
  }
}

/** The two bells, the histograms of the rounds, the current dot, and the threshold of a guess. */
class GamePicture {
  readonly plane: Plane;
  readonly handle: DragHandle;
  private readonly parts: Record<'away' | 'came' | 'right', SVGPathElement>;
  private readonly piles: { came: SVGPathElement; away: SVGPathElement };
  private readonly histograms = { came: new RoundHistogram(), away: new RoundHistogram() };
  private readonly words: { away: SVGTextElement; came: SVGTextElement; threshold: SVGTextElement };
  private readonly dot: SVGCircleElement;
  private readonly line: SVGLineElement;
  private readonly grip: SVGGElement;
  private numRounds = 0;
  private round: GameRound = { came: false, left: 0 };
  private falls = 0;
  threshold: number;

  constructor(
    private mu: number,
    private readonly context: Frame,
    moved: () => void,
  ) {
    this.threshold = mu / 2;
    this.plane = new Plane({
      label: 'How likely each published number is, if the person came and if not',
      xName: 'the published count, minus everyone else →',
      yName: '',
      x: { ...sides, ticks: [], text: String },
      y: { from: 0, to: 0.56, ticks: [], text: String },
      gripped: true,
      draw: () => this.draw(),
    });
    const path = (kind: string): SVGPathElement => this.plane.add('path', { class: kind });
    this.piles = { away: path('pile away'), came: path('pile came') };
    this.parts = { right: path('right'), away: path('bell away'), came: path('bell came') };
    const word = (text: string, kind: string, anchor: string): SVGTextElement => {
      const element = this.plane.add('text', { class: `word ${kind}`, 'text-anchor': anchor });
      element.textContent = text;
      return element;
    };
    this.line = this.plane.add('line', { class: 'threshold' });
    this.words = {
      away: word('stayed away', 'away', 'end'),
      came: word('came', 'came', 'start'),
      threshold: word('', 'threshold', 'start'),
    };
    this.dot = this.plane.add('circle', { class: 'dot hidden', r: 8 });
    this.grip = makeGrip(this.plane);
    this.handle = new DragHandle(this.grip, {
      label: 'Threshold: guess “came” to the right of it',
      min: sides.from,
      max: sides.to,
      value: this.threshold,
      step: 0.05,
      along: 'x',
      say: () => `right ${percent(rightAt(this.threshold, this.mu))} of the time`,
      valueAt: (point) => this.plane.at(point).x,
      moved: (value) => {
        this.threshold = value;
        this.draw();
        moved();
      },
      settled: context.settled,
    });
  }

  /** Shows the bells at another distance `mu`, with their best threshold. */
  show(mu: number, threshold = mu / 2): void {
    this.mu = mu;
    this.threshold = threshold;
    this.handle.put(threshold);
    this.draw();
  }

  play(round: GameRound): void {
    this.round = round;
    this.falls += 1;
    this.dot.setAttribute('class', 'dot');
    this.draw();
  }

  /** Gives the dot the colour of the truth, and drops it onto the pile of its kind. */
  async fall(round: GameRound): Promise<void> {
    const turn = ++this.falls;
    this.dot.setAttribute('class', `dot ${round.came ? 'came' : 'away'}`);
    const [from, to] = [Number(this.dot.getAttribute('cy')), this.plane.bottom];
    if (!this.context.calm) {
      await animate(
        pauseTime,
        () => {},
        () => turn === this.falls,
      );
      const fell = (part: number): void =>
        this.dot.setAttribute('cy', String(from + part * part * (to - from)));
      await animate(fallTime, fell, () => turn === this.falls);
    }
    this.keep(round);
    this.draw();
  }

  keep(round: GameRound): void {
    this.histograms[round.came ? 'came' : 'away'].add(round);
    this.numRounds += 1;
  }

  forget(): void {
    for (const one of Object.values(this.histograms)) one.clear();
    this.numRounds = 0;
  }

  private bell(centre: number): Point[] {
    const { plane } = this;
    return Array.from({ length: 161 }, (_, i) => {
      const x = sides.from + (i / 160) * (sides.to - sides.from);
      return { x: plane.x(x), y: plane.y(density(x - centre)) };
    });
  }

  /** Height of a round in the histograms, in pixels. */
  private get roundHeight(): number {
    const { plane, numRounds } = this;
    const ofBell = (plane.bottom - plane.y(1)) / (binWidth * Math.max(1, numRounds / 2));
    return Math.min(tallest, ofBell);
  }

  /** Bars of a histogram, which fill their bell as rounds accumulate. */
  private pile({ counts }: RoundHistogram): string {
    const { plane, roundHeight: height } = this;
    const width = plane.x(binWidth) - plane.x(0) - 1;
    return [...counts]
      .map((number, bin) => {
        if (number === 0) return '';
        const x = plane.x(sides.from + bin * binWidth) + 0.5;
        return `M${x.toFixed(1)} ${plane.bottom}v${(-number * height).toFixed(1)}h${width.toFixed(1)}V${plane.bottom}Z`;
      })
      .join('');
  }

  draw(): void {
    const { plane, mu, parts, threshold } = this;
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
    this.piles.came.setAttribute('d', this.pile(this.histograms.came));
    this.piles.away.setAttribute('d', this.pile(this.histograms.away));
    const put = (word: SVGTextElement, value: number, side: number): void => {
      word.setAttribute('x', String(plane.x(value + side) + 12 * Math.sign(side)));
      word.setAttribute('y', String(plane.y(density(side)) - 4));
    };
    put(this.words.away, 0, -0.75);
    put(this.words.came, mu, 0.75);
    const at = plane.x(threshold);
    const most = Math.max(...Object.values(this.histograms).flatMap(({ counts }) => [...counts]));
    const top = Math.max(
      plane.top,
      Math.min(plane.y(0.43), plane.bottom - most * this.roundHeight - 6),
    );
    place(this.line, { x1: at, x2: at, y1: plane.bottom, y2: top });
    const isLeft = at < (plane.left + plane.right) / 2;
    const room = isLeft ? plane.right - at : at - plane.left;
    setFitting(this.words.threshold, room - 8, 'guess “came” from here →', 'came →');
    place(this.words.threshold, {
      x: isLeft ? at + 6 : at - 6,
      y: top + 2,
      'text-anchor': isLeft ? 'start' : 'end',
    });
    this.grip.setAttribute('transform', `translate(${at} ${plane.bottom})`);
    place(this.dot, { cx: plane.x(inside(this.round.left)), cy: plane.top - 14 });
  }
}

function panelOf(epsilon: number, mu: number): PicturePanel {
  const x = Array.from({ length: 161 }, (_, i) => sides.from + (i / 160) * (sides.to - sides.from));
  const bell = (centre: number): number[] => x.map((at) => density(at - centre));
  const right = x.filter((at) => at > mu / 2);
  const [away, came] = ['the person stayed away', 'the person came'];
  return {
    title: `ε = ${epsilon}: the best guess is right ${percent(bestGuess(mu))} of the time`,
    x: { label: 'the published count, minus everyone else', log: false },
    y: { label: 'how likely', log: false },
    series: [
      { name: came, x, y: bell(mu), colour: 'secret' },
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

/** Counts right guesses. */
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
  private readonly buttons: readonly HTMLButtonElement[];
  /** Null until the library has drawn the first rounds. */
  private rounds: Rounds | null = null;
  private round: GameRound | null = null;
  private games = 0;

  constructor(
    private readonly picture: GamePicture,
    private mu: number,
    private readonly context: Frame,
  ) {
    const button = (text: string, press: () => Promise<void>, name = ''): HTMLButtonElement =>
      h('button', { type: 'button', class: name, disabled: true, onclick: press }, text);
    const came = button('Came', () => this.guess(true));
    const away = button('Stayed away', () => this.guess(false));
    const many = `Let the best attacker play ${count(manyRounds)} rounds`;
    const all = button(many, () => this.playMany(), 'many');
    this.buttons = [came, away, all];
    this.element = h(
      'div',
      { class: 'game' },
      h(
        'p',
        {},
        'Be that attacker. You know who else came, and subtract them from the published count: ' +
          'the dot is what is left. Did this person come?',
      ),
      h('div', { class: 'answers' }, came, away),
      this.verdict,
      h(
        'dl',
        { class: 'tally' },
        h('dt', {}, 'You'),
        h('dd', { class: 'yours' }, this.yours.element),
        h('dt', {}, 'Best attacker'),
        h('dd', { class: 'machine' }, this.machine.element),
      ),
      all,
    );
  }

  /** Enables the buttons and starts the first game. */
  begin(rounds: Rounds): void {
    this.rounds = rounds;
    for (const button of this.buttons) button.disabled = false;
    this.restart(this.mu);
  }

  /** Starts a new game, because another epsilon or threshold changes the odds. */
  restart(mu: number): void {
    this.mu = mu;
    this.games += 1;
    this.yours.clear();
    this.machine.clear();
    this.picture.forget();
    setText(this.verdict, '');
    if (this.rounds === null) return;
    this.round = this.rounds.next(mu);
    this.picture.play(this.round);
    if (this.rounds.empty) void this.rounds.refill();
  }

  /**
   * True if the threshold's guess is right. The threshold is the best one, unless the user moved
   * it.
   */
  private isRuleRight({ left, came }: GameRound): boolean {
    return left > this.picture.threshold === came;
  }

  private async guess(came: boolean): Promise<void> {
    const { round, rounds, games } = this;
    if (round === null || rounds === null) return;
    this.yours.add(came === round.came);
    this.machine.add(this.isRuleRight(round));
    const truth = round.came ? 'the person came' : 'the person stayed away';
    setText(this.verdict, `${came === round.came ? 'Right' : 'Wrong'}: ${truth}.`);
    const next = rounds.empty ? rounds.refill() : Promise.resolve();
    const fallen = this.picture.fall(round);
    await next;
    if (games !== this.games) return;
    // The next answer may come before the dot has fallen.
    const coming = rounds.next(this.mu);
    this.round = coming;
    await fallen;
    if (games === this.games && coming === this.round) this.picture.play(coming);
  }

  /** Plays rounds by the threshold rule, within about three seconds. */
  private async playMany(): Promise<void> {
    const { rounds } = this;
    if (rounds === null) return;
    const games = ++this.games;
    this.machine.clear();
    await rounds.refill();
    let played = 0;
    const playTo = (part: number): void => {
      for (; played < part * manyRounds; ++played) {
        const round = rounds.next(this.mu);
        this.machine.add(this.isRuleRight(round));
        this.picture.keep(round);
      }
      this.picture.draw();
    };
    if (this.context.calm) playTo(1);
    else await animate(manyTime, playTo, () => games === this.games);
    if (games === this.games) await rounds.refill();
  }
}

const sameForAll =
  'The attacker sees not one count but all 1,024. That does not help: however the noise is made, ' +
  'there is enough of it that all counts together reveal exactly as much as this one dot. That is ' +
  'what “same privacy” means here.';

export const mount: Mount<Frame> = async (stage, context): Promise<SceneView> => {
  const muOf = (epsilon: number): number => mus[epsilons.indexOf(epsilon)]!;
  const own = h('span', { class: 'own', role: 'status' });
  const picture = new GamePicture(muOf(privacy.epsilon), context, () => {
    const mu = mus[slider.value]!;
    setText(own, `With your threshold: ${percent(rightAt(picture.threshold, mu))}.`);
    game.restart(mu);
  });
  const game = new Game(picture, muOf(privacy.epsilon), context);
  const chance = h('data', {});
  const apart = h('span', {});
  const shown = h('data', {});
  const buttons = listed.map((epsilon) => {
    const right = h('b', {}, percent(bestGuess(muOf(epsilon))));
    const label = h('span', {}, `ε = ${epsilon}: `, right);
    const press = (): void => {
      choose(epsilons.indexOf(epsilon));
      context.settled();
    };
    return h('button', { type: 'button', 'data-epsilon': epsilon, onclick: press }, label);
  });
  const say = (at: number): string =>
    `epsilon ${epsilons[at]}: the best guess is right ${percent(bestGuess(mus[at]!))} of the time`;
  const show = (at: number): void => {
    chance.value = String(bestGuess(mus[at]!));
    setText(chance, percent(bestGuess(mus[at]!)));
    shown.value = String(epsilons[at]);
    setText(shown, String(epsilons[at]));
    setText(apart, quantity(mus[at]!));
    setText(own, '');
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
    label: 'ε: how much privacy may be lost',
    ends: ['more private', 'less private'],
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
  stage.words.append(game.element);
  stage.step(
    null,
    'At ε = ',
    shown,
    ' the best possible attacker is right ',
    h('strong', { class: 'claim' }, chance),
    ' of the time; a coin toss, 50\u00a0%. The gain comes from the ',
    h('strong', { class: 'of-attacker' }, 'shaded part'),
    ' alone. ',
    own,
  );
  stage.step(null, sameForAll);
  stage.curious(
    'Privacy is stated by two numbers, ε and δ; δ is 10⁻⁶ throughout this story. At this ε the two ' +
      'bells are μ = ',
    apart,
    ' standard deviations apart.',
  );
  stage.figure.append(
    picture.plane.element,
    slider.element,
    h('div', { class: 'listed' }, ...buttons),
  );
  show(first);
  const { dataset } = stage.figure;
  dataset['work'] = 'running';
  const working = Rounds.create(context).then((rounds) => {
    game.begin(rounds);
    dataset['work'] = 'done';
  });
  return {
    restyle: () => {},
    working,
    panels: () => [panelOf(epsilons[slider.value]!, mus[slider.value]!)],
    position: {
      read: () => {
        const moved = picture.threshold !== mus[slider.value]! / 2;
        return joined(epsilons[slider.value]!, ...(moved ? [picture.threshold] : []));
      },
      put: (text) => {
        const [epsilon, threshold, ...rest] = text.split('_');
        const at = epsilons.findIndex((one) => String(one) === epsilon);
        const place = Number(threshold);
        const fits = threshold === undefined || (place >= sides.from && place <= sides.to);
        if (at < 0 || !fits || threshold === '' || rest.length > 0) return false;
        choose(at);
        if (threshold !== undefined) picture.show(mus[at]!, place);
        return true;
      },
    },
    dispose: () => picture.plane.dispose(),
  };
};
