#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Chooses clip and rate of the page's handwriting learners for each batch size, on digits drawn by
// a program (stand_in.mjs), never on digits of people. docs/handwriting.md
//
//     node bench/handwriting/choose.mjs [--batch B] [--noise NAME] [--clip C] [--rate R]
//     node bench/handwriting/choose.mjs --crowd --epsilon 2
import { parseArgs } from 'node:util';
import { drawDigit, pageParts } from './stand_in.mjs';

const { values: flags } = parseArgs({
  options: {
    epsilon: { type: 'string', default: '1' },
    batch: { type: 'string', multiple: true, default: ['700', '280', '70', '28'] },
    noise: { type: 'string', multiple: true, default: ['optimal', 'independent', 'none'] },
    clip: { type: 'string', multiple: true, default: ['1', '0.3', '0.1'] },
    rate: { type: 'string', multiple: true, default: ['1', '3', '10', '30', '100'] },
    seeds: { type: 'string', default: '2' },
    crowd: { type: 'boolean', default: false },
  },
});

const { load } = await import('../../dist/index.js');
const dp = await load();
const { examplesOf, generator, imageOf, reduce, runCrowd, train } = await pageParts();

/** Examples of synthetic digits, drawn by the program. */
function standIn(seed, numImages) {
  const random = generator(seed);
  const labels = Array.from({ length: numImages }, () => Math.floor(10 * random()));
  const images = labels.map((label) => {
    const { strokes, pen } = drawDigit(label, random);
    return reduce(imageOf(strokes, pen));
  });
  return examplesOf(images, labels);
}

const digits = { training: standIn(11, 7000), heldOut: standIn(12, 1500) };
const epsilon = Number(flags.epsilon);

/** Tries every clip and rate, and prints the most accurate pair. */
async function choose(name, numSeeds, readRight) {
  let best = { accuracy: 0 };
  for (const clip of flags.clip) {
    for (const rate of flags.rate) {
      // Rate in clip norms, because a clip norm below that of every gradient only scales their sum.
      const manner = { clip: Number(clip), lambda: Number(clip) / Number(rate) };
      let sum = 0;
      for (let seed = 1; seed <= numSeeds; ++seed) sum += await readRight(manner, seed);
      const accuracy = sum / numSeeds;
      if (accuracy > best.accuracy) best = { accuracy, clip, rate };
      console.log(`  ${name}, clip ${clip}, rate ${rate}: ${accuracy.toFixed(3)}`);
    }
  }
  const { accuracy, clip, rate } = best;
  console.log(`${name}: clip ${clip} and rate ${rate} read ${accuracy.toFixed(3)}`);
}

console.log(`images of the stand-in read right, epsilon ${epsilon}, mean of ${flags.seeds} seeds`);
if (flags.crowd) {
  await choose('crowd', Number(flags.seeds), async (manner, seed) => {
    const { rounds } = await runCrowd(dp, digits, { manner, epsilon, seed });
    return rounds.at(-1).accuracy;
  });
} else {
  for (const batch of flags.batch) {
    for (const noise of flags.noise) {
      const numSeeds = noise === 'none' ? 1 : Number(flags.seeds);
      await choose(`batch ${batch}, ${noise}`, numSeeds, async (given, seed) => {
        const manner = { ...given, batchSize: Number(batch) };
        const { looks } = await train(dp, digits, { noise, manner, epsilon, seed });
        return looks.at(-1).accuracy;
      });
    }
  }
}
