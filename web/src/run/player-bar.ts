// SPDX-License-Identifier: Apache-2.0

// Playback buttons between the figures, and the space bar.

import { byId, h, setText } from '../base/dom.ts';
import { count } from '../base/format.ts';
import type { Run } from './run.ts';
import type { Player } from './player.ts';
import { rules, speeds } from '../controls/settings.ts';

export interface PlayerBarEvents {
  /** Restarts from the first step. */
  restart(playing: boolean): void;
}

const words = { loading: 'Play', paused: 'Play', playing: 'Pause', finished: 'Replay' };

/** The play button between the figures, and the one beside the miniature chart. */
const plays = ['play', 'mini-play'];

export class PlayerBar {
  constructor(
    private readonly player: Player,
    private readonly events: PlayerBarEvents,
  ) {
    for (const id of plays) byId(id).addEventListener('click', () => this.playOrPause());
    byId('step-once').addEventListener('click', () => player.step());
    byId('finish').addEventListener('click', () => player.finish());
    byId('reset').addEventListener('click', () => events.restart(false));
    for (const value of speeds) {
      const text = value === Infinity ? 'full speed' : `${count(value)} steps/s`;
      byId('speed').append(h('option', { value: rules.speed.write(value) }, text));
    }
    document.addEventListener('keydown', (event) => this.key(event));
  }

  /** Shows the state. `data-state` and `data-waits-for` are for styles and tests. */
  showState(): void {
    const { state, waitsFor } = this.player;
    const box = byId('player');
    box.dataset['state'] = state;
    box.dataset['waitsFor'] = waitsFor;
    const picture = state === 'playing' ? '#icon-pause' : '#icon-play';
    for (const id of plays) {
      byId(id).querySelector('use')!.setAttribute('href', picture);
      setText(byId(id).querySelector('span')!, words[state]);
    }
    const isLoading = state === 'loading';
    for (const id of [...plays, 'reset']) byId<HTMLButtonElement>(id).disabled = isLoading;
    for (const id of ['step-once', 'finish']) {
      byId<HTMLButtonElement>(id).disabled = isLoading || state === 'finished';
    }
  }

  showProgress(run: Run): void {
    const progress = byId<HTMLProgressElement>('progress');
    progress.max = run.numSteps;
    progress.value = run.step;
    setText(byId('progress-text'), `${count(run.step)} / ${count(run.numSteps)}`);
  }

  private playOrPause(): void {
    const { state } = this.player;
    if (state === 'playing') this.player.pause();
    else if (state === 'finished') this.events.restart(true);
    else this.player.play();
  }

  /** Plays or pauses on space, except where space already has a meaning. */
  private key(event: KeyboardEvent): void {
    if (event.key !== ' ' || event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target as HTMLElement;
    if (target.closest('input, select, textarea, button, summary, a')) return;
    event.preventDefault();
    this.playOrPause();
  }
}
