// SPDX-License-Identifier: Apache-2.0

// Parses JSON lines, one object per line, into records. The keys of the first object name the
// columns. Cells keep the text of the values, so that different ids never become the same number.

import { Misuse } from '../base/failure.js';
import { JSON_TOKEN } from '../base/json.js';
import type { CsvRecord } from '../../shared/csv.js';
import { nameOf } from '../../shared/name.js';

/** A record and, if it comes from JSON lines, facts about its object. */
export interface TableRecord extends CsvRecord {
  object?: {
    /** 0-based columns whose value is a list or an object. */
    nested: ReadonlySet<number>;
    /** Whether the object has a key that the first object lacks. */
    hasMore: boolean;
  };
}

const MAX_LINE = 1 << 20;

interface JsonMember {
  key: string;
  /** Text of the value; undefined for a list or an object. */
  value: string | undefined;
}

function fault(line: number, what: string): Misuse {
  return new Misuse(`line ${line} ${what}`, { code: 'malformed_json', line });
}

/** Text of a scalar value. */
function textOfValue(token: string): string {
  if (token === 'null') return '';
  return token.startsWith('"') ? (JSON.parse(token) as string) : token;
}

/** Members of a well-formed object, in order. */
function membersOf(text: string): JsonMember[] {
  const members: JsonMember[] = [];
  let depth = 0;
  let key: string | undefined;
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    const opens = token === '{' || token === '[';
    if (depth === 1 && key !== undefined && token !== ':') {
      members.push({ key, value: opens ? undefined : textOfValue(token) });
      key = undefined;
    } else if (depth === 1 && token.startsWith('"')) key = nameOf(JSON.parse(token) as string);
    if (opens) ++depth;
    else if (token === '}' || token === ']') --depth;
  }
  return members;
}

function parseObject(text: string, line: number): JsonMember[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fault(line, 'is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw fault(line, 'is not an object');
  }
  const members = membersOf(text);
  if (new Set(members.map(({ key }) => key)).size < members.length) {
    throw fault(line, 'has a key twice');
  }
  return members;
}

/** Consumes text and yields the records that it completes. The first record names the columns. */
export class JsonLines {
  private places: Map<string, number> | undefined;
  private line = 0;
  private rest = '';

  *push(text: string): Generator<TableRecord> {
    const lines = `${this.rest}${text}`.split('\n');
    this.rest = lines.pop()!;
    for (const each of lines) yield* this.take(each);
    if (this.rest.length > MAX_LINE) this.refuseLong(this.line + 1);
  }

  /** Yields the last record if the text does not end with a newline. */
  *end(): Generator<TableRecord> {
    if (this.rest !== '') yield* this.take(this.rest);
  }

  private refuseLong(line: number): never {
    throw fault(line, `has more than ${MAX_LINE} characters`);
  }

  private *take(text: string): Generator<TableRecord> {
    const line = ++this.line;
    if (text.length > MAX_LINE) this.refuseLong(line);
    const clean = line === 1 ? text.replace(/^\ufeff/, '') : text;
    if (clean.trim() === '') return yield { cells: [''], line };
    const members = parseObject(clean, line);
    if (!this.places) {
      if (members.length === 0) throw fault(line, 'has no keys, which name the columns');
      this.places = new Map(members.map(({ key }, i) => [key, i]));
      yield { cells: [...this.places.keys()], line };
    }
    yield this.record(members, line);
  }

  private record(members: readonly JsonMember[], line: number): TableRecord {
    const cells = Array.from(this.places!, () => '');
    const nested = new Set<number>();
    let hasMore = false;
    for (const { key, value } of members) {
      const place = this.places!.get(key);
      if (place === undefined) hasMore = true;
      else if (value !== undefined) cells[place] = value;
      else nested.add(place);
    }
    return { cells, line, object: { nested, hasMore } };
  }
}
