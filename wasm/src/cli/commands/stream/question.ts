// SPDX-License-Identifier: Apache-2.0

// Questions of commands about a table, and the runs that answer them.

import type { DpFtrl } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import type { Interruption } from '../../base/signals.js';
import type { Figure } from '../../charts/figure.js';
import type { Sink } from '../../output/output.js';
import type { Step } from '../../output/released.js';
import type { Opened, StreamKind } from './open.js';
import type { ReleasePlan, TableQuestion } from './prepare.js';
import type { Settings } from './settings.js';
import type { StepWriter } from './step-writer.js';

/** Collects releases for a figure. */
interface Chart<R extends Reading> {
  take(steps: readonly Step<R>[]): void;
  figure(): Figure;
}

/** A question about a table, whose answer is a stream. */
export interface Question<R extends Reading> extends StreamKind, TableQuestion {
  settings: Settings;
  /** Warnings about a run, printed when its release begins. */
  notices?(run: Run<R>): readonly string[];
  /** Whether any number is distinguishable from 0; absent if intervals already show this. */
  isTold?(reading: R): boolean;
  /** Option that says how large rows may be, if one does. */
  bound?: string | undefined;
  /** Description of the clipping of rows, if it is not to a norm. */
  clippedTo?: string;
  writer(run: Run<R>): StepWriter<R>;
  chart(run: Run<R>): Chart<R>;
}

/** A release in progress. */
export interface Run<R extends Reading> {
  dp: DpFtrl;
  question: Question<R>;
  settings: Settings;
  prepared: ReleasePlan;
  opened: Opened<R>;
  sink: Sink;
  interruption: Interruption | undefined;
}
