// SPDX-License-Identifier: Apache-2.0

// Pages that the browser stops drawing: waits on them end, and only their file runs once more.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { onlyInAll } from '../js/support/extent.mjs';
import { STALLED } from './stalled.mjs';
import { openPage, root, startSite } from './support.mjs';

const { site, browser } = await startSite();

/**
 * Runs a test file with `tests/run.mjs`; the test may create the file `seen` to mark that it
 * ran before.
 */
function ran(body) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'dp-ftrl-stalled-'));
  try {
    const lines = [
      "import { existsSync, writeFileSync } from 'node:fs';",
      "import { test } from 'node:test';",
      `const seen = ${JSON.stringify(path.join(folder, 'seen'))};`,
      `const stall = () => { throw new Error(${JSON.stringify(STALLED)}); };`,
      body,
    ];
    writeFileSync(path.join(folder, 'one.test.mjs'), lines.join('\n'));
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const program = path.join(root, 'tests/run.mjs');
    const { status, stdout } = spawnSync(process.execPath, [program, folder], {
      env,
      encoding: 'utf8',
    });
    return { status, runs: stdout.match(/^1\.\.\d+$/gm).length };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('stalled: a file in which a page stalled runs once more, and fails if anything fails then', () => {
  const once =
    "test('a', () => { if (existsSync(seen)) return; writeFileSync(seen, ''); stall(); });";
  const wrong = "test('b', () => { throw new Error('wrong'); });";
  assert.deepEqual(ran(once), { status: 0, runs: 2 });
  assert.deepEqual(ran("test('a', stall);"), { status: 1, runs: 2 });
  assert.deepEqual(ran(once + wrong), { status: 1, runs: 2 });
  assert.deepEqual(ran(wrong), { status: 1, runs: 1 });
  assert.deepEqual(ran("test('a', () => {});"), { status: 0, runs: 1 });
});

test(
  'stalled: a wait ends for a page without frames, not for one that is only slow',
  onlyInAll,
  async () => {
    const { page } = await openPage(browser, site.url, { story: true, calm: true });
    await page.waitForSelector('#scene-hero[data-state=ready]');
    const end = page.waitForFunction(() => window.end, { polling: 100 });
    await page.evaluate(() => setTimeout(() => (window.end = true), 8000));
    await end;
    await page.evaluate(() => (window.requestAnimationFrame = () => 0));
    await assert.rejects(page.waitForSelector('#nothing', { timeout: 120_000 }), {
      message: STALLED,
    });
    await page.close();
  },
);
