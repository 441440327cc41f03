// SPDX-License-Identifier: Apache-2.0

// Noise that takes back part of the previous noise. The user guesses the best share before the
// scene reveals it.

import './take-back.css';
import { h, setText } from '../base/dom.ts';
import { count, fixed, unbroken } from '../base/format.ts';
import { animate } from './animate.ts';
import { STEP_AXIS, type PicturePanel } from '../figures/picture.ts';
import { Slider } from './handle.ts';
import { numPeople, privacy } from './hero-numbers.ts';
import { areaBetween, lineThrough, place, Plane, type Point } from './plane.ts';
import { positionIn, type Position } from './position.ts';
import type { Context, Mount, SceneView } from './scene.ts';
import type { Stage } from './stage.ts';

/** Shares of the previous noise that can be taken back. */
const lambdas: readonly number[] = [
  0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98,
  0.985, 0.99, 0.993, 0.996, 0.998, 0.999,
];
const start = 0.5;
/** Number of steps whose noise is drawn as bars. */
const numBars = 16;
const scale = 2 ** 20;
/**
 * Largest error in the picture of the first steps, in people; larger errors are drawn at its edge,
 * with an arrow.
 */
const tallest = 32;
/** Duration of the animation of the first steps, in milliseconds. */
const playTime = 5000;

interface CorrelatedNoise {
  readonly lambda: number;
  /** Factor by which the noise of each step must be larger than fresh noise. */
  readonly sensitivity: number;
  /** Noise of the worst total, relative to the noise that hides one person once. */
  readonly error: number;
}

interface NoiseFacts {
  readonly kinds: readonly CorrelatedNoise[];
  /** Standard deviation of one person's noise, in people. */
  readonly unit: number;
  /** Fresh standard normal numbers, one per step. */
  readonly fresh: Float64Array;
}

const bestOf = ({ kinds }: NoiseFacts): CorrelatedNoise =>
  kinds.reduce((one, other) => (other.error < one.error ? other : one));

async function learnFacts({ engine, queue }: Context): Promise<NoiseFacts> {
  return queue(async () => {
    const { noiseMultiplier } = await engine.calibrate(privacy);
    const kinds: CorrelatedNoise[] = [];
    for (const lambda of lambdas) {
      const strategy = { name: 'lambda-cgd', lambda } as const;
      const { maxError, sensitivity } = await engine.error({ strategy, steps: numPeople });
      kinds.push({ lambda, sensitivity, error: maxError });
    }
    const noise = await engine.noise({ strategy: 'output', steps: numPeople, insecureSeed: 7 });
    const fresh = await noise.rounded({ numRows: numPeople, scale });
    noise.dispose();
    return { kinds, unit: noiseMultiplier, fresh: fresh.map((value) => value / scale) };
  });
}

/**
 * The error of the first totals as a pile: each step drops its fresh noise on the pile, and lifts
 * off a share of the noise of the previous step.
 */
class Pile {
  readonly plane: Plane;
  private readonly fresh: SVGRectElement[] = [];
  private readonly echoes: SVGRectElement[] = [];
  private readonly levels: SVGPathElement;
  private readonly beyond: SVGPathElement;
  /** Number of completed steps, plus the progress of the next step. */
  private come = numBars;
  private plays = 0;

  constructor(
    private readonly facts: NoiseFacts,
    private kind: CorrelatedNoise,
  ) {
    this.plane = new Plane({
      label: 'How the first steps add up to an error, and what each lifts off again',
      xName: 'step',
      yName: 'error of the total, in people',
      x: { from: 0.4, to: numBars + 0.6, ticks: [1, 4, 8, 12, 16], text: String },
      y: { from: -tallest, to: tallest, ticks: [-20, 0, 20], text: count },
      draw: () => this.draw(),
    });
    for (let i = 0; i < numBars; ++i) {
      this.fresh.push(this.plane.add('rect', { class: 'fresh' }));
      this.echoes.push(this.plane.add('rect', { class: 'echo' }));
    }
    this.levels = this.plane.add('path', { class: 'levels' });
    this.beyond = this.plane.add('path', { class: 'beyond' });
    this.plane.element.classList.add('pile-plane');
  }

