// SPDX-License-Identifier: Apache-2.0

// Shows an error beside the control concerned, and in a box at the lower edge of the window that
// stays visible when the page is scrolled.

import type { Refusal } from 'dp-ftrl';
import type { Controls } from '../controls/controls.ts';
import { parameterKey, parameterNames, sides } from '../controls/parameters.ts';
import { SettingError, type SettingKey } from '../controls/settings.ts';
import { byId, h } from '../base/dom.ts';
import { LaneError } from './run.ts';
import { hiddenReason } from '../base/secrets.ts';

/** Maps an option of the library to its control. */
const controlOf: Record<string, SettingKey> = {
  epsilon: 'epsilon',
  delta: 'delta',
  steps: 'numSteps',
  clip: 'clipNorm',
  neighbours: 'neighbours',
  participation: 'participation',
  epochs: 'participations',
  times: 'participations',
  apart: 'minSeparation',
  strategy: 'mechanism',
  dimension: 'dimension',
  stream: 'stream',
  streamSeed: 'streamSeed',
  noiseSeed: 'noiseSeed',
  loss: 'loss',
  lambda: 'lambda',
  label: 'label',
  labels: 'label',
  values: 'columns',
  table: 'columns',
};

/** 'decays' for 'decays[3]'. */
function rootOf(path: string): string {
  const end = [...path].findIndex((letter) => '[(.'.includes(letter));
  return end < 0 ? path : path.slice(0, end);
}

function optionOf(error: unknown): string | undefined {
  const refusal = error instanceof LaneError ? error.cause : error;
  const { parameter } = (refusal ?? {}) as Refusal;
  return parameter && rootOf(parameter);
}

const isAboutRecords = (error: unknown): boolean =>
  ['label', 'labels', 'table', 'values'].includes(optionOf(error) ?? '');

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

export class Failures {
  private readonly box = byId('run-error');

  constructor(private readonly controls: Controls) {}

  /**
   * `typed` is the last entry, which stays in its control so that the user can correct it. While
   * secrets are hidden, messages of the library that may quote records are hidden, too.
   */
  show(
    error: unknown,
    typed: { key: SettingKey; text: string } | null,
    remains: string,
    deployed: boolean,
  ): void {
    const message = deployed && isAboutRecords(error) ? hiddenReason : messageOf(error);
    for (const key of this.controlsOf(error)) {
      const text = typed?.key === key ? typed.text : undefined;
      if (this.controls.error(key, message, text)) break;
    }
    this.box.replaceChildren(
      h('p', {}, `${message}.`, remains !== '' && h('span', {}, ` ${remains}`)),
      h('button', { type: 'button', onclick: () => this.clear() }, 'Dismiss'),
    );
    this.box.hidden = false;
  }

  clear(): void {
    this.box.hidden = true;
    this.box.replaceChildren();
  }

  /** Controls beside which an error may be shown, best place first. */
  private controlsOf(error: unknown): SettingKey[] {
    if (error instanceof SettingError) return [error.key];
    const name = optionOf(error);
    const keys: SettingKey[] = [];
    if (error instanceof LaneError) {
      const own = parameterNames.find((one) => one === name);
      if (own !== undefined) keys.push(parameterKey(sides[error.lane]!, own));
      if (error.lane === 1) keys.push('compare');
    }
    const control = name === undefined ? undefined : controlOf[name];
    if (control !== undefined) keys.push(control);
    return keys;
  }
}

/** Shows a notice above the figures about an address or a search, and lists the reasons. */
export function showNotice(text: string, reasons: string[] = []): void {
  const box = byId('notice');
  box.hidden = false;
  box.replaceChildren(
    h('p', {}, text),
    h('ul', {}, ...reasons.map((reason) => h('li', {}, reason))),
    h('button', { type: 'button', onclick: clearNotice }, 'Dismiss'),
  );
  box.querySelector('ul')!.hidden = reasons.length === 0;
}

export function clearNotice(): void {
  byId('notice').hidden = true;
  byId('notice').replaceChildren();
}
