// SPDX-License-Identifier: Apache-2.0

// On a phone: a control and its effect fit on one screen, charts can be read by touch, and targets
// are large enough.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fits, openPage, reveal, settled, startSite, stateOf, textOf, unfold } from './support.mjs';

const { site, browser, open: openPhone } = await startSite();

const open = (hash, options) => openPhone(hash, { width: 390, height: 844, ...options });

test('a finger that is dragged along a chart moves the cursor, and leaves it there', async () => {
  const { page } = await open('steps=100');
  await page.$eval('#sums', (one) => one.scrollIntoView());
  const { x, y, width, height } = await page.$eval('#sums .u-over', (over) =>
    over.getBoundingClientRect().toJSON(),
  );
  const touch = await page.touchscreen.touchStart(x + width / 4, y + height / 2);
  for (const share of [0.3, 0.4, 0.5]) await touch.move(x + share * width, y + height / 2);
  const isAt = () =>
    page.waitForFunction(() => document.querySelector('#sums .key-at').textContent === 'step 50');
  await isAt();
  await touch.end();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await isAt();
  await page.close();
});

test('when the chart is out of sight, a small copy stays at the top, with epsilon and play', async () => {
  const { page, said } = await open('steps=400&speed=10', { state: 'playing' });
  assert.equal(await page.$eval('#mini', (mini) => mini.hidden), true);
  await unfold(page);
  await page.$eval('#set-neighbours', (one) => one.scrollIntoView({ block: 'center' }));
  await page.waitForSelector('#mini:not([hidden])');
  assert.equal(await stateOf(page), 'playing');
  const goesOn = await page.$eval('#progress', (progress) => progress.value);
  await page.waitForFunction(
    (from) => document.getElementById('progress').value > from,
    {},
    goesOn,
  );
  await page.waitForFunction(() => {
    const lines = [...document.querySelectorAll('#mini-chart path')];
    return lines.length === 2 && lines.every((one) => one.getAttribute('d').length > 20);
  });
  await page.click('#mini-play');
  assert.equal(await stateOf(page), 'paused');
  await page.focus('#mini-epsilon input');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => location.hash.includes('epsilon='));
  await settled(page, 'paused');
  const epsilon = await page.$eval('#set-epsilon', (input) => Number(input.value));
  assert.ok(epsilon > 1);
  const spoken = await page.$$eval('input[type=range]', (all) =>
    all.map((one) => one.getAttribute('aria-valuetext')),
  );
  assert.deepEqual(spoken, [`epsilon ${epsilon}`, `epsilon ${epsilon}`]);
  assert.equal(await textOf(page, '#mini-said'), `ε = ${epsilon}`);
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.waitForSelector('#mini[hidden]');
  assert.deepEqual(said, []);
  await page.close();
});

test('every control is at least 24 px wide and high', async () => {
  const { page } = await open('steps=50&data=shop_day&column=count&label=-');
  await page.$$eval('details', (all) => all.forEach((details) => (details.open = true)));
  const small = await page.$$eval('button, select, input, summary, a[href]', (all) =>
    all
      .filter((one) => one.checkVisibility({ visibilityProperty: true }))
      .map((one) => {
        const target = one.matches('input[type=checkbox], input[type=file]')
          ? one.closest('label')
          : one;
        const { width, height } = target.getBoundingClientRect();
        return [one.id || one.textContent || one.value, width, height];
      })
      .filter(([, width, height]) => width < 24 || height < 24),
  );
  assert.deepEqual(
    small.filter(([name]) => name !== 'Skip to the charts'),
    [],
  );
  await page.close();
});

test('the links to start from are in one row, which scrolls within the window', async () => {
  const { page } = await open('steps=50');
  const { right, overflow, tops } = await page.$eval('.presets', (row) => ({
    right: row.getBoundingClientRect().right,
    overflow: getComputedStyle(row).overflowX,
    tops: [...row.children].map((one) => Math.round(one.getBoundingClientRect().top)),
  }));
  assert.ok(right <= 390 && overflow === 'auto', `${right}, ${overflow}`);
  assert.ok(tops.length >= 5 && new Set(tops).size === 1, `${tops}`);
  await page.close();
});

