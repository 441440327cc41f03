// SPDX-License-Identifier: Apache-2.0

// The user's own table: loaded, learned from, refused with row and column, and never sent.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import { holds, tableOf } from '../js/support/message-table.mjs';
import {
  changes,
  enter,
  openExport,
  openPage,
  readKey,
  root,
  runProgram,
  savedPanels,
  savesOf,
  seedOf,
  settled,
  startSite,
  stepOf,
  textOf,
} from './support.mjs';

const { site, browser, open } = await startSite();
const library = await load();

/** Chooses "your own CSV" and pastes a text as from a clipboard. */
async function paste(page, text) {
  await page.select('#set-source', 'own');
  await page.$eval(
    '#csv-text',
    (area, value) => {
      area.focus();
      area.select();
      document.execCommand('insertText', false, value);
      area.dispatchEvent(new ClipboardEvent('paste', { bubbles: true }));
    },
    text,
  );
}

const ranSteps = (page, steps) =>
  page.waitForFunction((n) => document.getElementById('progress').max === n, {}, steps);

/**
 * Chooses the clip norm that shortens no row, or another one; the user's own data require this
 * choice.
 */
async function chooseClip(page, number = 1) {
  const button = `#clip-guide li:nth-child(${number}) button`;
  await page.waitForSelector(button, { visible: true });
  await page.$eval(button, (one) => one.click());
}

const visits = 'day,visits,bought\n1,2.5,1\n2,0,0\n3,-1,0\n4,4,1\n5,1,0\n';

test('a pasted table is summed, column by column, as the library does', async () => {
  const { page, said, asked } = await open();
  const loaded = [...asked];
  const before = await readKey(page, '#sums');
  await paste(page, visits);
  await page.waitForSelector('#clip-guide .ask');
  const boxes = await page.$$eval('.columns label:not(.unit)', (all) =>
    all.map((label) => [
      label.querySelector('input').value,
      label.querySelector('input').checked,
      label.querySelector('data').textContent,
    ]),
  );
  assert.deepEqual(
    boxes,
    [
      ['day', false, 'total 15'],
      ['visits', true, 'total 6.5'],
      ['bought', false, 'total 2'],
    ],
    'a row counter is left out, and one column is enough to begin with',
  );
  assert.deepEqual(await readKey(page, '#sums'), before, 'nothing runs before a clip is chosen');
  assert.doesNotMatch(
    await page.$eval('.columns', (box) => box.closest('.field').textContent),
    /than the clip norm/,
  );
  await page.click('.columns input[value=bought]');
  const offers = await page.$$eval('#clip-guide li', (all) => all.map((one) => one.textContent));
  assert.equal(offers.length, 3);
  assert.match(offers[0], /^Clip at 4\.2no row is shortened$/);
  await chooseClip(page, 3);
  await ranSteps(page, 5);
  await settled(page);
  const clip = Number(await page.$eval('#set-clipNorm', (input) => input.value));
  const values = Float64Array.of(2.5, 1, 0, 0, -1, 0, 4, 1, 1, 0);
  const simulation = library.study.simulation({
    epsilon: 1,
    delta: 1e-6,
    clip,
    steps: 5,
    noiseSeed: await seedOf(page),
    table: { numRows: 5, numColumns: 2, values },
  });
  const chunk = simulation.advance(5);
  simulation.dispose();
  const key = await readKey(page, '#sums');
  assert.equal(key.release, chunk.noisySums[8]);
  assert.equal(key['true total'], chunk.trueSums[8]);
  assert.equal(key.unclipped, 6.5);
  assert.equal(await page.$eval('#learning-figure', (one) => one.hidden), true);
  assert.match(
    await page.$eval('.columns', (box) => box.closest('.field').textContent),
    /5 rows; 40\.0\s% are longer than the clip norm/,
  );
  const others = asked.filter((url) => !loaded.includes(url));
  assert.deepEqual(others, [], 'nothing was sent or fetched');
  assert.deepEqual(said, []);
  const box = await page.$eval('.drop', (one) => one.textContent);
  assert.match(
    box,
    /It is read in this tab, and the page sends nothing\. Neither it nor its columns/,
  );
  assert.ok(!(await page.evaluate(() => location.href)).includes('2.5'), 'no data in the address');
  await page.close();
});

