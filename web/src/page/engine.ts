// SPDX-License-Identifier: Apache-2.0

// The library in a worker; on this thread, in short slices, where no worker can be had.

import { connect, type Client } from 'dp-ftrl/worker-client';
import { serveCsv } from '../data/csv_worker.ts';

export type { Client as Engine, RemoteSimulation } from 'dp-ftrl/worker-client';

/** In one file there is no other script to start: the page's own one knows both roles. */
function ownScriptWorker(): Worker {
  const source = document.querySelector('script[type="module"]')?.textContent ?? '';
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  return new Worker(url);
}

/** A worker of the page, which plays all their roles where the page is one file. */
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
    // Whatever kept the worker away; a reason that also holds here is reported from here.
    return onThisThread();
  }
}

/** The workers' roles of the page's script. */
export async function serveAsWorker(): Promise<void> {
  serveCsv();
  await import('dp-ftrl/worker');
}
