// SPDX-License-Identifier: Apache-2.0

// The story: which address opens which scene, and scenes whose handles show what the library
// computes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from '../../dist/index.js';
import { onlyInAll, some } from '../js/support/extent.mjs';
import {
  becomes,
  complaints,
  launchFirefox,
  openPage,
  screenshots,
  settled,
  startSite,
  textOf,
  transferred,
  withoutFirefox,
} from './support.mjs';

const { site, browser } = await startSite();
const library = await load();

const viewOf = (page) => page.$eval('html', (root) => root.dataset.view);

/** Opens the story, and waits until a scene is usable. */
async function openStory(id, { address = `#scene=${id}`, ...options } = {}) {
  const opened = await openPage(browser, `${site.url}${address}`, {
    calm: true,
    story: true,
    ...options,
  });
  await opened.page.waitForSelector(
    `#scene-${id}[data-state=ready]:not(:has([data-work=running]))`,
  );
  return opened;
}

test('an address without settings is the story, and the laboratory does not start', async () => {
  const { page, said, asked } = await openStory('hero', { address: '' });
  assert.equal(await viewOf(page), 'story');
  assert.equal(await page.$eval('#player', (player) => player.dataset.state), 'loading');
  assert.ok(!asked.some((url) => /\/app-/.test(url)), 'its script is not fetched');
  const title = await page.title();
  await page.click('.topbar .to-lab');
  await settled(page);
  assert.equal(await viewOf(page), 'lab');
  assert.equal(await page.title(), `Laboratory – ${title}`);
  await page.goBack();
  await becomes(page, (text) => document.title === text, title);
  assert.deepEqual(said, []);
  await page.close();
});

test('old addresses open the laboratory, and the story does not start', async () => {
  const { page, said } = await openPage(browser, `${site.url}#steps=60&mechanism=tree`, {
    calm: true,
    story: true,
  });
  await settled(page);
  assert.equal(await viewOf(page), 'lab');
  assert.equal(await page.$('#scene-hero[data-state]'), null);
  await page.$$eval('a[href="#scene=hero"]', ([link]) => link.click());
  await page.waitForSelector('#scene-hero[data-state=ready]');
  assert.equal(await viewOf(page), 'story');
  await page.click('.topbar .to-lab');
  await page.waitForFunction(() => document.documentElement.dataset.view === 'lab');
  assert.match(await page.evaluate(() => location.hash), /mechanism=tree&steps=60|steps=60/);
  assert.deepEqual(said, []);
  await page.close();
});

test('a scene can be embedded alone', async () => {
  const { page } = await openStory('naive', { address: '?embed=naive' });
  assert.equal((await page.$$('.scene')).length, 1);
  assert.equal(await page.$eval('.topbar', (one) => one.checkVisibility()), false);
  await page.close();
});

test('the frame that is copied is as high as its scene', async () => {
  for (const width of [640, 800, 1280]) {
    const { page } = await openStory('hero', { address: '', width, height: 720 });
    const markup = await page.evaluate(async () => {
      let copied = '';
      navigator.clipboard.writeText = async (text) => (copied = text);
      document.querySelector('[aria-label^="Embed: Count"]').click();
      return copied;
    });
    const height = Number(/ height="(\d+)"/.exec(markup)[1]);
    await page.close();
    const options = { address: '?embed=hero', width, height };
    const { page: frame } = await openStory('hero', options);
    const needed = await frame.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(needed <= height, `${needed} px in ${height} px at ${width} px`);
    assert.equal(await frame.$eval('#print', (one) => one.checkVisibility()), false);
    await frame.close();
  }
});

test('wide or narrow, the bar and the scenes have one left edge', async () => {
  const { page } = await openStory('hero', { width: 1440 });
  const edges = await page.$$eval('.wordmark, .way, #scene-hero h1, .onwards', (all) =>
    all.map((one) => one.getBoundingClientRect().left),
  );
  assert.equal(new Set(edges).size, 1, `${edges}`);
  await page.close();
});

const privacy = { epsilon: 1, delta: 1e-6 };
const numSteps = 1024;
const errorOf = (mechanism, options) =>
  library.error({ strategy: { name: mechanism, ...options }, steps: numSteps });
/** Twice the standard deviation of the worst total, in people. */
const bandOf = (mechanism) =>
  2 * library.calibrate(privacy).noiseMultiplier * errorOf(mechanism).maxError;

const numberOf = (page, selector) => page.$eval(selector, (one) => Number(one.value));
const spoken = (page, selector) =>
  page.$eval(selector, (one) => one.getAttribute('aria-valuetext'));

