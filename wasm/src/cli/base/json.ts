// SPDX-License-Identifier: Apache-2.0

// Reads well-formed JSON as tokens, for what JSON.parse passes over.

export const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns a key that an object in a text of JSON has twice; undefined if none has. */
export function doubledKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  let before = '';
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const key = JSON.parse(before) as string;
      const keys = open.at(-1)!;
      if (keys.has(key)) return key;
      keys.add(key);
    }
    before = token;
  }
  return undefined;
}
