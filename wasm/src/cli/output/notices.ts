// SPDX-License-Identifier: Apache-2.0

// Notices of a command on standard error, separate from its results.

export function say(command: string, text: string): void {
  process.stderr.write(`dp-ftrl ${command}: ${text}\n`);
}

export function warn(command: string, text: string): void {
  say(command, `warning: ${text}`);
}

/** Warns that a run is NOT private, once for each reason that applies. */
export function warnNotPrivate(command: string, reasons: Readonly<Record<string, boolean>>): void {
  for (const [reason, holds] of Object.entries(reasons)) {
    if (holds) warn(command, `${reason}: NOT private`);
  }
}

/** Caption of a figure that does not show a private release. */
export const NOT_PRIVATE = 'NOT private: the noise is known, or numbers without noise were shown.';

/** A reason for `warnNotPrivate`. */
export const SEEDED = '--seed makes the noise known to anyone';
