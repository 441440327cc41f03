// SPDX-License-Identifier: Apache-2.0

// Long work in slices, between which the event loop runs.

/** Longest duration of a slice, unless a single unit of work takes longer. */
const SLICE_MILLISECONDS = 8;

/** Waits until other events have run; unlike a timer, it is not throttled in a hidden tab. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

export class TimeSlices {
  private start = performance.now();

  /** Lets other events run if the current slice is over. */
  async pass(): Promise<void> {
    if (performance.now() - this.start < SLICE_MILLISECONDS) return;
    await nextTask();
    this.start = performance.now();
  }
}
