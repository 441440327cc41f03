// SPDX-License-Identifier: Apache-2.0

// One or two simulations of the same stream, advanced together.

import type { MechanismName, MechanismOptions, MechanismParameters } from 'dp-ftrl';
import type { SavedStrategy, SimulationOptions, Table } from 'dp-ftrl';
import type { Engine, RemoteSimulation } from './engine.ts';
import { History } from '../figures/history.ts';
import { choicesOf, type Choice, type Settings } from '../controls/settings.ts';

/** A mechanism as it is run. */
interface Chosen {
  mechanism: MechanismName;
  parameters: MechanismParameters;
  /** Result of a search; null for a mechanism that is made by name. */
  saved: SavedStrategy | null;
}

export interface Lane extends Chosen {
  history: History;
}

/** An error of one mechanism, to be shown beside its controls. */
export class LaneError extends Error {
  constructor(
    readonly lane: number,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

export function mechanismOf(
  settings: Settings,
  { mechanism, parameters, saved }: Chosen,
): MechanismOptions {
  return {
    ...(saved === null ? parameters : {}),
    mechanism: saved ?? mechanism,
    epsilon: settings.epsilon,
    delta: settings.delta,
    numSteps: settings.numSteps,
    clipNorm: settings.clipNorm,
    neighbours: settings.neighbours,
  };
}

function optionsOf(settings: Settings, chosen: Chosen, table: Table | null): SimulationOptions {
  const { lambda: mechanismLambda, ...mechanism } = mechanismOf(settings, chosen);
  return {
    ...mechanism,
    ...(mechanismLambda === undefined ? {} : { mechanismLambda }),
    noiseSeed: settings.noiseSeed,
    loss: settings.loss,
    ...(settings.lambda === null ? {} : { lambda: settings.lambda }),
    ...(table === null
      ? {
          dimension: settings.dimension,
          stream: settings.stream,
          streamSeed: settings.streamSeed,
        }
      : { table }),
  };
}

const firstChunk = 64;
const maxChunk = 8192;
/** Milliseconds a chunk should take, so that a newer request waits no longer than that. */
const chunkTime = 6;

export class Run {
  private chunk = firstChunk;
  private disposed = false;

  private constructor(
    readonly settings: Settings,
    private readonly simulations: RemoteSimulation[],
    readonly lanes: Lane[],
  ) {}

  /** `find` searches for the mechanisms that have to be searched for. */
  static async create(
    engine: Engine,
    settings: Settings,
    table: Table | null,
    find: (choice: Choice) => Promise<SavedStrategy | null>,
  ): Promise<Run> {
    const simulations: RemoteSimulation[] = [];
    const lanes: Lane[] = [];
    try {
      for (const [lane, choice] of choicesOf(settings).entries()) {
        try {
          const chosen = { ...choice, saved: await find(choice) };
          const simulation = await engine.simulation(optionsOf(settings, chosen, table));
          simulations.push(simulation);
          lanes.push({ ...chosen, history: new History(simulation) });
        } catch (cause) {
          throw new LaneError(lane, cause);
        }
      }
    } catch (error) {
      for (const simulation of simulations) simulation.dispose();
      throw error;
    }
    return new Run(settings, simulations, lanes);
  }

  get first(): History {
    return this.lanes[0]!.history;
  }
  get numSteps(): number {
    return this.first.info.numSteps;
  }
  get step(): number {
    return this.first.step;
  }
  get finished(): boolean {
    return this.step === this.numSteps;
  }

  /** Runs at most `maxSteps` steps in both lanes, fewer if they would take long. */
  async advance(maxSteps: number): Promise<void> {
    const steps = Math.max(1, Math.min(maxSteps, this.chunk, this.numSteps - this.step));
    const start = performance.now();
    const chunks = await Promise.all(this.simulations.map((one) => one.advance(steps)));
    const perStep = (performance.now() - start) / steps;
    if (this.disposed) return;
    for (const [lane, chunk] of chunks.entries()) this.lanes[lane]!.history.append(chunk);
    const wanted = chunkTime / Math.max(perStep, 1e-6);
    this.chunk = Math.max(1, Math.min(maxChunk, 2 * this.chunk, Math.round(wanted)));
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    for (const simulation of this.simulations) simulation.dispose();
  }
}
