// SPDX-License-Identifier: Apache-2.0

// Hiding the secrets of own tables: afterwards, no value without noise is anywhere in the document,
// in its address or in anything that it exports, whatever was open, drawn or pasted before.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  changes,
  enter,
  launchFirefox,
  openExport,
  openPage,
  reveal,
  savedPanels,
  settled,
  startSite,
  textOf,
  withoutFirefox,
} from './support.mjs';

const { site, browser, open } = await startSite();
const library = await load();

/**
 * Every text of the document and its address: elements closed or not, with their attributes and
 * fields, shadow trees, templates and comments.
 */
const dump = (page) =>
  page.evaluate(() => {
    const texts = [location.href, document.title, JSON.stringify(history.state)];
    for (const store of [localStorage, sessionStorage]) texts.push(JSON.stringify({ ...store }));
    const walk = (node) => {
      if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.COMMENT_NODE)
        texts.push(node.data);
      for (const { name, value } of node.attributes ?? []) texts.push(`${name}=${value}`);
      if ('value' in node) texts.push(String(node.value));
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.content instanceof DocumentFragment) walk(node.content);
      for (const child of node.childNodes) walk(child);
    };
    walk(document);
    return texts.join('\n');
  });

/**
 * Forms in which the page prints a number, with at least six digits, which a noisy number hardly
 * ever has.
 */
function formsOf(value) {
  const forms = [String(value)];
  for (const digits of [6, 7]) {
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
    const options = { maximumFractionDigits: decimals };
    forms.push(value.toLocaleString('en-US', options));
    forms.push(value.toLocaleString('en-US', { ...options, minimumFractionDigits: decimals }));
  }
  return forms;
}

/** Numbers and texts that occur in a text, as whole words. */
function found(text, secrets) {
  const words = new Set(
    text
      .replaceAll('−', '-')
      .match(/[\p{L}\d][\p{L}\d.,%-]*/gu)
      .map((word) => word.replace(/[.,]+$/, '')),
  );
  const seen = (secret) => formsOf(secret).some((form) => words.has(form));
  return secrets.filter((one) => (typeof one === 'number' ? seen(one) : text.includes(one)));
}

/** Everything that the export dialog offers: texts, and the files of its buttons. */
async function exportsOf(page) {
  await openExport(page);
  const texts = await page.evaluate(async () => {
    const saved = [];
    URL.createObjectURL = (blob) => {
      saved.push(blob);
      return '#';
    };
    HTMLAnchorElement.prototype.click = () => undefined;
    for (const button of document.querySelectorAll('#export-parts button')) button.click();
    const files = await Promise.all(saved.map((blob) => blob.text()));
    return [...files, document.getElementById('export').textContent];
  });
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.getElementById('export').open);
  return texts;
}

/** Copies the link and returns it. */
const linkOf = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        Object.defineProperty(navigator, 'clipboard', {
          value: { writeText: resolve },
          configurable: true,
        });
        document.getElementById('share').click();
      }),
  );

/** Opens own data: pastes the text, so that its field holds it too. */
async function paste(page, text) {
  await page.select('#set-source', 'own');
  await page.$eval(
    '#csv-text',
    (area, value) => {
      area.value = value;
      document.getElementById('csv-use').click();
    },
    text,
  );
  await page.waitForSelector('#clip-guide:not([hidden]) .ask');
}

const openAll = (page) =>
  page.$$eval('details', (all) => {
    for (const one of all) one.open = true;
  });
const closeAll = (page) =>
  page.$$eval('details', (all) => {
    for (const one of all) one.open = false;
  });

/** Values that no other number of the page is likely to equal. */
const values = Array.from({ length: 40 }, (_, i) => 101_350.5 + 100 * ((i * 7919) % 3571) + i / 8);
const others = values.map((value, i) => 200_011.25 + 3 * value - i);
const sum = (list) => list.reduce((a, b) => a + b, 0);
const running = (list) => list.map((_, i) => sum(list.slice(0, i + 1)));
const table = (columns) => {
  const names = Object.keys(columns);
  const rows = columns[names[0]].map((_, i) => names.map((name) => columns[name][i]).join(','));
  return `${[names.join(','), ...rows].join('\n')}\n`;
};
const totals = [...values, ...others, ...running(values), sum(others)];
const people = Array.from({ length: 40 }, (_, i) => `Person${1000 + ((i * 37) % 31)}`);
const days = Array.from(
  { length: 40 },
  (_, i) => `2031-01-${String(1 + Math.floor(i / 2)).padStart(2, '0')}`,
);

