// SPDX-License-Identifier: Apache-2.0

// The clock: converts time to steps, and requests frames only while there is something to draw.

import type { Run } from './run.ts';

export type PlayerState = 'loading' | 'playing' | 'paused' | 'finished';

export interface PlayerEvents {
  /** Called when there are new steps to draw. */
  draw(): void;
  /** Called when the player changes its state, or is suspended or resumed. */
  changed(): void;
  failed(error: unknown): void;
}

/** Longest gap between two frames for which the player catches up, in seconds. */
const maxLag = 0.1;

export class Player {
  state: PlayerState = 'loading';
  speed = 120;
  private run: Run | null = null;
  private readonly reasons = new Set<string>();
  private frame = 0;
  private last = 0;
  private due = 0;
  private busy = false;
  private fresh = false;
  private rushing = false;

  constructor(private readonly events: PlayerEvents) {}

  /** True if the clock is stopped although the state is unchanged. */
  get suspended(): boolean {
    return this.reasons.size > 0;
  }

  /** Reasons for the suspension; empty if there is none. */
  get waitsFor(): string {
    return [...this.reasons].join(', ');
  }

  /**
   * Suspends or resumes the clock, because the charts are not visible or another run is being
   * prepared.
   */
  suspend(reason: 'hidden' | 'off screen' | 'preparing', holds: boolean): void {
    if (holds === this.reasons.has(reason)) return;
    if (holds) this.reasons.add(reason);
    else this.reasons.delete(reason);
    this.wake();
    this.events.changed();
  }

  /** Switches to another run, and plays it if `playing`. */
  load(run: Run, playing: boolean): void {
    this.run = run;
    this.due = 0;
    this.fresh = true;
    this.set(run.finished ? 'finished' : playing ? 'playing' : 'paused');
  }

  /** Drops the run, because something else is shown in its place. */
  unload(): void {
    this.run = null;
    this.set('finished');
  }

  play(): void {
    if (this.state === 'paused') this.set('playing');
  }

  /** Plays to the end of the run at full speed. */
  finish(): void {
    if (this.run === null || this.run.finished) return;
    this.set('playing');
    this.rushing = true;
  }

  pause(): void {
    if (this.state === 'playing') this.set('paused');
  }

  /** Pauses, and advances by one step per call. */
  step(): void {
    const run = this.run;
    if (run === null || run.finished) return;
    if (this.state !== 'paused') this.set('paused');
    this.due += 1;
    void this.work(run);
  }

  private set(state: PlayerState): void {
    this.state = state;
    if (state !== 'playing') this.due = 0;
    this.last = 0;
    this.rushing = false;
    // When `changed` reports a stop, the last step must already be drawn.
    if (state !== 'playing') this.draw();
    this.wake();
    this.events.changed();
  }

  private draw(): void {
    if (!this.fresh) return;
    this.fresh = false;
    this.events.draw();
  }

  private wake(): void {
    const wanted = this.fresh || (this.state === 'playing' && !this.suspended);
    if (wanted && this.frame === 0) this.frame = requestAnimationFrame((now) => this.tick(now));
    if (!wanted && this.frame !== 0) {
      cancelAnimationFrame(this.frame);
      this.frame = 0;
    }
    if (this.suspended) this.last = 0;
  }

  private tick(now: number): void {
    this.frame = 0;
    if (this.state === 'playing' && !this.suspended && this.run !== null) {
      const elapsed = this.last === 0 ? 1 / 60 : Math.min(maxLag, (now - this.last) / 1000);
      this.last = now;
      // Steps that the machine could not compute in time are not made up for later.
      this.due =
        this.rushing || this.speed === Infinity
          ? Infinity
          : Math.min(this.due + elapsed * this.speed, Math.max(1, this.speed * maxLag));
      void this.work(this.run);
    }
    this.draw();
    this.wake();
  }

  /** Requests the steps that are due, one request at a time. */
  private async work(run: Run): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      while (run === this.run && this.due >= 1 && !run.finished && !this.suspended) {
        const before = run.step;
        await run.advance(Math.floor(this.due));
        if (run !== this.run) break;
        this.due = Math.max(0, this.due - (run.step - before));
        this.fresh = true;
        this.wake();
      }
      if (run === this.run && run.finished) this.set('finished');
    } catch (error) {
      if (run === this.run) {
        this.set('paused');
        this.events.failed(error);
      }
    } finally {
      this.busy = false;
    }
  }
}