  show(kind: CorrelatedNoise): void {
    this.kind = kind;
    this.draw();
  }

  /** Animates the steps, one after the other. */
  play(): void {
    const turn = ++this.plays;
    const draw = (part: number): void => {
      this.come = part * numBars;
      this.draw();
    };
    void animate(playTime, draw, () => turn === this.plays);
  }

  private draw(): void {
    const { plane, kind, facts, come } = this;
    const size = facts.unit * kind.sensitivity;
    const width = 0.36 * (plane.x(2) - plane.x(1));
    const inside = (value: number): number => Math.min(tallest, Math.max(-tallest, value));
    let beyond = '';
    const bar = (rect: SVGRectElement, x: number, from: number, to: number): void => {
      const half = width / 2;
      if (Math.max(from, to) > tallest) beyond += `M${x} ${plane.top}h${width}l${-half} -6z`;
      if (Math.min(from, to) < -tallest) beyond += `M${x} ${plane.bottom}h${width}l${-half} 6z`;
      const ends = [plane.y(inside(from)), plane.y(inside(to))];
      const y = Math.min(...ends);
      place(rect, { x, y, width, height: Math.max(...ends) - y });
    };
    let kept = 0;
    let level = '';
    for (let i = 0; i < numBars; ++i) {
      const value = size * facts.fresh[i]!;
      const before = i === 0 ? 0 : size * facts.fresh[i - 1]!;
      const part = Math.min(1, Math.max(0, come - i));
      const x = plane.x(i + 1);
      // First the share of the previous step is lifted off, then the new block falls.
      const lifted = kind.lambda * before * Math.min(1, 2 * part);
      bar(this.echoes[i]!, x - width - 1, kept + before, kept + before - lifted);
      kept += before - kind.lambda * before;
      const top = kept + value;
      bar(this.fresh[i]!, x + 1, kept, kept + value * Math.max(0, 2 * part - 1));
      if (part === 1) {
        const y = plane.y(inside(top));
        level += `M${x + 1} ${y}H${Math.min(plane.right, plane.x(i + 2) - 1)}`;
      }
    }
    this.levels.setAttribute('d', level);
    this.beyond.setAttribute('d', beyond);
  }
}

/** Noise of the first steps, and the share that is taken back. */
function barsPanel({ fresh }: NoiseFacts, { lambda }: CorrelatedNoise): PicturePanel {
  const steps = Array.from({ length: numBars }, (_, i) => i + 1);
  return {
    title: `${share(lambda)} taken back`,
    x: STEP_AXIS,
    y: { label: 'noise of a step', log: false },
    series: [
      {
        name: 'fresh noise',
        x: steps.map((step) => step - 0.2),
        y: [...fresh.slice(0, numBars)],
        look: 'bars',
        colour: 'fresh',
      },
      {
        name: 'taken back from the step before',
        x: steps.map((step) => step + 0.2),
        y: steps.map((step) => (step === 1 ? 0 : -lambda * fresh[step - 2]!)),
        look: 'bars',
        colour: 'private',
      },
    ],
  };
}

/** Picture of the noise in every total, with twice its standard deviation. */
function totalsPanel(
  { fresh, unit }: NoiseFacts,
  { lambda, sensitivity }: CorrelatedNoise,
): PicturePanel {
  const size = unit * sensitivity;
  const x = Array.from(fresh, (_, i) => i + 1);
  let kept = 0;
  const y = Array.from(fresh, (value) => {
    const total = size * (kept + value);
    kept += (1 - lambda) * value;
    return total;
  });
  const band = (sign: number): number[] =>
    x.map((_, i) => sign * 2 * size * Math.sqrt(1 + i * (1 - lambda) ** 2));
  const name = `λ = ${lambda}: fresh noise ${fixed(sensitivity, 2)} times as large`;
  return {
    title: 'The noise in each published total',
    x: STEP_AXIS,
    y: { label: 'noise in the total, in people', log: false },
    series: [
      { name, x, y, colour: 'private' },
      { name: 'band', of: name, x, y: band(1), to: band(-1) },
    ],
  };
}

