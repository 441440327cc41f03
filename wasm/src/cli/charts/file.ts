// SPDX-License-Identifier: Apache-2.0

// --plot FILE: writes a figure as SVG, or as a page with its numbers.

import { plot } from '../../plot/plot.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';
import { requireWritable, writeFile } from '../output/output.js';
import type { Figure } from './figure.js';
import { pageOf } from './page.js';

export const PLOT_OPTIONS = under('Output', {
  plot: {
    value: 'FILE',
    file: 'written',
    meaning:
      'plots the releases with twice the standard deviation of their noise up and down: ' +
      'FILE.svg, or FILE.html with the numbers as a table. It contains no true value',
    brief: 'draws them: FILE.svg, or FILE.html with the numbers',
  },
});

interface ChartClaims {
  claim: string;
  notices?: readonly string[];
  isGuarded?: boolean;
}

export class PlotFile {
  private constructor(private readonly path: string) {}

  static read(args: Args): PlotFile | undefined {
    const path = args.text('plot');
    if (path === undefined) return undefined;
    if (!/\.(svg|html)$/i.test(path)) {
      throw new Misuse(`--plot must end with .svg or .html, got ${JSON.stringify(path)}`);
    }
    return new PlotFile(path);
  }

  /** Checks that the file can be written; called before any budget is spent. */
  async check(): Promise<void> {
    await requireWritable(this.path, 'plot');
  }

  /**
   * @param claim  guarantee of the figure, in one sentence.
   * @param notices  warnings to show with the figure.
   * @param isGuarded  whether the caller handles signals.
   */
  async write(
    figure: Figure,
    { claim, notices = [], isGuarded = false }: ChartClaims,
  ): Promise<void> {
    const { title, picture } = figure;
    const sentences = notices.map((it) => `${it.charAt(0).toUpperCase()}${it.slice(1)}.`);
    const notes = [...(picture.notes ?? []), ...sentences, claim];
    const isPicture = /\.svg$/i.test(this.path);
    const svg = plot({ ...picture, title, description: claim, notes: isPicture ? notes : [] });
    const text = isPicture ? svg : pageOf(figure, { svg, notes });
    await writeFile(this.path, text, { option: 'plot', isGuarded });
  }
}
