// SPDX-License-Identifier: Apache-2.0

function cell(value: unknown): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value ?? 'not computed');
  return String(Number(value.toPrecision(13)));
}

/** JSON on one line, or a small table of the labelled entries. */
export function report(
  result: Record<string, unknown>,
  json: boolean,
  labels: Record<string, string>,
): string {
  if (json) return `${JSON.stringify(result)}\n`;
  const width = Math.max(...Object.values(labels).map((label) => label.length));
  return Object.entries(labels)
    .map(([key, label]) => `${label.padEnd(width)}  ${cell(result[key])}\n`)
    .join('');
}
