// SPDX-License-Identifier: Apache-2.0

// --workload of dp-ftrl queries: the queries, and their names in terms of columns and values.

import { existsSync } from 'node:fs';
import type { QueryWorkload } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import type { Domain } from '../../input/domain.js';
import { readNumbers } from '../../input/workload.js';
import { counted } from '../../../shared/counted.js';

/** Turns labels of the core, which number columns and values, into the names used here. */
type Naming = (label: string) => string;

/** A workload, or one part of a union of workloads. */
interface WorkloadPart {
  workload: QueryWorkload;
  numQueries: number;
  naming: Naming;
}

const WANTED = 'ranges, prefix, identity, marginals=K, parities=K or a CSV file, joined by +';

/** Workload of all marginal tables over `order` columns. */
function askMarginals(domains: readonly Domain[], order: number): WorkloadPart {
  const sizes = domains.map(({ labels }) => labels.length);
  // counts[k] is the number of queries in all tables over k of the columns so far.
  let counts = [1];
  for (const size of sizes) {
    counts = [...counts, 0].map((count, k) => count + size * (counts[k - 1] ?? 0));
  }
  const naming: Naming = (label) =>
    label.replace(/a(\d+)=(\d+)/g, (_, a: string, value: string) => {
      const { column, labels } = domains[Number(a)]!;
      return `${column}=${labels[Number(value)]}`;
    });
  return { workload: { marginals: sizes, order }, numQueries: counts[order]!, naming };
}

/** Workload of all parities of `order` bits. */
function askParities(bits: number, order: number): WorkloadPart {
  let numQueries = 1;
  for (let k = 0; k < order; ++k) numQueries = (numQueries * (bits - k)) / (k + 1);
  return { workload: { parities: bits, order }, numQueries, naming: (label) => label };
}

function askNamed(
  kind: 'ranges' | 'prefix' | 'identity',
  domains: readonly Domain[],
): WorkloadPart {
  const sizes = domains.map(({ labels }) => labels.length);
  const parts = sizes.map((size) => ({ [kind]: size }) as unknown as QueryWorkload);
  const workload = parts.length === 1 ? parts[0]! : { product: parts };
  const each = sizes.map((size) => (kind === 'ranges' ? (size * (size + 1)) / 2 : size));
  const naming: Naming = (label) => {
    const pieces = label.split(' x ');
    return domains
      .map(({ labels }, i) => pieces[i]!.replace(/\d+/g, (value) => labels[Number(value)]!))
      .join(' x ');
  };
  return { workload, numQueries: each.reduce((product, count) => product * count, 1), naming };
}

/** Number of combinations of values. */
export function sizeOf(domains: readonly Domain[]): number {
  return domains.reduce((product, { labels }) => product * labels.length, 1);
}

async function readPart(text: string, domains: readonly Domain[]): Promise<WorkloadPart> {
  const size = sizeOf(domains);
  const named = /^(marginals|parities)=(\d{1,4})$/.exec(text);
  if (named) {
    const isTables = named[1] === 'marginals';
    const most = isTables ? domains.length : Math.log2(size);
    if (!Number.isInteger(most)) {
      throw new Misuse(`--workload parities needs a power of two of values, got ${size}`);
    }
    const [least, of] = isTables ? [1, 'column'] : [0, 'bit'];
    const order = Number(named[2]);
    if (order < least || order > most) {
      const wanted = least === most ? counted(most, of) : `${least} to ${most} ${of}s`;
      throw new Misuse(`--workload ${named[1]} must be of ${wanted}, got ${order}`);
    }
    return isTables ? askMarginals(domains, order) : askParities(most, order);
  }
  if (text === 'ranges' || text === 'prefix' || text === 'identity') {
    return askNamed(text, domains);
  }
  if (text === '' || /^\w+=/.test(text)) {
    throw new Misuse(`--workload must be ${WANTED}, got ${JSON.stringify(text)}`);
  }
  const matrix = await readNumbers(text);
  const width = matrix[0]?.length ?? 0;
  if (width !== size) {
    const shape = `has ${counted(width, 'column')}, the domain has ${counted(size, 'value')}`;
    throw new Misuse(`--workload ${text} ${shape}`);
  }
  return { workload: { matrix }, numQueries: matrix.length, naming: (label) => `query ${label}` };
}

export interface NamedWorkload {
  workload: QueryWorkload;
  numQueries: number;
  nameOf(query: number, label: string): string;
}

/** Reads one workload, or several joined by +. */
export async function readWorkload(
  text: string,
  domains: readonly Domain[],
): Promise<NamedWorkload> {
  const texts = existsSync(text) ? [text] : text.split('+');
  const parts = await Promise.all(texts.map((part) => readPart(part, domains)));
  const workloads = parts.map(({ workload }) => workload);
  return {
    workload: workloads.length === 1 ? workloads[0]! : { union: workloads },
    numQueries: parts.reduce((sum, part) => sum + part.numQueries, 0),
    nameOf(query, label) {
      let first = 0;
      const part = parts.find(({ numQueries }) => query < (first += numQueries));
      return part!.naming(label);
    },
  };
}
