// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../core/core.js';
import { Backstop } from '../core/handle.js';
import type { DpCounter } from '../types/all.js';
import { readCatalogue } from './catalogue.js';
import { makeLedger } from './sums/ledger.js';
import { makePeopleSum } from './sums/people-sum.js';
import { makePrefixSum } from './sums/prefix-sum.js';

/** The API of one instance that counts and does nothing else. */
export function makeCounterApi(core: Core): DpCounter {
  const backstop = new Backstop(core);
  const catalogue = readCatalogue(core);
  const mechanisms = catalogue.map((entry) => entry.name);
  return Object.freeze<DpCounter>({
    version: PACKAGE_VERSION,
    mechanisms: () => catalogue.map((entry) => ({ ...entry, parameters: [...entry.parameters] })),
    prefixSum: (options) => makePrefixSum(core, backstop, mechanisms, options),
    peopleSum: (options) => makePeopleSum(core, backstop, mechanisms, options),
    ledger: (options) => makeLedger(core, backstop, mechanisms, options),
    get liveHandles() {
      return core.call('liveHandles');
    },
  });
}
