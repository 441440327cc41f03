// SPDX-License-Identifier: Apache-2.0

// The library in a worker, or on this thread in short slices if no worker can be started.

import type { Async, Handle, Simulation } from 'dp-ftrl';
import { connect, type Client } from 'dp-ftrl/worker-client';

export type { Client as Engine } from 'dp-ftrl/worker-client';

/** Properties of a simulation that never change. */
export type SimulationInfo = Omit<
  Simulation,
  keyof Handle | 'step' | 'finished' | 'advance' | 'heldOutRisk'
>;
/** The members of a simulation in the worker that a run uses. */
export type RemoteSimulation = SimulationInfo & Pick<Async<Simulation>, 'advance' | 'dispose'>;

/**
 * Starts a worker from the page's own script: the single-file build has no other, and it serves
 * both roles.
 */
function ownScriptWorker(): Worker {
  const source = document.querySelector('script[type="module"]')?.textContent ?? '';
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  return new Worker(url);
}

/**
 * Starts a worker of the page. In the single-file build, the worker runs the page's own script.
 */
export function startWorker(make: () => Worker): Worker {
  return SINGLE_FILE ? ownScriptWorker() : make();
}

async function inWorker(): Promise<Client> {
  const client = SINGLE_FILE ? connect({ worker: ownScriptWorker() }) : connect();
  await client.ready;
  return client;
}

async function onThisThread(): Promise<Client> {
  const { serve } = await import('dp-ftrl/worker');
  const { port1, port2 } = new MessageChannel();
  serve(port1 as unknown as Parameters<typeof serve>[0]);
  const client = connect({ worker: port2 });
  await client.ready;
  return client;
}

export async function startEngine(): Promise<Client> {
  try {
    return await inWorker();
  } catch {
    // Falls back whatever the reason; one that also applies on this thread rejects the result.
    return onThisThread();
  }
}