/** Own tables, what to do with them, and what of them is secret. */
const cases = {
  'totals, and a faulty cell': {
    text: table({
      alpha: values,
      beta: others,
      gamma: values.map((_, i) => (i === 7 ? 'Quagga71' : i)),
    }),
    secrets: [...totals, 'Quagga71'],
  },
  'mean and spread': {
    text: table({ alpha: values, beta: others }),
    prepare: async (page) => {
      await enter(page, '#set-range', '100000:500000');
      await reveal(page, 'statistics', '.key');
    },
    secrets: [...totals, sum(values) / 40],
  },
  'several sums, two mechanisms': {
    text: table({ alpha: values }),
    hash: 'mechanism=square-root&compare=independent&statistic=sums',
    prepare: async (page) => {
      await enter(page, '#set-range', '0:900000');
      await reveal(page, 'statistics', '.key');
    },
    secrets: [...values, ...running(values)],
  },
  'categories, persons and days': {
    text: table({
      day: days,
      member: people,
      kind: people.map((_, i) => (i % 3 ? 'tea' : 'mate')),
      alpha: values,
    }),
    hash: 'statistic=histogram',
    prepare: async (page) => {
      await enter(page, '#set-domain', 'tea');
      await reveal(page, 'statistics', '.key');
    },
    secrets: [...values, sum(values), ...people, 'persons;', 'rows count', ' 31 '],
  },
  'a learner with labels': {
    text: table({ alpha: values, beta: others, label: values.map((_, i) => i % 2) }),
    hash: 'learning=accuracy',
    prepare: async (page) => {
      await changes(page, () => page.select('#set-label', 'label'));
      await page.waitForSelector('#learning .key');
    },
    secrets: [...values, ...others],
  },
};

/** Numbers with six digits or more in the parts that show secrets. */
const shownSecrets = (page) =>
  page.evaluate(() => {
    const selectors =
      '.key-group.secret data, .columns data, #facts span, [data-column*=truth], #clip-guide span, ' +
      '[data-column*=twin], [data-column^=loss], [data-column^=regret], [data-column^=accuracy], .columns + * p';
    const texts = [...document.querySelectorAll(selectors)].flatMap((one) => [
      one.textContent,
      one.value ?? '',
    ]);
    return [
      ...new Set(
        texts
          .join(' ')
          .replaceAll('−', '-')
          .match(/[\d.,]*\d/g),
      ),
    ].filter((word) => word.replace(/\D/g, '').replace(/^0+/, '').length >= 6);
  });

/** Fixes the seed for the user's own data, so that no run matches a number by chance. */
const sameSeed = () => {
  Crypto.prototype.getRandomValues = (list) => list.fill(271_828_182);
};

