// SPDX-License-Identifier: Apache-2.0

// Handle positions in the address: a shared scene opens as it was left, and Back undoes a move.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyInAll, some } from '../js/support/extent.mjs';
import {
  becomes,
  launchFirefox,
  openPage,
  settled,
  startSite,
  withoutFirefox,
} from './support.mjs';

const { site, browser } = await startSite();

/** Handles of each scene, with the key that moves them and the resulting position. */
const moves = [
  ['hero', '.segments :checked', 'ArrowLeft', 'square-root'],
  ['attacker', '.slider', 'End', '10'],
  ['naive', '.slider', 'Home', '16'],
  ['take_back', '.slider', 'ArrowRight', '0.6'],
  ['tree', '[role=slider]', 'Home', '1024_1'],
  ['floor', '[role=slider]', 'End', '1_0_0_0_0_0_0_0_none_0'],
  ['handwriting', '.field-epsilon .slider', 'ArrowLeft', '0.5_70'],
  ['crowd', '.rounds .slider', 'Home', '2_1'],
  ['yours', '[role=slider]', 'PageDown', '100000_25'],
];

const hashOf = (page) => page.evaluate(() => location.hash);

async function reach(page, scene) {
  await page.$eval(`#scene-${scene}`, (one) => one.scrollIntoView());
  await becomes(
    page,
    (id) => document.getElementById(id).dataset.state === 'ready',
    `scene-${scene}`,
  );
}

/** Reads the label of a handle, and all numbers that the scene shows. */
const shown = (page, scene, handle) =>
  page.$eval(
    `#scene-${scene}`,
    (one, selector) => ({
      handle: one.querySelector(selector).ariaValueText ?? one.querySelector(selector).value,
      numbers: [...one.querySelectorAll('data:not(.tally *)')].map(({ value }) => value),
    }),
    handle,
  );

/** Moves a handle; the crowd must first compute the rounds between which it moves. */
async function move(page, [scene, handle, key, position]) {
  await reach(page, scene);
  const selector = `#scene-${scene} ${handle}`;
  for (let i = 0; i < 100; ++i) {
    await page.$eval(selector, (one) => one.focus());
    await page.keyboard.press(key);
    const written = new URLSearchParams((await hashOf(page)).slice(1)).get(scene);
    if (written === position) return;
    if (scene !== 'crowd') assert.equal(written, position);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`${scene} does not get to ${position}`);
}

test(
  'every handle is in the address; another tab that opens it shows the same',
  onlyInAll,
  async () => {
    const { page, said } = await openPage(browser, site.url, { story: true, calm: true });
    for (const one of moves) await move(page, one);
    const hash = await hashOf(page);
    const parts = new URLSearchParams(hash.slice(1));
    assert.equal(parts.get('scene'), 'yours');
    for (const [scene, , , position] of moves) assert.equal(parts.get(scene), position, scene);
    const done = () =>
      [...document.querySelectorAll('[data-work]')].every((one) => one.dataset.work === 'done');
    const other = await openPage(browser, site.url + hash, { story: true, calm: true });
    for (const [scene] of moves) await reach(other.page, scene);
    for (const each of [page, other.page]) await becomes(each, done);
    for (const [scene, handle] of moves) {
      const [mine, theirs] = [
        await shown(page, scene, handle),
        await shown(other.page, scene, handle),
      ];
      assert.deepEqual(theirs, mine, scene);
    }
    assert.deepEqual([...said, ...other.said], []);
    await other.page.close();
    await page.close();
  },
);