test('the buttons at the top are within a window of 320 or 375 px', async () => {
  for (const width of [320, 375]) {
    const { page } = await open('steps=50', { width });
    const ends = await page.$$eval('.topbar-tools > *', (all) =>
      all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().right),
    );
    assert.ok(ends.length >= 4 && ends.every((right) => right <= width), `${ends} of ${width}`);
    await page.close();
  }
});

test('the buttons at the top keep a distance to the edge of the screen', async () => {
  for (const [hash, width] of [
    ['steps=50', 390],
    ['steps=50', 768],
    ['queries', 390],
    ['queries', 768],
  ]) {
    const { page } = await openPage(browser, `${site.url}#${hash}`, { width, height: 844 });
    await page.waitForSelector('html[data-view]');
    const tops = await page.$$eval('.topbar-tools > *', (all) =>
      all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().top),
    );
    assert.ok(tops.length >= 3 && Math.min(...tops) >= 6, `${hash}, ${width} px: ${tops}`);
    await page.close();
  }
});

test('a choice that is too long for its control ends in an ellipsis', async () => {
  const { page } = await open('steps=50&dimension=2&compare=independent');
  const cut = await page.$$eval('select', (all) =>
    all.filter((one) => getComputedStyle(one).textOverflow !== 'ellipsis').map(({ id }) => id),
  );
  assert.deepEqual(cut, []);
  await page.close();
});

test('the certificates of two mechanisms fit side by side in a window of 768 px', async () => {
  const { page } = await open('steps=50&compare=independent', { width: 768, height: 900 });
  const [wanted, room] = await page.$eval('#certificate', (one) => [
    one.scrollWidth,
    one.clientWidth,
  ]);
  assert.ok(room > 600 && wanted <= room, `${wanted} px in ${room} px`);
  await page.close();
});

test('the knob on an axis covers no text', async () => {
  const { page } = await openPage(browser, site.url, {
    story: true,
    calm: true,
    width: 390,
    height: 844,
  });
  for (const id of ['tree', 'yours']) {
    await page.$eval(`#scene-${id}`, (one) => one.scrollIntoView());
    await page.waitForSelector(`#scene-${id}[data-state=ready]`);
    await page.$eval(`#scene-${id} .grip`, (grip) => grip.focus());
    for (const key of ['Home', 'End']) {
      await page.keyboard.press(key);
      const covered = await page.$eval(`#scene-${id} .plane:has(.grip)`, (plane) => {
        const knob = plane.querySelector('.knob').getBoundingClientRect();
        return [...plane.querySelectorAll('text')]
          .filter((one) => {
            // Glyphs fill only the middle of their box.
            const { left, right, top, bottom } = one.getBoundingClientRect();
            const [upper, lower] = [0.8 * top + 0.2 * bottom, 0.2 * top + 0.8 * bottom];
            const beside = right < knob.left || left > knob.right;
            return !beside && upper < knob.bottom && lower > knob.top;
          })
          .map((one) => one.textContent);
      });
      assert.deepEqual(covered, [], `${id}, ${key}`);
    }
  }
  await page.close();
});

test('a table that continues beyond an edge has a shadow there', async () => {
  const blank = await browser.newPage();
  for (const scheme of ['light', 'dark']) {
    const { page } = await open('steps=60&compare=tree', { scheme });
    await reveal(page, 'ranking', 'tbody tr');
    const edgesAt = async (scrolled) => {
      await page.bringToFront();
      const [left, right, y] = await page.$eval(
        '#ranking',
        (table, by) => {
          table.scrollLeft = by;
          window.scrollBy(0, table.getBoundingClientRect().top - 200);
          const box = table.getBoundingClientRect();
          return [box.left, box.right, box.top + 150];
        },
        scrolled,
      );
      const picture = await page.screenshot({ encoding: 'base64' });
      await blank.bringToFront();
      const reds = await blank.evaluate(
        async (data, places) => {
          const image = new Image();
          image.src = `data:image/png;base64,${data}`;
          await image.decode();
          const canvas = document.createElement('canvas');
          [canvas.width, canvas.height] = [image.width, image.height];
          const drawn = canvas.getContext('2d');
          drawn.drawImage(image, 0, 0);
          return places.map(([x, at]) => drawn.getImageData(x, at, 1, 1).data[0]);
        },
        picture,
        [left, left + 8, right - 9, right - 1].map((x) => [Math.round(x), Math.round(y)]),
      );
      return [Math.abs(reds[0] - reds[1]) > 10, Math.abs(reds[3] - reds[2]) > 10];
    };
    assert.deepEqual(await edgesAt(0), [false, true], `${scheme}, at the beginning`);
    assert.deepEqual(await edgesAt(100_000), [true, false], `${scheme}, at the end`);
    await page.close();
  }
  await blank.close();
});