for (const [what, { text, hash = '', prepare = async () => {}, secrets }] of Object.entries(
  cases,
)) {
  for (const areOpen of [true, false]) {
    test(`secrets: ${what}: none is left, with ${areOpen ? 'open' : 'closed'} tables`, async () => {
      const { page, said } = await open(`steps=40&${hash}`, { before: sameSeed });
      await paste(page, text);
      await changes(page, () =>
        page.$eval('#clip-guide li:nth-child(2) button', (one) => one.click()),
      );
      await prepare(page);
      await openAll(page);
      const all = [...secrets, ...(await shownSecrets(page))];
      const before = await dump(page);
      assert.ok(found(before, all).length > 5, 'the search finds secrets that are shown');
      const shown = (await exportsOf(page)).join('\n');
      assert.ok(found(shown, all).length > 5, 'and those of exports');
      assert.match(shown, /noiseSeed/);
      assert.match(shown, /not a private release/);
      if (!areOpen) await closeAll(page);
      await page.click('#deployed');
      await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
      assert.deepEqual(found(await dump(page), all), []);
      if (!areOpen) await openAll(page);
      await page.focus('#sums .plot');
      await page.keyboard.press('ArrowLeft');
      assert.deepEqual(found(await dump(page), all), [], 'at another step, with all tables open');
      const exported = await exportsOf(page);
      assert.ok(exported.length > 3);
      for (const one of exported) {
        // Coordinates of a picture are pairs of pixels; a test below counts its lines.
        const text = one.replace(/ (?:d|points)="[^"]*"/g, '');
        assert.deepEqual(found(text, all), [], one.slice(0, 200));
        assert.doesNotMatch(
          one,
          /seed":|--seed|insecure_from_seed|without noise|true[ _]|twin|unclipped/i,
        );
      }
      const csv = exported.filter((one) => one.startsWith('# {'));
      assert.ok(csv.length > 0);
      for (const one of csv) assert.match(one.split('\n')[0], /"warning":"This is a demonstration/);
      const link = await linkOf(page);
      assert.deepEqual(found(link, all), []);
      assert.doesNotMatch(link, /seed|clip|column|alpha|label=|steps/);
      assert.equal(await page.$eval('#set-noiseSeed', (input) => input.value), '');
      // Nothing is lost: shown again, the same values are there.
      await page.click('#deployed');
      await page.waitForFunction(() => !location.hash.includes('secrets=hidden'));
      assert.ok(found(await dump(page), all).length > 5);
      assert.deepEqual(said, []);
      await page.close();
    });
  }
}

/** Eight days with unmistakable numbers of people, some of whom come on the next day, too. */
const crowds = [9_871, 12_347, 10_993, 11_857, 9_419, 10_267, 12_811, 11_083];
const visits = crowds.flatMap((size, day) =>
  Array.from({ length: size }, (_, i) => [
    `2031-01-0${day + 1}`,
    `Person${(i + 2000 * day) % 19_997}`,
  ]),
);
const whoIn = (first, last) =>
  new Set(
    visits
      .filter(([day]) => Number(day.at(-1)) > first && Number(day.at(-1)) <= last)
      .map(([, who]) => who),
  ).size;

test('secrets: active people: none is left after totals and counts of them were drawn', async () => {
  // So much noise that no released number equals a true one by chance.
  const { page, said } = await open('steps=40&epsilon=0.01', { before: sameSeed });
  await paste(page, `day,member\n${visits.map((row) => row.join()).join('\n')}\n`);
  const press = (text) =>
    page.$$eval(
      '#clip-guide button',
      (all, wanted) => all.find((one) => one.textContent.startsWith(wanted)).click(),
      text,
    );
  await press('Count the rows');
  await page.waitForFunction(() => /^How much/.test(document.querySelector('.ask').textContent));
  await changes(page, () => press('Clip at 1'));
  await openAll(page);
  assert.deepEqual(found(await dump(page), [visits.length]), [visits.length]);
  await changes(page, () => page.select('#set-workload', 'active'));
  await page.waitForSelector('#active .key');
  const seed = await page.$eval('#set-noiseSeed', (input) => input.value);
  const truth = crowds.flatMap((_, i) => [whoIn(i, i + 1), whoIn(Math.max(0, i - 6), i + 1)]);
  const secrets = [...truth, whoIn(0, 8), seed, 'Person12017', ' in all.'];
  const before = found(await dump(page), secrets);
  for (const one of secrets) assert.ok(before.includes(one), `${one} is shown`);
  secrets.push(visits.length);
  await page.click('#deployed');
  await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
  await page.waitForFunction(() => !document.querySelector('#active .secret'));
  assert.deepEqual(found(await dump(page), secrets), []);
  await page.focus('#active .plot');
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual(found(await dump(page), secrets), [], 'on another day');
  const exported = await exportsOf(page);
  assert.ok(exported.length > 2);
  for (const one of exported) {
    const text = one.replace(/ (?:d|points)="[^"]*"/g, '');
    assert.deepEqual(found(text, secrets), [], one.slice(0, 200));
    assert.doesNotMatch(one, /seed":|--seed|insecureSeed|without noise|truth/i);
  }
  assert.doesNotMatch(await linkOf(page), /seed|member|day|steps/);
  await page.evaluate(() => (location.hash = 'queries'));
  await page.waitForSelector('#queries .key');
  assert.deepEqual(found(await dump(page), secrets), [], 'behind the queries');
  assert.deepEqual(said, []);
  await page.close();
});

const { text: ownText } = cases['totals, and a faulty cell'];

test('secrets: hidden first, own data is loaded, faulty data is refused, and neither is shown', async () => {
  const { page } = await open('steps=40&secrets=hidden');
  const drop = (text) =>
    page.evaluate((content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], 'own.csv', { type: 'text/csv' }));
      document.body.dispatchEvent(
        new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
      );
    }, text);
  await drop(`${ownText}1,2,3,Quagga72\n`);
  await page.waitForSelector('#set-source-error:not([hidden])');
  assert.match(await textOf(page, '#set-source-error'), /the reason is hidden with the secrets/);
  await drop(ownText);
  await page.waitForSelector('#clip-guide:not([hidden])');
  assert.match(await textOf(page, '#clip-guide'), /hidden with the secrets/);
  assert.match(await textOf(page, '.columns'), /alphatotal hidden/);
  await page.click('.columns input[value=gamma]');
  assert.match(await textOf(page, '#set-columns-error'), /hidden with the secrets/);
  const secrets = [...totals, 'Quagga71', 'Quagga72'];
  assert.deepEqual(found(await dump(page), secrets), []);
  // Once shown, the data can be used; errors that quote them disappear with the secrets.
  await page.click('#deployed');
  await page.waitForFunction(() => /Quagga71/.test(document.querySelector('.faults').textContent));
  await page.click('.columns input[value=gamma]');
  await page.click('.columns input[value=gamma]');
  await page.waitForFunction(() =>
    /Quagga71/.test(document.getElementById('set-columns-error').textContent),
  );
  await page.click('#deployed');
  await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
  assert.deepEqual(found(await dump(page), secrets), []);
  await page.close();
});

