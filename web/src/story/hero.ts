// SPDX-License-Identifier: Apache-2.0

// One day in a shop, counted twice with the same privacy. A control moves from the worst mechanism
// to the best. One passer-by is the visitor, who can stay away. The day can be replayed.

import { came, lanes } from 'virtual:day';
import { h, setText } from '../base/dom.ts';
import { count, fixed } from '../base/format.ts';
import { animate } from './animate.ts';
import type { Colour } from '../figures/colours.ts';
import type { PicturePanel, ColouredSeries } from '../figures/picture.ts';
import { DragHandle } from './handle.ts';
import { numPeople, storedDay, type Day, type HeroLane } from './hero-numbers.ts';
import {
  band,
  bracket,
  brackets,
  curve,
  ends,
  explain,
  firstYou,
  labels,
  numPieces,
  pieceLength,
  stem,
  within,
} from './hero-picture.ts';
import { joined } from './position.ts';
import type { Frame, Mount, SceneView } from './scene.ts';

/**
 * Durations in milliseconds: of a replay, of the pause before the first one, and of a transition.
 */
const replayTime = 4500;
const pauseBefore = 900;
const morphTime = 500;
/** Number of jumps in a replay with reduced motion. */
const jumps = 8;

const mix = (from: ArrayLike<number>, to: ArrayLike<number>, part: number): Float64Array =>
  Float64Array.from({ length: to.length }, (_, i) => from[i]! + part * (to[i]! - from[i]!));

const sum = (a: Float64Array, b: Float64Array): Float64Array => a.map((value, i) => value + b[i]!);

/** A mechanism as drawn; during a transition, an intermediate form of two mechanisms. */
type DrawnLane = Pick<HeroLane, 'band' | 'worst'> & { noise: Float64Array };

class Hero {
  lane: HeroLane;
  you: number;
  /** True if the visitor does the opposite of what they did. */
  away = false;
  private shown: DrawnLane;
  private replays = 0;
  private morphs = 0;
  private readonly veil: SVGElement;
  private readonly now: SVGElement;
  private readonly marker: DragHandle;
  private readonly inputs: HTMLInputElement[];

  constructor(
    private readonly day: Day,
    private readonly stage: HTMLElement,
    private readonly context: Frame,
  ) {
    this.lane = ends(day).best;
    this.you = firstYou(day);
    this.shown = this.shownOf(this.lane);
    const curves = this.one('.curves');
    const add = (tag: 'rect' | 'line', name: string): SVGElement => {
      const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
      element.setAttribute('class', name);
      element.setAttribute('y', '0');
      element.setAttribute('height', '100%');
      element.setAttribute('y2', '100%');
      curves.append(element);
      return element;
    };
    this.veil = add('rect', 'veil');
    this.now = add('line', 'now hidden');
    this.veil.setAttribute('width', '0');
    this.marker = this.addMarker();
    this.inputs = [...stage.querySelectorAll<HTMLInputElement>('.segments input')];
    this.listen();
    this.place();
  }

  private one<T extends Element = Element>(selector: string): T {
    return this.stage.querySelector<T>(selector)!;
  }

  private shownOf(lane: HeroLane): DrawnLane {
    const { truth } = this.day;
    const noise = Float64Array.from(lane.release, (value, i) => value - truth[i]!);
    return { noise, band: lane.band, worst: lane.worst };
  }

  /** Adds the visitor, who can be moved along the row of people. */
  private addMarker(): DragHandle {
    const row = this.one<HTMLElement>('.passers');
    const marker = h('div', { class: 'marker' });
    const valueAt = (point: MouseEvent): number =>
      this.personAt(row.getBoundingClientRect(), point) + 1;
    row.classList.add('live');
    row.append(marker);
    const handle = new DragHandle(marker, {
      label: 'You, among everyone who passed',
      min: 1,
      max: numPeople,
      value: this.you + 1,
      step: 1,
      page: pieceLength,
      along: 'x',
      say: (value) =>
        `passer-by ${count(value)}, who ${this.didComeIn ? 'came in' : 'stayed away'}`,
      valueAt,
      moved: (value) => {
        this.you = value - 1;
        this.away = false;
        this.place();
        this.say('Now you are someone else. The noise hides you just as well.');
      },
      settled: () => this.context.settled(),
      tapped: () => this.turn(),
    });
    // Listens for clicks, because a finger that scrolls causes none.
    row.addEventListener('click', (event) => {
      if (event.target !== marker) handle.go(valueAt(event));
    });
    return handle;
  }

