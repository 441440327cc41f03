// SPDX-License-Identifier: Apache-2.0

// Entry for bundlers that find the .wasm and the worker by their addresses.

import { load } from 'dp-ftrl';
import { load as loadCounter } from 'dp-ftrl/counter';
import { load as loadExternal } from 'dp-ftrl/external';
import { connect } from 'dp-ftrl/worker-client';
import { use } from './use.js';

globalThis.outcome = use({ load, loadCounter, loadExternal, connect });