test('a label column is learned, and its checkbox is cleared and disabled', async () => {
  const { page } = await open();
  await paste(page, visits);
  await chooseClip(page);
  await ranSteps(page, 5);
  await settled(page);
  await page.select('#set-label', 'bought');
  await page.waitForFunction(() => document.querySelector('#learning .key') !== null);
  await settled(page);
  assert.equal(await page.$eval('.columns input[value=bought]', (box) => box.disabled), true);
  assert.equal(await page.$eval('.columns input[value=bought]', (box) => box.checked), false);
  const simulation = library.study.simulation({
    epsilon: 1,
    delta: 1e-6,
    clip: 4,
    steps: 5,
    noiseSeed: await seedOf(page),
    table: {
      numRows: 5,
      numColumns: 1,
      values: Float64Array.of(2.5, 0, -1, 4, 1),
      labels: Float64Array.of(1, 0, 0, 1, 0),
    },
  });
  const chunk = simulation.advance(5);
  simulation.dispose();
  const mean = chunk.privateLoss.reduce((sum, loss) => sum + loss, 0) / 5;
  const key = await readKey(page, '#learning');
  assert.ok(Math.abs(key['private learner'] - mean) < 1e-12);
  await page.close();
});

test('a bad table is refused with the reason, and the last good run stays', async () => {
  const { page, said } = await open('steps=40');
  const before = await readKey(page, '#sums');
  for (const [text, pattern] of [
    [
      'a,b\n1,2\n3\n',
      /^row 2 \(line 3 of the text\) must have as many cells as the header, 2, got 1$/,
    ],
    ['a,b\n', /^there is no row below the header$/],
    ['1,2\n3,4\n', /^the first row must name the columns, but all its cells are numbers$/],
    ['a,b,a\n1,2,3\n', /^the header has more than one column “a”: cells 1 and 3$/],
    [',\n1,2\n', /^the cells of the first row are empty; they must name the columns$/],
    ['[{"a":1},{"a":2}]\n', /^the text is a JSON array: write one object per line, as by jq/],
    ['{"a":1}\n{"a":2}\n', /^the text is JSON: write it as CSV, or read it with the command$/],
    ['a,b\n"1,2\n', /^the text is not CSV: /],
  ]) {
    await paste(page, text);
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.getElementById('set-source-error').textContent),
      {},
      pattern.source,
    );
    assert.deepEqual(await readKey(page, '#sums'), before);
  }
  assert.equal(
    await page.$eval('#set-source', (select) => select.getAttribute('aria-invalid')),
    'true',
  );
  assert.deepEqual(said, []);
  await page.close();
});

test('a column with an empty cell is not chosen by default, and choosing it names the cell', async () => {
  const { page } = await open();
  await paste(page, 'name,count,sum\nx,1,10\ny,,20\nz,n/a,15\nw,4,30\n');
  await chooseClip(page);
  await ranSteps(page, 4);
  await settled(page);
  const boxes = await page.$$eval('.columns input[type=checkbox]', (all) =>
    all.map((b) => [b.value, b.checked]),
  );
  assert.deepEqual(boxes, [
    ['count', false],
    ['sum', true],
  ]);
  const before = await readKey(page, '#sums');
  const hash = await page.evaluate(() => location.hash);
  await page.click('.columns input[value=count]');
  await page.waitForFunction(() => document.getElementById('set-columns-error').textContent !== '');
  assert.equal(
    await textOf(page, '#set-columns-error'),
    'row 2 (line 3 of the text), column “count”: must be a number, got an empty cell, ' +
      'and 1 more like it',
  );
  assert.deepEqual(await readKey(page, '#sums'), before);
  assert.equal(await page.evaluate(() => location.hash), hash);
  assert.equal(await page.$eval('.columns input[value=count]', (box) => box.checked), false);
  await page.click('.columns input[value=sum]');
  await page.waitForFunction(() =>
    document.getElementById('set-columns-error').textContent.startsWith('choose'),
  );
  assert.equal(await textOf(page, '#set-columns-error'), 'choose at least one column to sum');
  await page.close();
});

