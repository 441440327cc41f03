// SPDX-License-Identifier: Apache-2.0

// Writes moments as text, one row per step.

import type { Estimate } from '../../../types/all.js';
import type { Sink } from '../../output/output.js';
import {
  cellNames,
  cellsOf,
  ReadingWriter,
  type Reading,
  type Shown,
} from '../statistics/writer.js';
import { nameOf, pathsOf, type Wanted } from './estimates.js';

interface ShownMoments extends Shown {
  columns: string[];
  wanted: Wanted;
  confidence: number;
}

type Tree = { [name: string]: Tree | Estimate };

/** Inserts an estimate at the path of its kind and columns: `{mean: {age: {value, ...}}}`. */
function put(tree: Tree, [name, ...rest]: readonly string[], estimate: Estimate): void {
  if (rest.length === 0) tree[name!] = estimate;
  else put((tree[name!] ??= {}) as Tree, rest, estimate);
}

export class MomentsWriter extends ReadingWriter {
  private readonly paths: string[][];

  constructor(
    sink: Sink,
    private readonly shown: ShownMoments,
  ) {
    const paths = pathsOf(shown.columns, shown.wanted);
    const names = paths.flatMap((path) => cellNames(nameOf(path)));
    super(sink, { command: 'moments', all: 'count' }, shown, paths.length, names);
    this.paths = paths;
  }

  protected facts() {
    const { columns, confidence } = this.shown;
    return { columns, confidence };
  }

  protected reading(reading: Reading): string {
    const { estimates } = reading;
    if (!this.json) {
      return this.text.line([...this.firstCells(reading), ...estimates.flatMap(cellsOf)]);
    }
    const tree: Tree = {};
    this.paths.forEach(([kind, ...columns], i) => {
      const name = kind === 'standard_deviation' ? 'standardDeviation' : kind!;
      put(tree, [name, ...columns], estimates[i]!);
    });
    return this.objectOf(reading, tree);
  }
}
