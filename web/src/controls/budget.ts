// SPDX-License-Identifier: Apache-2.0

// Share of a total budget that one release takes, and that several such releases take together.
// Shares are shares of mu squared, in which Gaussian releases add up exactly.

import type { Certificate } from 'dp-ftrl';
import { roundedUp } from '../../../wasm/src/shared/number.ts';
import { h, setText } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { count, counted, percent, quantity } from '../base/format.ts';
import { maxReleases, type Settings } from './settings.ts';

export interface BudgetEvents {
  /** Called with the epsilon that corresponds to a share. */
  chosen(epsilon: number): void;
}

type Library = Pick<Engine, 'calibrate'>;

/** Budget spent by several equal releases. */
export interface BudgetUse {
  /** Share of the budget that one release takes; 1 is the whole budget. */
  share: number;
  /** Epsilon of all releases together. */
  together: number;
  /**
   * Number of releases that fit into the budget; `maxReleases + 1` stands for any larger number.
   */
  numFitting: number;
  limitMu: number;
}

export async function spentOf(
  library: Library,
  { mu, delta }: { mu: number; delta: number },
  { budget, releases }: { budget: number; releases: number },
): Promise<BudgetUse> {
  const { mu: limitMu } = await library.calibrate({ epsilon: budget, delta });
  const share = (mu / limitMu!) ** 2;
  // Budgets tolerate rounding errors of shares. Above `maxReleases`, the exact number does not
  // matter.
  const numFitting = Math.min(Math.floor((1 + 2 ** -40) ** 2 / share), maxReleases + 1);
  const { epsilon } = await library.calibrate({ mu: mu * Math.sqrt(releases), delta });
  return { share, together: epsilon, numFitting, limitMu: limitMu! };
}

/**
 * Finds the largest epsilon, to five digits, at which a release takes at most `share` of the
 * budget.
 */
async function epsilonOfShare(
  library: Library,
  { share, limitMu, delta }: { share: number; limitMu: number; delta: number },
): Promise<number> {
  const { epsilon } = await library.calibrate({ mu: limitMu * Math.sqrt(share), delta });
  if (!(epsilon > 0)) throw new Error('is too small a share to leave any epsilon');
  const unit = 10 ** (Math.floor(Math.log10(epsilon)) - 4);
  return Number((Math.floor(epsilon / unit) * unit).toPrecision(5));
}

interface BudgetState {
  spent: BudgetUse;
  delta: number;
  budget: number;
  releases: number;
}

export class BudgetMeter {
  readonly element: HTMLElement;
  private readonly own = h('span', { class: 'own' });
  private readonly others = h('span', { class: 'others' });
  private readonly meter = h(
    'div',
    {
      class: 'budget-bar',
      id: 'budget-meter',
      role: 'meter',
      'aria-valuemin': 0,
      'aria-valuemax': 100,
    },
    this.own,
    this.others,
  );
  private readonly share: HTMLInputElement;
  private readonly error = h('p', {
    class: 'error',
    id: 'budget-share-error',
    role: 'alert',
    hidden: true,
  });
  private readonly text = h('p', { class: 'hint', id: 'budget-text', role: 'status' });
  private readonly divide = h('button', { type: 'button', id: 'budget-divide' });
  private shown: BudgetState | null = null;
  private asked = '';

  constructor(
    private readonly library: Library,
    private readonly events: BudgetEvents,
  ) {
    this.meter.setAttribute('aria-label', 'Budget spent');
    this.share = h('input', {
      id: 'budget-share',
      type: 'text',
      inputmode: 'decimal',
      spellcheck: 'false',
      'aria-describedby': 'budget-share-error budget-share-hint',
      onchange: () => void this.enter(),
    });
    this.divide.addEventListener('click', () => {
      if (this.shown !== null) void this.choose(1 / this.shown.releases);
    });
    this.element = h('div', { class: 'budget', hidden: true }, this.shareField(), this.meter);
    this.element.append(this.text, this.divide);
  }