function errorsPanel({ kinds }: NoiseFacts, kind: CorrelatedNoise): PicturePanel {
  const left = ({ lambda }: CorrelatedNoise): number => 1 - lambda;
  const here = `λ = ${kind.lambda}: ${errorText(kind.error)}`;
  return {
    title: 'Noise of the worst total',
    x: { label: 'part that is not taken back, 1 − λ', log: true },
    y: { label: '1 = on a single published count', log: true },
    series: [
      {
        name: 'every λ',
        x: kinds.map(left),
        y: kinds.map(({ error }) => error),
        colour: 'private',
      },
      { name: here, x: [left(kind)], y: [kind.error], look: 'marks', colour: 'private' },
    ],
  };
}

/** The noise in every total: all noise that has been added and not yet taken back. */
class TotalNoise {
  readonly plane: Plane;
  private readonly band: SVGPathElement;
  private readonly line: SVGPathElement;

  constructor(
    private readonly facts: NoiseFacts,
    private kind: CorrelatedNoise,
  ) {
    this.plane = new Plane({
      label: 'The noise in each published total',
      xName: 'step',
      yName: 'noise in the total, in people',
      x: { from: 0, to: numPeople, ticks: [0, 512, 1024], text: count },
      y: { from: -300, to: 300, ticks: [-200, 0, 200], text: count },
      draw: () => this.draw(),
    });
    this.band = this.plane.add('path', { class: 'totals-band' });
    this.line = this.plane.add('path', { class: 'totals' });
    this.plane.element.classList.add('totals-plane');
  }

  show(kind: CorrelatedNoise): void {
    this.kind = kind;
    this.draw();
  }

  private draw(): void {
    const { plane, kind, facts } = this;
    const size = facts.unit * kind.sensitivity;
    const line: Point[] = [{ x: plane.x(0), y: plane.y(0) }];
    const upper: Point[] = [];
    const lower: Point[] = [];
    let kept = 0;
    for (const [i, value] of facts.fresh.entries()) {
      line.push({ x: plane.x(i + 1), y: plane.y(size * (kept + value)) });
      kept += (1 - kind.lambda) * value;
      const width = 2 * size * Math.sqrt(1 + i * (1 - kind.lambda) ** 2);
      upper.push({ x: plane.x(i + 1), y: plane.y(width) });
      lower.push({ x: plane.x(i + 1), y: plane.y(-width) });
    }
    this.line.setAttribute('d', lineThrough(line));
    this.band.setAttribute('d', areaBetween(upper, lower));
  }
}

/** The error for every lambda, hidden until the user has guessed. */
class Errors {
  readonly plane: Plane;
  private readonly curve: SVGPathElement;
  private readonly cursor: SVGLineElement;
  private readonly dot: SVGCircleElement;
  private readonly guessMark: SVGCircleElement;
  private readonly guessWord: SVGTextElement;
  private readonly question: SVGTextElement;
  private guess: CorrelatedNoise | null = null;

  constructor(
    private readonly facts: NoiseFacts,
    private kind: CorrelatedNoise,
  ) {
    this.plane = new Plane({
      label: 'Noise of the worst total by the part that is taken back',
      xName: 'part taken back',
      yName: 'noise on the noisiest count (1 = on a single count)',
      // Spaced like the slider, evenly by index in the list.
      x: {
        from: 0,
        to: lambdas.length - 1,
        ticks: [0, 0.5, 0.9, 0.97, 0.999].map((lambda) => lambdas.indexOf(lambda)),
        text: (place) => String(lambdas[place]),
      },
      y: { from: 4, to: 40, logarithmic: true, ticks: [4, 8, 16, 32], text: String },
      draw: () => this.draw(),
    });
    this.curve = this.plane.add('path', { class: 'u-curve' });
    this.cursor = this.plane.add('line', { class: 'u-cursor' });
    this.guessMark = this.plane.add('circle', { class: 'u-guess', r: 6 });
    this.guessWord = this.plane.add('text', { class: 'u-word' });
    this.guessWord.textContent = 'your guess';
    this.dot = this.plane.add('circle', { class: 'u-dot', r: 6 });
    this.question = this.plane.add('text', { class: 'u-question', 'text-anchor': 'middle' });
    this.question.textContent = 'Where is it lowest?';
    this.plane.element.classList.add('u-plane');
  }

