// SPDX-License-Identifier: Apache-2.0

import 'uplot/dist/uPlot.min.css';
import './style.css';
import { App } from './page/app.ts';
import { byId, setText } from './page/dom.ts';
import { serveAsWorker, startEngine } from './page/engine.ts';

async function start(): Promise<void> {
  try {
    const engine = await startEngine();
    new App(engine, await engine.mechanisms()).open();
  } catch (error) {
    const loading = byId('sums');
    loading.setAttribute('role', 'alert');
    setText(loading, `The page could not start: ${error instanceof Error ? error.message : error}`);
  }
}

// The build that is one file runs this very script in its worker as well.
if (typeof document === 'undefined') void serveAsWorker();
else void start();