const totals = (page) =>
  page.$$eval('.columns label:not(.unit)', (all) =>
    Object.fromEntries(
      all.map((label) => [
        label.querySelector('input').value,
        label.querySelector('data').textContent,
      ]),
    ),
  );

/** Presses the button with this text among those that `selector` finds. */
const press = (page, selector, text) =>
  page.$$eval(
    selector,
    (all, wanted) => all.find(({ textContent }) => textContent === wanted).click(),
    text,
  );

for (const { text, button, total, rows, listed } of [
  {
    text: 'visits,n\n"1,400",1\n20,2\n30,4\n',
    button: 'Read “1,400” as 1400',
    total: 'total 1,450',
    rows: 3,
    listed:
      '“visits” is not summed: 1 cell is not a number: “1,400” in row 1 (line 2 of the text).',
  },
  {
    text: 'visits,n\n"1,400",1\n20,2\n30,4\n',
    button: 'Read “1,400” as 1.4',
    total: 'total 51.4',
    rows: 3,
  },
  {
    text: 'visits;n\n1,5;1\n2,25;2\n3;4\n',
    button: 'Read “1,5” as 1.5',
    total: 'total 6.75',
    rows: 3,
    listed:
      '“visits” is not summed: 2 cells are not numbers: “1,5” in row 1 (line 2 of the text), ' +
      '“2,25” in row 2 (line 3 of the text).',
  },
  {
    text: 'visits,n\nn/a,1\n20,2\n,7\n',
    button: 'Count missing cells as 0',
    total: 'total 20',
    rows: 3,
    listed:
      '“visits” is not summed: 2 cells are missing: “n/a” in row 1 (line 2 of the text), ' +
      'an empty cell in row 3 (line 4 of the text).',
  },
  {
    text: 'visits,n\nn/a,1\n20,2\n,7\n',
    button: 'Leave out rows with missing cells',
    total: 'total 20',
    rows: 3,
  },
  { text: 'visits,n\nInf,1\n20,2\n5,7\n', button: 'Leave out its row', total: 'total 25', rows: 3 },
  {
    text: 'visits,n\nInf,1\n20,2\nx,7\n',
    button: 'Count them as 0',
    total: 'total 20',
    rows: 3,
  },
]) {
  test(`a column with cells that are not numbers is named, and read as chosen: ${button}`, async () => {
    const { page, said } = await open('steps=20');
    await paste(page, text);
    await page.waitForSelector('.faults li p');
    if (listed !== undefined) assert.equal(await textOf(page, '.faults li p'), listed);
    await press(page, '.faults button', button);
    await page.waitForFunction(() => document.querySelector('.faults').hidden);
    assert.equal((await totals(page)).visits, total);
    await chooseClip(page);
    await ranSteps(page, rows);
    await settled(page);
    assert.deepEqual(said, []);
    await page.close();
  });
}

/** The command that the page exports. */
async function commandText(page) {
  await openExport(page);
  const text = await textOf(page, '#export-command');
  await page.keyboard.press('Escape');
  return text;
}

