// SPDX-License-Identifier: Apache-2.0

// Columns that are not summed: the person and the time of a row.

import { markedIdsText } from '../../../wasm/src/shared/missing.ts';
import { h } from '../base/dom.ts';
import { count, counted, percent } from '../base/format.ts';
import {
  buckets,
  canBeTime,
  idKinds,
  isTimeColumn,
  timeFormatNames,
  timeFormats,
  zoneName,
} from './contributions.ts';
import type { Bucket, DayPeople, IdKind, StepRecords, Roles, TimeFormat } from './contributions.ts';
import { numRead, type Csv } from './csv.ts';
import { marksAmong } from './missing-cells.ts';

/** Roles of columns, and the limit on the rows of one person. */
export interface RoleChoice extends Roles {
  participations: number;
  minSeparation: number;
}

export interface RolesEvents {
  chosen(patch: Partial<RoleChoice>): void;
  /** Reports a text that is not a number of records or steps; null clears the error. */
  refused(message: string | null): void;
}

const rowText =
  'The column that names the person. With it, persons are protected; without it, rows are.';
const idsTitle = 'As numbers, 7, 7.0 and 007 are one person. As texts they are three.';
const eventText = 'Says when a row happened. All rows of a day, say, are then one step.';

/** Names of the two counts in messages. */
const countNames = {
  participations: 'the most steps of a person',
  minSeparation: 'the fewest steps apart',
} as const;

export class RolesField {
  readonly person = h('select', {
    id: 'set-person',
    'aria-describedby': 'set-person-error set-person-hint',
  });
  readonly time = h('select', {
    id: 'set-time',
    'aria-describedby': 'set-time-error set-time-hint',
  });
  /** Shown below the user column. */
  readonly limits: HTMLElement;
  /** Shown below the time column. */
  readonly bucketLine: HTMLElement;
  private readonly ids = h('select', { id: 'set-ids', title: idsTitle });
  private readonly format = h('select', { id: 'set-time-format' });
  private readonly bucket = h('select', { id: 'set-bucket' });
  private readonly zone = h('input', {
    id: 'set-time-zone',
    type: 'text',
    size: 16,
    placeholder: 'Europe/Berlin',
  });
  private readonly from = this.edge('from');
  private readonly to = this.edge('to');
  private readonly most: HTMLInputElement;
  private readonly apart: HTMLInputElement;
  /** Labels of choices that do not exist for counts of active people. */
  private readonly ofRecords: readonly HTMLElement[];

  constructor(private readonly events: RolesEvents) {
    this.person.addEventListener('change', () => events.chosen({ person: this.person.value }));
    this.time.addEventListener('change', () => events.chosen({ time: this.time.value }));
    this.format.append(
      ...timeFormats.map((name) => h('option', { value: name }, timeFormatNames[name])),
    );
    this.format.addEventListener('change', () =>
      events.chosen({ timeFormat: this.format.value as TimeFormat }),
    );
    this.bucket.append(...buckets.map((name) => h('option', { value: name }, name)));
    this.bucket.addEventListener('change', () =>
      events.chosen({ bucket: this.bucket.value as Bucket }),
    );
    this.ids.append(...idKinds.map((name) => h('option', { value: name }, name)));
    this.ids.addEventListener('change', () => events.chosen({ ids: this.ids.value as IdKind }));
    this.zone.addEventListener('change', () =>
      events.chosen({ timeZone: zoneName(this.zone.value || 'UTC') }),
    );
    this.most = this.count('set-person-most', 'participations');
    this.apart = this.count('set-person-apart', 'minSeparation');
    const [most, apart, bucket] = [
      h('label', { class: 'inline' }, 'at most ', this.most, ' steps of a person'),
      h('label', { class: 'inline' }, 'at least ', this.apart, ' steps apart'),
      h('label', { class: 'inline' }, 'a step is a ', this.bucket),
    ];
    this.ofRecords = [most, apart, bucket];
    this.limits = h(
      'p',
      { class: 'limits' },
      h('label', { class: 'inline' }, 'ids are ', this.ids),
      most,
      apart,
    );
    this.bucketLine = h(
      'p',
      { class: 'limits' },
      h('label', { class: 'inline' }, 'times are ', this.format),
      bucket,
      h('label', { class: 'inline' }, 'in zone ', this.zone),
      h('label', { class: 'inline' }, 'from ', this.from),
      h('label', { class: 'inline' }, 'to ', this.to),
    );
  }

  /** True if a column could hold the times of the rows. */
  hasTimes(csv: Csv, choice: RoleChoice): boolean {
    return csv.columns.some((column) => canBeTime(csv, column, choice));
  }

