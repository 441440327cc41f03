// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../core/core.js';
import { Backstop, type Instance } from '../core/handle.js';
import { camelCase } from '../core/names.js';
import type { ParameterName } from '../shared/parameters.js';
import type { CatalogueEntry } from '../types/all.js';

/** Returns the mechanisms of a module, with this package's names. */
function readCatalogue(core: Core): CatalogueEntry[] {
  return core.call('catalogue').map((entry) => ({
    ...entry,
    summary: camelCase(entry.summary),
    stepCost: camelCase(entry.stepCost),
    memoryCost: camelCase(entry.memoryCost),
    parameters: (camelCase(entry.parameters).match(/\w+/g) ?? []) as ParameterName[],
  }));
}

export function makeInstance(core: Core): Instance {
  const catalogue = readCatalogue(core);
  const mechanisms = catalogue.map((entry) => entry.name);
  return { core, backstop: new Backstop(core), catalogue, mechanisms };
}

/** Returns a copy of the catalogue, which the caller may change. */
export function copyOfCatalogue({ catalogue }: Instance): CatalogueEntry[] {
  return catalogue.map((entry) => ({ ...entry, parameters: [...entry.parameters] }));
}
