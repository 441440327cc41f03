// SPDX-License-Identifier: Apache-2.0

// --state: a stream in a file, which the next run continues. Besides the options of the stream, the
// file holds what the command needs to read further rows in the same way.

import { parsedFacts } from '../../api/streams/facts.js';
import type { RefusalError } from '../../core/errors.js';
import { bucketText } from '../../shared/calendar.js';
import { bucketOfText } from '../../shared/time-text.js';
import type { Store } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { domainText } from '../input/domain.js';
import { columnList } from '../input/header.js';
import type { PersonColumn } from '../input/people.js';
import type { TimeColumn } from '../input/time.js';
import { COUNT } from '../options/numbers.js';
import { under } from '../options/option.js';
import { differsText } from './differs.js';
import {
  beginnerOf,
  DAMAGED,
  contentsOf,
  inWords,
  openStore,
  requireBudget,
  requireStored,
} from './state-file.js';
import type { StateSettings } from './state-file.js';
import type { MarkedStore, PaidState, RunMarks } from './state-runs.js';

/** Options of commands whose runs always continue at the next step. */
export const CONTINUE_OPTIONS = under('State', {
  state: {
    value: 'FILE',
    file: 'kept',
    meaning:
      'continues where the last run with this file stopped; all runs together are one release ' +
      'with horizon --steps. FILE holds the key, the true sums and codes of the persons who ' +
      'counted: it is as secret as the rows. With --time-column a run ends its last bucket, ' +
      'that of its last row or of --to; later rows in it are refused',
    brief: 'goes on where the last run with FILE stopped; needs --steps',
  },
  continue: {
    meaning: 'with --state: refuses to begin, so that a FILE that was lost is noticed',
  },
});

export const STATE_OPTIONS = {
  ...CONTINUE_OPTIONS,
  ...under('State', {
    'first-step': {
      value: 'N',
      number: COUNT,
      meaning:
        'with --state: the input starts at step N, which is already released; the same rows ' +
        'get the same releases again, and other rows are refused. Not with --time-column',
    },
  }),
};

/** A run that begins or continues a state. */
export interface Continuation {
  /** The command, and the kind of stream if the command releases several kinds. */
  command: string;
  /** Columns of numbers. */
  columns: readonly string[];
  /** Column of categories. */
  by: string | undefined;
  /** The categories, if the stream has no option for them. */
  domain: readonly string[] | undefined;
  people: PersonColumn | undefined;
  times: TimeColumn | undefined;
  /** Other options by name that are not options of the stream. */
  others?: Readonly<Record<string, string>>;
}

/** Facts about the rows, which the stream's options do not cover. */
interface About {
  command: string;
  /** Columns in the order of the sums. */
  columns: readonly string[];
  /** Options by name. */
  options: Readonly<Record<string, string>>;
  /** The noise that the first run chose; absent if the noise was named. */
  noise?: unknown;
}

/** Facts of an earlier run. */
interface StoredMemo {
  about: About;
  text: string;
  firstBucket: number | undefined;
}

function optionsOf({ by, domain, people, times, others }: Continuation): About['options'] {
  return {
    ...others,
    ...(by !== undefined && { by }),
    ...(domain && { domain: domainText(domain) }),
    ...(people && { 'user-column': people.column }),
    ...(times && {
      'time-column': times.column,
      bucket: times.bucket,
      'time-zone': times.zone.name,
      ...(times.first !== undefined && { from: bucketText(times.first, times) }),
    }),
  };
}

/**
 * Requires a run to read rows as the run that began the state did, except for the order of columns.
 */
function requireSame(was: About, wanted: Continuation): void {
  const is = optionsOf(wanted);
  // The first bucket comes from the first run.
  const options = {
    ...is,
    ...('from' in is || !wanted.times ? {} : { from: was.options['from'] }),
  };
  for (const name of new Set([...Object.keys(was.options), ...Object.keys(options)])) {
    const [before, now] = [was.options, options].map((it) => it[name as keyof typeof it]);
    if (before === now) continue;
    // The stream itself compares the numbers of a strategy.
    if (name === 'strategy' && before !== undefined && now !== undefined) continue;
    // Without ranges, the columns are the summed ones.
    const isSum = name === 'columns' && wanted.command !== 'learn';
    const all = isSum ? was.columns.join(',') : undefined;
    const words = (value = all) => {
      if (name === 'delta' && value === '') return '--pure';
      return value === undefined ? undefined : `--${name} ${value}`.trimEnd();
    };
    const onward =
      name === 'from' ? '; without --from it goes on after the last step that it released' : '';
    throw new Misuse(`${differsText(words(before), words(now))}${onward}`);
  }
  const sorted = (names: readonly string[]) => JSON.stringify([...names].sort());
  if (sorted(was.columns) === sorted(wanted.columns)) return;
  const [before, now] = [was.columns, wanted.columns].map(columnList);
  const does = wanted.command === 'learn' ? 'learns from' : 'sums';
  throw new Misuse(`it ${does} the columns ${before}, this run ${now}`);
}

