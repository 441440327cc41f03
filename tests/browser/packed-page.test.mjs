// SPDX-License-Identifier: Apache-2.0

// dp-ftrl page: serves the page of the package on this machine only, with a table in it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { changes, launch, openExport, openPage, root, savesOf, site, textOf } from './support.mjs';

const browser = await launch();
after(() => browser.close());
const folder = await mkdtemp(path.join(os.tmpdir(), 'dp ftrl '));
after(() => rm(folder, { recursive: true }));
const command = path.join(root, 'dist/cli.js');

async function write(name, text) {
  const file = path.join(folder, name);
  await writeFile(file, text);
  return file;
}

/** Runs the command until it ends. */
async function ended(args, { input = '', cli = command } = {}) {
  const child = spawn(process.execPath, [cli, 'page', ...args]);
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += text));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  return { code, stderr };
}

/** Starts the command; resolves with its address once it has printed one. */
async function serve(args, input = '') {
  const child = spawn(process.execPath, [command, 'page', ...args]);
  after(() => child.kill('SIGKILL'));
  const said = { stderr: '' };
  child.stderr.on('data', (text) => (said.stderr += text));
  child.stdin.end(input);
  const [address] = await once(child.stdout.setEncoding('utf8'), 'data');
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/\n$/);
  return { child, said, url: address.trim() };
}

/** Response to a request, for any status. */
async function get(url, method = 'GET') {
  const [response] = await once(http.request(url, { method }).end(), 'response');
  let body = '';
  for await (const text of response.setEncoding('utf8')) body += text;
  return { status: response.statusCode, headers: response.headers, body };
}

/** Opens the printed address, and waits until the table's columns are shown. */
async function openTable(url) {
  const opened = await openPage(browser, url, { story: true, calm: true });
  await opened.page.waitForSelector('#clip-guide .ask');
  return opened;
}

const columnsOf = (page) =>
  page.$$eval('.columns label:not(.unit)', (all) =>
    all.map(
      (label) =>
        `${label.querySelector('input').value}: ${label.querySelector('data').textContent}`,
    ),
  );

test('page: the file is open in the laboratory, and nothing else is asked for', async () => {
  const file = await write('visits.csv', 'day,visits,bought\n1,2.5,1\n2,0,0\n3,-1,0\n4,4,1\n');
  const { child, said, url } = await serve([file]);
  const opened = await openTable(url);
  assert.deepEqual(await columnsOf(opened.page), [
    'day: total 10',
    'visits: total 5.5',
    'bought: total 2',
  ]);
  assert.equal(await opened.page.$eval('#set-source', (select) => select.value), 'own');
  assert.equal(await opened.page.evaluate(() => document.documentElement.dataset.view), 'lab');
  assert.deepEqual(
    opened.said.filter((text) => !/favicon|404/.test(text)),
    [],
  );
  assert.deepEqual(await opened.page.evaluate(() => window.violations), []);
  const others = opened.asked.filter((one) => !/^(data|blob):/.test(one) && !one.startsWith(url));
  assert.deepEqual(others, []);
  assert.match(said.stderr, /^dp-ftrl page: the page shows true sums .* Ctrl-C stops it\n$/);
  await opened.page.close();
  const closed = once(child, 'close');
  child.kill('SIGINT');
  assert.deepEqual(await closed, [null, 'SIGINT']);
});

test('page: cells that look like tags or replacement patterns are read as plain text', async () => {
  const evil = '</script><script>window.evil=1</script>';
  const text = `name,a\n"${evil}",1\n"$& $' <!--",2\n`;
  const { url } = await serve(['--quiet', '-'], text);
  const { page, said } = await openTable(url);
  assert.equal(await page.evaluate(() => window.evil), undefined);
  assert.deepEqual(
    said.filter((each) => !/favicon|404/.test(each)),
    [],
  );
  assert.equal(await page.$('#given-table'), null, 'the document does not keep the table');
  await changes(page, () => page.click('#clip-guide button'));
  await openExport(page);
  await savesOf(page, '#export-table');
  assert.equal(await page.evaluate(() => window.saved.text()), text.replace(/"([^"]*)",/g, '$1,'));
  await page.close();
});