  /** Shows the budget for a certificate; mechanisms compared side by side have the same mu. */
  show({ budget, releases }: Settings, { mu, delta }: Certificate): void {
    const asked = JSON.stringify([budget, releases, mu, delta]);
    if (asked === this.asked) return;
    this.asked = asked;
    if (budget === null || mu === null) {
      this.hide();
      return;
    }
    const settled = (then: () => void): void => {
      if (asked === this.asked) then();
    };
    spentOf(this.library, { mu, delta }, { budget, releases }).then(
      (spent) =>
        settled(() => {
          this.shown = { spent, delta, budget, releases };
          this.draw(this.shown);
        }),
      // Hides the text about the previous numbers, which does not apply to the new ones.
      () =>
        settled(() => {
          this.asked = '';
          this.hide();
        }),
    );
  }

  /** Shows the numbers of the current run again, discarding later entries. */
  restore(): void {
    if (this.shown !== null) this.draw(this.shown);
  }

  private draw({ budget, releases, spent }: BudgetState): void {
    const { share, together, numFitting } = spent;
    const all = share * releases;
    const fits = releases <= numFitting;
    this.element.hidden = false;
    this.own.style.width = `${100 * Math.min(1, share)}%`;
    this.others.style.width = `${100 * Math.max(0, Math.min(1, all) - share)}%`;
    this.meter.classList.toggle('over', !fits);
    this.meter.setAttribute('aria-valuenow', String(Math.min(100, Math.round(100 * all))));
    this.meter.setAttribute('aria-valuetext', `${percent(all)} by ${releasesText(releases)}`);
    this.share.value = String(Number((100 * share).toPrecision(4)));
    this.refuse(null);
    const verdict = fits ? 'within budget' : 'over budget';
    const fitting =
      numFitting > maxReleases ? `More than ${count(maxReleases)}` : count(numFitting);
    const many =
      releases === 1
        ? `One release is ${verdict}`
        : `${releasesText(releases)} like it, chosen adaptively, spend ` +
          `ε = ${quantity(roundedUp(together, 4))} together, ${verdict}`;
    setText(
      this.text,
      `This release takes ${percent(share)} of the budget ε = ${quantity(budget)}. ` +
        `${many}; ${fitting} fit${numFitting === 1 ? 's' : ''}. ` +
        '“Draw the noise again” is a simulation and spends nothing here; if published, every ' +
        'draw would be another release.',
    );
    setText(this.divide, `Divide it equally among ${count(releases)}`);
    this.divide.hidden = releases < 2;
  }

  private hide(): void {
    this.shown = null;
    this.element.hidden = true;
  }

  private async enter(): Promise<void> {
    const text = this.share.value.trim();
    const value = Number(text);
    if (text === '' || !(value > 0 && value <= 100)) {
      this.refuse(`must be a number above 0 and at most 100, got “${text}”`);
      return;
    }
    await this.choose(value / 100);
  }

  private async choose(share: number): Promise<void> {
    const { shown } = this;
    if (shown === null) return;
    const { limitMu } = shown.spent;
    try {
      this.events.chosen(
        await epsilonOfShare(this.library, { share, limitMu, delta: shown.delta }),
      );
      this.refuse(null);
    } catch (error) {
      this.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  private refuse(message: string | null): void {
    setText(this.error, message ?? '');
    this.error.hidden = message === null;
    if (message === null) this.share.removeAttribute('aria-invalid');
    else this.share.setAttribute('aria-invalid', 'true');
  }

  private shareField(): HTMLElement {
    const label = h('label', { for: 'budget-share' }, '% of it');
    const hint = 'What this release takes. Enter a share: ε follows.';
    return h(
      'div',
      { class: 'field' },
      h('div', { class: 'entry' }, label, this.share),
      h(
        'div',
        { class: 'beside' },
        h('p', { class: 'hint', id: 'budget-share-hint' }, hint),
        this.error,
      ),
    );
  }
}

const releasesText = (releases: number): string =>
  releases === 1 ? 'one release' : counted(releases, 'release');
