// SPDX-License-Identifier: Apache-2.0

// The histogram view: one figure and its few settings.

import 'uplot/dist/uPlot.min.css';
import { Controls } from '../controls/controls.ts';
import {
  complete,
  defaults,
  isListed,
  restOf,
  rules,
  SettingError,
  type SettingKey,
  type Settings,
} from '../controls/settings.ts';
import { readAddress, writeQueriesAddress } from '../controls/url.ts';
import { QueriesFigure } from '../figures/queries-figure.ts';
import { downloadPicture } from '../share/download.ts';
import { Address, connectShare } from '../base/address.ts';
import { Analyst } from '../base/analyst.ts';
import { byId } from '../base/dom.ts';
import { clearNotice, showNotice } from '../run/failures.ts';

export class QueriesPage {
  private isOpen = false;
  private wanted: Settings = { ...defaults };
  private readonly address = new Address(writeQueriesAddress, restOf);
  private readonly controls = new Controls((key, text) => this.enter(key, text), 'ask');
  private readonly deployed = byId<HTMLInputElement>('queries-deployed');
  private readonly figure: QueriesFigure;

  constructor() {
    const form = byId('queries-controls');
    form.addEventListener('submit', (event) => event.preventDefault());
    form.append(
      this.controls.group('Privacy', ['epsilon', 'delta', 'neighbours']),
      this.controls.group('Noise', ['noiseSeed']),
    );
    this.figure = new QueriesFigure(new Analyst(), { changed: (patch) => this.change(patch) });
    this.deployed.addEventListener('change', () =>
      this.change({ deployed: this.deployed.checked }),
    );
    this.address.watch(() => this.isOpen && this.open());
    const save = byId<HTMLButtonElement>('queries-save');
    save.disabled = false;
    save.addEventListener('click', () => {
      const picture = this.figure.picture();
      if (picture !== null) downloadPicture('queries', picture);
    });
    connectShare(byId('queries-share'), () => (this.figure.hasOwn ? ', without your data' : ''));
  }

  /** Applies the settings in the address and reports settings that cannot be used. */
  open(): void {
    this.isOpen = true;
    const { settings, refused, unknown } = readAddress(location.hash);
    this.wanted = settings;
    this.mark();
    complete(settings, this.address.read());
    this.controls.restore(settings);
    const messages = [...unknown];
    for (const [key, { text, message }] of refused) {
      messages.push(message);
      this.controls.error(key, message, text);
    }
    if (messages.length === 0) clearNotice();
    else showNotice('Part of this address was not understood; the rest applies.', messages);
    this.show();
  }

  restyle(): void {
    this.figure.restyle();
  }

  private enter(key: SettingKey, text: string): void {
    if (isListed(key)) return;
    try {
      const value = rules[key].read(text);
      this.controls.error(key, null);
      if (this.wanted[key] !== value) this.change({ [key]: value } as Partial<Settings>);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      this.controls.error(key, error.message);
    }
  }

  /**
   * Hides all secrets while another view is open, because that view may state that the page shows
   * none.
   */
  leave(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.wanted.deployed = true;
    this.show();
  }

  /** Marks whether the histogram is the user's own, so that addresses omit what would reveal it. */
  private mark(): void {
    this.wanted.source = this.figure.hasOwn ? 'own' : defaults.source;
  }

  private change(patch: Partial<Settings>): void {
    Object.assign(this.wanted, patch);
    this.mark();
    this.address.write(this.wanted, Object.keys(patch).join());
    this.show();
  }

  private show(): void {
    this.deployed.checked = this.wanted.deployed;
    this.controls.hide('noiseSeed', this.wanted.deployed && this.figure.hasOwn);
    this.controls.show(this.wanted);
    this.figure.show(this.wanted);
  }
}