/** The last release of a command of the page with more options, run on another table. */
async function commandOn(table, command, options) {
  const folder = await mkdtemp(path.join(root, 'build/table-'));
  try {
    const file = path.join(folder, 'data.csv');
    await writeFile(file, table);
    const words = command.trim().replace(' --missing skip', '').replace('data.csv', file);
    const shell = `set -- ${words}; shift; exec "$0" dist/cli.js "$@" ${options} --quiet`;
    const printed = execFileSync('sh', ['-c', shell, process.execPath], {
      cwd: root,
      encoding: 'utf8',
    });
    return Number(printed.trim().split('\n').at(-1).split(',').at(-2));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Output of the exported program and the command, run on the table that the page saves. */
async function printedElsewhere(page) {
  await openExport(page);
  const [javascript, command] = await Promise.all(
    ['javascript', 'command'].map((name) => textOf(page, `#export-${name}`)),
  );
  await savesOf(page, '#export-table');
  const saved = await page.evaluate(() => window.saved.text());
  await page.keyboard.press('Escape');
  const folder = await mkdtemp(path.join(root, 'build/table-'));
  try {
    const file = path.relative(root, path.join(folder, 'data.csv'));
    await writeFile(path.join(folder, 'data.csv'), saved);
    const [program, words] = [javascript, command].map((text) => text.replace('data.csv', file));
    const shell = `set -- ${words.trim()}; shift; exec "$0" dist/cli.js "$@" --quiet`;
    const options = { cwd: root, encoding: 'utf8' };
    const lines = execFileSync('sh', ['-c', shell, process.execPath], options).trim().split('\n');
    const released = [Number(lines.at(-1).split(',').at(-2))];
    return [runProgram(program), released];
  } finally {
    await rm(folder, { recursive: true });
  }
}

for (const { what, rows, repairs } of some(
  [
    {
      what: 'semicolons, quotation marks and decimal commas',
      rows: [
        '\uFEFFday;member;"paid, in ""€"""',
        '2026-01-01;"b, c";"1,5"',
        '2026-01-01;"say ""a""";2',
        '2026-01-02;"b, c";0,25',
        '2026-01-03;"say ""a""";n/a',
        '2026-01-04;"b, c";3',
      ],
      repairs: ['Read “1,5” as 1.5', 'Leave out rows with missing cells'],
    },
    {
      what: 'commas in numbers',
      rows: ['visits,bought', '"1,400",1', '2,0', '-,1', '5,0'],
      repairs: ['Read “1,400” as 1400', 'Count missing cells as 0'],
    },
  ],
  2,
)) {
  test(`programs and command read the table as the page read it: ${what}`, async () => {
    const { page, said } = await open('steps=20');
    await paste(page, `${rows.join('\n')}\n`);
    await page.waitForSelector('.faults li p');
    for (const repair of repairs) await press(page, '.faults button', repair);
    await page.waitForFunction(() => document.querySelector('.faults').hidden);
    await chooseClip(page);
    await page.waitForFunction(() => /data=own/.test(location.hash));
    await settled(page);
    const key = await readKey(page, '#sums');
    for (const printed of await printedElsewhere(page)) assert.deepEqual(printed, [key.release]);
    assert.deepEqual(said, []);
    await page.close();
  });
}

for (const { what, text, columns, roles = {} } of some(
  [
    { what: 'of one column', text: 'n\n1\nNA\n4\n-\n', columns: ['n'] },
    {
      what: 'whose last column is in use',
      text: 'n,m\n1,2\n,3\n5,NA\n-,8\n',
      columns: ['m'],
    },
    {
      what: 'of persons',
      text: 'who,n\na,1\n,7\nb,NA\na,2\nb,3\n',
      columns: ['n'],
      roles: { person: 'who' },
    },
    {
      what: 'of persons and days',
      text: 'who,day,n\na,2026-03-01,1\nNA,2026-03-01,7\nb,2026-03-03,NA\na,,2\nb,2026-03-04,3\n',
      columns: ['n'],
      roles: { person: 'who', time: 'day' },
    },
  ],
  2,
)) {
  test(`rows with missing cells are left out as by --missing skip --na, of a table ${what}`, async () => {
    const { page, said } = await open('steps=20');
    await paste(page, text);
    await page.waitForSelector('.faults li p');
    await page.select('#set-missing', 'skip');
    await enter(page, '#set-na', 'NA,-');
    for (const box of await page.$$('.columns input[type=checkbox]')) {
      const { value, checked } = await box.evaluate(({ value, checked }) => ({ value, checked }));
      if (columns.includes(value) !== checked) await box.evaluate((one) => one.click());
    }
    for (const [role, column] of Object.entries(roles)) await page.select(`#set-${role}`, column);
    await chooseClip(page);
    await page.waitForFunction(() => /data=own/.test(location.hash));
    await settled(page);
    const numLines = text.trim().split('\n').length - 1;
    assert.equal(await stepOf(page), roles.time === undefined ? numLines : 4);
    const { release } = await readKey(page, '#sums');
    for (const printed of await printedElsewhere(page)) assert.deepEqual(printed, [release]);
    const whole = await commandOn(text, await commandText(page), '--missing skip --na NA,-');
    assert.equal(whole, release, 'the command reads the table itself in the same way');
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('texts that mark a missing cell are suggested, and a list that is none is refused', async () => {
  const { page } = await open('steps=20');
  await paste(page, 'visits,n\nnull,1\n-999,2\n30,4\n');
  await page.waitForSelector('.faults li p');
  const isShown = (selector) => page.$eval(selector, (one) => one.checkVisibility());
  assert.equal(await isShown('#set-na'), false, 'no text marks a cell before it is asked for');
  await press(page, '.faults button', 'Leave out rows with missing cells');
  assert.equal(await page.$eval('#set-missing', (one) => one.value), 'skip');
  assert.equal(await page.$eval('#set-na', (one) => one.value), 'NA,NaN,null,-');
  assert.equal((await totals(page)).visits, 'total −969');
  await enter(page, '#set-na', 'null,-999');
  assert.equal((await totals(page)).visits, 'total 30', 'a number can be a mark');
  await page.click('.columns input[value=visits]');
  assert.match(
    await textOf(page, '#set-missing-hint'),
    /adds nothing\. Its step remains\. Left out: 2 rows\.$/,
  );
  await enter(page, '#set-na', 'null,,-');
  assert.equal(
    await textOf(page, '#set-missing-error'),
    'marks of missing cells must be texts separated by commas, such as NA,NaN,null,-, got “null,,-”',
  );
  await page.close();
});

test('ids that look missing are persons with a warning, until their text is a mark', async () => {
  const { page } = await open('steps=20');
  await paste(page, 'who,n\na,1\nNaN,2\nnan,4\nb,8\n');
  await page.waitForSelector('#clip-guide .ask');
  await page.select('#set-person', 'who');
  assert.match(
    await textOf(page, '#set-person-hint'),
    /^4 persons; .* Note column "who": the ids "NaN" and "nan", which often stand for missing ones, are one person each\./,
  );
  await page.select('#set-missing', 'skip');
  await enter(page, '#set-na', 'NaN,nan');
  const hint = await textOf(page, '#set-person-hint');
  assert.match(hint, /^2 persons; 2 of 2 rows count, /);
  assert.doesNotMatch(hint, /Note/);
  await page.close();
});

for (const { format, times, chosen = format } of some(
  [
    { format: 'seconds', times: ['1772355600', '1772442000', '1772700000'] },
    { format: 'milliseconds', times: ['1772355600000', '1772442000000', '1772700000000'] },
    { format: 'day-month-year', times: ['01/03/2026', '02/03/2026', '05/03/2026'], chosen: 'any' },
    {
      format: 'log',
      times: ['01/Mar/2026:09:00:00', '02/Mar/2026:09:00:00', '05/Mar/2026:09:00:00'],
    },
  ],
  3,
)) {
  test(`times of another format are read as by --time-format: ${format}`, async () => {
    const { page, said } = await open('steps=20');
    const table = `n,when\n1,${times[0]}\n5,${times[1]}\n,${times[1]}\n-3,${times[2]}\n`;
    await paste(page, table);
    await page.waitForSelector('#clip-guide .ask, .faults li');
    await page.select('#set-missing', 'skip');
    await page.select('#set-time', 'when');
    assert.equal(await page.$eval('#set-time-format', (one) => one.value), chosen);
    if (chosen !== format) await page.select('#set-time-format', format);
    assert.match(
      await textOf(page, '#set-time-hint'),
      /^5 steps, one per day in UTC, from 2026-03-01 to 2026-03-05, /,
    );
    // Numbers that are the time of a row are no longer summed.
    const boxes = await page.$$eval('.columns input[type=checkbox]', (all) =>
      all.map(({ value, checked, disabled }) => [value, checked, disabled]),
    );
    assert.deepEqual(boxes[0], ['n', true, false]);
    for (const box of boxes.slice(1)) assert.deepEqual(box, ['when', false, true]);
    await chooseClip(page);
    await page.waitForFunction(() => /data=own/.test(location.hash));
    await settled(page);
    const { release } = await readKey(page, '#sums');
    for (const printed of await printedElsewhere(page)) assert.deepEqual(printed, [release]);
    const options = `--missing skip --time-format ${format}`;
    assert.equal(await commandOn(table, await commandText(page), options), release);
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('a column can have a unit, which is shown with its numbers and does not change them', async () => {
  const { page, said } = await open('steps=20');
  await paste(page, visits);
  await page.waitForSelector('#clip-guide .ask');
  const type = async (column, unit) => {
    await page.$$eval(
      '.columns .unit',
      (all, name) =>
        all
          .find((one) => one.textContent.endsWith(` of ${name}`))
          .querySelector('input')
          .focus(),
      column,
    );
    await page.keyboard.type(unit);
    await page.keyboard.press('Tab');
  };
  await type('visits', 'min');
  assert.equal((await totals(page)).visits, 'total 6.5 min');
  assert.match(await textOf(page, '#clip-guide li'), /^Clip at 4 min/);
  assert.equal(await page.evaluate(() => document.activeElement.value), 'bought', 'Tab goes on');
  await changes(page, () => chooseClip(page));
  const key = await readKey(page, '#sums');
  assert.equal(await textOf(page, '#sums .key-at'), 'step 5, in min');
  assert.match(await textOf(page, '#target-worst-hint'), /of the worst total, in min\./);
  assert.match(await textOf(page, '#target-noise-hint'), /, in min\.$/);
  assert.match(await textOf(page, '#summary'), /^After 5 steps, in min: /);
  assert.match(await page.$eval('#sums .plot', (one) => one.ariaValueText), /^step 5, in min: /);
  assert.equal(
    await page.$eval('#sums-view', (select) => select.selectedOptions[0].text),
    'visits (min)',
  );
  await openExport(page);
  await savesOf(page, '[data-picture=totals]');
  assert.ok((await savedPanels(page))[0].texts.includes('total, in min'));
  await page.keyboard.press('Escape');
  await changes(page, () => page.click('.columns input[value=bought]'));
  await page.select('#sums-view', 'norm');
  assert.equal(await textOf(page, '#sums .key-at'), 'step 5', 'no unit is that of both columns');
  await changes(page, () => type('bought', 'min'));
  assert.equal(await textOf(page, '#sums .key-at'), 'step 5, in min');
  await changes(page, () => page.click('.columns input[value=bought]'));
  const norm = (await readKey(page, '#sums')).release;
  assert.equal(norm, Math.abs(key.release), 'the numbers are what they were');
  assert.deepEqual(said, []);
  await page.close();
});

test('the unit of a column is read from the address, and one that is too long is refused', async () => {
  const { page } = await open(
    'data=shop_day&column=items&column=revenue&unit=EUR&label=-&steps=30',
  );
  const options = await page.$$eval('#sums-view option', (all) => all.map((one) => one.text));
  assert.deepEqual(options.slice(1), ['items', 'revenue (EUR)']);
  const hash = `data=shop_day&column=items&unit=${'x'.repeat(21)}&label=-&steps=30`;
  const other = await open(hash);
  assert.match(
    await textOf(other.page, '#notice'),
    /unit must have at most 20 letters, got “x{21}”/,
  );
  await Promise.all([page.close(), other.page.close()]);
});

test('a row with another number of cells is left out at the press of a button', async () => {
  const { page } = await open('steps=20');
  await paste(page, 'a,b\n1,2\n3\n5,6\n');
  await page.waitForFunction(() => !document.getElementById('set-source-error').hidden);
  await press(page, '.drop button', 'Read it without this row');
  await page.waitForSelector('#clip-guide .ask');
  assert.deepEqual(await totals(page), { a: 'total 6', b: 'total 8' });
  await page.close();
});

test('labels that are not classes are learned with the squared loss, and logistic is refused', async () => {
  const { page } = await open();
  await paste(page, 'x,y\n0.5,1\n0.2,0\n-0.1,3\n');
  await chooseClip(page);
  await ranSteps(page, 3);
  await settled(page);
  await page.select('#set-label', 'y');
  await page.waitForFunction(() => document.querySelector('#learning .key') !== null);
  await settled(page);
  assert.equal(await page.$eval('#set-loss', (select) => select.value), 'squared');
  assert.ok('private learner' in (await readKey(page, '#learning')));
  const hash = await page.evaluate(() => location.hash);
  await page.select('#set-loss', 'logistic');
  await page.waitForSelector('#run-error:not([hidden])');
  assert.match(
    await textOf(page, '#run-error'),
    /row 3, column “y”: a label for the logistic loss must be 0, 1 or −1, got 3/,
  );
  assert.equal(await page.$eval('#set-loss', (select) => select.value), 'squared');
  assert.equal(await page.evaluate(() => location.hash), hash);
  await page.close();
});

test('a file of 17 MB is read while the page stays responsive, and the progress is shown', async () => {
  const { page, said } = await open('steps=20');
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        window.longest = Math.max(window.longest, duration);
      }
    }).observe({ type: 'longtask' });
    window.shares = [];
    const progress = document.querySelector('.drop progress');
    new MutationObserver(() => window.shares.push(progress.value)).observe(progress, {
      attributes: true,
    });
    const row = `${'1234.56789,'.repeat(16)}1\n`;
    const header = `${Array.from({ length: 17 }, (_, i) => `c${i}`).join(',')}\n`;
    const text = header + row.repeat(Math.floor(17.5e6 / row.length));
    window.size = text.length;
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'long.csv', { type: 'text/csv' }));
    window.drop = () =>
      document.body.dispatchEvent(
        new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
      );
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await page.evaluate(() => {
    window.longest = 0;
    window.drop();
  });
  await page.waitForSelector('#clip-guide .ask');
  const { longest, shares } = await page.evaluate(() => ({
    longest: window.longest,
    shares: window.shares,
  }));
  assert.ok(longest < 1000, `a task of ${longest} ms`);
  assert.ok(shares.filter((share) => share > 0 && share < 1).length >= 2, `${shares}`);
  assert.equal(await page.$eval('.drop progress', (progress) => progress.hidden), true);
  assert.deepEqual(said, []);
  await page.close();
});

/** Drops a file with these bytes on the page. */
async function drop(page, bytes) {
  await page.evaluate(
    (given) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(given)], 'own.csv', { type: 'text/csv' }));
      document.body.dispatchEvent(
        new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
      );
    },
    [...bytes],
  );
}

