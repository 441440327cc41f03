// SPDX-License-Identifier: Apache-2.0

// A figure as a self-contained HTML page without scripts.

import { escape } from '../../plot/svg.js';
import type { Figure } from './figure.js';

const STYLE = `body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font-family: sans-serif; color: #222; background: #fff }
svg { max-width: 100%; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left; padding: 0.5rem 0 }
th, td { padding: 0.15rem 0.8rem; border-bottom: 1px solid #ddd; text-align: right }
th:first-child { text-align: left }`;

function rowOf(cells: readonly (string | number)[]): string {
  const texts = cells.map((cell) => escape(String(cell)));
  const [first, ...rest] = texts;
  return `<tr><th scope="row">${first}</th>${rest.map((text) => `<td>${text}</td>`).join('')}</tr>`;
}

/** @param notes  notes on the figure, and its guarantee. */
export function pageOf(
  { title, numbers }: Figure,
  { svg, notes }: { svg: string; notes: readonly string[] },
): string {
  const { caption, header, rows } = numbers;
  const head = header.map((name) => `<th scope="col">${escape(name)}</th>`).join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<style>
${STYLE}
</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
${notes.map((note) => `<p>${escape(note)}</p>`).join('\n')}
${svg.replace('<svg ', `<svg role="img" aria-label="${escape(title)}" `)}<table>
<caption>${escape(caption)}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${rows.map(rowOf).join('\n')}
</tbody>
</table>
</main>
</body>
</html>
`;
}