test('secrets: own data that was left for an example leaves no trace once secrets are hidden', async () => {
  const { page } = await open('steps=40');
  await paste(page, ownText);
  await changes(page, () => page.click('#clip-guide button'));
  const seed = await page.$eval('#set-noiseSeed', (input) => input.value);
  await openAll(page);
  await changes(page, () => page.select('#set-source', 'tide'));
  assert.ok(
    !(await page.evaluate(() => location.href)).includes(seed),
    'the seed of own data is not for an address',
  );
  await page.click('#deployed');
  await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
  assert.deepEqual(found(await dump(page), [...totals, 'Quagga71', seed]), []);
  await page.close();
});

/** Gives the histogram of the queries a table of one column, with unmistakable counts. */
async function giveHistogram(page) {
  const source = await page.waitForSelector('.histogram-source');
  await source.evaluate((details) => (details.open = true));
  const rows = [1471, 283, 1907, 649].flatMap((count, i) =>
    Array.from({ length: count }, () => 1117.5 + 3001 * i),
  );
  await page.$eval(
    '#histogram-csv-text',
    (area, value) => {
      area.value = value;
      document.getElementById('histogram-csv-use').click();
    },
    `level\n${rows.join('\n')}\n`,
  );
  await page.waitForFunction(
    () => document.querySelector('.bars-at').textContent === '4,310 records',
  );
}
const counts = [1471, 283, 1907, 649, 1471 + 283, 283 + 1907, 1907 + 649, 4310, 1117.5, 10_120.5];

