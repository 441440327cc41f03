// SPDX-License-Identifier: Apache-2.0

// Storage that survives restarts.

/** Identifies the stream that has loaded a store. It is compared by identity. */
export type StoreLease = object;

/**
 * Storage for a stream or a learner, such as `FileStore` (dp-ftrl/file-store) and `IndexedDbStore`
 * (dp-ftrl/indexed-db). The stored bytes contain the key and the true sums, so they are as secret
 * as the records. A stream has exclusive use of its store until it is disposed of; another stream
 * is refused with `store_in_use`.
 *
 * A stream passes its lease to every call of its store. The lease of the last `load` is the only
 * one that may write: a store refuses any other lease. If two streams use two wrappers of one
 * store, only one continues. A wrapper must pass the lease on.
 */
export interface Store {
  /**
   * Bytes that were saved last, or undefined (or null) if none were ever saved. From then on,
   * `save` and `append` reject every other lease.
   */
  load(lease?: StoreLease): Promise<Uint8Array | null | undefined>;
  /**
   * Replaces the bytes atomically. Resolves once they would survive a crash. Rejects without
   * replacing anything if another writer has loaded or saved since `load`.
   */
  save(bytes: Uint8Array, lease?: StoreLease): Promise<void>;
  /**
   * Appends bytes to those saved or appended last; `load` returns all of them, concatenated.
   * Optional: with `append`, a release writes only what it adds; without it, a release saves the
   * whole state again. Resolves once the bytes would survive a crash. After a crash, what remains
   * of these bytes must be a prefix of them, or lack 512-byte sectors, which then read as zeros.
   * Rejects without appending if another writer has loaded, saved or appended since `load`. After
   * any other rejection the next write is a `save`, so a store need not know whether it appended
   * the bytes.
   */
  append?(bytes: Uint8Array, lease?: StoreLease): Promise<void>;
  /** Releases the storage once a pending save has settled; `save` rejects from then on. */
  close(): Promise<void>;
}
