// SPDX-License-Identifier: Apache-2.0

// The components of examples/ in Chromium, with the frameworks they are for.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { root } from '../js/support/consumer.mjs';
import { browsers, outcomeOf, page, prepare, project, serving, workshop } from './support.mjs';

const chromium = browsers.find(({ name }) => name === 'Chromium');
let browser;
before(async () => {
  prepare();
  browser = await chromium.launch();
});
after(() => browser.close());

/** Ways to put the component on the page. */
const mounts = {
  react: `
    import { createRoot } from 'react-dom/client';
    import { createElement } from 'react';
    import { Visits } from ${JSON.stringify(join(root, 'examples/react/Visits.jsx'))};
    export const mount = (place, visits) =>
      createRoot(place).render(createElement(Visits, { visits }));`,
  vue: `
    import { createApp } from 'vue';
    import { Visits } from ${JSON.stringify(join(root, 'examples/vue/visits.js'))};
    export const mount = (place, visits) => createApp(Visits, { visits }).mount(place);`,
};

/** Presses the buttons as a reader would, and returns what is shown after each hour. */
const program = `
  import { load } from 'dp-ftrl';
  import { mount } from './mount.js';
  const dp = await load();
  const options = { strategy: 'tree', steps: 8, epsilon: 1, delta: 1e-6, insecureSeed: 7 };
  const place = document.body.appendChild(document.createElement('div'));
  mount(place, dp.counter(options));
  const settled = () => new Promise((resolve) => setTimeout(resolve, 50));
  while (!place.querySelector('button')) await settled();
  const [visit, endHour] = place.querySelectorAll('button');
  const shown = [place.querySelector('output').textContent];
  for (const visits of [3, 0]) {
    for (let i = 0; i < visits; i++) visit.click();
    const before = place.querySelector('output').textContent;
    endHour.click();
    while (place.querySelector('output').textContent === before) await settled();
    shown.push(place.querySelector('output').textContent);
  }
  const visits = dp.counter(options);
  visits.addMany([1, 1, 1]);
  globalThis.outcome = { shown, expected: visits.endMany(2).map(({ value }) => value.toFixed(1)) };`;

for (const [name, mount] of Object.entries(mounts)) {
  test(`examples/${name}: the component counts visits and shows private totals`, async () => {
    const folder = project(name);
    writeFileSync(join(folder, 'mount.js'), mount);
    const { outputFiles } = await build({
      stdin: { contents: program, resolveDir: folder },
      bundle: true,
      format: 'esm',
      write: false,
      jsx: 'automatic',
      nodePaths: [join(workshop, 'node_modules')],
      define: {
        'process.env.NODE_ENV': '"production"',
        __VUE_OPTIONS_API__: 'false',
        __VUE_PROD_DEVTOOLS__: 'false',
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
      },
    });
    writeFileSync(join(folder, 'out.js'), outputFiles[0].contents);
    page(folder, '<body><script type="module" src="./out.js"></script>');
    await serving(folder, async (address) => {
      const { outcome, said } = await outcomeOf(browser, address);
      assert.deepEqual(said, []);
      assert.deepEqual(outcome.shown, ['no hour is over', ...outcome.expected]);
    });
  });
}
