// SPDX-License-Identifier: Apache-2.0

// Long batches in a worker: they run piece by piece, and messages are handled between two pieces.

import { ofRow, type RefusalError } from '../core/errors.js';
import type { Twin } from '../types/all.js';
import { columnsOf, type BatchMethod, type Stream, type StreamKind } from './methods.js';

export interface BatchProgress {
  /** Number of rows processed. */
  done: number;
  total: number;
}

type List = unknown[] | Float64Array;

interface Batch {
  /** Number of rows; undefined for a call that is not split. */
  numRows: number | undefined;
  /** Returns totals or predictions of these rows, or nothing. */
  run(from: number, to: number): Float64Array | void;
  /** Number of entries that `run` returns for each row. */
  width: number;
}

type Call = (...args: unknown[]) => Float64Array | void;

/** Returns the method to call. A twin returns its predictions, made before it saw the labels. */
function methodOf(kind: StreamKind, stream: Stream, method: BatchMethod): Call {
  if (kind !== 'study.twin')
    return (stream as unknown as Record<string, Call>)[method]!.bind(stream);
  const twin = stream as Twin;
  return (features, labels) => {
    // The twin refuses anything that is not a list.
    const out = isList(labels) ? new Float64Array(labels.length * twin.numScores) : undefined;
    twin.learn(features as ArrayLike<number>, labels as ArrayLike<number>, out);
    return out;
  };
}

/** Splits a call by the rows of all its lists, each with its number of entries per row. */
function overLists(call: Call, lists: [List, number][], width: number): Batch {
  const [first, entries] = lists[0]!;
  const numRows = first.length / entries;
  const isWhole = Number.isInteger(numRows) && lists.every(([it, w]) => it.length === numRows * w);
  if (!isWhole || numRows === 0) {
    // Nothing to split, or wrong lengths, which the library reports.
    return { numRows: undefined, run: () => call(...lists.map(([list]) => list)), width };
  }
  return {
    numRows,
    run: (from, to) => call(...lists.map(([list, w]) => list.slice(from * w, to * w))),
    width,
  };
}

function isList(value: unknown): value is List {
  return Array.isArray(value) || value instanceof Float64Array;
}

function batchOf(kind: StreamKind, stream: Stream, method: BatchMethod, args: unknown[]): Batch {
  const { dimension } = stream;
  const columns = columnsOf(kind, method);
  const call = methodOf(kind, stream, method);
  const width = kind === 'study.twin' ? (stream as Twin).numScores : dimension;
  if (!args.every(isList)) return { numRows: undefined, run: () => call(...args), width };
  const lists = args.map((list, i): [List, number] => [
    list,
    columns[i] === 'record' ? dimension : 1,
  ]);
  return overLists(call, lists, width);
}

/** Fields of an error about the rows before the one that was refused. */
export interface RowsBefore {
  /** Totals, or readings of a stream. */
  released?: Float64Array | unknown[];
  contributed?: number;
  learned?: number;
}

export function rowsBefore(error: unknown): RowsBefore {
  const { released, contributed, learned } = (error ?? {}) as RowsBefore;
  return {
    ...(released && { released }),
    ...(contributed !== undefined && { contributed }),
    ...(learned !== undefined && { learned }),
  };
}

/** Turns the error of a piece into one of the whole batch. */
function ofWhole(error: unknown, from: number, before: Float64Array | undefined): unknown {
  if (!(error instanceof Error)) return error;
  const rows = rowsBefore(error);
  if (rows.released instanceof Float64Array && before) {
    const released = new Float64Array(before.length + rows.released.length);
    released.set(before);
    released.set(rows.released, before.length);
    rows.released = released;
  }
  if (rows.contributed !== undefined) rows.contributed += from;
  if (rows.learned !== undefined) rows.learned += from;
  return Object.assign(ofRow(error as RefusalError, from), rows);
}

/** A call in progress, in pieces of about `milliseconds`, and its results so far. */
export class BatchCall {
  private done = 0;
  private pieceRows = 1;
  private readonly batch: Batch;
  /** Totals of all rows, once there are some. */
  private totals: Float64Array | undefined;

  constructor(kind: StreamKind, stream: Stream, method: BatchMethod, args: unknown[]) {
    this.batch = batchOf(kind, stream, method, args);
  }

  get progress(): BatchProgress {
    return { done: this.done, total: this.batch.numRows ?? 1 };
  }

  /** Runs one piece; false when nothing is left. */
  advance(milliseconds: number): boolean {
    const { numRows = 1 } = this.batch;
    const to = Math.min(numRows, this.done + this.pieceRows);
    const start = performance.now();
    try {
      this.keep(this.batch.run(this.done, to));
    } catch (error) {
      throw ofWhole(error, this.done, this.result());
    }
    this.done = to;
    const spent = performance.now() - start;
    if (spent < milliseconds / 2) this.pieceRows *= 2;
    else if (spent > milliseconds && this.pieceRows > 1) this.pieceRows >>>= 1;
    return this.done < numRows;
  }

  result(): Float64Array | undefined {
    const length = this.done * this.batch.width;
    const isComplete = this.batch.numRows === undefined || this.done === this.batch.numRows;
    return isComplete ? this.totals : this.totals?.slice(0, length);
  }

  private keep(totals: Float64Array | void): void {
    if (!totals) return;
    const { numRows, width } = this.batch;
    if (numRows === undefined) {
      this.totals = totals;
      return;
    }
    this.totals ??= new Float64Array(numRows * width);
    this.totals.set(totals, this.done * width);
  }
}