function near(actual, expected, what, tolerance = 1e-8 * Math.max(1, Math.abs(expected))) {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`);
}

/** Probability that a standard normal number is at most x, by the midpoint rule. */
function probability(x) {
  const pieces = 20_000;
  const width = x / pieces;
  let sum = 0;
  for (let i = 0; i < pieces; ++i) sum += Math.exp(-(((i + 0.5) * width) ** 2) / 2);
  return 0.5 + (sum * width) / Math.sqrt(2 * Math.PI);
}

const mechanisms = ['independent', 'tree', 'square-root', 'optimal'];

const heroCurve = (page, kind) =>
  page.$eval(`#scene-hero path.${kind}`, (one) => one.getAttribute('d'));
const bands = ['±270', '±89', '±28', '±25'];

/** The drawn heights of a curve, in people below the top of the picture. */
function heights(path) {
  const [first, ...steps] = path.slice(1).split('l');
  let [, y] = first.split(' ').map(Number);
  return steps.map((step) => (y += Number(step.split(' ')[1])));
}

test('hero: every mechanism has the band that the library states, by keyboard and by dragging', async () => {
  const { page, said } = await openStory('hero');
  const worst = await heroCurve(page, 'line.worst');
  const chosen = '.segments :checked';
  const places = new Set();
  const check = async (at) => {
    const mechanism = mechanisms[at];
    const { x: place } = await (await page.$('.numeral.worst')).boundingBox();
    places.add(place);
    assert.equal(await page.$eval(chosen, (one) => one.value), mechanism);
    near(await numberOf(page, '.numeral.best data'), bandOf(mechanism), mechanism);
    assert.equal(await textOf(page, '.numeral.best data'), bands[at]);
    assert.equal(await textOf(page, '.labels .best'), `published, ${bands[at]}`);
    const ends = await page.$$eval('.bracket.best line', (all) =>
      all.map((one) => parseFloat(one.getAttribute('y1'))),
    );
    near((ends[2] - ends[0]) * 9.5, 2 * bandOf(mechanism), 'the bracket', 0.5);
    return heroCurve(page, 'line.best');
  };
  near(await numberOf(page, '.numeral.worst data'), bandOf('independent'), 'fresh noise');
  const seen = [await check(3)];
  await page.focus(chosen);
  for (const at of [2, 1, 0]) {
    await page.keyboard.press('ArrowLeft');
    seen.push(await check(at));
  }
  assert.equal(new Set(seen).size, 4, 'each mechanism has a curve of its own');
  assert.equal(seen.at(-1), worst, 'the last is the one that it is compared with');
  const boxes = await Promise.all(
    (await page.$$('.segments label')).map((one) => one.boundingBox()),
  );
  const [from, , , to] = boxes.map(({ x, y, width, height }) => [x + width / 2, y + height / 2]);
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 8 });
  await page.mouse.up();
  await check(3);
  assert.equal(places.size, 1, 'the big numbers stay where they are');
  assert.deepEqual(said, []);
  await page.close();
});

test('hero: a person who stays away changes the truth by one, and nothing of the noise', async () => {
  for (const width of [1280, 390]) {
    const { page, said } = await openStory('hero', { width, height: 844 });
    const both = async () => [
      heights(await heroCurve(page, 'line.truth')),
      heights(await heroCurve(page, 'line.best')),
    ];
    const before = await both();
    assert.equal(await textOf(page, '.labels .truth'), 'the truth, secret: 484');
    const you = await page.$eval('.marker', (one) => Number(one.ariaValueNow));
    await page.click('.hero-you .away');
    assert.equal(await textOf(page, '.labels .truth'), 'the truth, secret: 483');
    assert.equal(await textOf(page, '.hero-you strong'), 'you stayed away');
    assert.equal(await textOf(page, '.hero-you .away'), 'pretend you came in');
    assert.equal(await textOf(page, '.marker'), '', 'the marker has no words');
    assert.match(await textOf(page, '.hero-says'), /Can you see it/);
    for (const [i, curve] of (await both()).entries()) {
      for (const [at, height] of curve.entries()) {
        const moved = 2 * (at + 1) >= you ? 1 : 0;
        assert.equal(height - before[i][at], moved, `curve ${i} at step ${2 * (at + 1)}`);
      }
    }
    await page.click('.hero-you .away');
    assert.deepEqual(await both(), before);
    assert.equal(await textOf(page, '.hero-you .away'), 'pretend you stayed away');
    await page.focus('.marker');
    await page.keyboard.press('Home');
    assert.equal(await page.$eval('.marker', (one) => one.ariaValueNow), '1');
    const box = await (await page.$('.passers')).boundingBox();
    const touch = [box.x + 0.75 * box.width, box.y + 0.8 * box.height];
    await page.mouse.move(...touch);
    const marker = await (await page.$('.marker')).boundingBox();
    await page.mouse.move(marker.x + marker.width / 2, marker.y + marker.height / 2);
    await page.mouse.down();
    await page.mouse.move(...touch, { steps: 5 });
    await page.mouse.up();
    assert.match(await textOf(page, '.hero-says'), /someone else/);
    const now = await page.$eval('.marker', (one) => Number(one.ariaValueNow));
    const wanted = width === 390 ? 6 * 128 + 97 : 769;
    assert.ok(Math.abs(now - wanted) <= 2, `passer-by ${now}, wanted ${wanted}`);
    assert.deepEqual(said, []);
    await page.close();
  }
});

