// SPDX-License-Identifier: Apache-2.0

// Figure 5: what a positive delta gains. Compares Gaussian noise for every delta with Laplace noise
// at delta 0, and with lower bounds for each kind of mechanism. Shown for running totals only.

import type { ErrorBounds, MechanismName } from 'dp-ftrl';
import { nameOf } from '../controls/mechanisms.ts';
import type { Settings } from '../controls/settings.ts';
import { participationOf } from '../controls/participation.ts';
import { workloadOf } from '../controls/workload.ts';
import type { Analyst } from '../base/analyst.ts';
import { byId, h, setText } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { messageOf } from '../run/failures.ts';
import { count, quantity, scientific } from '../base/format.ts';
import { Lazily } from '../base/lazily.ts';
import type { Lane } from '../run/run.ts';
import { GrowingRange } from './axis.ts';
import { Chart } from './chart.ts';
import type { Colour } from './colours.ts';
import { laneColours } from './lane-colours.ts';
import { Legend, type KeyEntry } from './legend.ts';
import type { PicturePanel } from './picture.ts';

/** Deltas range from 10^-1 to 10^-lastPower. */
const lastPower = 16;
/** The interval around the crossing is divided this many times, each time into `numParts` parts. */
const numDivisions = 3;
const numParts = 15;

const pureName = 'without δ';

interface Floor {
  name: string;
  /** Value at the current delta. */
  value: number;
  /** Names the mechanisms that the bound covers. */
  covers: string;
  /** Value at each power; null if no line is drawn. */
  line: number[] | null;
}

/** The curve of errors at the powers -log10 delta, and the errors with which it is compared. */
interface DeltaCurves {
  mechanism: MechanismName;
  epsilon: number;
  /** -log10 of the current delta. */
  chosen: number;
  powers: number[];
  gaussian: number[];
  /** Value at the current delta. */
  now: number;
  pure: number;
  tree: string;
  /** -log10 of the delta at which both errors are equal; null if outside the chart. */
  crossing: number | null;
  floors: Floor[];
  /** Explains why bounds are missing; '' if they are shown. */
  missing: string;
}

const drawn = ({ floors }: DeltaCurves): (Floor & { line: number[] })[] =>
  floors.filter((floor): floor is Floor & { line: number[] } => floor.line !== null);

const deltaOf = (power: number): number => 10 ** -power;
const errorOf = (
  objective: Settings['ranking'],
  both: { maxError: number; meanError: number },
): number => (objective === 'max' ? both.maxError : both.meanError);

/**
 * Finds where an increasing function takes a value; null if it does so outside the interval.
 * Requests many function values at once, because a worker may have to finish long work before it
 * answers.
 */
export async function crossingOf(
  at: (power: number) => Promise<number>,
  value: number,
  [from, to]: readonly [number, number],
): Promise<number | null> {
  let [low, high] = [from, to];
  let [below, above] = [NaN, NaN];
  for (let i = 0; i < numDivisions; ++i) {
    const step = (high - low) / numParts;
    const places = Array.from({ length: numParts }, (_, part) => low + part * step).concat(high);
    const values = await Promise.all(places.map(at));
    const after = values.findIndex((one) => one >= value);
    if (after < 0 || values[0]! > value) return null;
    const last = Math.max(1, after);
    [low, high, below, above] = [
      places[last - 1]!,
      places[last]!,
      values[last - 1]!,
      values[last]!,
    ];
  }
  return low + ((value - below) / (above - below)) * (high - low);
}

/** Lower bounds for users who contribute one record, under zero-out neighbours. */
async function floorsOf(
  engine: Engine,
  settings: Settings,
  noiseMultiplier: number,
  powers: number[],
): Promise<Floor[]> {
  const { numSteps, epsilon, delta, clipNorm, ranking } = settings;
  const bounds = await engine.bounds({ steps: numSteps, epsilon });
  const { unbiased, every } = bounds.mechanisms!;
  const of = ({ max, mean }: Pick<ErrorBounds, 'max' | 'mean'>): number =>
    clipNorm * (ranking === 'max' ? max : mean);
  // Each bound is the bound for factorizations times the standard deviation for a single number,
  // which is fast to compute.
  const added = async (given: number): Promise<number> => {
    const { addedNoise } = await engine.bounds({ steps: 1, epsilon, delta: given });
    return of(bounds) * Math.sqrt(addedNoise!.variance);
  };
  const flat = (value: number): number[] => powers.map(() => value);
  return [
    {
      name: 'factorizations',
      value: of(bounds) * noiseMultiplier,
      covers: 'This ε and δ: Gaussian noise through any factorization of the running totals.',
      line: null,
    },
    {
      name: 'added noise',
      value: await added(delta),
      covers: 'This ε and δ: true totals plus noise of any law independent of the records.',
      line: await Promise.all(powers.map((power) => added(deltaOf(power)))),
    },
    {
      name: 'unbiased, without δ',
      value: of(unbiased),
      covers: 'This ε: every unbiased mechanism, even with data-dependent noise.',
      line: flat(of(unbiased)),
    },
    {
      name: 'any, without δ',
      value: clipNorm * every,
      covers:
        'This ε: every mechanism, on the records that are worst for it. Its root mean square is no smaller, so ' +
        'its worst step is not either.',
      line: flat(clipNorm * every),
    },
  ];
}

