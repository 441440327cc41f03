// SPDX-License-Identifier: Apache-2.0

// For bundlers that leave other files alone: the page says where they are.

import { load } from 'dp-ftrl';
import { load as loadExternal } from 'dp-ftrl/external';
import { connect } from 'dp-ftrl/worker-client';
import { use } from './use.js';

globalThis.outcome = use({
  load,
  loadExternal: () => loadExternal({ wasm: new URL('assets/dp-ftrl.wasm', document.baseURI) }),
  connect: () => connect({ worker: new Worker('./worker.js', { type: 'module' }) }),
});
