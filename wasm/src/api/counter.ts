// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../core/core.js';
import type { Instance } from '../core/handle.js';
import type { DpCounter } from '../types/all.js';
import type { Streams } from '../types/streams/stream.js';
import { makeInstance } from './catalogue.js';
import { makeStream } from './streams/make.js';
import { COUNTER, TOTALS } from './streams/numbers.js';

function streamsOf(instance: Instance): Pick<Streams, 'counter' | 'totals'> {
  return {
    counter: (options: unknown) => makeStream(instance, COUNTER, options) as never,
    totals: (options: unknown) => makeStream(instance, TOTALS, options) as never,
  };
}

export function makeCounterApi(core: Core): DpCounter {
  const instance = makeInstance(core);
  return Object.freeze<DpCounter>({
    version: PACKAGE_VERSION,
    strategies: instance.catalogue,
    ...streamsOf(instance),
    get liveHandles() {
      return core.call('liveHandles');
    },
  });
}