test('semicolons, quotes, a byte order mark and a dropped file are understood', async () => {
  const { page } = await open();
  await drop(page, Buffer.from('\uFEFF"visits; all";b\r\n1;2\r\n"3";4.5e0\r\n'));
  await chooseClip(page);
  await ranSteps(page, 2);
  await settled(page);
  assert.equal(await page.$eval('#set-source', (select) => select.value), 'own');
  assert.deepEqual(
    await page.$$eval('.columns input[type=checkbox]', (all) => all.map((box) => box.value)),
    ['visits; all', 'b'],
  );
  await page.close();
});

test('a file that is not UTF-8 is refused, and a choice of own data survives other changes', async () => {
  const { page } = await open('steps=30');
  await page.select('#set-source', 'own');
  await page.select('#set-mechanism', 'tree');
  await settled(page);
  assert.equal(await page.$eval('#set-source', (select) => select.value), 'own');
  assert.equal(await page.$eval('.drop', (box) => box.hidden), false);
  for (const [bytes, message] of [
    [
      [97, 10, 0xff],
      /^own\.csv is not UTF-8 text, but perhaps Latin-1: save it as UTF-8, as by iconv/,
    ],
    [[0x1f, 0x8b, 8], /^own\.csv is compressed by gzip: decompress it first, as by gunzip$/],
    [[0xff, 0xfe, 97, 0, 10, 0], /^own\.csv is text in UTF-16: save it as UTF-8/],
    [
      [0x50, 0x4b, 3, 4],
      /^own\.csv is an Excel workbook \(xlsx\) or another zip archive: save its sheet as CSV/,
    ],
    [[0x50, 0x41, 0x52, 0x31], /^own\.csv is a Parquet file: write it as CSV/],
  ]) {
    await drop(page, bytes);
    const isSaid = (source) =>
      new RegExp(source).test(document.getElementById('set-source-error').textContent);
    await page.waitForFunction(isSaid, {}, message.source);
  }
  await page.close();
});

