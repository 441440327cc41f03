// SPDX-License-Identifier: Apache-2.0

// All that docs/sources.md, the map from the founding documents to this project, names exists. Its
// links are checked with those of all other pages, in links.test.mjs.

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pages, read } from '../../scripts/check-links.mjs';
import { close, golden } from './support/check.mjs';
import { dpFtrl, importEntry, root } from './support/consumer.mjs';
import { importSource } from './support/sources.mjs';

const { sources } = await importSource('../../web/src/story/sources.ts');

const text = read('docs/sources.md').replace(/\s+/g, ' ');
const spans = Array.from(text.matchAll(/`([^`]+)`/g), ([, span]) => span);

/** Distinct first groups of a pattern in code spans. */
const named = (pattern) => [
  ...new Set(spans.flatMap((span) => Array.from(span.matchAll(pattern), ([, name]) => name))),
];

/** Value of a path of members; undefined if one is missing. */
const member = (object, path) => path.split('.').reduce((value, key) => value?.[key], object);

test('sources: the links are checked with those of the other pages', () => {
  assert.ok(pages.includes('docs/sources.md'));
});

test('sources: every command runs, and every command that is only named exists', async () => {
  const commands = named(/^(dp-ftrl \w+.*)$/g);
  const whole = commands.filter((command) => command.includes(' --'));
  assert.ok(whole.length > 10, `${whole.length}`);
  for (const command of whole) {
    const { code, stdout, stderr } = await dpFtrl(command.split(' ').slice(1));
    assert.equal(code, 0, `${command}\n${stderr}`);
    assert.notEqual(stdout, '', command);
  }
  const { stdout: help } = await dpFtrl(['--help']);
  for (const command of commands) {
    assert.match(help, new RegExp(`^ {2}${command.split(' ', 2).join(' ')} `, 'm'));
  }
});

test('sources: every function of the package exists', async () => {
  const { load } = await importEntry('dp-ftrl');
  const dp = await load();
  const functions = named(/\bdp\.([a-z][\w.]*)/gi);
  assert.ok(functions.length > 10, `${functions.length}`);
  const missing = functions.filter((path) => typeof member(dp, path) !== 'function');
  assert.deepEqual(missing, []);
  const reported = named(/^dp\.error\(\{ (\w+): true \}\)$/g);
  assert.ok(reported.length > 1, `${reported.length}`);
  for (const name of reported) {
    assert.ok(dp.error({ strategy: 'tree', steps: 4, [name]: true })[name], name);
  }
  assert.equal(member(dp, 'queries.linea'), undefined);
  assert.equal(member(dp, 'query.linear'), undefined);
});

test('sources: every scene and every figure is on the page', () => {
  const story = read('web/src/story/story.ts');
  const ids = Array.from(story.matchAll(/^ {4}id: '(\w+)',$/gm), ([, id]) => id);
  const scenes = named(/#scene=(\w+)/g);
  assert.ok(scenes.length > 5, `${scenes.length}`);
  assert.deepEqual(
    scenes.filter((scene) => !ids.includes(scene)),
    [],
  );
  const figures = new Set(Array.from(text.matchAll(/\bFigure (\d)/g), ([, number]) => number));
  assert.ok(figures.size > 3, `${figures.size}`);
  const page = read('web/index.html');
  for (const number of figures) {
    assert.ok(page.includes(`>Figure ${number}</span>`), number);
  }
  const labels = Array.from(text.matchAll(/"([^"]+)" at Figure \d/g), ([, label]) => label);
  assert.ok(labels.length > 1, `${labels.length}`);
  for (const label of labels) assert.match(page, new RegExp(`>\\s*${label}<`));
});

test('sources: every experiment and every folder that is named exists', () => {
  const experiments = named(/^npm run experiment ([\w-]+)$/g);
  assert.ok(experiments.length > 4, `${experiments.length}`);
  const all = readdirSync(join(root, 'bench/experiments'));
  assert.deepEqual(
    experiments.filter((name) => !all.includes(`${name}.ts`)),
    [],
  );
  const paths = named(/^((?:bench|examples)\/[\w./]+)$/g);
  assert.ok(paths.length > 1, `${paths.length}`);
  for (const path of paths) assert.ok(existsSync(join(root, path)), path);
});

test('sources: the noise of the lecture has the epsilons that are stated', async () => {
  const dp = await (await importEntry('dp-ftrl')).load();
  const { num_steps: steps, epsilon, delta, sensitivity, claims, needed } = golden('lecture');
  const tree = dp.error({ strategy: 'tree', steps });
  close(tree.sensitivity, sensitivity, 1e-12);
  close(tree.sensitivity * 2 * dp.calibrate({ epsilon, delta }).noiseMultiplier, needed, 1e-9);
  for (const { sigma, zero_out: zeroOut, replacement } of claims) {
    for (const [distance, wanted] of [
      [1, zeroOut],
      [2, replacement],
    ]) {
      const mu = (distance * tree.sensitivity) / sigma;
      close(dp.calibrate({ mu, delta }).epsilon, wanted, 1e-9);
    }
    assert.ok(zeroOut < epsilon && replacement > epsilon);
  }
  const [natural, binary] = claims;
  const [n, b] = [natural, binary].map(({ sigma, zero_out: zero, replacement: other }) => ({
    sigma: sigma.toFixed(1),
    zeroOut: zero.toFixed(2),
    replacement: other.toFixed(2),
  }));
  for (const sentence of [
    `epsilon is ${n.zeroOut} (natural logarithm of T) or ${b.zeroOut} (binary).`,
    `Under replacement epsilon is ${n.replacement} or ${b.replacement}, and sigma = ${needed.toFixed(1)} is needed in place of ${n.sigma} or ${b.sigma}.`,
    `as mu = 2 sqrt(11) / ${natural.sigma.toFixed(2)}`,
    `calibrate --mu ${((2 * sensitivity) / natural.sigma).toFixed(4)} --delta 1e-6`,
  ])
    assert.ok(text.includes(sentence), sentence);
});

test('sources: mu is the sensitivity over the noise, so it falls as the noise of the tree grows', async () => {
  const dp = await (await importEntry('dp-ftrl')).load();
  const [less, more] = [1, 0.5].map((epsilon) => {
    const options = { strategy: 'tree', steps: 1024, epsilon, delta: 1e-6 };
    const { mu, sensitivity, noiseStddev } = dp.certificate(options);
    close(mu, sensitivity / noiseStddev, 1e-6);
    return { mu, noiseStddev };
  });
  assert.ok(more.noiseStddev > less.noiseStddev && more.mu < less.mu);
});

test('sources: the mean norm of the noise of the tree exceeds the claim for beta = 0.9', async () => {
  const dp = await (await importEntry('dp-ftrl')).load();
  const [steps, dimension, numStreams, beta] = [256, 3, 2000, 0.9];
  const claimed = Math.sqrt(dimension * Math.log2(steps) * Math.log(1 / beta));
  const noise = dp.study.noise({
    strategy: 'tree',
    steps,
    dimension: dimension * numStreams,
    seed: 1,
  });
  const rows = noise.next(steps);
  noise.dispose();
  const means = Array.from({ length: numStreams }, (_, stream) => {
    let sum = 0;
    for (let step = 0; step < steps; ++step) {
      const from = dimension * (step * numStreams + stream);
      sum += Math.hypot(...rows.subarray(from, from + dimension));
    }
    return sum / steps;
  });
  const least = Math.min(...means);
  assert.ok(least > claimed);
  for (const sentence of [
    `At beta = ${beta}, T = ${steps}, d = ${dimension}, sigma = 1 that is ${claimed.toFixed(2)} (binary logarithm)`,
    `in each of ${numStreams} simulated streams (the smallest was ${least.toFixed(2)});`,
  ])
    assert.ok(text.includes(sentence), sentence);
});

test('sources: the bound of the notes by way of the textbook noise has the stated value', async () => {
  const dp = await (await importEntry('dp-ftrl')).load();
  const [values, n, epsilon, delta] = [16, 500, 1, 1e-6];
  const made = dp.queries.linear({ workload: { prefix: values }, epsilon, delta }).result();
  const { noiseMultiplier } = dp.calibrate({ epsilon, delta }).classical;
  const { queries, encoder, decoder } = made.matrices();
  const { numMeasurements, numQueries, unitError } = made;
  made.dispose();
  assert.equal(queries.length, numQueries * values);
  const column = (j) =>
    Math.hypot(...Array.from({ length: numMeasurements }, (_, i) => encoder[i * values + j]));
  const longest = Math.max(...Array.from({ length: values }, (_, j) => column(j)));
  const size = Math.hypot(...decoder);
  const published =
    (8 * Math.log(1.25 / delta) * longest ** 2 * size ** 2) / (numQueries * (n * epsilon) ** 2);
  const stated = ((2 * unitError * noiseMultiplier) / n) ** 2;
  close(stated, published, 1e-6);
  const shown = stated.toExponential(4);
  const sentence = `(2 \`unitError\` x \`classical\` of \`calibrate\` / n)^2, with \`unitError\` of zero-out: ${shown} for \`prefix\` of ${values} values, n = ${n}, epsilon ${epsilon}, delta ${delta}`;
  assert.ok(text.includes(sentence.replace('0.000001', '1e-6')), sentence);
});

test('sources: the citation and the page name all five documents', () => {
  const titles = Array.from(
    text.matchAll(/\| \[\w+\]\(#\w+\) \| [^|*]*\*([^*]+)\*/g),
    ([, it]) => it,
  );
  assert.equal(titles.length, 5);
  const cited = Array.from(read('CITATION.cff').matchAll(/^ +title: '(.*)'$/gm), ([, it]) => it);
  const listed = Object.values(sources).map(({ title }) => title);
  for (const [where, names] of Object.entries({ 'CITATION.cff': cited, 'sources.ts': listed })) {
    const spelt = names.map((name) => name.toLowerCase());
    const missing = titles.filter((title) => !spelt.includes(title.toLowerCase()));
    assert.deepEqual(missing, [], where);
  }
});

test('sources: the links of the laboratory that are named are on the page', () => {
  const page = read('web/index.html');
  const links = Array.from(text.matchAll(/"([^"]+)" in the laboratory/g), ([, link]) => link);
  assert.ok(links.length > 0);
  for (const link of links) assert.ok(page.includes(`>${link}</a>`), link);
});
