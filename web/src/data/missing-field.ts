// SPDX-License-Identifier: Apache-2.0

// Control for cells without a value: how they are read, and which texts mark them.

import {
  MARKS_WANTED,
  marksOf,
  POLICIES,
  SUGGESTED,
  type MissingPolicy,
} from '../../../wasm/src/shared/missing.ts';
import { h } from '../base/dom.ts';
import { counted } from '../base/format.ts';
import type { Roles } from './contributions.ts';
import type { MissingChoice } from './missing-cells.ts';

export interface MissingEvents {
  chosen(patch: Partial<MissingChoice>): void;
  /** Reports a text that is not a list of marks; null clears the error. */
  refused(message: string | null): void;
}

const names: Record<MissingPolicy, string> = {
  refuse: 'are refused',
  zero: 'count as 0',
  skip: 'skip their row',
};

export class MissingField {
  readonly policy: HTMLSelectElement;
  /** Shown below the policy unless missing cells are refused. */
  readonly marks: HTMLElement;
  private readonly na: HTMLInputElement;

  /**
   * @param prefix  prefix of ids.
   * @param describedBy  ids of the elements that describe the policy.
   */
  constructor(
    events: MissingEvents,
    { prefix, describedBy }: { prefix: string; describedBy: string },
  ) {
    this.policy = h('select', { id: `${prefix}-missing`, 'aria-describedby': describedBy });
    this.na = h('input', {
      id: `${prefix}-na`,
      type: 'text',
      size: 16,
      spellcheck: 'false',
      placeholder: SUGGESTED.join(','),
    });
    this.policy.append(...POLICIES.map((value) => h('option', { value }, names[value])));
    this.policy.addEventListener('change', () =>
      events.chosen({ missing: this.policy.value as MissingPolicy }),
    );
    this.na.addEventListener('change', () => {
      const text = this.na.value.trim();
      const isList = text === '' || marksOf(text) !== undefined;
      this.na.toggleAttribute('aria-invalid', false);
      if (isList) events.chosen({ na: text });
      else this.na.setAttribute('aria-invalid', 'true');
      events.refused(
        isList ? null : `marks of missing cells must be ${MARKS_WANTED}, got “${text}”`,
      );
    });
    const label = h('label', { class: 'inline' }, 'besides empty ones, those that say ', this.na);
    this.marks = h('p', { class: 'limits' }, label);
  }

  show({ missing, na }: MissingChoice): void {
    this.policy.value = missing;
    this.marks.hidden = missing === 'refuse';
    if (this.na !== document.activeElement) this.na.value = na;
  }
}

/**
 * Describes the effect. `numSkipped`, the number of rows left out, is secret; it is null while
 * unknown or hidden.
 */
export function missingText({ missing, time }: Roles, numSkipped: number | null): string {
  if (missing === 'refuse') return 'Cells without a value. None is taken for one without asking.';
  if (missing === 'zero')
    return 'Of columns that are summed. A person or a time cannot be missing.';
  const step = time === '' ? ' Its step remains.' : '';
  const number = numSkipped === null ? '' : ` Left out: ${counted(numSkipped, 'row')}.`;
  return `A row with a missing number, person or time is protected, too, and adds nothing.${step}${number}`;
}
