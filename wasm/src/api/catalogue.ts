// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../core/core.js';
import { Backstop, type Instance } from '../core/handle.js';
import { camelCase } from '../core/names.js';
import { DEFAULT_MECHANISM } from '../shared/defaults.js';
import type { ParameterName } from '../shared/parameters.js';
import type { SearchLimits, StrategyInfo } from '../types/all.js';

/** Strategies of a module, with this package's names. */
function readCatalogue(core: Core, limits: SearchLimits | undefined): readonly StrategyInfo[] {
  const all = core.call('catalogue').map((entry) =>
    Object.freeze<StrategyInfo>({
      ...entry,
      summary: camelCase(entry.summary),
      stepCost: camelCase(entry.stepCost),
      memoryCost: camelCase(entry.memoryCost),
      parameters: Object.freeze(
        (camelCase(entry.parameters).match(/\w+/g) ?? []) as ParameterName[],
      ),
      ...(limits && entry.name === DEFAULT_MECHANISM && { limits: Object.freeze(limits) }),
    }),
  );
  return Object.freeze(all);
}

/** @param limits  of the searches, for a module that has searches. */
export function makeInstance(core: Core, limits?: SearchLimits): Instance {
  const catalogue = readCatalogue(core, limits);
  const mechanisms = catalogue.map((entry) => entry.name);
  return { core, backstop: new Backstop(core), catalogue, mechanisms };
}
