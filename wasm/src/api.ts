// SPDX-License-Identifier: Apache-2.0

import { optionsObject, Reader } from './check.js';
import type { Core } from './core.js';
import { makeError } from './errors.js';
import { Backstop } from './handle.js';
import { MECHANISM_OPTIONS, readMechanism, readOptions } from './options.js';
import { makePrefixSum } from './prefix-sum.js';
import { makeSimulation } from './simulation.js';
import type { Calibration, DpFtrl } from './types.js';

function calibrate(core: Core, options: unknown): Calibration {
  const where = 'calibrate';
  const kinds = ['epsilon', 'rho', 'mu'] as const;
  const reader = new Reader(where, optionsObject(where, options, [...kinds, 'delta']));
  const given = kinds.filter((kind) => reader.has(kind));
  const [kind] = given;
  if (kind === undefined || given.length > 1) {
    const got = given.length === 0 ? 'none' : given.join(' and ');
    throw makeError('wrong_type', `${where}: give one of epsilon, rho, mu, got ${got}`);
  }
  return core.call('calibrate', kind, reader.number(kind), reader.number('delta'));
}

/** The API of one instance. */
export function makeApi(core: Core): DpFtrl {
  const backstop = new Backstop(core);
  const catalogue = core.call('catalogue');
  const mechanisms = catalogue.map((entry) => entry.name);

  function errorOptions(where: string, options: unknown): [string, number] {
    const reader = readOptions(where, options, ['mechanism', 'numSteps']);
    return [reader.oneOf('mechanism', mechanisms), reader.count('numSteps')];
  }

  return Object.freeze<DpFtrl>({
    version: PACKAGE_VERSION,
    mechanisms: () => catalogue.map((entry) => ({ ...entry })),
    calibrate: (options) => calibrate(core, options),
    error: (options) => core.call('unitError', ...errorOptions('error', options)),
    errorPerStep: (options) => core.call('errorPerStep', ...errorOptions('errorPerStep', options)),
    certificate: (options) => {
      const reader = readOptions('certificate', options, MECHANISM_OPTIONS);
      return core.call('certificate', readMechanism(reader, mechanisms));
    },
    prefixSum: (options) => makePrefixSum(core, backstop, mechanisms, options),
    simulation: (options) => makeSimulation(core, backstop, mechanisms, options),
    get liveHandles() {
      return core.call('liveHandles');
    },
  });
}
