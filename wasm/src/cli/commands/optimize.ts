// SPDX-License-Identifier: Apache-2.0

// dp-ftrl optimize: optimises a mechanism and saves it for --strategy.

import { Worker } from 'node:worker_threads';
import { load } from '../../index.js';
import { boundOf } from '../../shared/problem.js';
import type { OptimizeOptions, SavedStrategy } from '../../types/all.js';
import type { StrategyParameters } from '../../types/streams/options.js';
import { connect } from '../../worker-client.js';
import { type Args, required, type Known } from '../options/args.js';
import { MECHANISM_OPTIONS, nameText, PARTICIPATION_OPTIONS } from '../options/mechanism.js';
import { participationText, readMechanism, readParticipation } from '../options/mechanism.js';
import { requireWritable, StandardOutput, writeFile } from '../output/output.js';
import { ProgressLine } from '../output/progress.js';
import { boundLabels, report } from '../output/report.js';
import { readQueryWeights, readWorkload, workloadText } from '../input/workload.js';

export const options: Known = {
  ...MECHANISM_OPTIONS,
  steps: 'value',
  workload: 'value',
  ...PARTICIPATION_OPTIONS,
  solver: 'value',
  'max-iterations': 'value',
  gap: 'value',
  'query-weights': 'value',
  output: 'value',
  json: 'flag',
};

const INFEASIBLE =
  'infeasible: this mechanism has no search for what was asked, or no proof as tight; ' +
  'this is the best that it has';

function describe(saved: SavedStrategy, name: string): string {
  const { participation, ratio, objective, workload, status, queryWeights } = saved;
  return report(
    {
      ...saved,
      name,
      workload: workloadText(workload),
      participation: participationText(participation),
      gap: ratio === null ? null : ratio - 1,
      status: status === 'infeasible' ? INFEASIBLE : status,
    },
    false,
    {
      name: 'mechanism',
      numSteps: 'steps',
      workload: 'workload',
      participation: 'participation',
      objective: 'objective',
      error: queryWeights ? 'weighted mean error' : `${objective} error`,
      ...boundLabels(saved),
      ratio: 'error / lower bound',
      gap: 'gap',
      status: 'status',
      iterations: 'iterations',
    },
  );
}

/** Searches in a worker, so that this thread can show progress and end immediately on a signal. */
async function search(options: OptimizeOptions & { strategy: StrategyParameters }) {
  const client = connect({ worker: new Worker(new URL('./worker.js', import.meta.url)) });
  const line = new ProgressLine(`optimize: ${options.strategy.name}`);
  try {
    return await client.optimize(options, { onProgress: (progress) => line.update(progress) });
  } finally {
    line.end();
    client.terminate();
  }
}

export async function run(args: Args): Promise<void> {
  args.requireNoFile('optimize');
  const numSteps = required('steps', args.steps());
  const participation = readParticipation(args);
  const workload = await readWorkload(args, numSteps);
  const solver = args.oneOf('solver', ['exact', 'none']);
  const maxIterations = args.count('max-iterations');
  const gap = args.probability('gap');
  const queryWeights = await readQueryWeights(args, numSteps);
  const output = args.text('output');
  const { mechanism, ...parameters } = readMechanism(args, (await load()).strategies);
  await requireWritable(output);
  const saved = await search({
    strategy: { name: mechanism, ...parameters },
    steps: numSteps,
    workload,
    participation: boundOf(participation),
    solver,
    ...(maxIterations !== undefined && { maxIterations }),
    ...(gap !== undefined && { gap }),
    ...(queryWeights && { queryWeights }),
  });
  const json = `${JSON.stringify(saved)}\n`;
  const asTable = output !== undefined && !args.has('json');
  if (output !== undefined) {
    await writeFile(output, json);
  }
  await new StandardOutput().write(
    asTable || !args.has('json') ? describe(saved, nameText(mechanism, parameters)) : json,
  );
}
