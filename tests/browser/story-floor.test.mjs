// SPDX-License-Identifier: Apache-2.0

// The scenes of the tree, of the lower bound and of the reader's own horizon: every handle moved by
// the keyboard, and the numbers compared with the library's.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { onlyInAll } from '../js/support/extent.mjs';
import { complaints, openPage, root, settled, startSite } from './support.mjs';

const { site, browser } = await startSite();
const dp = await load();

const delta = 1e-6;
const numSteps = 1024;

/** Opens a scene, runs `check` on it, and fails if the page logged anything. */
async function inScene(id, check, { done = true, ...options } = {}) {
  const { page, said } = await openPage(browser, `${site.url}#scene=${id}`, {
    story: true,
    ...options,
  });
  try {
    const ready = `#scene-${id}[data-state=ready]`;
    await page.waitForSelector(done ? `${ready}:not(:has([data-work=running]))` : ready);
    await check(page, `#scene-${id}`);
    assert.deepEqual(said, []);
  } finally {
    await page.close();
  }
}

/** Number in a `data` element, and its text. */
async function read(page, selector) {
  return page.$eval(selector, (data) => ({ value: Number(data.value), text: data.textContent }));
}

async function readNear(page, selector, expected, tolerance = 1e-9) {
  const { value, text } = await read(page, selector);
  assert.ok(Math.abs(value / expected - 1) <= tolerance, `${selector}: ${value}, not ${expected}`);
  return text;
}

const attribute = (page, selector, name) =>
  page.$eval(selector, (one, key) => one.getAttribute(key), name);

async function press(page, selector, key, times = 1) {
  await page.$eval(selector, (one) => one.focus()); // `page.focus` does not support SVG.
  for (let i = 0; i < times; ++i) await page.keyboard.press(key);
}

test('the tree: the numbers are those of the library, and the handle lights the blocks of a total', async () => {
  await inScene('tree', async (page, scene) => {
    const errorOf = (mechanism, steps = numSteps) =>
      dp.error({ strategy: mechanism, steps }).maxError;
    const texts = [];
    for (const name of ['independent', 'tree', 'honaker']) {
      texts.push(await readNear(page, `${scene} data.${name}`, errorOf(name)));
    }
    assert.deepEqual(texts, ['32.00', '10.49', '7.99']);

    const slider = `${scene} [role=slider]`;
    const numLit = async () =>
      (await attribute(page, `${scene} .tree-lit`, 'd')).split('M').length - 1;
    for (const [key, step, blocks] of [
      ['Home', 1, 1],
      ['ArrowRight', 2, 1],
      ['ArrowUp', 3, 2],
      ['End', 1024, 1],
      ['ArrowLeft', 1023, 10],
    ]) {
      await press(page, slider, key);
      assert.equal(await attribute(page, slider, 'aria-valuenow'), String(step));
      assert.equal(await numLit(), blocks, `step ${step}`);
      const said = await attribute(page, slider, 'aria-valuetext');
      assert.match(said, /^step [\d,]+: (one|\d+) blocks?, noise [\d.]+ against [\d.]+$/);
    }
    const stddev = dp.error({ strategy: 'tree', steps: numSteps, perStep: true }).perStep;
    const readout = await page.$eval(`${scene} .readout`, (one) => one.textContent);
    assert.ok(readout.includes(stddev[1022].toFixed(2)), readout);

    // A shorter stream, set by the keyboard, for which the tree is no improvement yet.
    await press(page, `${scene} input[value="1024"]`, 'ArrowLeft', 2);
    await page.waitForFunction(
      (one) => document.querySelector(one).value === '4',
      {},
      `${scene} data.independent`,
    );
    const plain = await readNear(page, `${scene} data.tree`, errorOf('tree', 16));
    assert.equal(plain, '4.47');
    assert.equal(await attribute(page, slider, 'aria-valuemax'), '16');
  });
});