test('tree: blocks begin and end at whole pixels, and a note says which are too narrow to separate', async () => {
  const { page } = await openPage(browser, site.url, {
    story: true,
    calm: true,
    width: 390,
    height: 844,
  });
  await page.$eval('#scene-tree', (one) => one.scrollIntoView());
  await page.waitForSelector('#scene-tree[data-state=ready]');
  const note = () =>
    page.$eval('.tree-blocks + .small', (one) => (one.checkVisibility() ? one.textContent : ''));
  assert.equal(await note(), 'Blocks of 8 steps and fewer are too narrow to draw separately here.');
  const xs = await page.$eval('#scene-tree .tree-row', (one) =>
    [...one.getAttribute('d').matchAll(/[ML]([\d.]+) /g)].map(([, x]) => Number(x)),
  );
  assert.ok(xs.length > 4 * 127 && xs.every(Number.isInteger), `${xs.slice(0, 8)}`);
  await page.$eval('#scene-tree input[value="16"]', (one) => one.click());
  await page.waitForFunction(
    () => !document.querySelector('.tree-blocks + .small').checkVisibility(),
  );
  await page.close();
});

test('no text of a figure is cut off at 320 px, or covers another one', async () => {
  const options = { story: true, calm: true, width: 320, height: 640 };
  const { page } = await openPage(browser, site.url, options);
  await page.waitForSelector('#scene-hero[data-state=ready]');
  let numTexts = 0;
  for (const id of await page.$$eval('.scene', (all) => all.map((one) => one.id))) {
    await page.$eval(`#${id}`, (one) => one.scrollIntoView());
    await page.waitForSelector(`#${id}[data-state=ready]`);
    await page.waitForFunction(
      (name) =>
        [...document.querySelectorAll(`#${name} .plane`)].every((one) => one.querySelector('text')),
      {},
      id,
    );
    const found = await page.$$eval(`#${id} .plane`, (planes) => {
      const boxOf = (one) => one.getBoundingClientRect();
      const lines = (plane) =>
        [...plane.querySelectorAll('text')]
          .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
          .flatMap((one) =>
            one.querySelector('tspan') ? [...one.querySelectorAll('tspan')] : [one],
          )
          .filter((one) => one.textContent !== '');
      const cut = (plane) => {
        const { left, right, top, bottom } = boxOf(plane);
        return lines(plane).filter((one) => {
          const box = boxOf(one);
          return (
            box.left < left - 1 ||
            box.right > right + 1 ||
            box.top < top - 1 ||
            box.bottom > bottom + 1
          );
        });
      };
      const covered = (plane) =>
        lines(plane).filter((one, i, all) =>
          all.slice(i + 1).some((other) => {
            const [a, b] = [boxOf(one), boxOf(other)];
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            return high > 4 && Math.min(a.right, b.right) > Math.max(a.left, b.left);
          }),
        );
      const texts = (all) => all.map((one) => one.textContent);
      return {
        numTexts: planes.flatMap(lines).length,
        cut: texts(planes.flatMap(cut)),
        covered: texts(planes.flatMap(covered)),
      };
    });
    numTexts += found.numTexts;
    assert.deepEqual([found.cut, found.covered], [[], []], id);
  }
  assert.ok(numTexts > 100, `${numTexts} texts`);
  await page.close();
});

test('the laboratory fits into a window of 320 px', async () => {
  const { page } = await open('steps=50&compare=tree', { width: 320, height: 600 });
  await fits(page);
  await unfold(page);
  await page.$eval('#set-neighbours', (one) => one.scrollIntoView({ block: 'center' }));
  await page.waitForSelector('#mini:not([hidden])');
  await fits(page);
  await page.close();
});
