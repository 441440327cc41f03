// SPDX-License-Identifier: Apache-2.0

// Message targets, in browsers and in Node.

/**
 * Target of messages: a Worker, a MessagePort, the scope of a worker, or their counterparts in
 * Node's worker_threads.
 */
export interface MessageTarget {
  postMessage(message: unknown, transfer: never[]): void;
}

/** The members of a message target that are used here. */
export interface Port {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  addEventListener?(type: string, listener: (event: { data: unknown }) => void): void;
  on?(type: string, listener: (data: unknown) => void): unknown;
  start?(): void;
  terminate?(): unknown;
  close?(): void;
}

export function listen(port: Port, type: string, listener: (data: unknown) => void): void {
  if (port.addEventListener) {
    port.addEventListener(type, (event) => listener(type === 'message' ? event.data : event));
  } else {
    port.on?.(type, listener);
  }
}
