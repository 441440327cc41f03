// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../core/core.js';
import { camelCase } from '../core/names.js';
import type { ParameterName } from '../shared/parameters.js';
import type { CatalogueEntry } from '../types/all.js';

/** The mechanisms of a module, in the words of this package. */
export function readCatalogue(core: Core): CatalogueEntry[] {
  return core.call('catalogue').map((entry) => ({
    ...entry,
    summary: camelCase(entry.summary),
    stepCost: camelCase(entry.stepCost),
    memoryCost: camelCase(entry.memoryCost),
    parameters: (camelCase(entry.parameters).match(/\w+/g) ?? []) as ParameterName[],
  }));
}