test('hero: a click or a tap on a passer-by moves the visitor there, and a swipe scrolls', async () => {
  const you = (page) => page.$eval('.marker', (one) => Number(one.ariaValueNow));
  const at = async (page, x, y) => {
    const box = await (await page.$('.passers')).boundingBox();
    return [box.x + x * box.width, box.y + y * box.height];
  };
  const wide = (await openStory('hero', { width: 1280, height: 720 })).page;
  await wide.mouse.click(...(await at(wide, 0.25, 0.5)));
  assert.ok(Math.abs((await you(wide)) - 257) <= 1, `passer-by ${await you(wide)}`);
  assert.match(await textOf(wide, '.hero-says'), /someone else/);
  assert.match(await wide.evaluate(() => location.hash), /hero=optimal_25\d_/);
  await wide.close();
  const { page, said } = await openStory('hero', { width: 390, height: 844 });
  await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true });
  await page.waitForSelector('#scene-hero[data-state=ready]');
  await page.touchscreen.tap(...(await at(page, 0.25, 2.5 / 8)));
  await becomes(page, () => document.querySelector('.marker').ariaValueNow !== '613');
  const tapped = await you(page);
  assert.ok(Math.abs(tapped - (2 * 128 + 33)) <= 1, `passer-by ${tapped}`);
  const [x, y] = await at(page, 0.75, 7.5 / 8);
  const finger = await page.touchscreen.touchStart(x, y);
  for (const moved of [20, 60, 120, 200]) await finger.move(x, y - moved);
  await finger.end();
  await becomes(page, () => scrollY > 100);
  assert.equal(await you(page), tapped);
  assert.deepEqual(said, []);
  await page.close();
});

for (const [width, height] of [
  [1280, 720],
  [390, 844],
]) {
  test(`hero: the first screen fits into ${width} x ${height}`, async () => {
    const { page } = await openStory('hero', { width, height });
    for (const part of [
      'h1',
      '.numerals',
      '.segments',
      '.hero-picture',
      '.passers',
      '.hero-says',
      '.next',
    ]) {
      const {
        x,
        y,
        width: w,
        height: h,
      } = await (await page.$(`#scene-hero ${part}`)).boundingBox();
      assert.ok(
        y >= 40 && y + h <= height && x >= 0 && x + w <= width,
        `${part}: ${y} to ${y + h}`,
      );
    }
    // The next link stays in the window, and covers nothing.
    const [says, next] = await Promise.all(
      ['.hero-says', '.next'].map(async (one) =>
        (await page.$(`#scene-hero ${one}`)).boundingBox(),
      ),
    );
    assert.ok(next.y >= says.y + says.height, `${next.y} covers ${says.y + says.height}`);
    const size = await (await page.$('.marker')).boundingBox();
    assert.ok(size.width >= 24 && size.height >= 24);
    await page.close();
  });
}

test('hero: the day plays by itself for at most 5.5 seconds, and plays again on request', async () => {
  const { page } = await openStory('hero', { address: '', calm: false });
  const over = (wanted) =>
    page.waitForFunction(
      (done) => document.querySelector('#scene-hero .now').classList.contains('hidden') === done,
      { polling: 'raf' },
      wanted,
    );
  await over(false);
  await page.evaluate(() => (window.frameTimes.length = 0));
  const start = Date.now();
  await over(true);
  const time = Date.now() - start;
  // The end is seen a frame or two late, which is long on a busy machine.
  const longest = await page.evaluate(() => Math.max(...window.frameTimes));
  assert.ok(time < 5500 + 2 * longest, `${time} ms with frames of ${longest} ms`);
  await page.click('.again');
  await over(false);
  await over(true);
  await page.close();
});

test('hero: with reduced motion nothing moves by itself', async () => {
  const { page } = await openStory('hero');
  await page.evaluate(() => (window.frameTimes.length = 0));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(await page.evaluate(() => window.frameTimes.length), 0);
  await page.close();
});

