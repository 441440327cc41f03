// SPDX-License-Identifier: Apache-2.0

// One or two simulations of the same stream, advanced together.

import type { MechanismName, MechanismParameters, SavedStrategy } from 'dp-ftrl';
import type { SimulationChunk, SimulationOptions, Strategy } from 'dp-ftrl';
import type { Engine, RemoteSimulation } from '../base/engine.ts';
import type { StepRecords } from '../data/contributions.ts';
import { numClipped } from '../data/csv.ts';
import { History, type HistoryScope } from './history.ts';
import { choicesOf, type MechanismChoice, type Settings } from '../controls/settings.ts';
import type { RunOptions } from '../data/source.ts';
import { learnsFrom, problemOf, weightsOf, workloadOf } from '../controls/workload.ts';
import { weightedSums } from '../data/weighted-sums.ts';
import { WeightedRun } from './weighted-run.ts';

/** A mechanism with the settings of one run. */
interface LaneMechanism {
  mechanism: MechanismName;
  parameters: MechanismParameters;
  /** Result of a search; null for a mechanism created by name. */
  saved: SavedStrategy | null;
}

type RuleName = Exclude<Settings['rule'], 'both'>;

/** A learner that applies one rule to the totals. */
export interface RunLearner {
  rule: RuleName;
  history: History;
}

export interface Lane extends LaneMechanism {
  /** One learner per rule; a single learner if nothing is learned. */
  learners: readonly RunLearner[];
  /** History of the first learner. */
  history: History;
  /**
   * Totals of the same records for all learners; equal to `history` unless learners are compared.
   */
  sums: History;
}

/** A simulation and its recorded history. */
interface RunStream {
  simulation: RemoteSimulation;
  history: History;
}

/** Regularisation so strong that a learner never leaves its start, weights 0. */
const holding = 1e100;

/** Options of a learner that never updates its weights. */
const heldOf = ({ descent: _, ...options }: RunOptions): RunOptions => ({
  ...options,
  lambda: holding,
});

