// SPDX-License-Identifier: Apache-2.0

// Runs the blocks of the documentation's site in every available browser: each program of README
// and guides as it stands, programs of readers, and that nothing leaves the frame they run in.

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isRunnable } from '../../scripts/site/blocks/modules.mjs';
import { withServer } from '../js/support/browser.mjs';
import { root } from '../js/support/consumer.mjs';
import { some } from '../js/support/extent.mjs';
import { guides, isRandom, programsOfSite, showsOutput } from '../js/support/pages.mjs';
import { inBrowsers, outcomeOf, serving, workshop } from './support.mjs';
import { until } from './until.mjs';

const site = join(root, 'build/site');
const copy = join(workshop, 'site');

/** Functions for the scripts that tests add to pages. */
const tools = `
  const blocks = () => Array.from(document.querySelectorAll('.block-tools'), (tools) => ({
    run: tools.firstElementChild,
    edit: tools.lastElementChild,
    get program() { return tools.previousElementSibling; },
    get printed() {
      return Array.from(tools.nextElementSibling.children, (line) => line.textContent);
    },
    get errors() { return tools.nextElementSibling.querySelectorAll('.error').length; },
  }));
  const sleep = () => new Promise((resolve) => setTimeout(resolve, 20));
  const ended = async ({ run }) => { while (run.textContent === 'Stop') await sleep(); };`;

/** Adds a script to a page of the copy, whose value is the page's outcome. */
function withScript(page, script) {
  const html = readFileSync(join(site, page), 'utf8');
  const start = `addEventListener('load', async () => {
    ${tools}
    globalThis.outcome = await (async () => { ${script} })();
  });`;
  const icon = '<link rel="icon" href="data:,">';
  writeFileSync(join(copy, page), `${html}${icon}<script>${start}</script>`);
}

/** Resolves to the value of a page's script in a browser, on a host that sets no headers. */
async function valueOf(browser, page, script) {
  withScript(page, script);
  const show = (address) => outcomeOf(browser, `${address}${page}`);
  const { outcome, said } = await serving(copy, show, '');
  return { outcome, said };
}

const runAll = `
  const results = [];
  for (const block of blocks()) {
    block.run.click();
    await ended(block);
    const { program, printed, errors } = block;
    results.push({ code: program.querySelector('code').textContent, printed, errors });
  }
  return results;`;

before(() => {
  assert.ok(existsSync(site), 'there is no site in build/site yet; scripts/build docs makes it');
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(workshop, { recursive: true });
  cpSync(site, copy, { recursive: true });
});

const pageOf = (source) =>
  source === 'README.md' ? 'index.html' : source.replace(/^docs\/(.*)\.md$/, '$1.html');

for (const source of guides) {
  const expected = programsOfSite(source);
  if (expected.length === 0) continue;
  inBrowsers(
    `${source}: every program that needs no Node runs where it stands`,
    async (browser) => {
      const { outcome, said } = await valueOf(browser, pageOf(source), runAll);
      assert.deepEqual(said, []);
      assert.deepEqual(
        outcome.map(({ code }) => code.trim()),
        expected.map(({ code }) => code.trim()),
      );
      for (const [i, { code, output }] of expected.entries()) {
        const printed = outcome[i].printed.join('\n');
        assert.equal(outcome[i].errors, 0, printed);
        assert.ok(
          showsOutput(output ?? '...', printed, isRandom('js', code)),
          `${code}\n${printed}`,
        );
      }
    },
  );
}

inBrowsers('API reference: its examples run where they stand', async (browser) => {
  const pages = readdirSync(site, { recursive: true }).filter((name) =>
    /^(functions|interfaces)\/.*html$/.test(name),
  );
  const withPrograms = pages.filter((page) =>
    readFileSync(join(site, page), 'utf8').includes('<code class="js">'),
  );
  assert.ok(withPrograms.length >= 10);
  let numRun = 0;
  for (const page of some(withPrograms, 3)) {
    const { outcome } = await valueOf(browser, page, runAll);
    for (const { code, printed, errors } of outcome) {
      assert.equal(errors, 0, `${page}: ${code}\n${printed.join('\n')}`);
      ++numRun;
    }
  }
  assert.ok(numRun > 0);
});

/** A program of a reader, and what is shown below it. */
const OF_READERS = [
  [
    'console.log(1.5, "a");\nconsole.warn([1, 2], null, undefined);',
    ['1.5 a', '[1,2] null undefined'],
  ],
  ['console.log({ a: new Float64Array(2), b: 7n, c: 0 / 0 });', ['{"a":[0,0],"b":"7","c":"NaN"}']],
  [
    'import { load } from "dp-ftrl";\nconst dp = await load();\nconsole.log(\'before\');\ndp.counter({ steps: 0, epsilon: 1, delta: 1e-6 });',
    ['before', /^RangeError: counter: steps must .*got 0$/],
  ],
  ['const = 1;', [/^SyntaxError: /]],
  ['import { readFile } from "node:fs";', [/only dp-ftrl and dp-ftrl\/counter can .*got node:fs$/]],
  [
    "Promise.reject(new Error('late'));\nawait new Promise((end) => setTimeout(end, 50));",
    ['Error: late'],
  ],
  ['const x = 1;', ['nothing was printed']],
  ['for (;;) console.log(0);', [...Array(1000).fill('0'), 'stopped after 1000 lines']],
];

