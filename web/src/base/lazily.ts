// SPDX-License-Identifier: Apache-2.0

// Defers work until the element that needs it is visible.

export class Lazily {
  private wanted = false;
  private visible = false;
  private busy = false;

  /**
   * `work` runs once for all requests made before it starts, and never concurrently with itself.
   */
  constructor(
    element: Element,
    private readonly work: () => Promise<void>,
  ) {
    new IntersectionObserver((entries) => {
      this.visible = entries.at(-1)!.isIntersecting;
      void this.wake();
    }).observe(element);
    document.addEventListener('visibilitychange', () => void this.wake());
  }

  request(): void {
    this.wanted = true;
    void this.wake();
  }

  private async wake(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    while (this.wanted && this.visible && !document.hidden) {
      this.wanted = false;
      await this.work();
    }
    this.busy = false;
  }
}