test('hero: without scripts the picture, its numbers and the words are there', async () => {
  const page = await browser.newPage();
  await page.setJavaScriptEnabled(false);
  await page.goto(site.url);
  const numbers = [...(await page.content()).matchAll(/<data value="([\d.]+)">(±\d+)</g)];
  for (const [i, mechanism] of ['independent', 'optimal'].entries())
    near(+numbers[i][1], bandOf(mechanism), mechanism);
  assert.deepEqual(
    numbers.map(([, , text]) => text),
    ['±270', '±25'],
  );
  const plot = await (await page.$('.hero-picture .curves')).boundingBox();
  assert.ok(plot.width > 300 && plot.height > 180);
  const zero = plot.y + (880 / 950) * plot.height;
  for (const tick of await page.$$('.hero-picture .tick')) {
    const people = parseFloat(await tick.evaluate((one) => one.textContent));
    const { x, y, width, height } = await tick.boundingBox();
    // The curves begin at zero, beside its text.
    if (people === 0) assert.ok(x + width <= plot.x && Math.abs(y + height / 2 - zero) < 4);
    if (people === 0) continue;
    // The picture ranges from -70 to 880 people; the text stands on its line.
    const wanted = plot.y + ((880 - people) / 950) * plot.height;
    assert.ok(y + height > wanted - 6 && y + height < wanted + 2, `${people} stands at its height`);
  }
  const words = await page.$$('#scene-hero noscript p');
  assert.equal(words.length, 2);
  assert.ok((await words[0].boundingBox()).height > 0);
  assert.equal(await page.$('#player').then((one) => one.boundingBox()), null);
  await page.close();
});

test('what needs no result is shown before the library is there', async () => {
  for (const width of [1280, 390]) {
    const { page, said } = await openPage(browser, `${site.url}#scene=attacker`, {
      ...{ story: true, calm: true, width, height: 844 },
      before: () => {
        Worker.prototype.postMessage = () => {};
      },
    });
    await page.waitForSelector('#scene-attacker[data-state=ready]');
    const shown = (selector) => page.$eval(selector, (one) => one.checkVisibility());
    assert.equal(await textOf(page, '#scene-attacker strong.claim'), '54.7\u00a0%');
    assert.ok(await shown('#scene-attacker .game'));
    assert.equal(await shown('#scene-attacker .scene-foot'), true);
    assert.ok((await page.$eval('.bell.came', (one) => one.getAttribute('d'))).length > 1000);
    assert.ok(await page.$eval('.answers button', (one) => one.disabled), 'there is no round yet');
    await page.$eval('#scene-naive', (one) => one.scrollIntoView());
    await page.waitForSelector('#scene-naive[data-state=ready]');
    assert.equal(await textOf(page, '.per-person .band-word'), '±270');
    assert.match(await textOf(page, '#scene-naive .step'), /random walk/);
    assert.equal(await textOf(page, '#scene-naive .claim'), 'Computing…');
    await page.$eval('#scene-yours', (one) => one.scrollIntoView());
    await page.waitForSelector('#scene-yours[data-state=ready]');
    assert.match(await textOf(page, '#scene-yours tr:has(.of-tree) td:nth-of-type(2)'), /^±\d+$/);
    assert.equal(await textOf(page, '#scene-yours tr:has(.of-tree) td:last-child'), '…');
    assert.equal(await textOf(page, '#scene-yours .readout'), 'Computing ε…');
    assert.equal(await textOf(page, '#yours-lab'), 'Count in the laboratory');
    assert.ok(await shown('#yours-lab'));
    assert.deepEqual(said, []);
    await page.close();
  }
});

test('attacker: the chance is that of the best guess, the same for every mechanism', async () => {
  const { page, said } = await openStory('attacker');
  const muOf = (epsilon) => library.calibrate({ epsilon, delta: privacy.delta }).mu;
  for (const mechanism of mechanisms) {
    const options = { ...privacy, strategy: mechanism, steps: numSteps };
    const simulation = library.study.simulation({ ...options, dimension: 1 });
    assert.equal(simulation.certificate.mu, muOf(1), mechanism);
    simulation.dispose();
  }
  const slider = '#scene-attacker input[type=range]';
  const chance = () => numberOf(page, '#scene-attacker strong.claim data');
  await page.focus(slider);
  const seen = [];
  await page.keyboard.press('Home');
  for (;;) {
    const epsilon = await numberOf(page, '#scene-attacker .step > data');
    near(await chance(), probability(muOf(epsilon) / 2), `epsilon ${epsilon}`);
    const mu = await page.$eval('#scene-attacker', (one) =>
      Number(/bells are μ = ([\d.]+)/.exec(one.textContent)[1]),
    );
    near(mu, muOf(epsilon), `mu at epsilon ${epsilon}`, 0.01 * muOf(epsilon));
    assert.ok(
      (await spoken(page, slider)).startsWith(`epsilon ${epsilon}: the best guess is right`),
    );
    seen.push(epsilon);
    if (epsilon === 10) break;
    await page.keyboard.press('ArrowRight');
  }
  assert.ok([0.1, 1, 3, 10].every((epsilon) => seen.includes(epsilon)));
  assert.deepEqual(
    await page.$$eval('.listed button', (all) => all.map((one) => one.textContent)),
    ['ε = 0.1: 50.5\u00a0%', 'ε = 1: 54.7\u00a0%', 'ε = 3: 62.7\u00a0%', 'ε = 10: 82.2\u00a0%'],
  );
  await page.click('.listed button');
  near(await chance(), probability(muOf(0.1) / 2), 'a button');
  assert.deepEqual(said, []);
  await page.close();
});

