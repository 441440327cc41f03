// SPDX-License-Identifier: Apache-2.0

// --strategy FILE: a mechanism optimised by an earlier run.

import type { StrategyInfo, MechanismName, MechanismParameters } from '../../types/all.js';
import type { Participation, SavedStrategy, Workload } from '../../types/all.js';
import { defaultMechanism, pureMechanism } from '../../shared/defaults.js';
import { PARAMETERS } from '../../shared/parameters.js';
import type { Args } from './args.js';
import { Misuse } from '../base/failure.js';
import { readJsonFile } from './json-file.js';
import { givenParameters, nameText, readMechanism, requireMechanism } from './mechanism.js';
import { PARTICIPATION_OPTIONS, participationText, readParticipation } from './participation.js';

/** The chosen mechanism, either named with its parameters or read from a file. */
export interface Chosen {
  mechanism: MechanismName | SavedStrategy;
  parameters: MechanismParameters;
  /** Name shown in tables. */
  name: string;
  saved: SavedStrategy | undefined;
  /** Whether the user named the mechanism, rather than accepting the default. */
  isNamed?: boolean;
}

/** A mechanism with its parameters, as dp-ftrl optimize saves it if there is nothing to search. */
type Named = MechanismParameters & { name: MechanismName };

/** Reads what dp-ftrl optimize saved: the result of a search, or a mechanism with its parameters. */
async function readSaved(path: string): Promise<SavedStrategy | Named> {
  return (await readJsonFile('strategy', path, 'a saved strategy')) as SavedStrategy | Named;
}

/** Reads the result of a search. */
export async function readStrategyFile(path: string): Promise<SavedStrategy> {
  const saved = await readSaved(path);
  if (!('name' in saved)) return saved;
  throw new Misuse(`--strategy ${path} must be the result of a search, got parameters`);
}

export async function readChosen(args: Args, catalogue: readonly StrategyInfo[]): Promise<Chosen> {
  const path = args.text('strategy');
  if (path === undefined) {
    const { mechanism, ...parameters } = readMechanism(args, catalogue);
    const name = nameText(mechanism, parameters);
    return { mechanism, parameters, name, saved: undefined, isNamed: args.has('mechanism') };
  }
  const [other] = givenParameters(args);
  if (other !== undefined) throw new Misuse(`give --strategy or --${other}, not both`);
  const saved = await readSaved(path);
  if ('name' in saved) {
    const { name: mechanism, ...parameters } = saved;
    requireMechanism(mechanism, catalogue);
    const stray = Object.keys(parameters).find((each) => !Object.hasOwn(PARAMETERS, each));
    if (stray !== undefined) {
      throw new Misuse(`--strategy ${path} has the unknown parameter ${JSON.stringify(stray)}`);
    }
    const name = nameText(mechanism, parameters);
    return { mechanism, parameters, name, saved: undefined, isNamed: true };
  }
  if (args.has('pure')) throw new Misuse('give --pure or --strategy, not both');
  return { mechanism: saved, parameters: {}, name: `${saved.mechanism} from ${path}`, saved };
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

/** Whether each of several sums is that of a single step. */
export function isOfSteps(workload: Workload, numSteps: number): boolean {
  const isOne = typeof workload === 'object' && 'window' in workload && workload.window === 1;
  return isOne && numSteps > 1;
}

/** Returns `chosen` or, if no mechanism is given, the default for these workloads and steps. */
export function withDefault(
  chosen: Chosen,
  {
    numSteps,
    workloads,
    isPure = false,
  }: { numSteps: number; workloads: readonly Workload[]; isPure?: boolean },
): Chosen {
  if (chosen.isNamed || chosen.saved) return chosen;
  const mechanism = isPure
    ? pureMechanism(workloads.every((workload) => isOfSteps(workload, numSteps)))
    : defaultMechanism(numSteps, hasQuickOptimum(workloads, numSteps));
  return { ...chosen, mechanism, name: nameText(mechanism, chosen.parameters) };
}

/** The horizon from --steps or else from the file; it is checked where it is used. */
export function stepsOf(args: Args, { saved }: Chosen): number | undefined {
  return args.number('steps') ?? saved?.numSteps;
}

/** The participation given by options or, failing that, the one the file was optimised for. */
export function chosenParticipation(args: Args, { saved }: Chosen): Participation {
  const isGiven = Object.keys(PARTICIPATION_OPTIONS).some((name) => args.has(name));
  return isGiven ? readParticipation(args) : (saved?.participation ?? 'single');
}

/**
 * Warning that the strategy was optimised for a participation other than the protected one, if so.
 *
 * @param optimisedFor  field of the certificate, if any; ignored for a default mechanism.
 */
export function whatIsProtected(
  participation: Participation,
  chosen: Chosen,
  optimisedFor?: string,
): string | undefined {
  const found = chosen.isNamed ? optimisedFor : undefined;
  const other = otherParticipation(participation, chosen) ?? found;
  const own = participationText(participation);
  return other && `the strategy was optimised for ${other}; this run protects ${own}`;
}

function inWords(participation: Participation): string {
  const { epochs, participations } = participation as Record<string, number | undefined>;
  return participationText(epochs === 1 || participations === 1 ? 'single' : participation);
}

/** Participation that the file was optimised for, in words, if it differs from this one. */
export function otherParticipation(
  participation: Participation,
  { saved }: Chosen,
): string | undefined {
  if (!saved) return undefined;
  const own = inWords(saved.participation ?? 'single');
  return own === inWords(participation) ? undefined : own;
}