test("secrets: queries about the user's own table, and the laboratory behind them", async () => {
  const { page, said } = await openPage(browser, `${site.url}#histogram=1,1,1,1&queries=ranges`, {
    calm: true,
  });
  await giveHistogram(page);
  await reveal(page, 'queries', '.key');
  await openAll(page);
  await page.waitForFunction(() =>
    document.querySelector('#queries-numbers tbody')?.textContent.includes('4,310'),
  );
  // A noisy answer may happen to equal a true one; with this fixed noise none does.
  const seed = '82736451';
  await page.$eval(
    '#ask-noiseSeed',
    (input, value) => {
      input.value = value;
      for (const kind of ['input', 'change'])
        input.dispatchEvent(new Event(kind, { bubbles: true }));
    },
    seed,
  );
  const secrets = [...counts, seed];
  assert.ok(found(await dump(page), secrets).length > 8);
  await closeAll(page);
  await page.click('#queries-deployed');
  await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
  assert.deepEqual(found(await dump(page), secrets), []);
  assert.match(await textOf(page, '.histogram'), /The histogram and its source are hidden/);
  await openAll(page);
  await page.focus('#queries .plot[role=slider]');
  await page.keyboard.press('Home');
  assert.deepEqual(found(await dump(page), secrets), []);
  await page.evaluate(() => {
    URL.createObjectURL = (blob) => {
      window.saved = blob;
      return '#';
    };
    HTMLAnchorElement.prototype.click = () => undefined;
    document.getElementById('queries-save').click();
  });
  assert.deepEqual(found(await page.evaluate(() => window.saved.text()), secrets), []);
  // In another view, nothing of this one shows, even if its secrets were shown.
  await page.click('#queries-deployed');
  await page.waitForFunction(
    () => document.querySelector('.bars-at')?.textContent === '4,310 records',
  );
  await page.evaluate(() => (location.hash = '#steps=40&secrets=hidden'));
  await settled(page);
  assert.deepEqual(found(await dump(page), secrets), []);
  // And the other way round.
  await page.click('#deployed');
  await paste(page, ownText);
  await changes(page, () => page.click('#clip-guide button'));
  await openAll(page);
  const shown = [...totals, 'Quagga71'];
  assert.ok(found(await dump(page), shown).length > 5);
  await page.evaluate(() => (location.hash = '#queries&secrets=hidden'));
  await page.waitForFunction(() => document.documentElement.dataset.view === 'queries');
  await page.waitForFunction(() => document.querySelector('#deployed').checked);
  assert.deepEqual(found(await dump(page), [...shown, ...secrets]), []);
  assert.deepEqual(said, []);
  await page.close();
});

test('secrets: pictures of hidden secrets have fewer lines, and none that is secret', async () => {
  const { page } = await open('steps=40&compare=independent');
  await paste(page, ownText);
  await changes(page, () => page.click('#clip-guide button'));
  const linesOf = async () => {
    await openExport(page);
    const all = {};
    for (const name of ['totals', 'errors']) {
      await page.evaluate(() => {
        URL.createObjectURL = (blob) => {
          window.saved = blob;
          return '#';
        };
        HTMLAnchorElement.prototype.click = () => undefined;
      });
      await page.click(`[data-picture=${name}]`);
      const [panel] = await savedPanels(page);
      all[name] = panel.lines.length;
    }
    await page.keyboard.press('Escape');
    return all;
  };
  const before = await linesOf();
  await page.click('#deployed');
  await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
  const after = await linesOf();
  assert.ok(
    after.totals < before.totals && after.errors < before.errors,
    JSON.stringify({ before, after }),
  );
  await page.close();
});