  /** `summed` are the columns that are summed; null if active people are counted. */
  show(csv: Csv, choice: RoleChoice, summed: readonly string[] | null): void {
    for (const label of this.ofRecords) label.hidden = summed === null;
    const options = (names: readonly string[], none: string): HTMLElement[] => [
      h('option', { value: '' }, none),
      ...names.map((name) => h('option', { value: name }, name)),
    ];
    const times = csv.columns
      .filter((column) => canBeTime(csv, column, choice))
      .map(({ name }) => name);
    const others = csv.columns
      .filter((column) => !isTimeColumn(csv, column))
      .map(({ name }) => name)
      .filter((name) => name !== choice.time && summed?.includes(name) !== true);
    this.person.replaceChildren(...options(others, 'none: protect rows'));
    this.person.value = choice.person;
    this.ids.value = choice.ids;
    this.time.replaceChildren(...options(times, 'none: every row is a step'));
    this.time.value = choice.time;
    this.format.value = choice.timeFormat;
    this.bucket.value = choice.bucket;
    this.limits.hidden = choice.person === '';
    this.bucketLine.hidden = choice.time === '';
    for (const [input, value] of [
      [this.most, choice.participations],
      [this.apart, choice.minSeparation],
      [this.zone, choice.timeZone],
      [this.from, choice.from],
      [this.to, choice.to],
    ] as const) {
      if (input !== document.activeElement) input.value = String(value);
    }
  }

  /**
   * Describes the effect on the rows; `records` is null while unknown. The numbers of persons and
   * of rows that count are secret.
   */
  effects(
    csv: Csv,
    roles: Roles,
    { records, isHidden }: { records: StepRecords | null; isHidden: boolean },
  ): { person: string; time: string } {
    const { bucket, timeZone, from, to } = roles;
    const { numPersons = null, numDropped = 0, span = null, numSteps = 0 } = records ?? {};
    const numRows = numRead(csv);
    const numCounted = numRows - numDropped;
    return {
      person:
        numPersons === null
          ? rowText
          : isHidden
            ? `${rowText} How many there are, and how many of their rows count, is hidden.`
            : `${counted(numPersons, 'person')}; ${count(numCounted)} of ${counted(numRows, 'row')} ` +
              `${numCounted === 1 ? 'counts' : 'count'}, ${percent(numCounted / numRows)}. The first ones of each person count, and those of one ` +
              `step form one record.${markedText(csv, roles)}`,
      time:
        span === null
          ? eventText
          : `${counted(numSteps, 'step')}, one per ${bucket} in ${timeZone}, from ${span[0]} to ${span[1]}, which ` +
            `will be public. ${edgesText(from, to)}`,
    };
  }

  /** Describes the people whose activity is counted; `people` is null while unknown. */
  effectsOnPeople(
    { timeZone, from, to }: Roles,
    { people, isHidden }: { people: DayPeople | null; isHidden: boolean },
  ): { person: string; time: string } {
    if (people === null) return { person: rowText, time: eventText };
    const { days, numPersons, timeOf } = people;
    const number = isHidden
      ? 'How many there are is hidden.'
      : `${counted(numPersons, 'person')} in all.`;
    return {
      person: `${number} Everything that one of them does counts, and is protected.`,
      time:
        `${counted(days.length, 'day')} in ${timeZone}, from ${timeOf(0)} to ` +
        `${timeOf(days.length - 1)}, which will be public. ${edgesText(from, to)}`,
    };
  }

  private edge(name: 'from' | 'to'): HTMLInputElement {
    const attributes = {
      id: `set-${name}`,
      type: 'text',
      size: 10,
      placeholder: '2026-03-01',
    } as const;
    const input = h('input', attributes);
    input.addEventListener('change', () => this.events.chosen({ [name]: input.value.trim() }));
    return input;
  }

  private count(id: string, key: 'participations' | 'minSeparation'): HTMLInputElement {
    const input = h('input', { id, type: 'text', inputmode: 'numeric', size: 4 });
    input.addEventListener('change', () => {
      const value = Number(input.value.trim());
      const isCount = /^\d+$/.test(input.value.trim()) && value >= 1 && value <= 1_000_000;
      input.toggleAttribute('aria-invalid', false);
      if (isCount) this.events.chosen({ [key]: value });
      else input.setAttribute('aria-invalid', 'true');
      const wanted = 'must be a whole number from 1 to 1,000,000';
      this.events.refused(
        isCount ? null : `${countNames[key]} ${wanted}, got “${input.value.trim()}”`,
      );
    });
    return input;
  }
}

/**
 * Warns of ids that look like missing values, because all rows with such an id become one person;
 * '' if there are none.
 */
function markedText(csv: Csv, roles: Roles): string {
  const column = csv.columns.find(({ name }) => name === roles.person);
  const marks = column === undefined ? [] : marksAmong(csv, column, roles);
  if (marks.length === 0) return '';
  const remedy = 'choose that missing cells skip their row, and name such texts';
  return ` Note ${markedIdsText(roles.person, marks)}. If they are missing, ${remedy}.`;
}

/**
 * Explains which ends of the range depend on the rows and so reveal the time of the first or the
 * last row.
 */
function edgesText(from: string, to: string): string {
  if (from !== '' && to !== '') return 'Both were set beforehand, independently of the rows.';
  const which = from === '' ? 'The range depends' : 'Where it ends depends';
  return `${which} on the data, and no noise hides it: set the first and the last beforehand.`;
}
