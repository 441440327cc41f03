// SPDX-License-Identifier: Apache-2.0

// Entry for bundlers that ignore other files, so that the page must say where they are.

import { load } from 'dp-ftrl';
import { load as loadCounter } from 'dp-ftrl/counter';
import { load as loadExternal } from 'dp-ftrl/external';
import { connect } from 'dp-ftrl/worker-client';
import { use } from './use.js';

globalThis.outcome = use({
  load,
  loadCounter: () => loadCounter({ wasm: new URL('assets/counter.wasm', document.baseURI) }),
  loadExternal: () => loadExternal({ wasm: new URL('assets/dp-ftrl.wasm', document.baseURI) }),
  connect: () => connect({ worker: new Worker('./worker.js', { type: 'module' }) }),
});