  /** Finds the person at a point of the row, or of the rows on phones. */
  private personAt(
    box: DOMRect,
    { clientX, clientY }: { clientX: number; clientY: number },
  ): number {
    const share = (value: number): number => Math.min(1 - 1e-9, Math.max(0, value));
    const x = share((clientX - box.left) / box.width);
    const [first] = this.stage.querySelectorAll('.passers > svg');
    if (first!.getBoundingClientRect().width < box.width / 2) return Math.floor(x * numPeople);
    const row = Math.floor(share((clientY - box.top) / box.height) * numPieces);
    return row * pieceLength + Math.floor(x * pieceLength);
  }

  private listen(): void {
    const { inputs } = this;
    const choose = (input: HTMLInputElement): void => {
      input.checked = true;
      const lane = this.day.lanes.find(({ mechanism }) => mechanism === input.value)!;
      if (lane !== this.lane) this.choose(lane);
    };
    for (const input of inputs) {
      input.disabled = false;
      input.addEventListener('change', () => {
        choose(input);
        this.context.settled();
      });
    }
    // The control can be dragged, as if it were a slider.
    const segments = this.one<HTMLElement>('.segments');
    segments.addEventListener('pointerdown', (event) =>
      segments.setPointerCapture(event.pointerId),
    );
    segments.addEventListener('pointermove', (event) => {
      if (!segments.hasPointerCapture(event.pointerId)) return;
      const under = inputs.find((input) => {
        const { left, right } = input.parentElement!.getBoundingClientRect();
        return event.clientX >= left && event.clientX < right;
      });
      if (under !== undefined) choose(under);
    });
    segments.addEventListener('pointerup', (event) => {
      if (!segments.hasPointerCapture(event.pointerId)) return;
      const under = document.elementFromPoint(event.clientX, event.clientY)?.closest('label');
      const input = under?.querySelector('input');
      if (input && segments.contains(input)) choose(input);
      this.context.settled();
    });
    const away = this.one<HTMLButtonElement>('.hero-you .away');
    away.disabled = false;
    away.addEventListener('click', () => this.turn());
    const again = this.one<HTMLButtonElement>('.again');
    again.disabled = false;
    again.addEventListener('click', () => this.replay());
  }

  private say(text: string): void {
    setText(this.one('.hero-says'), text);
  }

  private get didComeIn(): boolean {
    return (this.day.came[this.you] === 1) !== this.away;
  }

  /** Makes the visitor do the opposite; everything else stays the same, including the noise. */
  private turn(): void {
    this.away = !this.away;
    this.place();
    this.say('One person changed. Can you see it in the blue line? Neither can anyone else.');
    this.context.settled();
  }

  private get truth(): Float64Array {
    const { truth, came } = this.day;
    const change = this.away ? 1 - 2 * came[this.you]! : 0;
    return truth.map((value, i) => (i >= this.you ? value + change : value));
  }

  /** Moves the visitor, and redraws what depends on them. */
  private place(): void {
    const { you } = this;
    const { style } = this.marker.element;
    const share = (value: number, of: number): string => `${(100 * (value + 0.5)) / of}%`;
    style.setProperty('--along', share(you, numPeople));
    style.setProperty('--column', share(you % pieceLength, pieceLength));
    style.setProperty('--row', share(Math.floor(you / pieceLength), numPieces));
    this.one('.stem-word').setAttribute('x', share(you, numPeople));
    this.marker.put(you + 1);
    this.marker.element.classList.toggle('away', !this.didComeIn);
    setText(this.one('.hero-you strong'), this.didComeIn ? 'you came in' : 'you stayed away');
    const other = this.didComeIn ? 'pretend you stayed away' : 'pretend you came in';
    setText(this.one('.hero-you .away'), other);
    this.draw();
  }

  /** Animates the transition to another mechanism. */
  choose(lane: HeroLane): void {
    this.lane = lane;
    setText(this.one('.numeral.best span'), lane.noise);
    this.say(explain(lane, this.day));
    const [from, to] = [this.shown, this.shownOf(lane)];
    const turn = ++this.morphs;
    const show = (part: number): void => {
      const eased = part * part * (3 - 2 * part);
      this.shown = {
        noise: mix(from.noise, to.noise, eased),
        band: mix(from.band, to.band, eased),
        worst: from.worst + eased * (to.worst - from.worst),
      };
      this.draw();
    };
    if (this.context.calm) show(1);
    else void animate(morphTime, show, () => turn === this.morphs);
  }

