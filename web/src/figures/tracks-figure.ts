// SPDX-License-Identifier: Apache-2.0

// Numbers that are released after every step, each with a small chart of its interval and of the
// value without noise. They are computed once the figure is visible.

import type { Settings } from '../controls/settings.ts';
import { CsvError } from '../data/csv.ts';
import { Wanting } from '../data/statistic-choice.ts';
import type { Analyst } from '../base/analyst.ts';
import { byId, h, setText } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { messageOf } from '../run/failures.ts';
import { Lazily } from '../base/lazily.ts';
import { hiddenReason } from '../base/secrets.ts';
import { GrowingRange } from './axis.ts';
import type { PicturePanel } from './picture.ts';
import { makeTable, type TableColumn } from './tables.ts';
import { columnsOfTracks, TrackPanel, type Track, type TrackLook } from './track-panel.ts';

export interface Release {
  tracks: readonly Track[];
  /** Time of a step (steps count from 0); null if steps have no times. */
  timeOf: ((step: number) => string) | null;
}

/** A kind of figure: what it releases, and how it is drawn. */
export interface TracksKind<View, Released extends Release> {
  /** Key of a view; two views have the same key if and only if they release the same numbers. */
  keyOf(view: View): readonly unknown[];
  release(engine: Engine, view: View): Promise<Released>;
  /** Explains what is protected, and what the intervals mean. */
  note(view: View, released: Released): string;
  look(view: View, released: Released): Pick<TrackLook, 'from' | 'unit' | 'at'>;
  /** True if all charts have the same vertical axis. */
  sharesAxis(view: View): boolean;
}

/** All numbers of all steps, in columns. */
export interface TrackNumbers {
  settings: Settings;
  numSteps: number;
  timeOf: Release['timeOf'];
  columns: TableColumn[];
}

const areSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((each, i) => each === other[i]);

export class TracksFigure<View extends { settings: Settings }, Released extends Release> {
  private readonly host: HTMLElement;
  private readonly text: HTMLElement;
  private readonly details: HTMLDetailsElement;
  private readonly lazily: Lazily;
  private shown: View | null = null;
  private asked: readonly unknown[] = [];
  private released: Released | null = null;
  private drawn = '';
  private failure: unknown = null;
  private panels: TrackPanel[] = [];

  /**
   * `id` is the id of the element for the charts, from which those of the note and the table are
   * derived.
   */
  constructor(
    id: string,
    private readonly analyst: Analyst,
    private readonly kind: TracksKind<View, Released>,
    private readonly moved: (step: number | null) => void,
  ) {
    this.host = byId(id);
    this.text = byId(`${id}-note`);
    this.details = byId<HTMLDetailsElement>(`${id}-numbers`);
    this.lazily = new Lazily(this.host, () => this.update());
    this.details.addEventListener('toggle', () => this.fillTable());
  }

  show(view: View): void {
    const { settings } = view;
    this.shown = { ...view, settings: { ...settings } };
    // Secrets are hidden at once, even while the figure is off screen.
    if (settings.deployed && this.drawn !== 'true') {
      if (this.panels.length > 0) this.draw(this.shown);
      else if (this.failure !== null) this.fail(this.failure);
    }
    this.lazily.request();
  }

  restyle(): void {
    for (const { chart } of this.panels) chart.restyle();
  }

  /** Redraws with a number of points that fits the new width. */
  resize(): void {
    this.drawn = '';
    this.lazily.request();
  }

  setCursor(step: number | null): void {
    for (const panel of this.panels) panel.setCursor(step);
  }

  /** Empty before the first drawing. */
  pictures(): PicturePanel[] {
    return this.panels.map((panel) => panel.picture());
  }

  /** Null before the charts are drawn. */
  numbers(deployed: boolean): TrackNumbers | null {
    const { released, shown, panels } = this;
    if (released === null || panels.length === 0) return null;
    const { timeOf, tracks } = released;
    const numSteps = tracks[0]!.estimates.length;
    const columns = columnsOfTracks(tracks, deployed);
    return { settings: shown!.settings, numSteps, timeOf, columns };
  }

  private async update(): Promise<void> {
    const view = this.shown;
    if (view === null) return;
    const asked = this.kind.keyOf(view);
    const isSame = areSame(asked, this.asked);
    if (isSame && String(view.settings.deployed) === this.drawn) return;
    this.host.setAttribute('aria-busy', 'true');
    try {
      if (!isSame) {
        const released = await this.kind.release(await this.analyst.engine(), view);
        this.released = released;
      }
      this.asked = asked;
      // The user may have hidden secrets meanwhile.
      const { deployed } = this.shown!.settings;
      this.draw({ ...view, settings: { ...view.settings, deployed } });
    } catch (error) {
      this.fail(error);
    }
    this.host.removeAttribute('aria-busy');
  }

  private fail(error: unknown): void {
    this.failure = error;
    this.asked = [];
    this.released = null;
    this.clear();
    setText(this.text, '');
    const role = error instanceof Wanting ? 'status' : 'alert';
    // A message about the table may quote its cells.
    const isSecret = error instanceof CsvError && this.shown?.settings.deployed === true;
    const text = isSecret ? hiddenReason : messageOf(error);
    this.host.replaceChildren(h('p', { class: 'plot nothing', role }, text));
    this.fillTable();
  }

  private clear(): void {
    for (const { chart } of this.panels) chart.destroy();
    this.panels = [];
  }

  private draw(view: View): void {
    this.clear();
    this.failure = null;
    const released = this.released!;
    const { deployed } = view.settings;
    const rangeOf = (): GrowingRange => new GrowingRange([0, 1]);
    const common = rangeOf();
    const isShared = this.kind.sharesAxis(view);
    const width = Math.max(150, Math.round(this.host.clientWidth / 3));
    const look = { ...this.kind.look(view, released), deployed, width };
    this.panels = released.tracks.map(
      (track) =>
        new TrackPanel(track, { ...look, range: isShared ? common : rangeOf() }, this.moved),
    );
    this.host.replaceChildren(...this.panels.map(({ element }) => element));
    for (const panel of this.panels) panel.draw();
    setText(this.text, this.kind.note(view, released));
    this.fillTable();
    this.drawn = String(deployed);
  }

  private fillTable(): void {
    const host = this.details.querySelector('.scroll')!;
    host.replaceChildren();
    if (!this.details.open) return;
    host.replaceChildren(
      this.released === null ? h('p', {}, 'Nothing is released here.') : this.table(this.released),
    );
  }

  private table({ tracks }: Released): HTMLElement {
    const numSteps = tracks[0]!.estimates.length;
    const columns = columnsOfTracks(tracks, this.shown!.settings.deployed);
    return makeTable({ numSteps, step: numSteps }, columns);
  }
}
