// SPDX-License-Identifier: Apache-2.0

// An editable histogram: bars are dragged with the pointer, and each bar is a slider for the
// keyboard.

import { maxCount } from '../data/histogram.ts';
import { h, setText } from '../base/dom.ts';
import { count, counted } from '../base/format.ts';

/** Height of the chart relative to the tallest bar, which leaves room for drawing bars taller. */
const headroom = 1.25;
const leastTop = 20;

export interface BarsEvents {
  /** Called also while a bar is being dragged. */
  changed(counts: number[]): void;
}

export class HistogramBars {
  readonly element: HTMLElement;
  private readonly group = h('div', {
    class: 'bars',
    role: 'group',
    'aria-label': 'Histogram, a slider for the count of every value',
    onpointerdown: (event: Event) => this.press(event as PointerEvent),
    onpointermove: (event: Event) => this.drag(event as PointerEvent),
    onpointerup: () => this.release(),
    onpointercancel: () => this.release(),
    onkeydown: (event: Event) => this.key(event as KeyboardEvent),
    onfocusin: (event: Event) => this.focused(event.target as HTMLElement),
    onfocusout: () => this.say(null),
  });
  private readonly at = h('p', { class: 'bars-at' });
  private counts: number[] = [];
  private bars: HTMLElement[] = [];
  /** Number of records at the upper edge; fixed while the pointer draws. */
  private top = leastTop;
  private drawing = false;
  /** Index of the bar at which the tab key stops. */
  private current = 0;

  constructor(private readonly events: BarsEvents) {
    this.element = h('div', {}, this.group, this.at);
  }

  show(counts: readonly number[]): void {
    this.counts = [...counts];
    if (this.bars.length !== counts.length) this.make(counts.length);
    this.draw();
    this.say(null);
  }

  private make(size: number): void {
    this.current = Math.min(this.current, size - 1);
    this.bars = Array.from({ length: size }, (_, value) =>
      h(
        'div',
        {
          class: 'bar-slot',
          role: 'slider',
          tabindex: value === this.current ? 0 : -1,
          'aria-orientation': 'vertical',
          'aria-label': `value ${value}`,
          'aria-valuemin': 0,
          'aria-valuemax': maxCount,
        },
        h('span', { class: 'bar-fill' }),
      ),
    );
    this.group.replaceChildren(...this.bars);
  }

  private draw(): void {
    if (!this.drawing) this.top = Math.max(leastTop, headroom * Math.max(...this.counts));
    for (const [i, bar] of this.bars.entries()) {
      const records = this.counts[i]!;
      bar.setAttribute('aria-valuenow', String(records));
      bar.setAttribute('aria-valuetext', counted(records, 'record'));
      const fill = bar.firstElementChild as HTMLElement;
      fill.style.height = `${Math.min(100, (100 * records) / this.top)}%`;
    }
  }

  private say(value: number | null): void {
    const total = this.counts.reduce((sum, one) => sum + one, 0);
    const one = value === null ? '' : `value ${value}: ${count(this.counts[value]!)}, of `;
    setText(this.at, `${one}${counted(total, 'record')}`);
  }

  private set(value: number, records: number): void {
    const rounded = Math.max(0, Math.min(maxCount, Math.round(records)));
    if (this.counts[value] !== rounded) {
      this.counts[value] = rounded;
      this.draw();
      this.events.changed([...this.counts]);
    }
    this.say(value);
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault();
    this.group.setPointerCapture(event.pointerId);
    this.drawing = true;
    this.drag(event);
  }

  private drag(event: PointerEvent): void {
    const box = this.group.getBoundingClientRect();
    const place = Math.floor(((event.clientX - box.left) / box.width) * this.bars.length);
    const value = Math.max(0, Math.min(this.bars.length - 1, place));
    if (this.drawing) this.set(value, (1 - (event.clientY - box.top) / box.height) * this.top);
    else this.say(value);
  }

  private release(): void {
    this.drawing = false;
    this.draw();
  }

  private focused(target: HTMLElement): void {
    const value = this.bars.indexOf(target);
    if (value < 0) return;
    this.bars[this.current]!.tabIndex = -1;
    this.current = value;
    target.tabIndex = 0;
    this.say(value);
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const records = this.counts[this.current]!;
    const neighbours: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };
    const targets: Record<string, number> = {
      ArrowUp: records + (event.shiftKey ? 10 : 1),
      ArrowDown: records - (event.shiftKey ? 10 : 1),
      PageUp: records + 10,
      PageDown: records - 10,
      Home: 0,
      End: Math.floor(this.top),
    };
    const way = neighbours[event.key];
    const target = targets[event.key];
    if (way === undefined && target === undefined) return;
    event.preventDefault();
    if (way !== undefined) this.bars[this.current + way]?.focus();
    else this.set(this.current, target!);
  }
}
