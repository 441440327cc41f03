// SPDX-License-Identifier: Apache-2.0

// A kind of stream, and its options once they are read.

import type { Reader } from '../../core/check.js';
import type { CoreMechanism, CoreStreamOptions } from '../../core/core.js';
import type { Certificate, MechanismName } from '../../types/all.js';
import type { Refusal } from '../../types/refusal.js';
import type { PeopleNames } from './people.js';
import type { Shape, StoredOptions } from './shape.js';
import type { Member } from './stream.js';

/** When records are stored; the first is the default. */
export const DURABLE = ['record', 'step'] as const;

/** Options with all fields of the core except the key and the fields of a store. */
export type CompletedOptions = Omit<CoreStreamOptions, 'key' | 'state' | 'about' | 'journal'>;

/** The options of a stream once they are read. */
export interface CommonOptions {
  complete: CompletedOptions;
  people: PeopleNames | undefined;
  durable: (typeof DURABLE)[number];
  /** Options that the core does not take, as a store keeps them. */
  kept: StoredOptions;
}

/** A kind of stream: what is summed, and how it is read. */
export interface StreamDefinition<R> {
  name: string;
  /** Kind of stream that the core runs; by default the kind of the same name. */
  core?: CoreStreamOptions['kind'];
  /** Options specific to this kind. */
  options: readonly string[];
  /** Whether records are events of people, any number per person. */
  isOfPeople?: boolean;
  /** Whether delta may be 0. */
  isPure?: boolean;
  /** Members specific to this kind. */
  members?: Readonly<Record<string, Member<R>>>;
  /** Reads a mechanism; default: for releases of one workload. */
  readMechanism?: (reader: Reader, mechanisms: readonly MechanismName[]) => CoreMechanism;
  /** Whether it takes prefix sums and windows only. */
  hasWindowsOnly?: boolean;
  /** Names the option at fault if an error of the core is about a derived number. */
  blames?(error: Refusal, reader: Reader): Partial<Refusal> | undefined;
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
    /** Names of several workloads, or of windows. */
    names?: readonly string[];
    /** Fields of the certificate that the core does not know. */
    claims?: Partial<Certificate>;
  };
}
