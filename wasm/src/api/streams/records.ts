// SPDX-License-Identifier: Apache-2.0

// The arguments of `add` and similar methods: a record, preceded by its person if people are
// protected, or lists of both.

import type { CorePeople } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import { counted } from '../../shared/counted.js';
import type { PeopleNames } from './people.js';
import type { Shape } from './shape.js';

/** Records in the form that the core takes. */
export interface CoreRecords {
  people: CorePeople | undefined;
  rows: Float64Array;
  numRecords: number;
}

export class Records<R> {
  /** Number of arguments that make a record. */
  readonly arity: number;

  constructor(
    readonly shape: Shape<R>,
    private readonly names: PeopleNames | undefined,
  ) {
    this.arity = shape.one.length + Number(names !== undefined);
  }

  one(where: string, args: readonly unknown[]): CoreRecords {
    const { names, shape } = this;
    this.requireArity(where, args, ['person', ...shape.one]);
    const people = names?.one(where, args[0]);
    return { people, rows: shape.row(where, ...this.partsOf(args)), numRecords: 1 };
  }

  many(where: string, args: readonly unknown[]): CoreRecords {
    const { names, shape } = this;
    this.requireArity(where, args, ['people', ...shape.many]);
    // If a record is a person alone, the list of people gives the number of records.
    const parts = shape.many.length === 0 ? [args[0]] : this.partsOf(args);
    const { rows, numRecords } = shape.rows(where, ...parts);
    return { people: names?.many(where, args[0], numRecords), rows, numRecords };
  }

  /** Drops the person from the arguments. */
  private partsOf(args: readonly unknown[]): readonly unknown[] {
    return args.slice(Number(this.names !== undefined), this.arity);
  }

  /** Refuses arguments that would be ignored, such as a person in a stream of records. */
  private requireArity(
    where: string,
    args: readonly unknown[],
    [person, ...parts]: readonly string[],
  ): void {
    if (args.length <= this.arity) return;
    const own = (this.names ? [person, ...parts] : parts).map((name) => `{${name}}`).join(' and ');
    const isAlone = this.names !== undefined && parts.length === 0;
    const alone = this.names ? (isAlone ? ' alone' : '') : ' alone, without {people}';
    const constraint = `takes ${own}${alone}`;
    const value = counted(args.length, 'argument');
    throw makeError('wrong_type', where, { constraint, value });
  }
}
