// SPDX-License-Identifier: Apache-2.0

// Reads well-formed JSON as tokens, to find what JSON.parse hides.

export const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Key that occurs twice in an object of a JSON text; undefined if every key is unique. */
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