test('the floor: the numbers and the errors of the bars are those of the library', async () => {
  await inScene('floor', async (page, scene) => {
    const optimum = (buffers) =>
      dp.error({ strategy: { name: 'optimal', buffers }, steps: numSteps });
    const texts = [];
    const numbers = await page.$$(`${scene} data.optimal`);
    for (const [i, buffers] of [1, 2, 3, 4, 8].entries()) {
      const name = `${scene} tr:nth-of-type(${4 + i}) data.optimal`;
      texts.push(await readNear(page, name, optimum(buffers).maxError));
    }
    assert.equal(numbers.length, texts.length);
    // The row called optimal is the mechanism of the first picture.
    assert.equal(optimum(8).maxError, dp.error({ strategy: 'optimal', steps: numSteps }).maxError);
    const root = dp.error({ strategy: 'square-root', steps: numSteps }).maxError;
    texts.push(await readNear(page, `${scene} data.square-root`, root));
    texts.push(await readNear(page, `${scene} data.floor`, optimum(8).lowerBound, 1e-6));
    assert.deepEqual(texts, ['3.848', '3.099', '2.998', '2.969', '2.962', '3.273', '2.9615']);
    await readNear(page, `${scene} data.own`, 32);
    await press(page, '#floor-root', 'Enter');
    assert.equal((await read(page, `${scene} data.louder`)).text, '2.04');
    assert.equal((await read(page, `${scene} data.quieter`)).text, '9.8');

    // Fresh noise, then taking back 0.97 of the previous draw: lambda-cgd.
    await press(page, '#floor-fresh', 'Enter');
    await readNear(page, `${scene} data.own`, 32);
    const first = `${scene} [role=slider]`;
    await press(page, first, 'Home');
    await press(page, first, 'ArrowUp', 6);
    assert.equal(await attribute(page, first, 'aria-valuenow'), '-0.97');
    assert.equal(await attribute(page, first, 'aria-valuetext'), '0.97 of it taken back');
    const lambda = dp.error({
      strategy: { name: 'lambda-cgd', lambda: 0.97 },
      steps: numSteps,
    }).maxError;
    assert.equal(await readNear(page, `${scene} data.own`, lambda), '5.701');
    await press(page, first, 'Home');
    assert.equal((await read(page, `${scene} data.best`)).text, '5.701', 'the best is kept');

    // Every bar after the first has a handle, and the square root is restored to all digits.
    const handles = await page.$$(first);
    assert.equal(handles.length, 8);
    for (const handle of handles) {
      const valueOf = () => handle.evaluate((one) => Number(one.getAttribute('aria-valuenow')));
      const before = await valueOf();
      await handle.evaluate((one) => one.focus());
      await page.keyboard.press('ArrowUp');
      assert.ok((await valueOf()) > before);
    }
    await press(page, '#floor-root', 'Enter');
    await readNear(page, `${scene} data.own`, root);
    await press(page, first, 'PageUp');
    assert.ok((await read(page, `${scene} data.own`)).value > 3.3, 'no bars are better');

    const verdict = () => page.$eval(`${scene} .readout`, (one) => one.textContent);
    await press(page, `${scene} input[name="floor-buffers"]`, 'ArrowRight', 4);
    assert.match(
      await verdict(),
      /^With 4 buffers the noisiest count is 0\.3\u00a0% above the floor\./,
    );
    assert.equal(await page.$eval('#floor-rest', (one) => one.disabled), true);
    await press(page, `${scene} input[name="floor-buffers"][value="4"]`, 'ArrowRight');
    assert.match(await verdict(), /^With 8 buffers .* less than 0\.1\u00a0% above the floor\./);
    const drawn = await attribute(page, `${scene} .line.of-optimal`, 'd');
    assert.ok(drawn.split('L').length >= 100);
  });
});