async function find(engine: Engine, settings: Settings, lane: Lane): Promise<DeltaCurves> {
  const { numSteps, epsilon, delta, clipNorm, neighbours, ranking } = settings;
  const { certificate } = lane.history.info;
  const now = (certificate.noiseStddev / certificate.sensitivity) * errorOf(ranking, certificate);
  const at = async (power: number): Promise<number> => {
    const { noiseMultiplier } = await engine.calibrate({ epsilon, delta: deltaOf(power) });
    return (now * noiseMultiplier) / certificate.noiseMultiplier!;
  };
  const participation = participationOf(settings);
  const sums = await engine.counter({
    ...{ steps: numSteps, epsilon, delta: 0, clip: clipNorm, neighbours },
    ...participation,
  });
  const laplace = sums.certificate;
  void sums.dispose();
  const pure = (laplace.noiseStddev / laplace.sensitivity) * errorOf(ranking, laplace);
  const crossing = await crossingOf(at, pure, [1, lastPower]);
  const chosen = -Math.log10(delta);
  const whole = Array.from({ length: lastPower }, (_, i) => i + 1);
  const inside = [chosen, crossing].filter(
    (power) => power !== null && power >= 1 && power <= lastPower,
  );
  const powers = [...new Set([...whole, ...(inside as number[])])].sort((a, b) => a - b);
  const isPlain = participation.participation === undefined && neighbours === 'zero-out';
  const { arity, subtractive } = laplace.effectiveParameters as {
    arity: number;
    subtractive: boolean;
  };
  return {
    mechanism: lane.mechanism,
    epsilon,
    chosen,
    powers,
    gaussian: await Promise.all(powers.map(at)),
    now,
    pure,
    tree: `${subtractive ? 'subtractive ' : ''}tree with ${count(arity)} children per node`,
    crossing,
    floors: isPlain ? await floorsOf(engine, settings, certificate.noiseMultiplier!, powers) : [],
    missing: isPlain
      ? ''
      : 'The bounds are proved only for one record per user and zero-out neighbours, so none is shown.',
  };
}

export class DeltaFigure {
  private readonly host = byId('deltas');
  private readonly figure = byId('deltas-figure');
  private readonly lazily = new Lazily(this.host, () => this.update());
  private settings: Settings | null = null;
  private lane: Lane | null = null;
  private asked = '';
  private found: DeltaCurves | null = null;
  private chart: Chart | null = null;
  private legend: Legend | null = null;

  constructor(private readonly analyst: Analyst) {}

  show(settings: Settings, lanes: readonly Lane[]): void {
    this.settings = { ...settings };
    this.lane = lanes[0]!;
    this.figure.hidden = workloadOf(settings).workload !== undefined;
    this.lazily.request();
  }

  restyle(): void {
    this.chart?.restyle();
  }

  picture(): PicturePanel | null {
    const { found } = this;
    if (this.chart === null || found === null || this.figure.hidden) return null;
    const { first, second, floors } = this.colours(found);
    const x = found.powers.map(deltaOf);
    const flat = (value: number): number[] => x.map(() => value);
    return {
      title: `Errors at ε = ${quantity(found.epsilon)}`,
      x: { label: 'δ', log: true },
      y: { label: 'standard deviation', log: false },
      series: [
        { name: nameOf(found.mechanism), x, y: found.gaussian, colour: first },
        { name: pureName, x, y: flat(found.pure), colour: second },
        ...drawn(found).map(({ name, line }, i) => ({
          name: `floor: ${name}`,
          x,
          y: line,
          colour: floors[i]!,
        })),
      ],
    };
  }

  private async update(): Promise<void> {
    const { settings, lane } = this;
    if (settings === null || lane === null) return;
    const { epsilon, delta, clipNorm, neighbours, ranking } = settings;
    const { maxError, meanError, numSteps, participation } = lane.history.info.certificate;
    const privacy = [epsilon, delta, clipNorm, neighbours, participation];
    const asked = JSON.stringify([lane.mechanism, maxError, meanError, numSteps, ranking, privacy]);
    if (asked === this.asked) return;
    this.host.setAttribute('aria-busy', 'true');
    try {
      this.found = await find(await this.analyst.engine(), settings, lane);
      this.asked = asked;
      this.draw(this.found, ranking);
    } catch (error) {
      this.asked = '';
      this.clear();
      this.host.replaceChildren(h('p', { class: 'plot nothing', role: 'alert' }, messageOf(error)));
    }
    this.host.removeAttribute('aria-busy');
  }

