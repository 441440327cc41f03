// SPDX-License-Identifier: Apache-2.0

// Counts of active people, which take the place of a run and everything about it.

import { active, type ActiveRelease, type ActiveView } from '../figures/active-figure.ts';
import type { ColouredPicture } from '../figures/picture.ts';
import { TracksFigure, type TrackNumbers } from '../figures/tracks-figure.ts';
import type { Analyst } from '../base/analyst.ts';
import { byId, setText } from '../base/dom.ts';

export class PeopleView {
  private readonly figure: TracksFigure<ActiveView, ActiveRelease>;

  constructor(analyst: Analyst) {
    const moved = (step: number | null): void => this.figure.setCursor(step);
    this.figure = new TracksFigure('active', analyst, active, moved);
    this.watchWidth();
  }

  /** `file` names the user's own table; '' for other records. */
  show(view: ActiveView, file: string): void {
    setText(byId('active-name'), file === '' ? 'Active people' : `${file}: active people`);
    byId<HTMLInputElement>('deployed').checked = view.settings.deployed;
    this.figure.show(view);
  }

  restyle(): void {
    this.figure.restyle();
  }

  /** Pictures by file name; none before they are drawn. */
  pictures(): Map<string, ColouredPicture> {
    const panels = this.figure.pictures();
    const picture = { title: 'Active people', panels, perRow: 1 };
    return new Map(panels.length === 0 ? [] : [['active', picture]]);
  }

  /** The counts as numbers; null before they are drawn. */
  numbers(deployed: boolean): TrackNumbers | null {
    return this.figure.numbers(deployed);
  }

  private watchWidth(): void {
    let timer = 0;
    let width = innerWidth;
    window.addEventListener('resize', () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (innerWidth !== width) this.figure.resize();
        width = innerWidth;
      }, 200);
    });
  }
}
