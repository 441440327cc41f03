// SPDX-License-Identifier: Apache-2.0

// Questions of commands about a table, and the runs that answer them.

import type { Certificate, DpFtrl } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import type { Interruption } from '../../base/signals.js';
import type { Figure } from '../../charts/figure.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import type { Choice, Std } from './choice.js';
import type { ReleaseRun, StreamKind } from './open.js';
import type { OpenTable, ReleasePlan, TableQuestion } from './prepare.js';
import type { ReleaseSettings } from './settings.js';
import type { StepWriter } from './step-writer.js';

/** Collects releases for a figure. */
interface Chart<R extends Reading> {
  take(steps: readonly ReleasedStep<R>[]): void;
  figure(): Figure;
}

/** A question about a table, whose answer is a stream. */
export interface Question<R extends Reading> extends StreamKind, TableQuestion {
  settings: ReleaseSettings;
  /**
   * The form of the question with the least noise at a horizon; by default, the question itself.
   */
  atHorizon?(dp: DpFtrl, numSteps: number): Question<R>;
  /** Present if the noise was chosen among several streams. */
  choice?: Choice;
  /** Largest standard deviations, if the certificate does not give them. */
  largestStd?(certificate: Certificate): Std;
  /**
   * Standard deviations of the noise in a reading by name, if the certificate does not give them.
   */
  stdsOf?(reading: R): Record<string, number>;
  /** Converts readings of the stream, in order, to readings of the question. */
  readings?(): (step: ReleasedStep<R>) => ReleasedStep<R>;
  /** Warnings about a run, printed when its release begins. */
  notices?(run: PlannedRun<R>): readonly string[];
  /** Whether any number stands out from its noise; absent if the output has intervals. */
  isTold?(reading: R): boolean;
  /** Option that bounds the length of rows, if any. */
  bound?: string | undefined;
  /** How rows are clipped, if not to a norm. */
  clippedTo?: string;
  writer(run: Run<R>): StepWriter<R>;
  chart(run: Run<R>): Chart<R>;
}

/** A release whose stream is open. */
export interface PlannedRun<R extends Reading> {
  question: Question<R>;
  settings: ReleaseSettings;
  prepared: ReleasePlan;
  opened: ReleaseRun<R>;
}

/** A release in progress. */
export interface Run<R extends Reading> extends PlannedRun<R> {
  dp: DpFtrl;
  table: OpenTable;
  sink: Sink;
  interruption: Interruption | undefined;
}
