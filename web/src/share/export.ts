// SPDX-License-Identifier: Apache-2.0

// Exports numbers and pictures: a CSV whose first line records how they were made, the figures as
// SVG, and the same run as programs and as a command. While secrets are hidden, exports contain
// none of them: neither the seed, with which anyone can subtract the noise, nor programs, which
// contain the seed.

import type { Settings } from '../controls/settings.ts';
import { h } from '../base/dom.ts';
import type { Run } from '../run/run.ts';
import { hiddenNote } from '../base/secrets.ts';
import { activeOptions } from '../figures/active-figure.ts';
import type { TrackNumbers } from '../figures/tracks-figure.ts';
import { csvCell } from '../../../wasm/src/shared/csv.ts';
import type { ColouredPicture } from '../figures/picture.ts';
import type { SimultaneousBand } from '../figures/simultaneous.ts';
import { download, downloadPicture } from './download.ts';
import { activeCommandOf, commandOf } from './command.ts';
import { activeProgramOf, javascriptOf } from './javascript.ts';
import type { SnippetSource, Source } from '../data/source.ts';

interface Exported {
  /** Whether the export leaves out what the figures hide. */
  deployed: boolean;
  /** Version of the library. */
  version: string;
  address: string;
  /** The figures drawn so far, by file name. */
  pictures: ReadonlyMap<string, ColouredPicture>;
}

export interface RunExport extends Exported {
  run: Run;
  file: SnippetSource['file'];
  /** Bands by lane; undefined if they are not shown. */
  simultaneousBands: readonly SimultaneousBand[] | undefined;
  /** Numbers of Figure 6; null if it is not drawn. */
  statistics: TrackNumbers | null;
}

/** Counts of active people. */
export interface PeopleExport extends Exported {
  file: Source;
  numbers: TrackNumbers;
}

const warning =
  'This is a demonstration, not a private release: whoever knows or guesses its seed can subtract the noise.';

/**
 * Comment that holds all facts about a file as JSON. Spreadsheets split it into cells at commas and
 * quotes, so commas within texts are escaped, and first characters that would begin a formula.
 */
export function commentOf(header: object): string {
  const json = JSON.stringify(header).replace(/"(?:[^"\\]|\\.)*"/g, (text) =>
    text.replace(/,|(?<=^")[=+\-@\uff1d\uff0b\uff0d\uff20]/g, (letter) => {
      return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    }),
  );
  return `# ${json}`;
}

/** While secrets are hidden, leaves out settings that reveal them. */
function aboutOf(settings: Settings, address: string, deployed: boolean): object {
  if (!deployed) return { address, settings };
  const { noiseSeed: _noise, streamSeed: _stream, histogram: _counts, ...shown } = settings;
  return { settings: shown };
}

/** Numbers of all steps so far. The first line is a comment that holds all parameters as JSON. */
function csvOf({ run, deployed, version, address, simultaneousBands: bands }: RunExport): string {
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

/** Numbers with their intervals, in the format of `csvOf`. */
function tracksOf(
  { version, address, deployed }: Exported,
  { settings, numSteps, timeOf, columns }: TrackNumbers,
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
    // The mean of no records is undefined, so the cell is empty.
    const numbers = columns.map(({ at }) => (Number.isFinite(at(step)) ? at(step) : ''));
    lines.push([step, ...time, ...numbers].join(','));
  }
  return `${lines.join('\n')}\n`;
}

function figures(pictures: RunExport['pictures']): HTMLElement {
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
      getSelection()?.selectAllChildren(code); // Selects the code, to be copied by hand.
    }
  });
  return h('section', {}, h('h3', {}, title), copy, code);
}

const withoutCommand = (file: Source | null): string =>
  file === null
    ? 'No table is loaded, so there is no command to copy.'
    : 'The command sums columns of a table, and what is summed here are gradients.';

/** Offers the file that the programs read; null if the file comes with them. */
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

const csvButton = (attributes: object, text: string, name: string, write: () => string) =>
  h(
    'button',
    { type: 'button', ...attributes, onclick: () => download(name, write(), 'text/csv') },
    text,
  );

const toSave = (write: () => string): HTMLElement =>
  csvButton({ id: 'export-csv', class: 'primary' }, 'Download CSV', 'dp-ftrl.csv', write);

/** Contents of the export dialog. */
export function partsOf(exported: RunExport | PeopleExport): (HTMLElement | string)[] {
  const { deployed, pictures } = exported;
  const about = [h('p', { class: 'hint' }, warning), figures(pictures)];
  const hidden = [hiddenNote('Table, seed and programs are')];
  if ('numbers' in exported) {
    const { numbers } = exported;
    const save = toSave(() => tracksOf(exported, numbers));
    const others = deployed ? hidden : elsewhereForPeople(exported);
    return [h('p', { class: 'tools' }, save), ...about, ...others];
  }
  const { run, file, statistics } = exported;
  const ofFigure =
    statistics &&
    csvButton(
      { id: 'export-statistics' },
      'Download CSV of Figure 6',
      'dp-ftrl-statistics.csv',
      () => tracksOf(exported, statistics),
    );
  const save = toSave(() => csvOf(exported));
  const others = deployed ? hidden : elsewhere(run, file);
  return [h('p', { class: 'tools' }, save, ofFigure), ...about, ...others];
}

/** Offers the table, and the counts of active people as a program and as a command. */
function elsewhereForPeople({ file, numbers }: PeopleExport): (HTMLElement | string)[] {
  const options = activeOptions(numbers.settings, numbers.numSteps);
  return [
    tableOf(file) ?? '',
    snippet('export-javascript', 'The same in JavaScript', activeProgramOf(options, file)),
    snippet('export-command', 'The same as a command', activeCommandOf(options, file)),
  ];
}

/** Offers the table, and the run as programs and as a command. */
function elsewhere(run: Run, file: Source | null): (HTMLElement | string)[] {
  const source: SnippetSource = { options: run.optionsOf(run.lanes[0]!), file };
  const [javascript, command] = [javascriptOf(source), commandOf(source)];
  return [
    (file && tableOf(file)) ?? '',
    snippet('export-javascript', 'The same in JavaScript', javascript),
    command === null
      ? h('p', { class: 'hint' }, withoutCommand(file))
      : snippet('export-command', 'The same as a command', command),
  ];
}