test('attacker: guesses are counted correctly, and the best guess is right as often as stated', async () => {
  const { page } = await openStory('attacker');
  await page.focus('#scene-attacker input[type=range]');
  await page.keyboard.press('End');
  let right = 0;
  for (let round = 1; round <= 12; ++round) {
    await page.focus(`.answers button:nth-child(${1 + (round % 2)})`);
    await page.keyboard.press('Enter');
    await page.waitForFunction(
      (n) => document.querySelector('.yours').textContent.includes(` of ${n} right`),
      {},
      round,
    );
    if ((await textOf(page, '#scene-attacker .verdict')).startsWith('Right')) right += 1;
    assert.equal(await numberOf(page, '.yours data'), right);
  }
  await page.click('.many');
  await page.waitForFunction(() =>
    document.querySelector('.machine').textContent.includes(' of 1,000 right'),
  );
  // No bar reaches the word above the threshold, even at the height of the tallest.
  const [bars, word] = await page.$eval('#scene-attacker .plane', (plane) => [
    Math.min(...[...plane.querySelectorAll('.pile')].map((one) => one.getBoundingClientRect().top)),
    plane.querySelector('.word.threshold').getBoundingClientRect().bottom,
  ]);
  assert.ok(word <= bars + 4, `the word ends at ${word}, bars begin at ${bars}`);
  // 822 are expected with a standard deviation of 12.1; a deviation of seven of these happens by
  // chance once in 10^11.
  const machine = await numberOf(page, '.machine data');
  assert.ok(Math.abs(machine - 822) < 85, `${machine} of 1000`);
  await page.close();
});

test('naive: the funnel follows the horizon, with the numbers of the library', async () => {
  const { page, said } = await openStory('naive');
  const slider = '#scene-naive input[type=range]';
  const { noiseMultiplier } = library.calibrate(privacy);
  const shows = async (steps, times) => {
    await page.waitForFunction(
      (text) => document.querySelector('.naive-error').value === text,
      {},
      String(library.error({ strategy: 'independent', steps }).maxError),
    );
    assert.equal(await textOf(page, '.naive-error'), times);
    const output = library.error({ strategy: 'output', steps }).maxError;
    near(await numberOf(page, '.naive-band'), 2 * noiseMultiplier * output, `${steps} steps`);
  };
  await shows(1024, '32');
  assert.equal(await textOf(page, '.naive-band'), '±270');
  await page.focus(slider);
  await page.keyboard.press('ArrowRight');
  assert.equal(await spoken(page, slider), '2,048 people');
  await shows(2048, '45.3');
  await page.keyboard.press('End');
  assert.equal(await spoken(page, slider), '4,096 people');
  await shows(4096, '64');
  const runs = (way) =>
    page.$$eval(`.per-${way} .ghost`, (all) => all.map((one) => one.getAttribute('d')));
  const before = await runs('person');
  assert.equal(before.length, 30);
  // After a mark at zero, runs have a point for each person, but at most 256.
  assert.deepEqual(new Set(before.map((d) => d.split('L').length)), new Set([257]));
  // Both ways end in the band that is stated; the second has all its noise from the beginning.
  const word = (way) => textOf(page, `.per-${way} .band-word`);
  const [band] = [await textOf(page, '.naive-band')];
  assert.deepEqual([await word('person'), await word('total')], [band, band]);
  const heights = (await runs('total')).map((d) =>
    [...d.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y)),
  );
  for (const ys of heights) {
    const middle = ys.reduce((sum, y) => sum + y, 0) / ys.length;
    const spread = (part) => Math.hypot(...part.map((y) => y - middle)) / Math.sqrt(part.length);
    // The ratio of two such spreads is outside this range with probability 10^-9.
    const ratio = spread(ys.slice(0, 128)) / spread(ys.slice(128));
    assert.ok(ratio > 0.58 && ratio < 1.72, `spread ${ratio}`);
  }
  await page.focus('#scene-naive button');
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    (old) => document.querySelector('.ghost').getAttribute('d') !== old,
    {},
    before[0],
  );
  await page.focus(slider);
  await page.keyboard.press('Home');
  await shows(16, '4');
  assert.deepEqual(new Set((await runs('person')).map((d) => d.split('L').length)), new Set([17]));
  assert.deepEqual(new Set((await runs('total')).map((d) => d.split('L').length)), new Set([16]));
  await page.keyboard.press('End');
  await shows(4096, '64');
  // A run stays inside with probability 95.45 %, so 20 or fewer of 30 happen once in 10^6.
  const inside = Number((await textOf(page, '.inside')).split(' ')[0]);
  assert.ok(inside > 20 && inside <= 30, `${inside} inside`);
  assert.deepEqual(said, []);
  await page.close();
});

