// SPDX-License-Identifier: Apache-2.0

// Writes moments as text, one row per step.

import type { Estimate, Moments } from '../../../types/streams/readings.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import {
  cellNames,
  cellsOf,
  ReadingWriter,
  type OutputSettings,
} from '../stream/reading-writer.js';
import { estimateAt, nameOf, pathsOf, type Path, type MomentChoice } from './estimates.js';

interface MomentsOutput extends OutputSettings {
  columns: string[];
  wanted: MomentChoice;
  confidence: number;
}

type Tree = { [name: string]: Tree | Estimate };

/** Inserts an estimate at the path of its kind and columns: `{mean: {age: {value, ...}}}`. */
function put(tree: Tree, [name, ...rest]: readonly string[], estimate: Estimate): void {
  if (rest.length === 0) tree[name!] = estimate;
  else put((tree[name!] ??= {}) as Tree, rest, estimate);
}

export class MomentsWriter extends ReadingWriter<Moments<string>> {
  private readonly paths: Path[];

  constructor(
    sink: Sink,
    private readonly shown: MomentsOutput,
  ) {
    const paths = pathsOf(shown.columns, shown.wanted);
    const names = paths.flatMap((path) => cellNames(nameOf(path)));
    super(sink, { command: 'moments', all: 'count' }, shown, names);
    this.paths = paths;
  }

  protected facts() {
    const { columns, confidence } = this.shown;
    return { columns, confidence };
  }

  protected countOf({ count }: Moments<string>): Estimate {
    return count;
  }

  protected reading(step: ReleasedStep<Moments<string>>): string {
    const all = this.paths.map((path) => estimateAt(step.reading, path));
    if (!this.json) return this.text.line([...this.firstCells(step), ...all.flatMap(cellsOf)]);
    const tree: Tree = {};
    this.paths.forEach(([kind, ...columns], i) => {
      const name = kind === 'standard_deviation' ? 'standardDeviation' : kind;
      put(tree, [name, ...columns], all[i]!);
    });
    return this.objectOf(step, tree);
  }
}
