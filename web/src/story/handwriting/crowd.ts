// SPDX-License-Identifier: Apache-2.0

// A crowd: phones train a model together, one group per round, and keep their images to themselves.

import './crowd.css';
import { STEP_AXIS, type MapPanel, type PicturePanel } from '../../figures/picture.ts';
import { h, setText, svg } from '../../base/dom.ts';
import { count, percent, quantity, roundPercent, scientific } from '../../base/format.ts';
import { Slider } from '../handle.ts';
import { lineThrough, Plane } from '../plane.ts';
import { joined, placesOf } from '../position.ts';
import { ProgressLine } from '../progress-line.ts';
import type { Context, Mount, SceneView } from '../scene.ts';
import type { Stage } from '../stage.ts';
import { loadDigits, type DigitSet } from './numbers/digits.ts';
import { NUM_PIXELS } from './numbers/image.ts';
import {
  contributionOf,
  CROWD_MANNER,
  DELTA,
  GROUP,
  imagesOfPhone,
  NUM_PHONES,
  NUM_ROUNDS,
  PARTICIPATIONS,
  runCrowd,
  SEPARATION,
  type Crowd,
  type CrowdRound,
} from './numbers/crowd-rounds.ts';
import { NUM_CLASSES } from './numbers/softmax.ts';
import { digitsPanel, largestIn, DigitPicture } from './picture.ts';

const EPSILONS = [0.5, 1, 2, 4, 8];
/** Index at which the slider starts. */
const START = 2;
const SEED = 1;

/** Phones per row. */
const COLUMNS = 50;
/**
 * Stride between the phones of a group. It is coprime to the number of phones and spreads the group
 * over the picture.
 */
const STRIDE = 203;

/** All phones as dots, with the phones of the round highlighted. */
class Phones {
  readonly element: SVGSVGElement;
  private readonly dots: SVGCircleElement[];

  constructor() {
    this.dots = Array.from({ length: NUM_PHONES }, (_, phone) => {
      const place = (phone * STRIDE) % NUM_PHONES;
      return svg('circle', {
        cx: (place % COLUMNS) + 0.5,
        cy: Math.floor(place / COLUMNS) + 0.5,
        r: 0.36,
      });
    });
    this.element = svg(
      'svg',
      {
        class: 'phones',
        viewBox: `0 0 ${COLUMNS} ${NUM_PHONES / COLUMNS}`,
        role: 'img',
        'aria-label': `${NUM_PHONES} phones, ${GROUP} of them in this round`,
      },
      ...this.dots,
    );
  }

  show(group: readonly number[], chosen: number): void {
    const lit = new Set(group);
    this.dots.forEach((dot, phone) => {
      dot.classList.toggle('lit', lit.has(phone));
      dot.classList.toggle('chosen', phone === chosen);
    });
  }
}

/** A row of ten pictures with a title and a text above them. */
class PhoneRow {
  readonly element: HTMLElement;
  private readonly text = h('span', {});
  private readonly pictures: DigitPicture[];
  private values: Float64Array = new Float64Array(NUM_CLASSES * NUM_PIXELS);
  private full = 1;

  constructor(
    kind: string,
    private readonly title: string,
  ) {
    this.pictures = Array.from(
      { length: NUM_CLASSES },
      (_, digit) => new DigitPicture(`${title}, part for the ${digit}`),
    );
    this.element = h(
      'div',
      { class: `crowd-row ${kind}` },
      h('p', {}, h('strong', {}, title), this.text),
      h('div', { class: 'ten' }, ...this.pictures.map(({ element }) => element)),
    );
  }

  panel(): MapPanel {
    return digitsPanel(this.title, this.values, this.full);
  }

  /** Shows values on a scale, by default their own. */
  show(values: Float64Array, text: string, full = largestIn(values)): void {
    setText(this.text, text);
    this.values = values;
    this.full = full || 1;
    this.pictures.forEach((picture, digit) =>
      picture.show(values.subarray(digit * NUM_PIXELS, (digit + 1) * NUM_PIXELS), this.full),
    );
  }
}

/** The digits of the columns, below the rows. */
function digitNames(): HTMLElement[] {
  return Array.from({ length: NUM_CLASSES }, (_, digit) => h('span', {}, String(digit)));
}