  private draw(): void {
    const { shown, truth } = this;
    const { worst } = ends(this.day);
    const path = (kind: string, d: string): void => this.one(`path.${kind}`).setAttribute('d', d);
    const lane = { ...this.lane, band: shown.band, worst: shown.worst };
    path('band.worst', band(truth, worst.band));
    path('band.best', band(truth, shown.band));
    path('line.worst', curve(sum(truth, this.shownOf(worst).noise)));
    path('line.best', curve(sum(truth, shown.noise)));
    path('line.truth', curve(truth));
    path('stem', stem(truth, this.you));
    const number = this.one('.numeral.best data');
    number.setAttribute('value', String(lane.worst));
    setText(number, within(lane));
    const last = truth.at(-1)!;
    for (const [kind, of] of [
      ['best', lane],
      ['worst', worst],
    ] as const) {
      const lines = this.stage.querySelectorAll(`.bracket.${kind} line`);
      for (const [i, line] of bracket(brackets[kind], last, of).entries()) {
        for (const [name, value] of Object.entries(line)) lines[i]!.setAttribute(name, value);
      }
    }
    for (const { kind, y, text } of labels(this.day, lane, last)) {
      const label = this.one(`.labels .${kind}`);
      label.setAttribute('y', y);
      setText(label, text);
    }
  }

  replay(): void {
    const turn = ++this.replays;
    const calm = this.context.calm;
    void animate(
      replayTime,
      (part) => this.drawTime(calm ? Math.ceil(part * jumps) / jumps : part),
      () => turn === this.replays && this.stage.isConnected,
    );
  }

  /** Draws a veil over the part of the day that is still to come. */
  private drawTime(part: number): void {
    const x = String(part * numPeople);
    this.veil.setAttribute('x', x);
    this.veil.setAttribute('width', String((1 - part) * numPeople));
    this.now.setAttribute('x1', x);
    this.now.setAttribute('x2', x);
    this.now.classList.toggle('hidden', part === 1);
  }

  panel(): PicturePanel {
    const { truth } = this;
    const x = Array.from(truth, (_, i) => i + 1);
    const of = (lane: HeroLane, colour: Colour): ColouredSeries[] => {
      const name = `Published with ${lane.noise}: within ±${fixed(lane.worst, 1)} people`;
      const edge = (sign: number): number[] => x.map((_, i) => truth[i]! + sign * lane.band[i]!);
      const { noise } = this.shownOf(lane);
      return [
        { name, x, y: [...sum(truth, noise)], colour },
        { name: 'band', of: name, x, y: edge(1), to: edge(-1) },
      ];
    };
    const { worst } = ends(this.day);
    return {
      title: 'The same day, counted with the same privacy',
      x: { label: 'people who passed the shop', log: false },
      y: { label: 'people who came in', log: false },
      series: [
        ...of(this.lane, 'private'),
        ...(this.lane === worst ? [] : of(worst, 'fresh')),
        { name: 'The true count, kept secret', x, y: [...truth], look: 'dashed', colour: 'secret' },
      ],
    };
  }

  /** Position in the address: the mechanism, and the visitor if they have moved. */
  read(): string {
    const moved = this.away || this.you !== firstYou(this.day);
    const who = [this.you + 1, this.didComeIn ? 'in' : 'away'];
    return joined(this.lane.mechanism, ...(moved ? who : []));
  }

  put(text: string): boolean {
    const [mechanism, person = firstYou(this.day) + 1, what, ...rest] = text.split('_');
    const lane = this.day.lanes.find((one) => one.mechanism === mechanism);
    const you = Number(person) - 1;
    if (lane === undefined || !(you in this.day.came) || rest.length > 0) return false;
    if (![undefined, 'in', 'away'].includes(what)) return false;
    this.you = you;
    this.away = what !== undefined && (what === 'in') !== (this.day.came[you] === 1);
    this.place();
    for (const input of this.inputs) input.checked = input.value === mechanism;
    if (lane !== this.lane) this.choose(lane);
    return true;
  }
}

export const mount: Mount<Frame> = async ({ figure }, context): Promise<SceneView> => {
  const day = storedDay(came, lanes);
  const hero = new Hero(day, figure, context);
  if (!context.calm) setTimeout(() => hero.replay(), pauseBefore);
  return {
    restyle: () => {},
    panels: () => [hero.panel()],
    position: { read: () => hero.read(), put: (text) => hero.put(text) },
  };
};