/** The members of a stream in a file that a state uses. */
interface KeptStream {
  readonly identity: string;
  /** Number of released steps. */
  readonly step: number;
  begin(): Promise<void>;
  dispose(): Promise<void> | void;
}

/** Options of a stream in a file. */
export interface StoreOptions {
  store: Store;
  about: string;
}

/** The file of a stream that is continued by the next run. */
export class State implements PaidState {
  private stream: KeptStream | undefined;

  private constructor(
    private readonly path: string,
    private readonly store: MarkedStore,
    private readonly wanted: Continuation,
    /** Facts that the first run stored; undefined for a new state. */
    private readonly stored: StoredMemo | undefined,
  ) {}

  static async open(settings: StateSettings, wanted: Continuation): Promise<State> {
    const { path, mustExist, hasBudget } = settings;
    const store = await openStore(path);
    try {
      const bytes = await store.load();
      requireStored(bytes, mustExist);
      requireBudget(store, hasBudget);
      return new State(path, store, wanted, bytes && storedIn(bytes, wanted));
    } catch (error) {
      await store.close();
      throw inWords(error, path);
    }
  }

  /** Columns in the order of the first run. */
  get columns(): readonly string[] {
    return (this.stored?.about ?? this.wanted).columns;
  }

  /** Bucket of the first step, if an earlier run has begun the state. */
  get firstBucket(): number | undefined {
    return this.stored?.firstBucket;
  }

  /** Whether an earlier run has begun the state. */
  get isBegun(): boolean {
    return this.stored !== undefined;
  }

  /** The noise that the first run chose; undefined if the noise was named. */
  get noise(): unknown {
    return this.stored?.about.noise;
  }

  get identity(): string {
    return this.stream!.identity;
  }

  get numReleased(): number {
    return this.stream!.step;
  }

  get runs(): RunMarks | undefined {
    return this.store.runs;
  }

  /** Opens the stream; for a new stream, `times` must have a first bucket. */
  async open<S extends KeptStream>(
    { times, noise }: { times?: TimeColumn | undefined; noise?: unknown },
    make: (options: StoreOptions) => Promise<S>,
  ): Promise<S> {
    const { command, columns } = this.wanted;
    const about = (): About => ({
      command,
      columns,
      options: optionsOf({ ...this.wanted, times }),
      noise,
    });
    try {
      const text = this.stored?.text ?? JSON.stringify(about());
      const stream = await make({ store: this.store, about: text });
      this.stream = stream;
      return stream;
    } catch (error) {
      throw this.told(error);
    }
  }

  /** Stores the marks, and a new state before its first step, so that the next run has its key. */
  async begin(runs: RunMarks): Promise<void> {
    await this.store.mark(runs);
    await this.keep();
  }

  /** Stores a new state although it has no steps yet. */
  async keep(): Promise<void> {
    if (!this.stored) await this.stream!.begin();
  }

  /** Rewrites an error in the terms of the command, with the name of the file. */
  told(error: unknown): unknown {
    return inWords(error, this.path);
  }

  /** Rewrites an error about a step released before in the terms of the command. */
  toldOfStep(error: unknown): unknown {
    const { code, value } = error as Partial<RefusalError>;
    if (code !== 'already_released') return error;
    const what = `step ${Number(value) + 1} was released for another row`;
    return this.told(new Misuse(what, { code }));
  }

  async close(): Promise<void> {
    await this.stream?.dispose();
    await this.store.close();
  }
}

/** Parses the text that an earlier run stored; undefined if it is damaged. */
function parsedAbout(text: string): About | undefined {
  const { command, columns, options, noise } = JSON.parse(text) as Partial<About>;
  if (!Array.isArray(columns) || typeof options !== 'object' || options === null) return undefined;
  const texts: unknown[] = [command, ...columns, ...Object.values(options)];
  const areTexts = texts.every((it) => typeof it === 'string');
  return areTexts ? ({ command, columns, options, noise } as About) : undefined;
}

/**
 * @throws Misuse for a state that another command or a program began, or whose rows were read
 * differently.
 */
function storedIn(bytes: Uint8Array, wanted: Continuation): StoredMemo {
  const { beginner, memo } = contentsOf(bytes);
  if (beginner !== undefined && beginner !== wanted.command) {
    throw new Misuse(`it is of ${beginnerOf(beginner)}`);
  }
  const text = parsedFacts(memo)?.['about'];
  if (beginner === undefined || typeof text !== 'string') {
    throw new Misuse(`it was not begun by ${beginnerOf(wanted.command)}`);
  }
  const about = parsedAbout(text);
  if (!about) throw new Misuse(DAMAGED);
  requireSame(about, wanted);
  const { from } = about.options;
  if (!wanted.times) return { about, text, firstBucket: undefined };
  const firstBucket = bucketOfText(from ?? '', wanted.times);
  if (firstBucket === undefined) throw new Misuse(DAMAGED);
  return { about, text, firstBucket };
}
