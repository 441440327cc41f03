// SPDX-License-Identifier: Apache-2.0

// Schedules the computations of scenes.

import type { Context } from './scene.ts';

/**
 * Creates a queue that runs work one piece at a time, even after a failure; patient work comes
 * last.
 */
export function makeQueue(): Context['queue'] {
  const waiting: { run: () => Promise<void>; patient: boolean }[] = [];
  let busy = false;
  const runAll = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    while (waiting.length > 0) {
      const urgent = waiting.findIndex(({ patient }) => !patient);
      const [next] = waiting.splice(Math.max(urgent, 0), 1);
      await next!.run();
    }
    busy = false;
  };
  return (work, { patient = false } = {}) =>
    new Promise((resolve, reject) => {
      waiting.push({ run: () => Promise.resolve().then(work).then(resolve, reject), patient });
      void runAll();
    });
}