test('Back undoes a move and leaves the reader in place; Forward makes it again', async () => {
  const { page, said } = await openPage(browser, site.url, { story: true, calm: true });
  const [hero, attacker] = moves;
  const text = ([scene, handle]) =>
    page.$eval(`#scene-${scene} ${handle}`, (one) => one.ariaValueText ?? one.value);
  await reach(page, 'hero');
  await reach(page, 'attacker');
  const first = [await text(hero), await text(attacker)];
  await move(page, hero);
  await move(page, attacker);
  const moved = [await text(hero), await text(attacker)];
  assert.ok(moved.every((one, i) => one !== first[i]));
  const focused = () => page.evaluate(() => document.activeElement.closest('.scene')?.id);
  await page.goBack();
  await becomes(page, (name) => !location.hash.includes(name), 'attacker=');
  assert.deepEqual([await text(hero), await text(attacker)], [moved[0], first[1]]);
  assert.equal(await focused(), 'scene-attacker', 'the focus stays');
  await page.goBack();
  await becomes(page, () => location.hash === '');
  assert.deepEqual([await text(hero), await text(attacker)], first);
  await page.goForward();
  await becomes(page, () => location.hash !== '');
  assert.deepEqual([await text(hero), await text(attacker)], [moved[0], first[1]]);
  // Handles stay when moving between scenes; a shared link contains only those of its scene.
  await page.$eval('#scene-attacker .next', (link) => link.click());
  assert.equal(await hashOf(page), '#scene=naive&hero=square-root');
  assert.equal(await focused(), 'scene-naive');
  await move(page, moves[2]);
  const link = await page.evaluate(async () => {
    let copied;
    navigator.clipboard.writeText = async (text) => (copied = text);
    await document.querySelector('#scene-naive .tools button').click();
    return copied;
  });
  assert.equal(link, `${site.url}#scene=naive&naive=16`);
  await page.$eval('.topbar .to-lab', (one) => one.click());
  await settled(page);
  await page.$eval('#to-story', (one) => one.click());
  await becomes(page, () => document.documentElement.dataset.view === 'story');
  assert.equal(await hashOf(page), '#scene=naive&hero=square-root&naive=16');
  assert.deepEqual([await text(hero), await text(attacker)], [moved[0], first[1]]);
  assert.deepEqual(said, []);
  await page.close();
});

test('an unknown position of a scene is reported until the address no longer has it', async () => {
  const wrong = {
    hero: 'blt',
    attacker: '7',
    naive: '16_16',
    take_back: 'x',
    tree: '64_65',
    floor: '2_0_0_0_0_0_0_0_r_0',
    handwriting: '1',
    crowd: '2_101',
    yours: '1000_0',
  };
  for (const [scene, position] of some(Object.entries(wrong), 3)) {
    const hash = `#${new URLSearchParams({ scene, [scene]: position })}`;
    const { page, said } = await openPage(browser, site.url + hash, { story: true, calm: true });
    await reach(page, scene);
    const note = await page.$eval(
      `#scene-${scene} .scene-foot > [role=status]`,
      (one) => one.textContent,
    );
    assert.equal(note, `This scene cannot show “${position}”, the position in the address.`);
    await page.goto(`${site.url}#scene=${scene}`);
    await becomes(
      page,
      (id) => document.querySelector(`#scene-${id} .scene-foot > [role=status]`).hidden,
      scene,
    );
    assert.deepEqual(said, []);
    await page.close();
  }
});

test('an embedded scene takes its position from the address', async () => {
  const url = `${site.url}?embed=naive#scene=naive&naive=64`;
  const { page } = await openPage(browser, url, { story: true, calm: true });
  await reach(page, 'naive');
  const slider = '#scene-naive .slider';
  assert.equal(await page.$eval(slider, (one) => one.getAttribute('aria-valuetext')), '64 people');
  assert.equal((await page.$$('.scene')).length, 1);
  await page.close();
});

test('Firefox: handles are in the address, and Back undoes a move', {
  skip: withoutFirefox,
  ...onlyInAll,
}, async () => {
  const other = await launchFirefox();
  try {
    const page = await other.newPage();
    await page.goto(`${site.url}#scene=naive&naive=64`);
    const text = ([scene, handle]) =>
      page.$eval(`#scene-${scene} ${handle}`, (one) => one.ariaValueText ?? one.value);
    const naive = moves[2];
    await reach(page, 'naive');
    assert.equal(await text(naive), '64 people');
    await move(page, naive);
    assert.equal(await text(naive), '16 people');
    await page.evaluate(() => history.back());
    await becomes(page, () => location.hash.endsWith('naive=64'));
    assert.equal(await text(naive), '64 people');
  } finally {
    await other.close();
  }
});