test('a column without a name is left out, with a notice', async () => {
  const { page, said } = await open('steps=30');
  await paste(page, ',year,volume,\n0,1871,1120,\n1,1873,1160,\n2,1875,1161,\n');
  await page.waitForSelector('#clip-guide:not([hidden]) .ask');
  assert.match(
    await textOf(page, '#set-columns-hint'),
    /^The table has no names for columns 1 and 4, which are left out\./,
  );
  const names = await page.$$eval('.columns input[type=checkbox]', (all) =>
    all.map((one) => one.value),
  );
  assert.deepEqual(names, ['year', 'volume']);
  assert.deepEqual(said, []);
  await page.close();
});

test('a link made with own data asks for the data, and tells what it does not understand', async () => {
  const url = `${site.url}#data=own&column=x&steps=30&horizom=4`;
  const { page } = await openPage(browser, url, { calm: true });
  await page.waitForSelector('#question:not([hidden])');
  assert.match(await textOf(page, '#question-reason'), /^The table is not part of the address/);
  assert.match(await textOf(page, '#notice'), /there is no setting “horizom”/);
  assert.equal(await page.$eval('#set-numSteps', (one) => one.value), '30');
  assert.equal((await page.$$('#sums canvas')).length, 0);
  // Without the table, the laboratory runs its own learner.
  await page.click('#question-back');
  await settled(page);
  assert.equal(await page.evaluate(() => location.hash), '#lab');
  await page.close();
});

