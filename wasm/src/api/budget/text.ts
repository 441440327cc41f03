// SPDX-License-Identifier: Apache-2.0

// The text of a budget in a store: JSON accepted only exactly as it was written, so that an added,
// repeated, missing or changed field is noticed.

import { makeError, type ErrorPlace } from '../../core/errors.js';
import { checksumOf } from '../../shared/checksum.js';
import type { BudgetOptions, Charge } from '../../types/budget.js';

const FORMAT = 'dp-ftrl budget';
const VERSION = 4;

/** The options that are fixed when a budget is made. */
export type BudgetTerms = Required<Omit<BudgetOptions, 'mustExist'>>;

const OPTIONS = [
  'epsilon',
  'delta',
  'account',
  'pure',
  'neighbours',
  'fixedTimes',
] as const satisfies readonly (keyof BudgetTerms)[];

interface BudgetContent {
  fixed: BudgetTerms;
  charges: readonly Charge[];
}

function textOf({ fixed, charges }: BudgetContent): string {
  const options = OPTIONS.map((name) => [name, fixed[name]]);
  const content = {
    format: FORMAT,
    version: VERSION,
    ...Object.fromEntries(options),
    charges: charges.map(({ name, part, cost, stream }) => ({ name, part, cost, stream })),
  };
  const checksum = checksumOf(new TextEncoder().encode(JSON.stringify(content)));
  return `${JSON.stringify({ ...content, checksum }, null, 2)}\n`;
}

export function bytesOf(content: BudgetContent): Uint8Array {
  return new TextEncoder().encode(textOf(content));
}

/** Reads the charges in a store. */
export function chargesIn(where: ErrorPlace, bytes: Uint8Array, fixed: BudgetTerms): Charge[] {
  const bad = (constraint: string, value: string) =>
    makeError('bad_state', where, { parameter: 'store', constraint, value });
  let text: string;
  let given: BudgetTerms & { format: unknown; version: unknown; charges: Charge[] };
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    given = JSON.parse(text) as typeof given;
  } catch {
    throw bad('must hold a budget', 'something else');
  }
  if (given?.format !== FORMAT || given.version !== VERSION) {
    throw bad('must hold a budget of this version', 'something else');
  }
  const { charges } = given;
  const isWhole = Array.isArray(charges) && charges.every((it) => typeof it === 'object' && it);
  if (!isWhole || textOf({ fixed: given, charges }) !== text) {
    throw bad('must hold a budget as it was written', 'one that was damaged or edited');
  }
  const other = OPTIONS.find((name) => given[name] !== fixed[name]);
  if (other === undefined) return charges;
  throw makeError('other_options', where, {
    parameter: other,
    constraint: `must be ${given[other]}, as when the stored budget was begun`,
    value: String(fixed[other]),
  });
}