/** Contrast of the names of what is to be beaten with the paper, as WCAG 2 defines it. */
function contrastOfNames(scene) {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((byte) => {
      const share = byte / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  const paper = light(getComputedStyle(document.documentElement).backgroundColor);
  return [...document.querySelectorAll(`${scene} .checkpoint-word`)].map((one) => {
    const word = light(getComputedStyle(one).fill);
    return Math.max(word, paper) / Math.min(word, paper);
  });
}

test('the floor: no curve runs through the names of what is to be beaten', async () => {
  const crossed = (page, scene) =>
    page.$$eval(
      `${scene} .line[d^=M]`,
      (lines, selector) => {
        const points = lines.flatMap((one) => {
          const [length, matrix] = [one.getTotalLength(), one.getScreenCTM()];
          return Array.from({ length: 2000 }, (_, i) =>
            one.getPointAtLength((i / 1999) * length).matrixTransform(matrix),
          );
        });
        const words = [...document.querySelectorAll(`${selector} .checkpoint-word`)];
        return words.map((one) => {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          // The halo of a word is 1.5 px wide.
          const isIn = ({ x, y }) => x > left - 2 && x < right + 2 && y > top && y < bottom;
          return points.some(isIn);
        });
      },
      scene,
    );
  for (const [width, height] of [
    [390, 844],
    [1280, 720],
  ]) {
    await inScene(
      'floor',
      async (page, scene) => {
        assert.deepEqual(await crossed(page, scene), [false, false], `fresh noise, ${width} px`);
        // While the first of the movable bars is lowered, the curve passes both names.
        for (const times of [10, 10, 20, 20]) {
          await press(page, `${scene} .grip`, 'ArrowDown', times);
          assert.deepEqual(await crossed(page, scene), [false, false], `bars, ${width} px`);
        }
        await page.$eval('#floor-root', (button) => button.click());
        assert.deepEqual(await crossed(page, scene), [false, false], `square root, ${width} px`);
        const texts = await page.$$eval(`${scene} .axes text`, (all) =>
          all.map((one) => one.textContent),
        );
        assert.ok(texts.includes('10\u00a0%'), `${texts}`);
        const ratios = await page.evaluate(contrastOfNames, scene);
        assert.ok(ratios.length === 2 && Math.min(...ratios) >= 4.5, `${ratios}`);
        await page.$eval(`${scene} .choices input[value="8"]`, (one) => one.click());
        assert.match(
          await page.$eval(`${scene} .plane .floor-label`, (one) => one.textContent),
          /: the blue line lies on it$/,
        );
      },
      { width, height },
    );
  }
});

test('yours: a million steps, other horizons and the epsilon of an error have the right numbers', async () => {
  await inScene('yours', async (page, scene) => {
    const cell = (name, kind) => read(page, `${scene} data.${name}.${kind}`);
    const errors = [];
    for (const name of ['independent', 'tree', 'square-root', 'floor']) {
      errors.push((await cell(name, 'noise')).text);
    }
    assert.deepEqual(errors, ['1,000', '19.5', '5.46', '5.13']);

    const slider = `${scene} [role=slider]`;
    await press(page, slider, 'PageDown', 3);
    assert.equal(await attribute(page, slider, 'aria-valuetext'), '1,000 counts');
    const { noiseMultiplier } = dp.calibrate({ epsilon: 1, delta });
    const shows = (caption) =>
      page.waitForFunction(
        (one, text) => document.querySelector(one).textContent.includes(text),
        {},
        `${scene} table`,
        caption,
      );
    await shows('noisiest of 1,000 counts');
    for (const mechanism of ['independent', 'tree', 'honaker', 'square-root', 'optimal']) {
      const { maxError } = dp.error({ strategy: mechanism, steps: 1000 });
      await readNear(page, `${scene} data.${mechanism}.noise`, maxError, 1e-5);
      const margin = 2 * noiseMultiplier * maxError;
      await readNear(page, `${scene} data.${mechanism}.margin`, margin, 1e-5);
      const people = `±${Math.round(margin).toLocaleString('en-US')}`;
      assert.equal((await cell(mechanism, 'margin')).text, people, 'whole people');
    }

    await page.focus('#yours-margin');
    await page.$eval('#yours-margin', (input) => input.select());
    await page.keyboard.type('10');
    await shows('ε for ±10');
    for (const mechanism of ['independent', 'optimal']) {
      const { maxError } = dp.error({ strategy: mechanism, steps: 1000 });
      const { epsilon } = dp.calibrate({ mu: (2 * maxError) / 10, delta });
      await readNear(page, `${scene} data.${mechanism}.epsilon`, epsilon, 1e-4);
    }
    await page.keyboard.type('x');
    assert.equal(await attribute(page, '#yours-margin', 'aria-invalid'), 'true');
    assert.match(
      await page.$eval('#yours-margin-error', (one) => one.textContent),
      /whole number from 1 to/,
    );
    await page.keyboard.press('Backspace');
    assert.equal(await attribute(page, '#yours-margin', 'aria-invalid'), 'false');

    const address = new URLSearchParams((await attribute(page, '#yours-lab', 'href')).slice(1));
    assert.equal(address.get('steps'), '1000');
    const { maxError } = dp.error({ strategy: 'optimal', steps: 1000 });
    const { epsilon } = dp.calibrate({ mu: (2 * maxError) / 10, delta });
    assert.equal(address.get('epsilon'), String(Number(epsilon.toPrecision(3))));
    await press(page, slider, 'Home');
    assert.equal(await attribute(page, slider, 'aria-valuetext'), 'one count');
    await press(page, slider, 'PageUp');
    await press(page, slider, 'ArrowRight', 7);
    await shows('noisiest of 100 counts');

    // The laboratory accepts the address, and counts.
    const href = await attribute(page, '#yours-lab', 'href');
    const wanted = new URLSearchParams(href.slice(1)).get('epsilon');
    await press(page, '#yours-lab', 'Enter');
    await settled(page);
    for (const [name, value] of [
      ['set-epsilon', wanted],
      ['set-numSteps', '100'],
      ['set-source', 'shop_day'],
      ['speed', 'max'],
    ]) {
      assert.equal(await page.$eval(`#${name}`, (input) => input.value), value, name);
    }
    const summed = await page.$$eval('.columns input:checked', (all) =>
      all.map(({ value }) => value),
    );
    assert.equal(summed.length, 1);
    assert.equal(await page.$eval('#progress', (progress) => progress.value), 100);
  });
});

test('yours: the numbers are there while models still learn', async () => {
  await inScene(
    'handwriting',
    async (page) => {
      await page.$eval('#scene-yours', (one) => one.scrollIntoView());
      await page.waitForSelector('#scene-yours [data-work=done] ~ .scene-steps data.epsilon');
      assert.notEqual(await page.$('#scene-handwriting [data-work=running]'), null);
    },
    { done: false },
  );
});

test('yours: a file given to the story is read in the laboratory', async () => {
  await inScene(
    'yours',
    async (page) => {
      const input = await page.$('#yours-file');
      await input.uploadFile(`${root}examples/shop_day.csv`);
      // The example that opens in the laboratory has its own guide.
      await page.waitForFunction(() => document.getElementById('set-source')?.value === 'own');
      await page.waitForSelector('#clip-guide li', { visible: true });
      const columns = await page.$$eval('.columns label:not(.unit)', (all) =>
        all.map((one) => one.textContent),
      );
      assert.ok(
        columns.some((one) => one.includes('364')),
        `the customers of a day: ${columns}`,
      );
    },
    { calm: true },
  );
});

test('a file dropped anywhere on the story is read in the laboratory', async () => {
  await inScene(
    'attacker',
    async (page) => {
      const csv = readFileSync(`${root}examples/shop_day.csv`, 'utf8');
      const kept = await page.evaluate((text) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], 'shop_day.csv', { type: 'text/csv' }));
        const put = (type) =>
          document
            .querySelector('#scene-attacker .game')
            .dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
        // Without cancelling these events, the browser would navigate to the dropped file.
        const cancelled = [!put('dragover')];
        cancelled.push(document.documentElement.classList.contains('dropping'), !put('drop'));
        return cancelled;
      }, csv);
      assert.deepEqual(kept, [true, true, true]);
      await page.waitForFunction(() => document.getElementById('set-source')?.value === 'own');
      assert.equal(await page.$eval('html', ({ dataset }) => dataset.view), 'lab');
      assert.equal(await page.$('html.dropping'), null);
      const columns = await page.$$eval('.columns label:not(.unit)', (all) =>
        all.map((one) => one.textContent),
      );
      assert.ok(
        columns.some((one) => one.includes('364')),
        `the customers of a day: ${columns}`,
      );
      await page.goBack();
      await page.waitForFunction(() => document.documentElement.dataset.view === 'story');
    },
    { calm: true },
  );
});