test('secrets: what is chosen for own data is in no address and no entry of the history, and Back undoes it', async () => {
  const { page, said } = await open('steps=40', {
    before: () => {
      window.written = [];
      for (const name of ['pushState', 'replaceState']) {
        const native = History.prototype[name];
        History.prototype[name] = function (state, title, url) {
          window.written.push(`${JSON.stringify(state)} ${url}`);
          return native.call(this, state, title, url);
        };
      }
    },
  });
  const { text } = cases['categories, persons and days'];
  await paste(page, text.replace('day,member,kind,alpha', 'Tag,Mitglied,Sorte,Betrag'));
  await changes(page, () => page.click('#clip-guide li:nth-child(2) button'));
  const clip = await page.$eval('#set-clipNorm', (input) => input.value);
  await changes(page, () => page.select('#set-time', 'Tag'));
  await changes(page, () => enter(page, '#set-from', '2030-12-30'));
  await changes(page, () => page.select('#set-person', 'Mitglied'));
  await changes(page, () => page.select('#set-category', 'Sorte'));
  await changes(page, () => page.select('#set-statistic', 'histogram'));
  await changes(page, () => enter(page, '#set-domain', 'Grüntee'));
  await changes(page, () => enter(page, '#set-clipNorm', '77.25'));
  const steps = await page.$eval('#set-numSteps', (input) => input.value);
  const seed = await page.$eval('#set-noiseSeed', (input) => input.value);
  const written = (await page.evaluate(() => window.written)).filter((one) => one.includes('own'));
  assert.ok(written.length >= 8);
  for (const one of [...written, await page.$eval('#to-queries', (link) => link.href)]) {
    assert.doesNotMatch(
      decodeURIComponent(one),
      /Tag|Mitglied|Sorte|Betrag|Gr|2030|77\.25|clip|steps|seed|column/,
      one,
    );
    assert.deepEqual(found(one, [clip, seed].map(Number)), [], one);
  }
  await page.goBack();
  await page.waitForFunction(
    (wanted) => document.getElementById('set-clipNorm').value === wanted,
    {},
    clip,
  );
  await settled(page);
  const state = await page.evaluate(() =>
    ['set-numSteps', 'set-noiseSeed', 'set-person', 'set-from'].map(
      (id) => document.getElementById(id).value,
    ),
  );
  assert.deepEqual(state, [steps, seed, 'Mitglied', '2030-12-30']);
  await page.goForward();
  await page.waitForFunction(() => document.getElementById('set-clipNorm').value === '77.25');
  // An address that the user types keeps the columns, and the seed, which nobody can guess.
  await settled(page);
  await changes(page, () => page.evaluate(() => (location.hash = '#epsilon=2&data=own')));
  assert.equal(await page.$eval('#set-clipNorm', (input) => input.value), '77.25');
  assert.equal(await page.$eval('#set-noiseSeed', (input) => input.value), seed);
  assert.deepEqual(said, []);
  await page.close();
});

test('secrets: the exported noise of own data is not that of a seed that anyone tries', async () => {
  const { page } = await open('mechanism=square-root');
  await paste(page, table({ alpha: values }));
  await changes(page, () => page.click('#clip-guide button'));
  const clip = Number(await page.$eval('#set-clipNorm', (input) => input.value));
  await page.click('#deployed');
  await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
  const [csv] = (await exportsOf(page)).filter((one) => one.includes('\nstep,release_1'));
  const rows = csv
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split(',').map(Number));
  assert.equal(rows.length, 40);
  const target = { strategy: 'square-root', epsilon: 1, delta: 1e-6, steps: 40, clip };
  for (const insecureSeed of [0, 1, 2, 3, 12, 42, 1234]) {
    const counter = library.counter({ ...target, insecureSeed });
    const readings = counter.releaseMany(values);
    counter.dispose();
    const near = rows.filter(
      ([step, release]) => Math.abs(release - readings[step - 1].value) < 1e-6 * clip,
    );
    assert.ok(near.length < 10, `seed ${insecureSeed}`);
  }
  await page.close();
});

test('secrets: no field is restored by the browser', async () => {
  const { page } = await open('steps=40');
  await paste(page, cases['categories, persons and days'].text);
  await changes(page, () => page.click('#clip-guide button'));
  await page.evaluate(() => (location.hash = '#queries'));
  await page.waitForSelector('#histogram-csv-text');
  await giveHistogram(page);
  const kept = await page.$$eval('input, textarea, select', (all) =>
    all.filter((one) => one.getAttribute('autocomplete') !== 'off').map((one) => one.outerHTML),
  );
  assert.deepEqual(kept, []);
  assert.ok((await page.$$('input, textarea, select')).length > 50);
  await page.close();
});

