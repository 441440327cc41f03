// SPDX-License-Identifier: Apache-2.0

// Says which option of a run differs from the one with which its --state was begun.

import type { RefusalError } from '../../core/errors.js';
import type { ParameterName } from '../../shared/parameters.js';
import { PARAMETERS } from '../../shared/parameters.js';
import type { LinearLoss, MechanismParameters } from '../../types/all.js';
import { nameText } from '../options/mechanism.js';
import { entryText } from '../input/columns.js';
import { entryText as sumText, workloadText } from '../input/workload.js';

type Words = string | undefined;
/** Writes the options for a value; undefined if it is that of no option. */
type Write = (value: never, other: never) => Words;

function option(name: string): Write {
  return (value: number | string) => `--${name} ${value}`;
}

function flag(name: string): Write {
  return (value: boolean | string) => (value === false ? undefined : `--${name}`);
}

interface Bound {
  times?: number;
  apart?: number;
  epochs?: number;
}

function boundOf(bound: Bound | 'once'): Bound {
  return bound === 'once' ? { times: 1 } : bound;
}

function peopleText(given: Bound | 'once'): string {
  const { times, apart = 1 } = boundOf(given);
  return `--max-contributions ${times}${apart > 1 ? ` --min-separation ${apart}` : ''}`;
}

function participationText(given: Bound | 'once'): Words {
  const { times, apart, epochs } = boundOf(given);
  if (epochs !== undefined) return `--epochs ${epochs}`;
  return apart === undefined ? undefined : `--participations ${times} --min-separation ${apart}`;
}

/** A saved strategy has numbers that are no parameters. */
function strategyText(strategy: string | ({ name: string } & MechanismParameters)): string {
  const { name, ...parameters } = typeof strategy === 'string' ? { name: strategy } : strategy;
  const isNamed = Object.keys(parameters).every((it) => Object.hasOwn(PARAMETERS, it));
  if (!isNamed) return '--strategy';
  return `--mechanism ${nameText(name, parameters as Record<ParameterName, never>)}`;
}

type Pair = readonly [name: string, range: readonly [number, number]];

function rangesText(columns: readonly Pair[], others: readonly Pair[] = []): string {
  const known = new Set(others.map((pair) => JSON.stringify(pair)));
  const changed = columns.filter((pair) => !known.has(JSON.stringify(pair)));
  return `--columns ${changed.map(([name, [low, high]]) => entryText({ name, low, high })).join(',')}`;
}

function latticeText(lattice: string | { noise: string } | undefined, other: unknown): string {
  if (lattice === undefined) return '--mode grid';
  if (other === undefined) return '--mode lattice';
  return `--lattice-noise ${typeof lattice === 'string' ? lattice : lattice.noise}`;
}

function lossText(loss: LinearLoss): string {
  if (typeof loss === 'string') return `--loss ${loss}`;
  if ('quantile' in loss) return `--loss quantile --quantile ${loss.quantile}`;
  if ('huber' in loss) return `--loss huber --huber-threshold ${loss.huber}`;
  return `--loss softmax --classes ${loss.softmax}`;
}

function descentText({ momentum, rates }: { momentum: number; rates?: unknown }): string {
  const list = Array.isArray(rates) ? ` --rates ${rates.join(',')}` : '';
  return `--descent --momentum ${momentum}${list}`;
}

/** How the options of a stream are written, where they are not simple values. */
const WORDS: Readonly<Record<string, Write>> = {
  delta: (delta: number) => (delta === 0 ? '--pure' : `--delta ${delta}`),
  people: peopleText,
  participation: participationText,
  strategy: strategyText,
  workload: (workload: never) => `--workload ${workloadText(workload)}`,
  workloads: (all: readonly [string, never][]) =>
    `--workloads ${all.map(([name, workload]) => sumText(name, workload)).join(',')}`,
  importance: (weights: readonly number[]) => `--importance ${weights.join(',')}`,
  lattice: latticeText,
  columns: rangesText,
  covariance: flag('covariance'),
  total: flag('total'),
  fixedTimes: flag('fixed-times'),
  categories: (labels: readonly string[]) => `--domain ${labels.join(',')}`,
  other: flag('other'),
  numericNames: flag('user-numbers'),
  insecureSeed: option('seed'),
  loss: lossText,
  batchSize: option('batch'),
  lambda: option('regularisation'),
  doubling: flag('doubling'),
  descent: descentText,
  penalty: ({ strength, groups }: { strength: number; groups?: unknown }) =>
    `--${groups === undefined ? 'l1' : 'group-norm'} ${strength}`,
};

/** Says how an option differs, from its words in both runs. */
export function differsText(was: Words, is: Words): string {
  const [first] = (is ?? was ?? '').split(' ');
  if (was === undefined) return `it was begun without ${first}`;
  if (is === undefined) return `it was begun with ${was}, this run has none`;
  return was === is
    ? `it was begun with another ${first}`
    : `it was begun with ${was}, this run has ${is}`;
}

/** Words an error with code `other_options`. */
export function otherOptionText({
  parameter = '',
  differs,
}: RefusalError & { differs?: { stored: unknown; given: unknown } }): string {
  const { stored, given } = differs!;
  const write = WORDS[parameter] ?? option(parameter);
  const words = (value: unknown, other: unknown) =>
    value === undefined && parameter !== 'lattice'
      ? undefined
      : write(value as never, other as never);
  return differsText(words(stored, given), words(given, stored));
}