test('every handle is at least 24 px wide and high, and nothing overflows 320 px', async () => {
  for (const id of ['tree', 'floor', 'yours']) {
    await inScene(
      id,
      async (page, scene) => {
        const sizes = await page.$$eval(`${scene} [role=slider]`, (handles) =>
          handles.map((handle) => {
            const { width, height } = handle.getBoundingClientRect();
            return Math.min(width, height);
          }),
        );
        assert.ok(sizes.length > 0 && sizes.every((size) => size >= 24), `${id}: ${sizes}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= 320, `${id}: ${wide}`);
      },
      { width: 320, height: 700, calm: true },
    );
  }
});

test('the pointer: it drags a bar, and selects the step under it', async () => {
  await inScene('floor', async (page, scene) => {
    const first = `${scene} [role=slider]`;
    const middle = () =>
      page.$eval(first, (one) => {
        const { x, y, width, height } = one.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
      });
    await page.$eval(first, (one) => one.scrollIntoView({ block: 'center' }));
    const from = await middle();
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x, from.y - 40, { steps: 4 });
    await page.mouse.up();
    assert.ok(Math.abs((await middle()).y - (from.y - 40)) < 2, 'it follows the pointer');
    assert.ok(Number(await attribute(page, first, 'aria-valuenow')) > -0.4);
    assert.ok((await read(page, `${scene} data.own`)).value > 3.3);
  });
  await inScene('tree', async (page, scene) => {
    await page.$eval(`${scene} .tree-blocks`, (one) => one.scrollIntoView({ block: 'center' }));
    const box = await page.$eval(`${scene} .tree-row`, (one) => {
      const { x, y, width } = one.getBoundingClientRect();
      return { x, y, width };
    });
    await page.mouse.move(box.x + (512.5 / 1024) * box.width, box.y + 5);
    const step = Number(await attribute(page, `${scene} [role=slider]`, 'aria-valuenow'));
    assert.ok(Math.abs(step - 513) <= 1, `step ${step}`);
  });
});

for (const [scheme, width] of [
  ['light', 1440],
  ['dark', 360],
]) {
  test(`axe finds nothing in these scenes: ${scheme}, ${width} px`, onlyInAll, async () => {
    for (const id of ['tree', 'floor', 'yours']) {
      const check = async (page) => {
        assert.deepEqual(await complaints(page), [], id);
      };
      await inScene(id, check, { scheme, width, calm: true });
    }
  });
}