  private clear(): void {
    this.chart?.destroy();
    this.chart = null;
    this.legend = null;
    setText(byId('deltas-note'), '');
    byId('floors').replaceChildren();
  }

  /** Colours of the two errors and of the floors drawn. */
  private colours({ mechanism }: DeltaCurves): { first: Colour; second: Colour; floors: Colour[] } {
    const [first, second] = laneColours([mechanism, pureName]) as [Colour, Colour];
    return { first, second, floors: ['ink', second, 'muted'] };
  }

  private draw(found: DeltaCurves, objective: Settings['ranking']): void {
    this.clear();
    const { powers, gaussian, pure, chosen, crossing, now } = found;
    const { first, second, floors } = this.colours(found);
    const range = new GrowingRange([0, 1]);
    for (const value of [0, pure, ...gaussian]) range.include(value);
    this.chart = new Chart({
      name: 'Errors with and without δ: cursor over the powers of ten of δ',
      lines: [
        { colour: first, width: 2, shown: true },
        { colour: second, width: 2, shown: true },
        ...drawn(found).map((_, i) => ({
          colour: floors[i]!,
          width: 1.5,
          dash: [2, 3],
          shown: true,
        })),
        { colour: 'ink', marks: true, shown: true },
      ],
      bands: [],
      numSteps: lastPower,
      tick: (power) => (power === 0 ? 'δ = 1' : scientific(deltaOf(power))),
      describe: (power) => this.describe(power),
      moved: (power) => this.setCursor(power),
      range: () => range.get(),
    });
    const entries: KeyEntry[] = [
      { name: nameOf(found.mechanism), colour: first, kind: 'line' },
      { name: pureName, colour: second, kind: 'line' },
      ...drawn(found).map(({ name }, i) => ({
        name: `floor: ${name}`,
        colour: floors[i]!,
        kind: 'dot' as const,
      })),
    ];
    this.legend = new Legend(entries, []);
    this.host.replaceChildren(this.legend.element, this.chart.element);
    const marked = powers.map((power) =>
      power === crossing ? pure : power === chosen ? now : NaN,
    );
    this.chart.setData([
      powers,
      gaussian,
      powers.map(() => pure),
      ...drawn(found).map(({ line }) => line),
      marked,
    ]);
    this.read(null);
    setText(byId('deltas-note'), noteOf(found, objective));
    this.listFloors(found);
  }

  private listFloors({ floors, missing }: DeltaCurves): void {
    const items = floors.map(({ name, value, covers }) =>
      h(
        'li',
        {},
        h('b', {}, name),
        ': no error is below ',
        h('data', { value }, quantity(value)),
        `. ${covers}`,
      ),
    );
    byId('floors').replaceChildren(...(missing === '' ? items : [h('li', {}, missing)]));
  }

  private setCursor(power: number | null): void {
    this.chart?.setCursor(power);
    this.read(power);
  }

  private read(power: number | null): void {
    const { now, pure, chosen } = this.found!;
    const gaussian = power === null ? now : this.at(power);
    const floors = drawn(this.found!).map(({ value, line }) =>
      power === null ? value : line[this.placeOf(power)]!,
    );
    this.legend?.update(
      `δ = ${scientific(deltaOf(power ?? chosen))}${power === null ? ', as chosen' : ''}`,
      [gaussian, pure, ...floors].map((value) => ({ text: quantity(value), value })),
    );
  }

  private placeOf(power: number): number {
    return this.found!.powers.indexOf(power);
  }

  private at(power: number): number {
    return this.found!.gaussian[this.placeOf(power)]!;
  }

  private describe(power: number): string {
    const { mechanism, pure } = this.found!;
    return `δ ${deltaOf(power)}, standard deviation: ${nameOf(mechanism)} ${quantity(this.at(power))}, ${pureName} ${quantity(pure)}`;
  }
}

/** Explains where the two errors cross. */
function noteOf(
  { mechanism, gaussian, pure, tree, crossing, floors }: DeltaCurves,
  objective: Settings['ranking'],
): string {
  const error = objective === 'max' ? 'worst step' : 'root mean square';
  const where =
    crossing === null
      ? `at every δ of the chart its ${error} is ${pure < gaussian[0]! ? 'smaller' : 'larger'} than`
      : `below δ = ${scientific(deltaOf(crossing))} its ${error} is smaller than`;
  const proved =
    floors.length === 0
      ? ''
      : ' Dotted lines are floors: lower bounds, proved for the mechanisms listed below. None is proved here for ' +
        'all mechanisms with a δ.';
  return (
    'δ is the slack in the guarantee. Without it the noise is Laplace, on a ' +
    `${tree}: ${where} that of ${nameOf(mechanism)}. It clips records of several numbers in ℓ₁.${proved}`
  );
}