test('every example runs, and pendulum learns', async () => {
  const { page, said } = await open();
  for (const name of ['shop_day', 'tide', 'calendar', 'pendulum']) {
    await page.select('#set-source', name);
    await page.waitForFunction((data) => location.hash.includes(`data=${data}`), {}, name);
    await settled(page);
    assert.equal(await page.$eval('#run-error', (error) => error.hidden), true);
    assert.match(
      await page.$eval('.columns', (box) => box.closest('.field').textContent),
      /(none|no gradient can be) longer than the clip norm/,
    );
  }
  assert.ok('private learner' in (await readKey(page, '#learning')));
  assert.match(await textOf(page, '#facts'), /Predictions right so far/);
  assert.deepEqual(said, []);
  await page.close();
});

/** Gives the form the table of a row, and then the settings of the row one by one. */
async function fillIn(page, { table, bytes, set = {}, columns }) {
  if (table !== undefined) {
    await page.$eval('#csv-text', (area, text) => (area.value = text), table);
    await page.$eval('#csv-use', (button) => button.click());
  } else {
    await fillIn(page, { table: 'n\n1\n' }); // Clears the message of the last file.
    await drop(page, bytes);
    await page.waitForSelector('#set-source-error:not([hidden])');
  }
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
  for (const [name, value] of Object.entries(set)) {
    const change = (control, text) => {
      control.value = text;
      if (control.value !== text) throw new Error(`${control.id} has no ${text}`);
      control.dispatchEvent(new Event('change'));
    };
    await page.$eval(`#set-${name}`, change, value);
  }
  if (columns === undefined) return;
  // Each click renders the list anew. Wanted columns are checked first: an empty choice is refused.
  for (const isWanted of [true, false]) {
    for (const name of await page.$$eval('.columns input[type=checkbox]', (all) =>
      all.map((box) => box.value),
    )) {
      if (columns.includes(name) !== isWanted) continue;
      await page.$$eval(
        '.columns input[type=checkbox]',
        (all, value, wanted) => {
          const box = all.find((one) => one.value === value);
          if (box.checked !== wanted) box.click();
        },
        name,
        isWanted,
      );
    }
  }
}

test('messages: the form for the own table says what its table says', async () => {
  const { page, said } = await open('steps=20');
  await page.select('#set-source', 'own');
  await holds(tableOf('page').rows, async (row) => {
    await fillIn(page, row);
    const error = await page.$(`#set-${row.where}-error`);
    return error.evaluate((one) => (one.hidden ? 'accepted' : one.textContent));
  });
  assert.deepEqual(said, []);
  await page.close();
});
