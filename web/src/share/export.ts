// SPDX-License-Identifier: Apache-2.0

// Exports numbers and pictures: a CSV whose first line records how they were made, the figures as
// SVG, and the same run as programs and as a command. While secrets are hidden, nothing of it has
// them: neither the seed, whose noise anyone can subtract, nor programs, which contain the seed.

import type { Settings } from '../controls/settings.ts';
import { byId, h } from '../base/dom.ts';
import type { Run } from '../run/run.ts';
import { hiddenNote } from '../base/secrets.ts';
import type { StatisticNumbers } from '../figures/statistics-figure.ts';
import { csvCell } from '../../../wasm/src/shared/csv.ts';
import type { Picture } from '../figures/picture.ts';
import type { SimultaneousBand } from '../figures/simultaneous.ts';
import { download, downloadPicture } from './download.ts';
import { commandOf } from './command.ts';
import { javascriptOf } from './javascript.ts';
import type { SnippetSource, Source } from '../data/source.ts';

export interface Exported {
  run: Run;
  /** Leaves out what the figures hide. */
  deployed: boolean;
  /** Version of the library. */
  version: string;
  address: string;
  file: SnippetSource['file'];
  /** The figures drawn so far, by a name for their files. */
  pictures: ReadonlyMap<string, Picture>;
  /** Bands by lane; undefined if they are not shown. */
  simultaneousBands: readonly SimultaneousBand[] | undefined;
  /** Numbers of Figure 6; null if it is not drawn. */
  statistics: StatisticNumbers | null;
}

const warning =
  'This is a demonstration, not a private release: whoever knows or guesses its seed can subtract the noise.';

/**
 * Returns a comment that holds everything about a file as JSON. A spreadsheet splits it at commas
 * and quotes; no text in it begins one of its cells or looks like a formula there.
 */
export function commentOf(header: object): string {
  const json = JSON.stringify(header).replace(/"(?:[^"\\]|\\.)*"/g, (text) =>
    text.replace(/,|(?<=^")[=+\-@\uff1d\uff0b\uff0d\uff20]/g, (letter) => {
      return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    }),
  );
  return `# ${json}`;
}

/** Returns settings and address; while secrets are hidden, without what reveals them. */
function aboutOf(settings: Settings, address: string, deployed: boolean): object {
  if (!deployed) return { address, settings };
  const { noiseSeed: _noise, streamSeed: _stream, histogram: _counts, ...shown } = settings;
  return { settings: shown };
}

/**
 * Returns the numbers of all steps so far. The first line is a comment that holds all parameters as
 * JSON.
 */
function csvOf({ run, deployed, version, address, simultaneousBands: bands }: Exported): string {
  const { dimension } = run.first.info;
  const lanes = run.lanes.map(({ mechanism, parameters, history }, i) => ({
    mechanism,
    parameters,
    certificate: history.info.certificate,
    ...(bands === undefined ? {} : { simultaneousBand: bands[i] }),
  }));
  const header = {
    library: 'dp-ftrl',
    version,
    warning,
    ...aboutOf(run.settings, address, deployed),
    lanes,
  };
  const names = ['step'];
  const each = (name: string): string[] =>
    Array.from({ length: dimension }, (_, k) => `${name}_${k + 1}`);
  for (const [i] of run.lanes.entries()) {
    const lane = run.lanes.length > 1 ? `_${'ab'[i]}` : '';
    names.push(...each(`release${lane}`), `std${lane}`);
    if (bands !== undefined) names.push(`every_step${lane}`);
    if (!deployed) names.push(...each(`true${lane}`));
  }
  const lines = [commentOf(header), names.join(',')];
  for (let step = 0; step < run.step; ++step) {
    const cells: number[] = [step + 1];
    for (const [i, { sums: history }] of run.lanes.entries()) {
      const row = (values: Float64Array): Float64Array =>
        values.subarray(step * dimension, (step + 1) * dimension);
      cells.push(...row(history.noisySums), history.stddev[step]!);
      if (bands !== undefined) cells.push(bands[i]!.coordinate);
      if (!deployed) cells.push(...row(history.trueSums));
    }
    lines.push(cells.join(','));
  }
  return `${lines.join('\n')}\n`;
}