const runEdited = (codes) => `
  const [block] = blocks();
  block.edit.click();
  const results = [];
  for (const code of ${JSON.stringify(codes)}) {
    block.program.value = code;
    block.run.click();
    await ended(block);
    results.push({ printed: block.printed, errors: block.errors });
  }
  return results;`;

inBrowsers('programs of readers: what they print, and their errors', async (browser) => {
  const codes = OF_READERS.map(([code]) => code);
  const { outcome } = await valueOf(browser, 'guide/budgets.html', runEdited(codes));
  for (const [i, [code, lines]] of OF_READERS.entries()) {
    const { printed, errors } = outcome[i];
    assert.equal(printed.length, lines.length, `${code}\n${printed.join('\n')}`);
    for (const [k, line] of lines.entries()) {
      if (typeof line === 'string') assert.equal(printed[k], line);
      else assert.match(printed[k], line);
    }
    assert.equal(errors, i < 2 ? 0 : 1, code);
  }
});

inBrowsers('a program that never ends can be stopped, and the page runs on', async (browser) => {
  const script = `
    const [block] = blocks();
    block.edit.click();
    block.program.value = 'console.log("on its way");\\nfor (;;);';
    block.run.click();
    while (block.printed.length === 0) await sleep();
    block.run.click();
    const { printed } = block;
    block.edit.click();
    block.run.click();
    await ended(block);
    return [...printed, ...block.printed, document.querySelectorAll('iframe').length];`;
  const { outcome } = await valueOf(browser, 'guide/budgets.html', script);
  assert.deepEqual(outcome, ['on its way', 'stopped', '2 0 0', 0]);
});

inBrowsers('nothing leaves the frame of a program, and it has no origin', async (browser) => {
  const requests = [];
  const record = ({ url }, response) => {
    requests.push(url);
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('content-type', 'text/javascript');
    response.end('export default 1;');
  };
  await withServer(record, async (elsewhere) => {
    const attempts = [
      `await fetch('${elsewhere}fetch');`,
      `await import('${elsewhere}import');`,
      `importScripts('${elsewhere}scripts');`,
      `const request = new XMLHttpRequest();\nrequest.open('GET', '${elsewhere}xhr', false);\nrequest.send();`,
      `new EventSource('${elsewhere}events').onerror = () => console.log('refused');\nawait new Promise((end) => setTimeout(end, 500));\nthrow 1;`,
      `indexedDB.open('x').result;`,
      `new Worker('${elsewhere}worker');\nawait new Promise((end) => setTimeout(end, 500));\nthrow 1;`,
    ];
    const script = `await fetch('${elsewhere}page'); ${runEdited([...attempts, 'console.log(origin);'])}`;
    const { outcome } = await valueOf(browser, 'guide/budgets.html', script);
    assert.deepEqual(outcome.pop(), { printed: ['null'], errors: 0 });
    for (const [i, { errors }] of outcome.entries()) assert.ok(errors > 0, attempts[i]);
  });
  assert.deepEqual(requests, ['/page']);
});

inBrowsers('a block runs from file:, by keyboard alone', async (browser, t) => {
  if (!browser.newPage) return t.skip('WebKit is driven without a keyboard');
  const tab = await browser.newPage();
  try {
    await tab.goto(pathToFileURL(join(site, 'guide/budgets.html')).href);
    const focused = () => tab.evaluate(() => document.activeElement.textContent);
    const printed = () =>
      tab.evaluate(() => document.querySelector('.block-tools + output').innerText);
    for (let i = 0; (await focused()) !== 'Run'; ++i) {
      assert.ok(i < 200, 'Run is not reached');
      await tab.keyboard.press('Tab');
    }
    await tab.keyboard.press('Enter');
    await until(async () => (await printed()) === '2 0 0', 'the program does not run');
    await tab.keyboard.press('Tab');
    assert.equal(await focused(), 'Edit');
    await tab.keyboard.press('Enter');
    await tab.keyboard.down('Control');
    await tab.keyboard.press('End');
    await tab.keyboard.up('Control');
    await tab.keyboard.type('\nconsole.log(6 * 7);');
    await tab.keyboard.down('Control');
    await tab.keyboard.press('Enter');
    await tab.keyboard.up('Control');
    await until(async () => (await printed()) === '2 0 0\n42', 'the edited program does not run');
  } finally {
    await tab.close();
  }
});

test('a block is runnable if the site has all of its imports', () => {
  assert.ok(
    isRunnable("import {\n  load,\n} from 'dp-ftrl';\nimport * as x from 'dp-ftrl/counter';"),
  );
  assert.ok(
    !isRunnable("import { load } from 'dp-ftrl';\nimport { Worker } from 'node:worker_threads';"),
  );
  assert.ok(!isRunnable("import { load } from 'dp-ftrl';\nimport 'dp-ftrl/file-store';"));
  assert.ok(!isRunnable("// import { load } from 'dp-ftrl'\nconst a = 1;"));
});
