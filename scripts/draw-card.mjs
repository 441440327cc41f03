// SPDX-License-Identifier: Apache-2.0

// Draws web/icons/card.png, the picture that a link to the page shows elsewhere: the first screen of
// the built page, in Chromium.
//
//     node scripts/draw-card.mjs

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { chromium, contentTypes, withServer } from '../tests/js/support/browser.mjs';

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
/** The size that sites ask for. */
const size = { width: 1200, height: 630 };

async function serve({ url }, response) {
  const { pathname } = new URL(url, 'http://localhost');
  try {
    const content = await readFile(path(`web/dist${pathname === '/' ? '/index.html' : pathname}`));
    const type = contentTypes[/\.\w+$/.exec(pathname)?.[0] ?? '.html'] ?? 'text/css';
    response.writeHead(200, { 'content-type': type }).end(content);
  } catch {
    response.writeHead(404).end();
  }
}

await withServer(serve, async (url) => {
  const browser = await puppeteer.launch(chromium);
  const page = await browser.newPage();
  await page.setBypassCSP(true);
  await page.setViewport(size);
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: 'light' },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ]);
  await page.goto(`${url}?embed=hero`);
  await page.waitForSelector('#scene-hero[data-state=ready]');
  const content = `
    #scene-hero :is(.scene-foot, .again), #scene-hero ~ * { display: none; }
    #scene-hero { padding-top: 26px; }
    #scene-hero .hero-picture { height: 290px; }
    .onwards { display: none !important; }
  `;
  await page.addStyleTag({ content });
  await page.screenshot({ path: path('web/icons/card.png') });
  await browser.close();
});
