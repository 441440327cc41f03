// SPDX-License-Identifier: Apache-2.0

// How streams draw from a budget. The budget may belong to another entry of the package, with its
// own copy of this code, so a shared symbol identifies it.

import { wrongType, type Reader } from '../core/check.js';
import type { Certificate } from '../types/all.js';

/** A stream being made or reopened. */
export interface Payment {
  /** The call that makes the stream; also the name of the charge. */
  where: string;
  certificate: Certificate;
  /** Identity of a stream in a store. */
  stream: string | undefined;
  /** Whether the stream was made, and charged, earlier. */
  isReopened: boolean;
}

const PAYMENTS: unique symbol = Symbol.for('dp-ftrl.payments') as never;

/** A budget, as streams see it. */
export interface Payments {
  /** Whether `pay` returns a promise. */
  readonly isStored: boolean;
  /** Charges a new stream, or requires that a reopened one was charged. */
  pay(payment: Payment): void | Promise<void>;
}

export function acceptPayments(budget: object, payments: Payments): void {
  Object.defineProperty(budget, PAYMENTS, { value: payments });
}

function paymentsOf(budget: unknown): Payments | undefined {
  return (budget as { [PAYMENTS]?: Payments } | null | undefined)?.[PAYMENTS];
}

export function isStoredBudget(budget: unknown): boolean {
  return paymentsOf(budget)?.isStored === true;
}

/** Undefined if there is no budget. */
export function readPayments(reader: Reader): Payments | undefined {
  const budget = reader.raw('budget');
  if (budget === undefined) return undefined;
  const payments = paymentsOf(budget);
  if (payments) return payments;
  throw wrongType(reader.where, 'budget', 'a budget of this package', budget);
}
