// SPDX-License-Identifier: Apache-2.0

// A kind of stream, and its options when they have been read.

import type { Reader } from '../../core/check.js';
import type { CoreMechanism, CoreStreamOptions } from '../../core/core.js';
import type { MechanismName } from '../../types/all.js';
import type { PeopleNames } from './people.js';
import type { Shape, StoredOptions } from './shape.js';
import type { Member } from './stream.js';

/** When records are stored; the first is the default. */
export const DURABLE = ['record', 'step'] as const;

/** Options with the fields that the core takes beside key and state. */
export type CompletedOptions = Omit<CoreStreamOptions, 'key' | 'state' | 'about' | 'journal'>;

/** The options of a stream, read. */
export interface CommonOptions {
  complete: CompletedOptions;
  people: PeopleNames | undefined;
  durable: (typeof DURABLE)[number];
  /** Options that only a store keeps. */
  kept: StoredOptions;
}

/** A kind of stream: what is summed, and how it is read. */
export interface StreamDefinition<R> {
  name: string;
  /** Whose sums the core makes; by default those of the same name. */
  core?: CoreStreamOptions['kind'];
  /** Options beside those of all streams. */
  options: readonly string[];
  /** Whether delta may be 0. */
  isPure?: boolean;
  /** Members beside those of all streams. */
  members?: Readonly<Record<string, Member<R>>>;
  /** Reads a mechanism; by default one of releases of one workload. */
  readMechanism?: (reader: Reader, mechanisms: readonly MechanismName[]) => CoreMechanism;
  /** Whether it takes prefix sums and windows only. */
  hasWindowsOnly?: boolean;
  /** Reads the options of this kind. */
  read(
    reader: Reader,
    complete: CompletedOptions,
  ): {
    set: Partial<CompletedOptions>;
    shape: Shape<R>;
    /** The options of this kind as a store keeps them. */
    own: StoredOptions;
    /** Options that only the first opening of a store decides; later ones need not repeat them. */
    initial?: StoredOptions;
    /** Names of several workloads. */
    names?: readonly string[];
  };
}