/** Picture of the share of held-out images read correctly after each round. */
function progressPanel(rounds: readonly CrowdRound[], at: number): PicturePanel {
  const accuracies = rounds.map(({ accuracy }) => accuracy);
  const here = `after round ${at + 1}: ${percent(accuracies[at]!)}`;
  return {
    title: 'Accuracy on new images',
    x: { ...STEP_AXIS, label: 'rounds' },
    y: { label: 'accuracy', log: false },
    series: [
      {
        name: 'the crowd’s model',
        x: accuracies.map((_, i) => i + 1),
        y: accuracies,
        colour: 'private',
      },
      { name: here, x: [at + 1], y: [accuracies[at]!], look: 'marks', colour: 'private' },
    ],
  };
}

/** Root mean square. */
function sizeOf(values: Float64Array): number {
  return Math.sqrt(values.reduce((total, value) => total + value ** 2, 0) / values.length);
}

/** Chart of the held-out images that the model reads correctly, by round. */
class ProgressView {
  readonly plane: Plane;
  private readonly line: SVGPathElement;
  private readonly now: SVGLineElement;
  private accuracies: readonly number[] = [];
  private round = 0;

  constructor() {
    this.plane = new Plane({
      label: 'Accuracy of the crowd’s model on held-out images, round by round',
      xName: 'rounds',
      yName: 'accuracy on new images',
      x: { from: 0, to: NUM_ROUNDS, ticks: [0, 20, 40, 60, 80, 100], text: count },
      y: { from: 0, to: 1, ticks: [0, 0.25, 0.5, 0.75, 1], text: roundPercent },
      draw: () => this.draw(),
    });
    this.line = this.plane.add('path', { class: 'line' });
    this.now = this.plane.add('line', { class: 'now' });
  }

  show(rounds: readonly CrowdRound[], round: number): void {
    this.accuracies = rounds.map(({ accuracy }) => accuracy);
    this.round = round;
    this.draw();
  }

  private draw(): void {
    const { plane } = this;
    const points = this.accuracies.map((share, i) => ({ x: plane.x(i + 1), y: plane.y(share) }));
    this.line.setAttribute('d', lineThrough(points));
    const x = plane.x(this.round + 1);
    const geometry = { x1: x, x2: x, y1: plane.top, y2: plane.bottom };
    for (const [name, value] of Object.entries(geometry))
      this.now.setAttribute(name, String(value));
  }
}

class CrowdView {
  readonly figure: HTMLElement;
  readonly rounds: HTMLElement;
  readonly progress = new ProgressView();
  readonly phones = new Phones();
  readonly hidden = h('span', { class: 'crowd-hidden' });
  readonly total = h('span', { class: 'crowd-total' });
  readonly accuracy = h('p', { class: 'crowd-accuracy', 'aria-live': 'polite' });
  private readonly one = new PhoneRow('secret', 'What one phone sends');
  private readonly sum = new PhoneRow('secret', `All ${GROUP} phones together`);
  private readonly noise = new PhoneRow('noise', 'Noise');
  private readonly out = new PhoneRow('published', 'Published');
  private readonly model = new PhoneRow('published', 'The model');
  private readonly same: HTMLInputElement;
  private readonly round: Slider;
  private readonly next: HTMLElement;
  private made: readonly CrowdRound[] = [];
  private at = 0;
  private member = 0;
  /** The round that the user selected, counted from 1; null for the latest. */
  chosen: number | null = null;

  constructor(
    private readonly digits: DigitSet,
    settled: () => void,
  ) {
    this.round = new Slider({
      label: 'Round',
      ends: ['1', String(NUM_ROUNDS)],
      min: 1,
      max: NUM_ROUNDS,
      value: 1,
      step: 1,
      say: (round) => `round ${round} of ${NUM_ROUNDS}`,
      moved: (round) => this.choose(round),
      settled,
    });
    const next = (): void => {
      this.choose(((this.at + 1) % NUM_ROUNDS) + 1);
      settled();
    };
    const other = (): void => {
      this.member = (this.member + 1) % GROUP;
      this.draw();
    };
    this.next = h('button', { type: 'button', class: 'next-round', onclick: next }, 'Next round');
    this.same = h('input', { type: 'checkbox', id: 'crowd-same', onchange: () => this.draw() });
    const rows = [this.one, this.sum, this.noise, this.out, this.model];
    this.figure = h(
      'div',
      { class: 'crowd' },
      h(
        'div',
        { class: 'row' },
        h('label', { for: 'crowd-same' }, this.same, 'same scale'),
        h('button', { type: 'button', class: 'other-phone', onclick: other }, 'Another phone'),
      ),
      ...rows.map(({ element }) => element),
      h('div', { class: 'ten', 'aria-hidden': true }, ...digitNames()),
    );
    this.rounds = h('div', { class: 'rounds' }, this.round.element, this.next);
  }