test('page: settings in the address still apply when a table comes with the page', async () => {
  const file = await write('one.csv', 'a\n1\n2\n');
  const { url } = await serve([file]);
  const opened = await openTable(`${url}#mechanism=tree&compare=honaker`);
  assert.match(await opened.page.evaluate(() => location.hash), /mechanism=tree/);
  await opened.page.close();
});

test('page: without a table the server sends the single file unchanged, which opens the story', async () => {
  const { url } = await serve([]);
  const { status, headers, body } = await get(url);
  assert.equal(status, 200);
  assert.equal(body, await readFile(path.join(site, 'dp-ftrl.html'), 'utf8'));
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['content-security-policy'], "frame-ancestors 'none'");
  const { page } = await openPage(browser, url, { story: true, calm: true });
  await page.waitForSelector('#scene-hero[data-state=ready]');
  assert.match(await textOf(page, 'title'), /dp-ftrl/);
  await page.close();
});

/** True if a server on this machine accepts connections at an address. */
function isOpen(host, port) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    after(() => socket.destroy());
  });
}

test('page: it is served only at its secret address, and only to this machine', async () => {
  const file = await write('secret.csv', 'a\n1\n2\n');
  const { url } = await serve([file]);
  const { origin, pathname, port } = new URL(url);
  for (const other of [
    '/',
    '/favicon.ico',
    '/secret.csv',
    pathname.slice(0, -1),
    `${pathname}x`,
    pathname.replace(/.\/$/, '/'),
  ]) {
    const { status, body } = await get(`${origin}${other}`);
    assert.deepEqual([status, body], [404, ''], other);
  }
  assert.equal((await get(url, 'POST')).status, 404);
  assert.equal(await isOpen('127.0.0.1', port), true);
  const outside = Object.values(os.networkInterfaces())
    .flat()
    .filter(({ internal }) => !internal);
  for (const { address } of outside) assert.equal(await isOpen(address, port), false, address);
});

test('page: if it cannot be served, the command fails with one line', async () => {
  const refused = async (args, code, message, more) => {
    const found = await ended(args, more);
    assert.equal(found.code, code, found.stderr);
    assert.match(found.stderr, message);
    assert.equal(found.stderr.trimEnd().split('\n').length, 1, found.stderr);
  };
  await refused([path.join(folder, 'none.csv')], 2, /^dp-ftrl page: there is no file /);
  await refused(['a.csv', 'b.csv'], 2, /one table at most, got 2/);
  await refused(['-'], 2, /not UTF-8/, { input: Buffer.from([0x61, 0xff]) });
  for (const port of ['65536', '-1', 'x', '1.5']) {
    await refused(['--port', port], 2, /--port must be a whole number from 0 .* to 65535, got/);
  }
  const { url } = await serve(['--quiet']);
  const { port } = new URL(url);
  await refused(['--port', port], 1, new RegExp(`--port ${port} is in use`));
  const copy = path.join(folder, 'package/dist');
  await cp(path.join(root, 'dist'), copy, { recursive: true });
  await writeFile(path.join(folder, 'package/package.json'), '{ "type": "module" }');
  const cli = path.join(copy, 'cli.js');
  await refused([], 1, /packed without its page; in a clone scripts\/build page makes it/, { cli });
});

test('page: --port sets the port that is served', async () => {
  const first = await serve(['--quiet']);
  const { port } = new URL(first.url);
  const closed = once(first.child, 'close');
  first.child.kill('SIGTERM');
  await closed;
  const { url } = await serve(['--quiet', '--port', port]);
  assert.equal(new URL(url).port, port);
  assert.notEqual(url, first.url);
});

test('page: at most 620,000 bytes of the package', async () => {
  const { size } = await stat(path.join(root, 'page/dp-ftrl.html.br'));
  assert.ok(size <= 620_000, `${size}`);
});
