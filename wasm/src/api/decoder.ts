// SPDX-License-Identifier: Apache-2.0

// The caller's own decoder B for an encoder C. Because C is square and invertible, B must be
// A C^-1: it is only checked, and changes nothing.

import type { CoreWorkload } from '../core/core.js';
import { decoderShapeFault, type MatrixFault } from '../shared/encoder.js';

/**
 * Largest accepted difference between entries of B and A C^-1, relative to the largest entry in the
 * row.
 */
const TOLERANCE = 1e-6;

/** Rows of A, each up to its diagonal. */
function* workloadRows(
  { kind, momentum, decay, width, values }: CoreWorkload,
  numSteps: number,
): Generator<Float64Array, void, void> {
  const velocity = new Float64Array(numSteps);
  const sums = new Float64Array(numSteps);
  for (let step = 0; step < numSteps; ++step) {
    if (kind === 'matrix') {
      yield values!.slice(step * numSteps, step * numSteps + step + 1);
    } else if (kind === 'window') {
      yield new Float64Array(step + 1).map((_, j) => Number(step - j < width));
    } else {
      const rate = kind === 'rates' ? values![step]! : 1;
      velocity[step] = 1;
      for (let j = 0; j <= step; ++j) {
        if (j < step) velocity[j]! *= momentum;
        sums[j] = decay * sums[j]! + rate * velocity[j]!;
      }
      yield sums.slice(0, step + 1);
    }
  }
}

/** Solves x C = row, in place, by back substitution. */
function solve(row: Float64Array, encoder: readonly ArrayLike<number>[]): void {
  for (let j = row.length - 1; j >= 0; --j) {
    const own = encoder[j]!;
    row[j]! /= own[j]!;
    for (let i = 0; i < j; ++i) row[i]! -= row[j]! * own[i]!;
  }
}

/**
 * Finds the entry of B that differs most from A C^-1, for a checked encoder C; undefined if B is
 * the decoder.
 *
 * @guarantee  up to TOLERANCE times the largest entry of each row, an accepted B equals the X that
 *   substitution computes, with |X C - A| <= n 2^-53 |X| |C| up to terms of second order, entry by
 *   entry, whatever the condition of C (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
 *   edition, theorem 8.5). An X that is not finite is left to the core, which refuses such a C.
 * @checked-by  encoder.test.mjs "decoder: what is accepted has the residual that is proved"
 */
export function decoderFault(
  decoder: readonly ArrayLike<number>[],
  { encoder, workload }: { encoder: readonly ArrayLike<number>[]; workload: CoreWorkload },
): MatrixFault | undefined {
  const shape = decoderShapeFault(decoder, encoder.length);
  if (shape) return shape;
  let largest = TOLERANCE;
  let fault: MatrixFault | undefined;
  let row = 0;
  for (const wanted of workloadRows(workload, encoder.length)) {
    solve(wanted, encoder);
    const size = wanted.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0);
    for (const [column, entry] of wanted.entries()) {
      const value = decoder[row]![column]!;
      const difference = Math.abs(value - entry);
      if (!(difference / size > largest)) continue;
      largest = difference / size;
      const [right, apart] = [entry, difference].map((it) => Number(it.toPrecision(6)));
      const whose = `the difference, ${apart}, is the largest relative to its row`;
      const constraint = `must be ${right}, as B is A C^-1 (${whose})`;
      fault = { row, column, constraint, value: String(value) };
    }
    ++row;
  }
  return fault;
}