  /** Shows the selected round, or the latest round available. */
  show(rounds: readonly CrowdRound[]): void {
    this.made = rounds;
    this.go((this.chosen ?? rounds.length) - 1);
  }

  panels(): (PicturePanel | MapPanel)[] {
    if (this.made.length === 0) return [];
    const rows = [this.one, this.sum, this.noise, this.out, this.model];
    return [progressPanel(this.made, this.at), ...rows.map((row) => row.panel())];
  }

  choose(round: number | null): void {
    this.chosen = round;
    this.go((round ?? this.made.length) - 1);
  }

  /** Shows the sent and the published values on one scale, or each row on its own. */
  compare(isSame: boolean): void {
    this.same.checked = isSame;
    this.draw();
  }

  /** Describes the noise of all rounds together. */
  finish({ rounds, stddev, freshStddev }: Crowd): void {
    this.show(rounds);
    const times = quantity(freshStddev / stddev, 2);
    setText(
      this.total,
      `After all ${NUM_ROUNDS} rounds, noise of ±${quantity(stddev, 2)} is left in each number of ` +
        `their sum. Fresh noise in every round would leave ${times} times as much.`,
    );
  }

  private go(round: number): void {
    this.at = Math.min(round, this.made.length - 1);
    this.round.put(this.at + 1);
    setText(this.next, this.at + 1 < NUM_ROUNDS ? 'Next round' : 'From the first round');
    this.draw();
  }

  private draw(): void {
    const round = this.made[this.at];
    if (round === undefined) return;
    const { clip } = CROWD_MANNER;
    const { training } = this.digits;
    const { sum, published } = round;
    const phone = round.group[this.member]!;
    const { clipped, length } = contributionOf(phone, round.weights, training, clip);
    const noise = published.map((value, i) => value - sum[i]!);
    this.phones.show(round.group, phone);
    const all = this.same.checked
      ? Math.max(...[clipped, sum, noise, published].map(largestIn))
      : undefined;
    const cut = length > clip ? `, shortened to ${clip}` : '';
    /** Returns the words for values that the common scale hides. */
    const unseen = (values: Float64Array): string =>
      all !== undefined && largestIn(values) < all / 20 ? ', too small for this scale' : '';
    this.one.show(clipped, `length ${quantity(length, 2)}${cut}${unseen(clipped)}`, all);
    this.sum.show(sum, `their sum${unseen(sum)}`, all);
    this.noise.show(noise, 'later rounds take part of it back', all);
    this.out.show(published, 'the sum with the noise', all);
    this.model.show(round.model, 'computed from what was published');
    const [most, size] = [largestIn(clipped), sizeOf(noise)];
    this.hidden.replaceChildren(
      'It changed no number by more than ',
      h('data', { class: 'crowd-most', value: most }, quantity(most, 2)),
      ', and each has noise of ',
      h('data', { class: 'crowd-noise', value: size }, `±${quantity(size, 2)}`),
      '. That is the privacy.',
    );
    this.progress.show(this.made, this.at);
    setText(
      this.accuracy,
      `After round ${this.at + 1} the model reads ${percent(round.accuracy)} of new images.`,
    );
  }
}

function promise(epsilon: number): string {
  return (
    `ε = ${epsilon} and δ = ${scientific(DELTA)} for a person: this covers all the images on a ` +
    `phone and all ${PARTICIPATIONS} rounds it takes part in, which are at least ` +
    `${SEPARATION} rounds apart.`
  );
}

