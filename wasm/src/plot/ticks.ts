// SPDX-License-Identifier: Apache-2.0

// Texts of the ticks of an axis, with enough digits to tell the closest two apart. Unless the axis
// is logarithmic, all of them are written with a power of ten, or none is. Used for the figures of
// the command, the page and the experiments.

/** Largest error of a text, relative to the distance from its tick to the nearest other or to 0. */
const ERROR = 1e-3;
/** Largest relative error of the text of a single tick. */
const ERROR_ALONE = 1e-12;
/** Significant digits that identify every double. */
const MOST_DIGITS = 17;
/** Range of numbers that are written without a power of ten. */
const PLAIN = [1e-4, 1e7] as const;

/**
 * Writes a number with this many significant digits, as a multiple of a power of ten if `power` is
 * set.
 */
export type Notation = (value: number, digits: number, power: boolean) => string;

/** Notation that programs can read: 250000, 0.002, 1.5e7. */
function machine(value: number, digits: number, power: boolean): string {
  const written = Number(value.toPrecision(digits));
  if (!power) return String(written);
  const [mantissa, exponent] = written.toExponential().split('e');
  return `${mantissa}e${Number(exponent)}`;
}

function needsPower(value: number): boolean {
  const size = Math.abs(value);
  return size !== 0 && (size < PLAIN[0] || size >= PLAIN[1]);
}

function digitsOf(ticks: readonly number[]): number {
  const sorted = [...ticks].sort((a, b) => a - b);
  const error = ticks.length === 1 ? ERROR_ALONE : ERROR;
  const gaps = sorted.slice(1).map((tick, i) => tick - sorted[i]!);
  const isRead = (digits: number): boolean =>
    sorted.every((tick, i) => {
      const gap = Math.min(
        gaps[i - 1] ?? Infinity,
        gaps[i] ?? Infinity,
        Math.abs(tick) || Infinity,
      );
      return Math.abs(Number(tick.toPrecision(digits)) - tick) <= error * gap;
    });
  let digits = 1;
  while (digits < MOST_DIGITS && !isRead(digits)) ++digits;
  return digits;
}

export function tickTexts(
  ticks: readonly number[],
  { log = false, write = machine as Notation } = {},
): string[] {
  const digits = digitsOf(ticks);
  const any = ticks.some(needsPower);
  return ticks.map((tick) => {
    if (tick === 0) return '0';
    return write(tick, digits, log ? needsPower(tick) : any);
  });
}