/** Checks that each echo is the part of the previous step's noise that is taken back. */
async function checkEchoes(page, lambda) {
  const heights = (kind) =>
    page.$$eval(`#scene-take_back rect.${kind}`, (all) =>
      all.map((one) => Number(one.getAttribute('height'))),
    );
  const [fresh, echoes] = [await heights('fresh'), await heights('echo')];
  assert.equal(echoes[0], 0);
  for (let i = 1; i < fresh.length; ++i) near(echoes[i], lambda * fresh[i - 1], `echo ${i}`);
}

/** Checks that blocks are cut at the edges of the picture only, and every cut has an arrow. */
async function checkCuts(page, edges) {
  const { arrows, ends } = await page.$eval('#scene-take_back .pile-plane', (plane) => ({
    arrows: plane.querySelector('.beyond').getAttribute('d'),
    ends: [...plane.querySelectorAll('rect.fresh, rect.echo')].flatMap((one) => {
      const y = Number(one.getAttribute('y'));
      return [y, y + Number(one.getAttribute('height'))];
    }),
  }));
  const drawn = [...arrows.matchAll(/M[\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y));
  edges ??= [Math.min(...drawn), Math.max(...drawn)];
  assert.ok(ends.every((y) => y > edges[0] - 1e-6 && y < edges[1] + 1e-6));
  const atEdge = (ys) => edges.map((edge) => ys.some((y) => Math.abs(y - edge) < 1e-6));
  assert.deepEqual(atEdge(drawn), atEdge(ends));
  return edges;
}

/** Checks that the band around the totals ends as wide as the library says, to a pixel. */
async function checkTotals(page, lambda) {
  const { d, height } = await page.$eval('.totals-band', (one) => ({
    d: one.getAttribute('d'),
    height: one.ownerSVGElement.viewBox.baseVal.height,
  }));
  const ys = d.match(/[ML][\d.]+ [\d.]+/g).map((point) => Number(point.split(' ')[1]));
  const shown = ys[numSteps] - ys[numSteps - 1];
  const errors = library.error({
    strategy: { name: 'lambda-cgd', lambda },
    steps: numSteps,
    perStep: true,
  }).perStep;
  const band = 2 * library.calibrate(privacy).noiseMultiplier * errors[numSteps - 1];
  const wanted = ((2 * band) / 600) * (height - 66); // the axis goes from -300 to 300
  assert.ok(Math.abs(shown - wanted) < 1, `lambda ${lambda}: ${shown} px, expected ${wanted}`);
}

test('take back: the truth is shown after the guess, and is that of the library', async () => {
  const { page, said } = await openStory('take_back');
  const slider = '#scene-take_back input[type=range]';
  const lambda = () => numberOf(page, '.take-lambda');
  const curveShown = () =>
    page.$eval('.u-curve', (one) => getComputedStyle(one).visibility === 'visible');
  assert.equal(await curveShown(), false);
  assert.equal(await page.$('.take-error'), null);
  await page.focus(slider);
  await page.keyboard.press('Home');
  assert.equal(await lambda(), 0);
  assert.match(
    await spoken(page, slider),
    /^0\u00a0% taken back, fresh noise 1\.00 times as large$/,
  );
  const flat = await page.$$eval('rect.echo', (all) =>
    all.map((one) => one.getAttribute('height')),
  );
  assert.ok(
    flat.every((height) => Number(height) === 0),
    'no echo without lambda',
  );
  await page.focus('.ask');
  await page.keyboard.press('Enter');
  assert.equal(await curveShown(), true);
  const truth = errorOf('lambda-cgd', { lambda: 0.97 }).maxError.toFixed(2);
  assert.match(
    await textOf(page, '#scene-take_back .verdict'),
    new RegExp(`λ = 0\\.97, gives ${truth}`),
  );
  await page.focus(slider);
  const seen = new Map();
  for (;;) {
    const now = await lambda();
    const { maxError, sensitivity } = errorOf('lambda-cgd', { lambda: now });
    near(await numberOf(page, '.take-error'), maxError, `lambda ${now}`);
    near(await numberOf(page, '.take-size'), sensitivity, `lambda ${now}`);
    seen.set(now, await textOf(page, '.take-error'));
    if (now <= 0.9) await checkEchoes(page, now); // Larger blocks are cut off.
    await checkTotals(page, now);
    if (now === 0.999) break;
    await page.keyboard.press('ArrowRight');
  }
  const edges = await checkCuts(page);
  await page.keyboard.press('Home');
  await checkCuts(page, edges);
  await page.keyboard.press('End');
  assert.deepEqual(
    [0, 0.5, 0.97, 0.999].map((one) => seen.get(one)),
    ['32', '18.5', '5.70', '20.9'],
  );
  assert.equal(
    (await textOf(page, '.take-numbers')).replaceAll('\u00a0', ' '),
    'Noise on the noisiest count: 32 at λ = 0, 18.5 at λ = 0.5, 5.70 at λ = 0.97, 20.9 at λ = 0.999.',
  );
  assert.deepEqual(said, []);
  await page.close();
});

test('take back: on a phone the slider and the picture of the step that is read are in sight', async () => {
  const { page } = await openStory('take_back', { width: 390, height: 844 });
  const inSight = (selector) =>
    page.$eval(`#scene-take_back ${selector}`, (one) => {
      const { top, bottom } = one.getBoundingClientRect();
      const isShown = one.checkVisibility({ visibilityProperty: true });
      return isShown && top >= 40 && bottom <= innerHeight;
    });
  const read = (text) =>
    page.$$eval(
      '#scene-take_back .step',
      (all, part) => {
        const step = all.find((one) => one.textContent.includes(part));
        scrollBy(0, step.getBoundingClientRect().top - 0.66 * innerHeight);
      },
      text,
    );
  for (const [text, picture] of [
    ['drops a block', 'pile'],
    ['Move the slider', 'u'],
    ['The catch', 'totals'],
    ['Move the slider', 'u'],
  ]) {
    await read(text);
    await page.waitForFunction(
      (name) => document.querySelector('#scene-take_back [data-read]').dataset.read === name,
      {},
      picture === 'u' ? 'errors' : picture,
    );
    for (const other of ['pile', 'totals', 'u'])
      assert.equal(await inSight(`.${other}-plane`), other === picture, `${text}: ${other}`);
    assert.ok(await inSight('.slider'), text);
  }
  await page.click('.ask');
  assert.ok(await inSight('.u-curve'));
  await page.close();
});

/** Scrolls through the whole story so that every scene is mounted. */
async function mountAll(page) {
  for (const id of await page.$$eval('.scene', (all) => all.map((one) => one.id))) {
    await page.$eval(`#${id}`, (one) => one.scrollIntoView());
    await page.waitForSelector(`#${id}[data-state=ready]`);
  }
}

for (const [scheme, width] of some(
  [
    ['light', 1440],
    ['dark', 1280],
    ['light', 768],
    ['light', 390],
    ['dark', 390],
    ['dark', 1440],
    ['dark', 768],
    ['light', 1280],
    ['dark', 320],
  ],
  4,
)) {
  test(`all scenes: axe finds no problems, the page fits, and targets are large: ${scheme}, ${width} px`, async () => {
    const { page, said } = await openStory('hero', { scheme, width });
    await mountAll(page);
    assert.deepEqual(await complaints(page), []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `the page is ${wide} px wide`);
    const targets = ':is(button, select, input, [role=slider], .margin-note a, .papers a)';
    const small = await page.$$eval(`#story ${targets}`, (all) =>
      all
        .filter((one) => one.checkVisibility())
        .filter((one) => {
          const box = one.getBoundingClientRect();
          return box.width < 24 || box.height < 24;
        })
        .map((one) => one.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(small, []);
    const unnamed = await page.$$eval('#story :is(input[type=range], [role=slider])', (all) =>
      all.filter((one) => !one.getAttribute('aria-valuetext')).map((one) => one.outerHTML),
    );
    assert.deepEqual(unnamed, []);
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: `${screenshots}story-${width}-${scheme}.png`, fullPage: true });
    assert.deepEqual(said, []);
    assert.deepEqual(await page.evaluate(() => window.violations), []);
    await page.close();
  });
}

test('loading moves nothing: layout shift at most 0.02', async () => {
  for (const [width, height] of [
    [1440, 1200],
    [390, 844],
  ]) {
    const { page } = await openStory('hero', {
      address: '',
      calm: false,
      width,
      height,
      before: () => {
        window.shift = 0;
        new PerformanceObserver((list) => {
          for (const { value } of list.getEntries()) window.shift += value;
        }).observe({ type: 'layout-shift', buffered: true });
      },
    });
    const hasSerif = () => [...document.fonts].some((font) => font.weight === '400 700');
    await becomes(page, hasSerif);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const shift = await page.evaluate(() => window.shift);
    assert.ok(shift <= 0.02, `${shift} at ${width} px`);
    await page.close();
  }
});

for (const [width, height] of some(
  [
    [1280, 720],
    [390, 844],
  ],
  2,
)) {
  test(`scrolling to the end moves nothing else: layout shift at most 0.02 at ${width} px`, async () => {
    const { page } = await openStory('hero', {
      ...{ address: '', calm: false, width, height },
      before: () => {
        window.shifts = {};
        new PerformanceObserver((list) => {
          for (const { value, sources } of list.getEntries()) {
            const { node } = sources[0] ?? {};
            const id = (node?.closest ? node : node?.parentElement)?.closest('.scene')?.id ?? '';
            window.shifts[id] = (window.shifts[id] ?? 0) + value;
          }
        }).observe({ type: 'layout-shift', buffered: true });
      },
    });
    await page.evaluate(async () => {
      const left = () => document.documentElement.scrollHeight - innerHeight - scrollY;
      while (left() > 1) {
        scrollBy(0, 90);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    await becomes(page, () => document.querySelector('.scene:not([data-state=ready])') === null);
    await sleep(500);
    const shifts = await page.evaluate(() => window.shifts);
    const total = Object.values(shifts).reduce((sum, value) => sum + value, 0);
    assert.ok(total <= 0.02, JSON.stringify(shifts));
    await page.close();
  });
}

test('before any interaction the story transfers at most 60 KB, and starts no library', async () => {
  const { page, asked } = await openStory('hero', { address: '', width: 1280, height: 720 });
  const bytes = await transferred(asked, site);
  console.log(`story: ${bytes} bytes`);
  assert.ok(bytes > 10_000 && bytes < 60 * 1024, `${bytes} bytes`);
  const worker = () => page.workers().filter((one) => one.url().includes('worker'));
  assert.equal(worker().length, 0);
  await page.click('.hero-you .away');
  await page.focus('.segments :checked');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await textOf(page, '.numeral.best data'), bands[2]);
  assert.equal(worker().length, 0, 'the first picture moves without it');
  await page.mouse.wheel({ deltaY: 400 });
  await page.waitForSelector('#scene-attacker [data-work=done]');
  assert.equal(worker().length, 1);
  await page.close();
});

test('Firefox: every scene is mounted, and every handle follows the keyboard', {
  skip: withoutFirefox,
  ...onlyInAll,
}, async () => {
  const other = await launchFirefox();
  try {
    const page = await other.newPage();
    const said = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(site.url);
    const ready = (id) => document.getElementById(id)?.dataset.state === 'ready';
    await becomes(page, ready, 'scene-hero', 'hero');
    const ids = await page.evaluate(() =>
      [...document.querySelectorAll('.scene')].map((one) => one.id),
    );
    for (const id of ids) {
      await page.evaluate((one) => document.getElementById(one).scrollIntoView(), id);
      await becomes(page, ready, id, id);
      if (['attacker', 'naive', 'yours'].includes(`${id}`.replace('scene-', '')))
        await becomes(
          page,
          (one) => document.querySelector(`#${one} [data-work=done]`) !== null,
          id,
        );
      for (const slider of await page.$$(`#${id} :is(input[type=range], [role=slider])`)) {
        if (!(await slider.evaluate((one) => one.checkVisibility()))) continue;
        await slider.evaluate((one) => one.focus());
        const heard = new Set();
        // The rounds of a crowd can be stepped through while they are computed.
        for (let tries = 0; tries < 60 && heard.size < 2; ++tries) {
          if (tries > 0) await sleep(250);
          for (const key of ['Home', 'End']) {
            await page.keyboard.press(key);
            heard.add(await slider.evaluate((one) => one.getAttribute('aria-valuetext')));
          }
        }
        assert.ok(heard.size >= 2, `${id}: ${[...heard]}`); // A round may end between the two keys.
      }
    }
    const shown = (selector) => page.$eval(selector, (one) => one.textContent);
    assert.equal(await shown('.numeral.best data'), '±25');
    assert.equal(await shown('#scene-attacker strong.claim'), '82.2\u00a0%');
    await becomes(
      page,
      (text) => document.querySelector('.naive-error').textContent === text,
      '128',
      '16,384 people',
    );
    await page.click('.ask');
    assert.equal(await shown('.take-error'), '20.9');
    const numbers = async (scene, name) =>
      Number(await page.$eval(`#scene-${scene} data.${name}`, (one) => one.value));
    for (const mechanism of ['independent', 'tree', 'honaker']) {
      near(await numbers('tree', mechanism), errorOf(mechanism).maxError, mechanism);
    }
    const spokenStep = await page.$eval('#scene-tree [role=slider]', (one) => one.ariaValueText);
    const [last, fresh] = ['tree', 'independent'].map((mechanism) =>
      library
        .error({ strategy: mechanism, steps: numSteps, perStep: true })
        .perStep.at(-1)
        .toFixed(2),
    );
    assert.equal(spokenStep, `step 1,024: one block, noise ${last} against ${fresh}`);
    near(await numbers('floor', 'square-root'), errorOf('square-root').maxError, 'square root');
    const { maxError } = errorOf('optimal', { buffers: 1 });
    near(await numbers('floor', 'optimal'), maxError, 'optimal with one buffer');
    near(await numbers('yours', 'independent.noise'), 1000, 'a million steps');
    assert.deepEqual(said, []);
  } finally {
    await other.close();
  }
});