  show(kind: CorrelatedNoise): void {
    this.kind = kind;
    this.draw();
  }

  reveal(guess: CorrelatedNoise): void {
    this.guess = guess;
    this.draw();
  }

  private draw(): void {
    const { plane, kind, guess } = this;
    const known = guess !== null;
    for (const one of [this.curve, this.dot, this.guessMark, this.guessWord]) {
      one.classList.toggle('hidden', !known);
    }
    this.question.classList.toggle('hidden', known);
    const placeOf = ({ lambda, error }: CorrelatedNoise): Point => ({
      x: plane.x(lambdas.indexOf(lambda)),
      y: plane.y(error),
    });
    const here = placeOf(kind);
    const line = { x1: here.x, x2: here.x, y1: plane.top, y2: plane.bottom };
    // In the middle of the wider side of the cursor.
    const edge = here.x < (plane.left + plane.right) / 2 ? plane.right : plane.left;
    place(this.question, { x: (here.x + edge) / 2, y: (plane.top + plane.bottom) / 2 + 6 });
    for (const [name, value] of Object.entries(line)) this.cursor.setAttribute(name, String(value));
    this.curve.setAttribute('d', lineThrough(this.facts.kinds.map(placeOf)));
    const put = (mark: SVGCircleElement, { x, y }: Point): void => {
      mark.setAttribute('cx', String(x));
      mark.setAttribute('cy', String(y));
    };
    put(this.dot, here);
    if (guess === null) return;
    const guessed = placeOf(guess);
    put(this.guessMark, guessed);
    // The curve falls towards its minimum, so there is free space on that side of the mark, above
    // it.
    const falls = guess.lambda < bestOf(this.facts).lambda;
    this.guessWord.setAttribute('text-anchor', falls ? 'start' : 'end');
    this.guessWord.setAttribute('x', String(guessed.x + (falls ? 11 : -11)));
    this.guessWord.setAttribute('y', String(guessed.y - 9));
  }
}

const share = (lambda: number): string => unbroken(`${Number((100 * lambda).toFixed(1))} %`);

const errorText = (error: number): string =>
  error >= 10 ? String(Number(error.toFixed(1))) : fixed(error, 2);

/** Everything that depends on the slider. */
class TakeBack {
  private readonly pictures: { pile: Pile; totals: TotalNoise; errors: Errors };
  private readonly readout = h('p', { class: 'claim' });
  private readonly verdict = h('p', { class: 'verdict', role: 'status' });
  private readonly ask: HTMLButtonElement;
  private kind: CorrelatedNoise;
  private known = false;
  private readonly slider: Slider;
  /** Position of the slider alone, so that an address never reveals the answer. */
  readonly position: Position;

  constructor(
    private readonly facts: NoiseFacts,
    stage: Stage,
    context: Context,
  ) {
    this.slider = this.makeSlider(context.settled);
    this.position = positionIn(
      lambdas,
      () => this.slider.value,
      (at) => {
        this.slider.put(at);
        this.move(at);
      },
    );
    this.kind = facts.kinds[lambdas.indexOf(start)]!;
    this.pictures = {
      pile: new Pile(facts, this.kind),
      totals: new TotalNoise(facts, this.kind),
      errors: new Errors(facts, this.kind),
    };
    this.ask = h(
      'button',
      { type: 'button', class: 'primary ask', onclick: () => this.reveal() },
      'This is my guess: show the curve',
    );
    const { pile, totals, errors } = this.pictures;
    const { dataset } = stage.figure;
    stage.figure.append(
      pile.plane.element,
      this.slider.element,
      totals.plane.element,
      errors.plane.element,
    );
    // Narrow screens show one picture at a time, that of the step being read.
    dataset['read'] = 'pile';
    stage.step(
      () => {
        dataset['read'] = 'pile';
        if (!context.calm) pile.play();
      },
      'Each passer-by drops a block of ',
      h('strong', { class: 'of-fresh' }, 'fresh noise'),
      ' on a pile; the height of the pile is the error of the published count. The next one ',
      h('strong', { class: 'of-published' }, 'lifts a share of that block off'),
      ' again. Only what is left stays in later counts.',
    );
    stage.words.append(this.readout);
    stage.step(
      () => {
        dataset['read'] = 'totals';
      },
      'The catch: you stay in all later counts, while most of the noise that hid you is gone, and ' +
        'an attacker can compare two counts. So the more is taken back, the larger the blocks must ' +
        'be, at the same privacy.',
    );
    stage.step(() => {
      dataset['read'] = 'errors';
    }, 'Which share is best for 1,024 people? Move the slider there.');
    stage.words.append(h('div', { class: 'row' }, this.ask), this.verdict, this.table());
    this.show();
  }