/** Adds the steps, with the pictures that belong to them. */
function tell(stage: Stage, view: CrowdView, numImages: number): void {
  stage.step(
    () => view.compare(false),
    h('strong', {}, 'Every dot is a phone'),
    `, each with ${numImages} handwritten digits. In each round ${GROUP} phones send how their `,
    'images would change the model.',
  );
  stage.words.append(view.phones.element, view.rounds);
  stage.step(
    () => view.compare(false),
    'What one phone sends shows its handwriting. So only ',
    h('strong', {}, 'sums'),
    ' are used, and what a phone sends is shortened to ',
    `length ${CROWD_MANNER.clip} at most.`,
  );
  const vanishing = stage.step(
    () => view.compare(true),
    h('strong', {}, 'On the same scale the phone vanishes. '),
    view.hidden,
  );
  const left = stage.step(() => view.compare(false), view.total);
  for (const step of [vanishing, left]) step.classList.add('computed');
  stage.words.append(view.progress.plane.element, view.accuracy);
}

const smallPrint =
  'A simulation. The server is trusted to add the noise. To keep it from seeing more than sums, ' +
  'the phones must encrypt what they send so that it can be added but not read. How much a phone ' +
  'may send, and how fast the model learns, were chosen on digits that a program drew.';

const roundNumbers = Array.from({ length: NUM_ROUNDS }, (_, i) => i + 1);

export const mount: Mount = async (stage, context: Context): Promise<SceneView> => {
  const { figure, words } = stage;
  const digits = await loadDigits();
  const view = new CrowdView(digits, context.settled);
  const promised = h('p', { class: 'promise', 'aria-live': 'polite' });
  const progress = new ProgressLine();
  let running = new AbortController();
  let learning = Promise.resolve();
  const run = async (epsilon: number): Promise<void> => {
    running.abort();
    const { signal } = (running = new AbortController());
    setText(promised, promise(epsilon));
    figure.dataset['work'] = 'running';
    progress.show(`Preparing ${NUM_ROUNDS} rounds…`, null);
    const made = (rounds: readonly CrowdRound[]): void => {
      const done = rounds.length;
      progress.show(`Computing round ${done} of ${NUM_ROUNDS}…`, done / NUM_ROUNDS);
      if (rounds.length === NUM_ROUNDS || (!context.calm && rounds.length % 5 === 1)) {
        view.show(rounds);
      }
    };
    try {
      const { engine } = context;
      const options = { epsilon, seed: SEED, manner: CROWD_MANNER, signal, made };
      view.finish(await context.queue(() => runCrowd(engine, digits, options), { patient: true }));
      figure.dataset['work'] = 'done';
    } catch (error) {
      if (signal.aborted) return;
      setText(promised, `Learning failed: ${error instanceof Error ? error.message : error}`);
      figure.dataset['work'] = 'failed';
    }
  };
  const epsilon = new Slider({
    label: 'Privacy of a person',
    ends: ['most private', 'least private'],
    min: 0,
    max: EPSILONS.length - 1,
    value: START,
    step: 1,
    say: (i) => `epsilon ${EPSILONS[i]}`,
    moved: (i) => setText(promised, promise(EPSILONS[i]!)),
    settled: (i) => {
      learning = run(EPSILONS[i]!);
      context.settled();
    },
  });
  tell(stage, view, imagesOfPhone(0, digits.training).length);
  words.append(epsilon.element, promised);
  stage.curious(h('p', {}, smallPrint));
  figure.append(progress.element, view.figure);
  learning = run(EPSILONS[START]!);
  return {
    restyle: () => {},
    get working() {
      return learning;
    },
    panels: () => view.panels(),
    position: {
      read: () => joined(EPSILONS[epsilon.value]!, ...(view.chosen === null ? [] : [view.chosen])),
      put: (text) => {
        const places = placesOf(text, EPSILONS) ?? placesOf(text, EPSILONS, roundNumbers);
        if (places === null) return false;
        const [at, round] = places as [number, number?];
        const isOther = epsilon.value !== at;
        view.choose(round === undefined ? null : round + 1);
        epsilon.put(at);
        if (isOther) learning = run(EPSILONS[at]!);
        return true;
      },
    },
    dispose: () => {
      running.abort();
      view.progress.plane.dispose();
    },
  };
};