/** Returns the numbers of Figure 6 in the same form. */
function statisticsOf(
  { version, address, deployed }: Exported,
  { settings, numSteps, timeOf, columns }: StatisticNumbers,
): string {
  const header = { library: 'dp-ftrl', version, warning, ...aboutOf(settings, address, deployed) };
  const names = [
    'step',
    ...(timeOf === null
      ? []
      : [settings.timeZone === 'UTC' ? 'time' : `time (${settings.timeZone})`]),
    ...columns.map(({ name }) => name),
  ];
  const lines = [commentOf(header), names.map(csvCell).join(',')];
  for (let step = 1; step <= numSteps; ++step) {
    const time = timeOf === null ? [] : [timeOf(step - 1)];
    // The mean of no records is undefined, so its cell is empty.
    const numbers = columns.map(({ at }) => (Number.isFinite(at(step)) ? at(step) : ''));
    lines.push([step, ...time, ...numbers].join(','));
  }
  return `${lines.join('\n')}\n`;
}

/** Returns a button for each figure. */
function figures(pictures: Exported['pictures']): HTMLElement {
  const buttons = [...pictures].map(([name, picture]) => {
    const button = h('button', { type: 'button', 'data-picture': name }, picture.title);
    button.addEventListener('click', () => downloadPicture(name, picture));
    return button;
  });
  return h(
    'section',
    { id: 'export-pictures' },
    h('h3', {}, 'Figures as SVG'),
    h('div', { class: 'tools' }, ...buttons),
    h(
      'p',
      { class: 'hint' },
      'They are saved as they are now. Figures further down are drawn once you scroll to them.',
    ),
  );
}

function snippet(id: string, title: string, text: string): HTMLElement {
  const code = h('pre', { id, tabindex: 0, role: 'region', 'aria-label': title }, text);
  const copy = h('button', { type: 'button' }, 'Copy');
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = 'Copied';
    } catch {
      getSelection()?.selectAllChildren(code); // To be copied by hand.
    }
  });
  return h('section', {}, h('h3', {}, title), copy, code);
}

const withoutCommand = (file: Source | null): string =>
  file === null ? 'there is none here' : 'what is summed here are gradients';

/** Offers the file that the programs read; null if it comes with them. */
function tableOf({ name, text }: Source): HTMLElement | null {
  if (text === null) return null;
  const save = h(
    'button',
    { type: 'button', id: 'export-table' },
    'Download the table as the page read it',
  );
  save.addEventListener('click', () => download(name, text(), 'text/csv'));
  return h(
    'section',
    {},
    h('h3', {}, 'The same elsewhere'),
    h(
      'p',
      { class: 'hint' },
      `Programs and command read ${name}: your table, always separated by commas, with the repairs of cells ` +
        'and rows made here.',
    ),
    save,
  );
}

/**
 * Connects the export dialog; `taken` returns what is on the page at that time, null if nothing.
 */
export function connectExport(taken: () => Exported | null): void {
  const dialog = byId<HTMLDialogElement>('export');
  byId('export-open').addEventListener('click', () => {
    const exported = taken();
    if (exported === null) return;
    const { run, file, deployed } = exported;
    const save = h(
      'button',
      { type: 'button', id: 'export-csv', class: 'primary' },
      'Download CSV',
    );
    save.addEventListener('click', () => download('dp-ftrl.csv', csvOf(exported), 'text/csv'));
    const { statistics } = exported;
    const others =
      statistics &&
      h('button', { type: 'button', id: 'export-statistics' }, 'Download CSV of Figure 6');
    others?.addEventListener('click', () =>
      download('dp-ftrl-statistics.csv', statisticsOf(exported, statistics!), 'text/csv'),
    );
    byId('export-parts').replaceChildren(
      h('p', { class: 'tools' }, save, others),
      h('p', { class: 'hint' }, warning),
      figures(exported.pictures),
      ...(deployed ? [hiddenNote('Table, seed and programs are')] : elsewhere(run, file)),
    );
    dialog.showModal();
  });
  // Its parts belong to the run at that time, and hold secrets that may be hidden later.
  dialog.addEventListener('close', () => byId('export-parts').replaceChildren());
  window.addEventListener('hashchange', () => dialog.close());
}

/** Returns the table, and the run as programs and as a command. */
function elsewhere(run: Run, file: Source | null): (HTMLElement | string)[] {
  const source: SnippetSource = { options: run.optionsOf(run.lanes[0]!), file };
  const [javascript, command] = [javascriptOf(source), commandOf(source)];
  return [
    (file && tableOf(file)) ?? '',
    snippet('export-javascript', 'The same in JavaScript', javascript),
    command === null
      ? h('p', { class: 'hint' }, `The command releases tables, and ${withoutCommand(file)}.`)
      : snippet('export-command', 'The same as a command', command),
  ];
}
