// SPDX-License-Identifier: Apache-2.0

// Handles: elements that act as sliders for the pointer, the keyboard and screen readers.

import { h } from '../base/dom.ts';

export interface HandleOptions {
  /** Accessible name. */
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly value: number;
  /** Change per press of an arrow key. */
  readonly step: number;
  /** Change per press of a page key. Default: ten steps. */
  readonly page?: number;
  /** Direction of dragging, horizontal or vertical. */
  readonly along: 'x' | 'y';
  say(value: number): string;
  /** Value under a point of the window. */
  valueAt(point: { clientX: number; clientY: number }): number;
  moved(value: number): void;
  /** Called when the pointer is released or a key was pressed. */
  settled?(value: number): void;
  /**
   * Called when the handle is pressed but not moved; by default, the handle moves to the pointer.
   */
  tapped?(): void;
}

/** Movement of the pointer, in pixels, from which a press becomes a drag. */
const slack = 4;

const directions: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
};

/** Turns `element` into a slider. It should measure at least 24 px. */
export class DragHandle {
  private now: number;
  /** The event that pressed a handle with `tapped`, until the pointer has moved. */
  private pressed: PointerEvent | null = null;

  constructor(
    readonly element: HTMLElement | SVGElement,
    private readonly options: HandleOptions,
  ) {
    this.now = options.value;
    const attributes = {
      role: 'slider',
      tabindex: '0',
      'aria-label': options.label,
      'aria-orientation': options.along === 'x' ? 'horizontal' : 'vertical',
    };
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.classList.add('handle', `handle-${options.along}`);
    element.addEventListener('keydown', (event) => this.key(event as KeyboardEvent));
    for (const type of ['keydown', 'blur'])
      element.addEventListener(type, () => element.classList.remove('grabbed'));
    element.addEventListener('pointerdown', (event) => this.grab(event as PointerEvent));
    element.addEventListener('pointermove', (event) => this.drag(event as PointerEvent));
    // Without this, a dragging finger scrolls the page, because browsers ignore `touch-action` in
    // SVG.
    element.addEventListener('touchstart', (event) => event.preventDefault(), { passive: false });
    element.addEventListener('pointerup', () => {
      if (this.pressed === null) options.settled?.(this.now);
      else options.tapped?.();
      this.pressed = null;
    });
    element.addEventListener('pointercancel', () => options.settled?.(this.now));
    this.announce();
  }

  get value(): number {
    return this.now;
  }

  /** Moves the handle as the user does, for keys and for a press beside it. */
  go(value: number): void {
    this.set(value);
    this.options.settled?.(this.now);
  }

  /** Sets the value without an event, for scenes that move the handle themselves. */
  put(value: number): void {
    const { min, max } = this.options;
    this.now = Math.min(max, Math.max(min, value));
    this.announce();
  }

  /**
   * The nearest value that is a whole number of steps above `min`, without floating-point error.
   */
  private onStep(value: number): number {
    const { min, step } = this.options;
    return Number((min + Math.round((value - min) / step) * step).toPrecision(12));
  }

  private announce(): void {
    const { min, max, say } = this.options;
    this.element.setAttribute('aria-valuemin', String(min));
    this.element.setAttribute('aria-valuemax', String(max));
    this.element.setAttribute('aria-valuenow', String(this.now));
    this.element.setAttribute('aria-valuetext', say(this.now));
  }

  private set(value: number): void {
    const before = this.now;
    this.put(this.onStep(value));
    if (this.now !== before) this.options.moved(this.now);
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { min, max, step, page = 10 * step } = this.options;
    const direction = directions[event.key];
    let target: number;
    if (direction !== undefined) target = this.now + direction * (event.shiftKey ? page : step);
    else if (event.key === 'PageDown') target = this.now - page;
    else if (event.key === 'PageUp') target = this.now + page;
    else if (event.key === 'Home') target = min;
    else if (event.key === 'End') target = max;
    else return;
    event.preventDefault();
    this.go(target);
  }

  private grab(event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault();
    this.element.focus({ preventScroll: true });
    this.element.classList.add('grabbed');
    this.element.setPointerCapture(event.pointerId);
    if (this.options.tapped === undefined) this.set(this.options.valueAt(event));
    else this.pressed = event;
  }

  private drag(event: PointerEvent): void {
    if (!this.element.hasPointerCapture(event.pointerId)) return;
    if (this.pressed !== null) {
      const { clientX, clientY } = this.pressed;
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) < slack) return;
      this.pressed = null;
    }
    this.set(this.options.valueAt(event));
  }
}

export interface SliderOptions
  extends Pick<
    HandleOptions,
    'label' | 'min' | 'max' | 'value' | 'step' | 'say' | 'moved' | 'settled'
  > {
  /** Labels below the two ends. */
  readonly ends?: readonly [string, string];
}

/** A native slider beside a picture, with its value in words. */
export class Slider {
  readonly element: HTMLElement;
  private readonly input = h('input', { type: 'range', class: 'slider' });

  constructor(private readonly options: SliderOptions) {
    const { label, min, max, step, value, ends } = options;
    Object.assign(this.input, { min, max, step });
    this.put(value);
    this.input.addEventListener('input', () => {
      this.announce();
      options.moved(this.input.valueAsNumber);
    });
    this.input.addEventListener('change', () => options.settled?.(this.input.valueAsNumber));
    this.element = h(
      'div',
      { class: 'grab' },
      h('label', {}, h('span', { class: 'grab-name' }, label), this.input),
      ends &&
        h(
          'p',
          { class: 'ends', 'aria-hidden': 'true' },
          h('span', {}, ends[0]),
          h('span', {}, ends[1]),
        ),
    );
  }

  get value(): number {
    return this.input.valueAsNumber;
  }

  /** Sets the value without an event. */
  put(value: number): void {
    this.input.value = String(value);
    this.announce();
  }

  private announce(): void {
    this.input.setAttribute('aria-valuetext', this.options.say(this.input.valueAsNumber));
  }
}
