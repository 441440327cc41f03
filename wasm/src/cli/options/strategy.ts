// SPDX-License-Identifier: Apache-2.0

// The chosen strategy: a name with its parameters, a file saved by dp-ftrl optimize, or an encoder.

import { access } from 'node:fs/promises';
import { counted } from '../../shared/counted.js';
import type {
  EncoderStrategy,
  MechanismName,
  Participation,
  SavedStrategy,
} from '../../types/all.js';
import type { StrategyInfo, StrategyParameters, Workload } from '../../types/all.js';
import { defaultMechanism, pureMechanism } from '../../shared/defaults.js';
import { PARAMETERS } from '../../shared/parameters.js';
import type { Args } from './args.js';
import { Misuse } from '../base/failure.js';
import { checkDecoder, parseEncoder } from './encoder-file.js';
import { parseJsonFile, readTextFile } from './json-file.js';
import {
  givenParameters,
  isNameOf,
  nameText,
  readMechanism,
  requireMechanism,
  strategyFile,
} from './mechanism.js';
import { PARTICIPATION_OPTIONS, participationText, readParticipation } from './participation.js';

type AnyStrategy = StrategyParameters | SavedStrategy | EncoderStrategy;

/** The chosen strategy, either named with its parameters or read from a file. */
export interface ChosenStrategy {
  strategy: AnyStrategy;
  /** Name shown in tables. */
  name: string;
  saved: SavedStrategy | undefined;
  /** Whether the user named the mechanism, rather than accepting the default. */
  isNamed?: boolean;
}

const isSaved = (strategy: AnyStrategy): strategy is SavedStrategy => 'format' in strategy;

/**
 * Reads a file saved by dp-ftrl optimize: the result of a search, or a name with parameters if
 * there was nothing to search for. A file that is not JSON holds an encoder.
 */
async function readSaved(path: string): Promise<AnyStrategy> {
  const what = 'a saved strategy';
  const option = 'strategy';
  const text = await readTextFile(option, path);
  if (!/\.json$/i.test(path) && !/^\s*[[{]/.test(text)) return parseEncoder(text, path);
  type Read = Partial<SavedStrategy> & Partial<StrategyParameters>;
  const saved = parseJsonFile(text, { option, path, what }) as Read;
  if (typeof saved.name === 'string' || saved.format !== undefined)
    return saved as SavedStrategy | StrategyParameters;
  throw new Misuse(`--strategy ${path} is not ${what}`);
}

/** A strategy read from a file, and its name in tables. */
interface FileStrategy {
  strategy: SavedStrategy | EncoderStrategy;
  name: string;
}

/** Reads the result of a search, or an encoder, for this many steps. */
export async function readStrategyFile(
  path: string,
  { catalogue, steps }: { catalogue: readonly StrategyInfo[]; steps: number },
): Promise<FileStrategy> {
  if (isNameOf(path, catalogue)) {
    throw new Misuse(`--strategy must be a saved file, got ${path}, which is compared anyway`);
  }
  const strategy = await readSaved(path);
  if ('encoder' in strategy) {
    requireRows(strategy, path, steps);
    return { strategy, name: encoderText(path) };
  }
  if (isSaved(strategy)) return { strategy, name: savedText(strategy, path) };
  throw new Misuse(`--strategy ${path} must be the result of a search, got parameters`);
}

/** Refuses a text that is spelled like a name but is neither that of a strategy nor of a file. */
async function requireFile(path: string, catalogue: readonly StrategyInfo[]): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere && /^[\w-]+$/.test(path)) requireMechanism(path as MechanismName, catalogue);
}

const encoderText = (path: string): string => `the encoder of ${path}`;

const savedText = ({ name }: SavedStrategy, path: string): string => `${name} from ${path}`;

function requireRows({ encoder: { length } }: EncoderStrategy, path: string, steps: number): void {
  if (steps === length) return;
  throw new Misuse(`--strategy ${path} has ${counted(length, 'row')}, but --steps is ${steps}`);
}

function ofEncoder(args: Args, strategy: EncoderStrategy, path: string): ChosenStrategy {
  requireRows(strategy, path, args.number('steps') ?? strategy.encoder.length);
  return { strategy, name: encoderText(path), saved: undefined, isNamed: true };
}

export async function readChosen(
  args: Args,
  catalogue: readonly StrategyInfo[],
): Promise<ChosenStrategy> {
  const chosen = await readGiven(args, catalogue);
  if (!args.has('decoder') || 'encoder' in chosen.strategy) return chosen;
  throw new Misuse('--decoder goes with --strategy C.csv, a matrix of your own');
}

/** @throws Misuse if the file of --decoder does not hold the decoder. */
export async function requireDecoder(
  path: string | undefined,
  { strategy }: ChosenStrategy,
  workloads: readonly Workload[],
): Promise<void> {
  if (path === undefined || !('encoder' in strategy)) return;
  const [workload, ...others] = workloads;
  if (others.length > 0)
    throw new Misuse('--decoder goes with a single workload, as each has its own decoder');
  await checkDecoder(path, strategy, workload!);
}