test('secrets: a category from an address is no formula in an exported file', async () => {
  const domain = encodeURIComponent('=1+1,@SUM(A1),+a,-5');
  const { page, said } = await open(
    `mechanism=square-root&data=shop_day&column=count&label=-&steps=60&statistic=histogram&by=count&domain=${domain}`,
  );
  await reveal(page, 'statistics', '.key');
  for (const isHidden of [false, true]) {
    if (isHidden) await page.click('#deployed');
    const files = (await exportsOf(page)).filter((one) => one.startsWith('# {'));
    assert.equal(files.length, 2);
    for (const file of files) {
      const { settings } = JSON.parse(file.split('\n')[0].slice(2));
      assert.equal(settings.domain, '=1+1,@SUM(A1),+a,-5', 'the comment is still JSON');
      const cells = file.split(/[\n,]/).map((cell) => cell.replace(/^"(.*)"$/, '$1'));
      assert.deepEqual(
        cells.filter((cell) => /^\s*[=+@\t\r]|^-(?![\d.e-]+$)/.test(cell)),
        [],
      );
    }
    assert.match(files.join(''), /,'=1\+1-value,/);
  }
  assert.deepEqual(said, []);
  await page.close();
});

test('secrets: the policy blocks what the page says that it blocks', async () => {
  const hits = [];
  const other = http.createServer((request, response) => {
    hits.push(request.url);
    response.writeHead(200, { 'access-control-allow-origin': '*' }).end('');
  });
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { page } = await open('steps=40');
  await page.evaluate(async (host) => {
    const tries = {
      fetch: (url) => fetch(url, { mode: 'no-cors' }),
      socket: (url) => new WebSocket(url.replace('http', 'ws')),
      events: (url) => new EventSource(url),
      beacon: (url) => navigator.sendBeacon(url, 'data'),
      image: (url) => (new Image().src = url),
      module: (url) => import(url),
      worker: (url) => new Worker(url),
    };
    const append = (tag, attributes) =>
      document.body.append(Object.assign(document.createElement(tag), attributes));
    for (const [name, attempt] of Object.entries(tries)) {
      try {
        await Promise.race([
          attempt(`${host}${name}`),
          new Promise((resolve) => setTimeout(resolve, 200)),
        ]);
      } catch {}
    }
    const sent = new XMLHttpRequest();
    try {
      sent.open('GET', `${host}xhr`);
      sent.send();
    } catch {}
    append('script', { src: `${host}script` });
    append('iframe', { src: `${host}frame` });
    append('link', { rel: 'stylesheet', href: `${host}style` });
    append('video', { src: `${host}video` });
    append('object', { data: `${host}object` });
    const form = Object.assign(document.createElement('form'), {
      action: `${host}form`,
      method: 'post',
      target: 'x',
    });
    document.body.append(form);
    form.submit();
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }, `http://127.0.0.1:${other.address().port}/`);
  assert.deepEqual(hits, []);
  assert.ok((await page.evaluate(() => window.violations.length)) >= 10);
  other.close();
  other.closeAllConnections();
  await page.close();
});

test('secrets: Firefox writes no pasted table to its session files', {
  skip: withoutFirefox,
}, async () => {
  const userDataDir = await mkdtemp(path.join(os.tmpdir(), 'dp-ftrl-session-'));
  const extraPrefsFirefox = {
    'browser.sessionstore.interval': 300,
    'browser.sessionstore.resume_from_crash': true,
  };
  const firefox = await launchFirefox({ userDataDir, extraPrefsFirefox });
  try {
    const page = await firefox.newPage();
    await page.goto(`${site.url}#mechanism=square-root&steps=40`);
    await page.waitForSelector('#csv-text');
    // The field of the page, and another, whose text must be found: it shows that the search works.
    await page.evaluate(() => {
      document.getElementById('set-source').value = 'own';
      document.getElementById('set-source').dispatchEvent(new Event('change'));
      document.body.append(Object.assign(document.createElement('textarea'), { id: 'kept' }));
      for (const [id, value] of [
        ['csv-text', 'zebra,x\n987654,2\n'],
        ['kept', 'okapi'],
      ]) {
        const field = document.getElementById(id);
        field.value = value;
        field.dispatchEvent(new Event('input', { bubbles: true }));
      }
    });
    await page.focus('#kept');
    await page.keyboard.type('quagga'); // Only what a user types makes Firefox look at the fields.
    const read = () =>
      readFile(path.join(userDataDir, 'sessionstore-backups/recovery.jsonlz4'), 'latin1').catch(
        () => '',
      );
    let kept = '';
    for (
      const end = Date.now() + 60_000;
      !kept.includes('quagga') && Date.now() < end;
      kept = await read()
    ) {
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    assert.match(kept, /quagga/, 'the session is written');
    for (const text of ['987654', 'zebra']) assert.ok(!kept.includes(text), text);
  } finally {
    await firefox.close();
    await rm(userDataDir, { recursive: true });
  }
});