  private makeSlider(settled: () => void): Slider {
    return new Slider({
      label: 'How much of the previous noise is taken back (λ)',
      ends: ['nothing', 'almost all'],
      min: 0,
      max: lambdas.length - 1,
      value: lambdas.indexOf(start),
      step: 1,
      say: (at) => this.describe(this.facts.kinds[at]!),
      moved: (at) => this.move(at),
      settled,
    });
  }

  private move(at: number): void {
    this.kind = this.facts.kinds[at]!;
    this.show();
  }

  private describe({ lambda, sensitivity, error }: CorrelatedNoise): string {
    const size = `fresh noise ${fixed(sensitivity, 2)} times as large`;
    const truth = this.known
      ? `, the worst total ${errorText(error)} times the noise of a single count`
      : '';
    return `${share(lambda)} taken back, ${size}${truth}`;
  }

  private show(): void {
    const { kind, known } = this;
    for (const picture of Object.values(this.pictures)) picture.show(kind);
    this.readout.replaceChildren(
      'Taken back: ',
      h('data', { class: 'take-lambda', value: kind.lambda }, share(kind.lambda)),
      ` (λ = ${kind.lambda}). This needs fresh noise `,
      h('data', { class: 'take-size', value: kind.sensitivity }, fixed(kind.sensitivity, 2)),
      ' times as large',
      ...(known
        ? [
            '; the noisiest count has ',
            h('data', { class: 'take-error', value: kind.error }, errorText(kind.error)),
            ' times the noise of a single one.',
          ]
        : ['.']),
    );
  }

  private reveal(): void {
    this.known = true;
    this.ask.hidden = true;
    const guess = this.kind;
    const best = bestOf(this.facts);
    const close = guess.error < 1.02 * best.error;
    setText(
      this.verdict,
      (close ? 'Very good. ' : '') +
        `Your λ = ${guess.lambda} gives ${errorText(guess.error)}; the best here, λ = ` +
        `${best.lambda}, gives ${errorText(best.error)}. Take back less and noise piles up; more, and ` +
        'the fresh noise must be too large.',
    );
    this.pictures.errors.reveal(guess);
    this.show();
    this.element.querySelector('.take-numbers')?.removeAttribute('hidden');
  }

  /** The numbers of the curve, which are hidden as long as the curve is. */
  private table(): HTMLElement {
    const rows = [0, 0.5, 0.97, 0.999].map((lambda) => this.facts.kinds[lambdas.indexOf(lambda)]!);
    return h(
      'p',
      { class: 'take-numbers', hidden: true },
      'Noise on the noisiest count: ',
      ...rows.flatMap(({ lambda, error }, i) => [
        i === 0 ? '' : ', ',
        h('data', { value: error }, errorText(error)),
        ` at λ\u00a0=\u00a0${lambda}`,
      ]),
      '.',
    );
  }

  private get element(): HTMLElement {
    return this.readout.parentElement!;
  }

  panels(): PicturePanel[] {
    const { facts, kind, known } = this;
    const seen = [barsPanel(facts, kind), totalsPanel(facts, kind)];
    return known ? [...seen, errorsPanel(facts, kind)] : seen;
  }

  dispose(): void {
    for (const { plane } of Object.values(this.pictures)) plane.dispose();
  }
}

export const mount: Mount = async (stage, context): Promise<SceneView> => {
  const scene = new TakeBack(await learnFacts(context), stage, context);
  return {
    restyle: () => {},
    panels: () => scene.panels(),
    position: scene.position,
    dispose: () => scene.dispose(),
  };
};
