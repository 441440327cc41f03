// SPDX-License-Identifier: Apache-2.0

// Says which option of a run differs from that of the run that began its --state.

import type { RefusalError } from '../../core/errors.js';
import { PARAMETERS } from '../../shared/parameters.js';
import type { LinearLoss, MechanismName, StrategyParameters } from '../../types/all.js';
import { nameText } from '../options/mechanism.js';
import { entryText } from '../input/columns.js';
import { domainText } from '../input/domain.js';
import { entryText as sumText, workloadText } from '../input/workload.js';

type OptionText = string | undefined;
/** Writes a value as options; undefined if no option stands for the value. */
type OptionWriter = (value: never, other: never) => OptionText;

function option(name: string): OptionWriter {
  return (value: number | string) => `--${name} ${value}`;
}

function flag(name: string): OptionWriter {
  return (value: boolean | string) => (value === false ? undefined : `--${name}`);
}

interface ContributionBound {
  times?: number;
  apart?: number;
  epochs?: number;
}

function boundOf(bound: ContributionBound | 'once'): ContributionBound {
  return bound === 'once' ? { times: 1 } : bound;
}

function peopleText(given: ContributionBound | 'once'): string {
  const { times, apart = 1 } = boundOf(given);
  return `--max-contributions ${times}${apart > 1 ? ` --min-separation ${apart}` : ''}`;
}

function participationText(given: ContributionBound | 'once'): OptionText {
  const { times, apart, epochs } = boundOf(given);
  if (epochs !== undefined) return `--epochs ${epochs}`;
  return apart === undefined ? undefined : `--participations ${times} --min-separation ${apart}`;
}

/** Leaves out the value for a saved strategy, which has numbers besides its parameters. */
function strategyText(strategy: MechanismName | StrategyParameters): string {
  const named = typeof strategy === 'string' ? { name: strategy } : strategy;
  const { name: _, ...parameters } = named;
  const isNamed = Object.keys(parameters).every((it) => Object.hasOwn(PARAMETERS, it));
  if (!isNamed) return '--strategy';
  return `--strategy ${nameText(named)}`;
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

function descentText({
  momentum,
  rates,
  throughWorkload,
}: {
  momentum: number;
  rates?: unknown;
  throughWorkload: boolean;
}): string {
  const list = Array.isArray(rates) ? ` --rates ${rates.join(',')}` : '';
  const through = throughWorkload ? ' --momentum-through workload' : '';
  return `--algorithm dp-gd --momentum ${momentum}${list}${through}`;
}

/** Writers for the options of a stream that are not simple values. */
const WORDS: Readonly<Record<string, OptionWriter>> = {
  steps: (steps: number | 'endless') => (steps === 'endless' ? '--endless' : `--steps ${steps}`),
  delta: (delta: number) => (delta === 0 ? '--pure' : `--delta ${delta}`),
  people: peopleText,
  participation: participationText,
  strategy: strategyText,
  workload: (workload: never) => `--workload ${workloadText(workload)}`,
  workloads: (all: readonly [string, never][]) =>
    `--workloads ${all.map(([name, workload]) => sumText(name, workload)).join(',')}`,
  windows: (all: readonly (readonly [string, number])[]) =>
    `--window ${all.map(([name]) => name).join(',')}`,
  closedStart: flag('closed-start'),
  importance: (weights: readonly number[]) => `--importance ${weights.join(',')}`,
  lattice: latticeText,
  columns: rangesText,
  covariance: flag('covariance'),
  total: flag('total'),
  fixedTimes: flag('fixed-times'),
  categories: (labels: readonly string[]) => `--domain ${domainText(labels)}`,
  other: flag('other'),
  numericNames: flag('user-numbers'),
  insecureSeed: option('seed'),
  loss: lossText,
  batchSize: option('batch'),
  lambda: option('regularisation'),
  doubling: flag('doubling'),
  descent: descentText,
  penalty: ({ strength, groups }: { strength: number; groups?: readonly number[] }) =>
    groups ? `--group-norm ${strength} for groups of ${groups.join(', ')}` : `--l1 ${strength}`,
};

/** Says how an option differs, given its text in both runs. */
export function differsText(was: OptionText, is: OptionText): string {
  const [first] = (is ?? was ?? '').split(' ');
  if (was === undefined) return `it was begun without ${first}`;
  if (is === undefined) return `it was begun with ${was}, this run has none`;
  return was === is
    ? `it was begun with another ${first}`
    : `it was begun with ${was}, this run has ${is}`;
}

/** Phrases an error with code `other_options`. */
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