/** An error of one mechanism, to be shown beside its controls. */
export class LaneError extends Error {
  constructor(
    readonly lane: number,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** A saved strategy includes its own parameters. */
export function strategyOf({ mechanism, parameters, saved }: LaneMechanism): Strategy {
  return saved ?? { name: mechanism, ...parameters };
}

/** Writes a mechanism as the library's options. */
export function mechanismOf(settings: Settings, chosen: LaneMechanism) {
  const { epsilon, delta, clipNorm: clip, neighbours } = settings;
  return {
    ...problemOf(settings),
    ...{ epsilon, delta, clip, neighbours },
    strategy: strategyOf(chosen),
  };
}

/** The loss as an option of the library; a loss with a parameter gets its default. */
const lossOf = (loss: Settings['loss']): NonNullable<SimulationOptions['loss']> =>
  loss === 'quantile' ? { quantile: 0.5 } : loss === 'huber' ? { huber: 1 } : loss;

function rulesOf(settings: Settings): RuleName[] {
  if (!learnsFrom(settings)) return ['ftrl'];
  return settings.rule === 'both' ? ['ftrl', 'descent'] : [settings.rule];
}

/** True if several learners are compared; each learner then computes its own gradients. */
const compares = (settings: Settings): boolean =>
  learnsFrom(settings) && choicesOf(settings).length * rulesOf(settings).length > 1;

function optionsOf(
  settings: Settings,
  chosen: LaneMechanism,
  records: StepRecords | null,
  rule = rulesOf(settings)[0]!,
): RunOptions {
  const { momentum } = settings;
  return {
    ...mechanismOf(settings, chosen),
    noiseSeed: settings.noiseSeed,
    loss: lossOf(settings.loss),
    ...(settings.lambda === null ? {} : { lambda: settings.lambda }),
    ...(rule === 'ftrl' ? {} : { descent: momentum === 0 ? {} : { momentum } }),
    ...(records === null
      ? {
          dimension: settings.dimension,
          stream: settings.stream,
          streamSeed: settings.streamSeed,
        }
      : {
          table: records.table,
          ...(records.batchSize === 1 ? {} : { batchSize: records.batchSize }),
        }),
  };
}

/** Number of steps in the first request, which reveals the slowest mechanism. */
const firstSteps = 64;
/** Minimum and maximum time, in milliseconds, for which a request keeps the worker busy. */
const shortest = 6;
const longest = 100;

export class Run {
  /**
   * Time limit of the next request in milliseconds; it settles at the round-trip time to the
   * worker.
   */
  private budget = shortest;
  /**
   * Index of the slowest stream, which is limited by time; the other streams run the same number of
   * steps.
   */
  private slowest = 0;
  private disposed = false;

  private constructor(
    readonly settings: Settings,
    private readonly records: StepRecords | null,
    private readonly streams: readonly RunStream[],
    readonly lanes: readonly Lane[],
  ) {}

  /** `find` searches for the mechanisms that need a search. */
  static async create(
    engine: Engine,
    settings: Settings,
    records: StepRecords | null,
    find: (choice: MechanismChoice) => Promise<SavedStrategy | null>,
  ): Promise<Run> {
    const streams: RunStream[] = [];
    const add = (simulation: RemoteSimulation, kept: HistoryScope): History => {
      const history = new History(simulation, kept);
      streams.push({ simulation, history });
      return history;
    };
    const start = async (options: SimulationOptions, kept: HistoryScope): Promise<History> =>
      add(await engine.study.simulation(options), kept);
    /** Creates a learner for each rule or, if nothing is learned, one that only sums. */
    const learnersOf = async (chosen: LaneMechanism): Promise<RunLearner[]> => {
      const rules = rulesOf(settings);
      if (records !== null && workloadOf(settings).workload !== undefined) {
        const sums = await WeightedRun.create(engine, {
          options: { ...mechanismOf(settings, chosen), insecureSeed: settings.noiseSeed },
          records,
        });
        return [{ rule: rules[0]!, history: add(sums, 'all') }];
      }
      const learners: RunLearner[] = [];
      for (const rule of rules) {
        const options = optionsOf(settings, chosen, records, rule);
        learners.push({ rule, history: await start(options, kept) });
      }
      return learners;
    };
    const lanes: Lane[] = [];
    const kept = compares(settings) ? 'learning' : 'all';
    try {
      for (const [lane, choice] of choicesOf(settings).entries()) {
        try {
          const chosen = { ...choice, saved: await find(choice) };
          const learners = await learnersOf(chosen);
          const { history } = learners[0]!;
          const held = { ...heldOf(optionsOf(settings, chosen, records)), numRegretPrefixes: 0 };
          const sums = kept === 'learning' ? await start(held, 'sums') : history;
          lanes.push({ ...chosen, learners, history, sums });
        } catch (cause) {
          throw new LaneError(lane, cause);
        }
      }
    } catch (error) {
      for (const { simulation } of streams) simulation.dispose();
      throw error;
    }
    return new Run(settings, records, streams, lanes);
  }

  /** Options that reproduce the totals of a lane; the mechanism is given by name. */
  optionsOf({ mechanism, parameters }: Lane): RunOptions {
    const options = optionsOf(this.settings, { mechanism, parameters, saved: null }, this.records);
    return this.sharesStart ? heldOf(options) : options;
  }

  /**
   * True if learners are compared; the totals are then those of the gradients at the shared
   * starting point.
   */
  get sharesStart(): boolean {
    const { history, sums } = this.lanes[0]!;
    return history !== sums;
  }

  get first(): History {
    return this.lanes[0]!.history;
  }
  get numSteps(): number {
    return this.first.info.steps;
  }
  get step(): number {
    return this.first.step;
  }
  get finished(): boolean {
    return this.step === this.numSteps;
  }

  /**
   * Runs at most `maxSteps` steps in all streams, or fewer if they would take long. The worker
   * watches the clock and computes for as long as messages are in transit, so that a busy page,
   * which is slow to ask again, still gets half of the library's throughput.
   */
  async advance(maxSteps: number): Promise<void> {
    const first = this.step === 0 ? firstSteps : Infinity;
    let steps = Math.max(1, Math.min(maxSteps, first, this.numSteps - this.step));
    const { slowest, streams } = this;
    const order = [slowest, ...[...streams.keys()].filter((one) => one !== slowest)];
    const start = performance.now();
    const chunks: [History, SimulationChunk][] = [];
    let greatest = 0;
    for (const one of order) {
      const began = performance.now();
      const limit = one === slowest ? { maxMilliseconds: this.budget } : {};
      const { simulation, history } = streams[one]!;
      const chunk = await simulation.advance(steps, limit);
      if (this.disposed) return;
      steps = chunk.steps;
      chunks.push([history, chunk]);
      const took = performance.now() - began;
      if (took > greatest) [greatest, this.slowest] = [took, one];
    }
    for (const [history, chunk] of chunks) history.append(chunk);
    const share = (performance.now() - start) / (2 * streams.length);
    this.budget = Math.max(shortest, Math.min(longest, share));
  }

  /** True if the limit on the rows of a person left rows out. */
  get leavesOut(): boolean {
    return (this.records?.numDropped ?? 0) > 0;
  }

  /**
   * Sums of all rows before clipping, of one coordinate (from 1) or as norms (0). Null if no row is
   * clipped or left out, and for learners, which sum gradients.
   */
  unclipped(view: number): Float64Array | null {
    const { records, settings, first } = this;
    if (records === null || first.info.learns) return null;
    const { table, raw, numDropped } = records;
    if (numDropped === 0 && numClipped(table, settings.clipNorm) === 0) return null;
    const width = table.numColumns;
    const sums = weightedSums(raw, width, weightsOf(settings));
    return Float64Array.from({ length: this.numSteps }, (_, step) => {
      const row = sums.subarray(step * width, (step + 1) * width);
      return view === 0 ? Math.hypot(...row) : row[view - 1]!;
    });
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    for (const { simulation } of this.streams) simulation.dispose();
  }
}