async function readGiven(args: Args, catalogue: readonly StrategyInfo[]): Promise<ChosenStrategy> {
  const path = strategyFile(args, catalogue);
  if (path === undefined) {
    const strategy = readMechanism(args, catalogue);
    const name = nameText(strategy);
    return { strategy, name, saved: undefined, isNamed: args.has('strategy') };
  }
  const [other] = givenParameters(args);
  if (other !== undefined)
    throw new Misuse(`--${other} does not go with a saved strategy, got --strategy ${path}`);
  await requireFile(path, catalogue);
  const saved = await readSaved(path);
  if (args.has('pure') && !('name' in saved && !isSaved(saved)))
    throw new Misuse(`--pure does not go with a saved strategy, got --strategy ${path}`);
  if ('encoder' in saved) return ofEncoder(args, saved, path);
  if (!isSaved(saved)) {
    const { name: own, ...parameters } = saved;
    requireMechanism(own, catalogue);
    const stray = Object.keys(parameters).find((each) => !Object.hasOwn(PARAMETERS, each));
    if (stray !== undefined) {
      throw new Misuse(`--strategy ${path} has the unknown parameter ${JSON.stringify(stray)}`);
    }
    return { strategy: saved, name: nameText(saved), saved: undefined, isNamed: true };
  }
  return { strategy: saved, name: savedText(saved, path), saved };
}

/** Parameters of a strategy that is given by name. */
export function parametersOf({ strategy }: ChosenStrategy): Omit<StrategyParameters, 'name'> {
  if (isSaved(strategy) || 'encoder' in strategy) return {};
  const { name: _, ...parameters } = strategy;
  return parameters;
}

function hasQuickOptimum(
  [workload = 'prefix', ...others]: readonly Workload[],
  numSteps: number,
): boolean {
  if (others.length > 0) return false;
  if (typeof workload === 'string') return true;
  if ('window' in workload) return workload.window >= numSteps;
  const isDecay = !('rates' in workload || 'matrix' in workload || 'momentum' in workload);
  return isDecay || ('decay' in workload && 'momentum' in workload && workload.momentum === 0);
}

/** Whether each sum covers a single step, out of more than one. */
export function isOfSteps(workload: Workload, numSteps: number): boolean {
  const isOne = typeof workload === 'object' && 'window' in workload && workload.window === 1;
  return isOne && numSteps > 1;
}

/** Whether Laplace noise is available for a workload. */
export function hasLaplace(workload: Workload): boolean {
  return workload === 'prefix' || isOfSteps(workload, 2);
}

/** `chosen` or, if no mechanism is given, the default for these workloads and steps. */
export function withDefault(
  chosen: ChosenStrategy,
  {
    numSteps,
    workloads,
    isPure = false,
  }: { numSteps: number; workloads: readonly Workload[]; isPure?: boolean },
): ChosenStrategy {
  if (chosen.isNamed || chosen.saved) return chosen;
  const name = isPure
    ? pureMechanism(workloads.every((workload) => isOfSteps(workload, numSteps)))
    : defaultMechanism(numSteps, hasQuickOptimum(workloads, numSteps));
  const strategy = { ...parametersOf(chosen), name };
  return { ...chosen, strategy, name: nameText(strategy) };
}

/** The horizon from --steps or else from the file. The horizon is checked where it is used. */
export function stepsOf(args: Args, { saved, strategy }: ChosenStrategy): number | undefined {
  const own = 'encoder' in strategy ? strategy.encoder.length : saved?.steps;
  return args.number('steps') ?? own;
}

/** The participation given by options or, failing that, the one the file was optimised for. */
export function chosenParticipation(args: Args, { saved }: ChosenStrategy): Participation {
  const isGiven = Object.keys(PARTICIPATION_OPTIONS).some((name) => args.has(name));
  return isGiven ? readParticipation(args) : (saved?.participation ?? 'once');
}

/**
 * Warning if the strategy was optimised for another participation pattern than the protected one.
 *
 * @param optimisedFor  field of the certificate, if any; ignored for a default mechanism.
 */
export function whatIsProtected(
  participation: Participation,
  chosen: ChosenStrategy,
  optimisedFor?: string,
): string | undefined {
  const found = chosen.isNamed ? optimisedFor : undefined;
  const other = otherParticipation(participation, chosen) ?? found;
  const own = participationText(participation);
  return other && `the strategy was optimised for ${other}; this run protects ${own}`;
}

function inWords(participation: Participation): string {
  const { epochs, times } = participation as Record<string, number | undefined>;
  return participationText(epochs === 1 || times === 1 ? 'once' : participation);
}

/**
 * The participation pattern for which the file was optimised, in words, if it differs from
 * `participation`.
 */
export function otherParticipation(
  participation: Participation,
  { saved }: ChosenStrategy,
): string | undefined {
  if (!saved) return undefined;
  const own = inWords(saved.participation ?? 'once');
  return own === inWords(participation) ? undefined : own;
}
