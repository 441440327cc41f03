// SPDX-License-Identifier: Apache-2.0

// Plants named faults in a copy of a tree, one at a time, and finds out whether their tests notice
// them. The caller (run.mjs) defines the areas, which say what is built and run for each fault.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { statSync, symlinkSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

const LINKED = ['node_modules', '.toolchain'];
const FIELDS = ['name', 'file', 'find', 'replace', 'tests'];

/** Words and signs of a text, without what formatters add and remove: space, trailing commas. */
function tokensOf(text) {
  const tokens = text.match(/\w+|[^\s\w]/g) ?? [];
  return tokens.filter((it, i) => it !== ',' || !/^[)\]}]$/.test(tokens[i + 1] ?? ''));
}

/** A pattern that finds a text however it is formatted. */
function patternOf(text) {
  const parts = tokensOf(text).map((token, i, all) => {
    const isWord = (it) => /^\w/.test(it ?? '');
    const space = isWord(token) && isWord(all[i - 1]) ? '\\s+' : '\\s*';
    const before = i === 0 ? '' : /^[)\]}]$/.test(token) ? '(?:\\s*,)?\\s*' : space;
    return before + (isWord(token) ? token : `\\${token}`);
  });
  return new RegExp(parts.join(''), 'g');
}

/** Text of the file with the fault in it. Throws unless its text occurs exactly once. */
function mutate(fault, source) {
  const path = join(source, fault.file);
  if (!existsSync(path)) throw new Error(`there is no ${fault.file}`);
  const text = readFileSync(path, 'utf8');
  const pattern = patternOf(fault.find);
  const times = [...text.matchAll(pattern)].length;
  if (times !== 1) throw new Error(`its text occurs ${times} times in ${fault.file}`);
  return text.replace(pattern, () => fault.replace);
}

function check(fault, source, names) {
  const strange = Object.keys(fault).find((key) => !FIELDS.includes(key));
  if (strange) throw new Error(`unknown field ${strange}`);
  const missing = FIELDS.find((key) => typeof fault[key] !== 'string');
  if (missing) throw new Error(`${missing} must be a text`);
  if (names.has(fault.name)) throw new Error('another fault has this name');
  names.add(fault.name);
  if (fault.find === fault.replace) throw new Error('it changes nothing');
  mutate(fault, source);
}

/**
 * Reads the faults of all lists in a folder, each of which has the name of its area. Throws an
 * error that names every stale fault.
 *
 * @param testFiles  (area, tests) -> files that contain the tests; throws if there are none
 */
export function readFaults(folder, source, testFiles) {
  const names = new Set();
  const wrong = [];
  const faults = [];
  for (const list of readdirSync(folder).sort()) {
    const area = basename(list, '.json');
    for (const fault of JSON.parse(readFileSync(join(folder, list), 'utf8'))) {
      try {
        check(fault, source, names);
        faults.push({ ...fault, area, files: [fault.file, ...testFiles(area, fault.tests)] });
      } catch (error) {
        wrong.push(`${fault.name}: ${error.message}`);
      }
    }
  }
  if (wrong.length > 0) throw new Error(`stale faults:\n${wrong.join('\n')}`);
  return faults;
}

/** Runs a program; resolves to { code, output, timedOut }, where code is null after a signal. */
function run([file, ...args], { cwd, env = process.env, seconds = 7200 }) {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn(file, args, { cwd, env, detached: true, stdio });
    let output = '';
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      process.kill(-child.pid, 'SIGKILL'); // The whole process group.
    }, seconds * 1000);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    }
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output, timedOut });
    });
  });
}

/**
 * Results stored in a file between runs, by name of the fault. A result stays valid until the
 * fault, the file it changes or a file of its tests changes by more than its format.
 */
export class Results {
  constructor(file) {
    this.file = file;
    this.known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  }

  keyOf({ find, replace, tests, files }, folder) {
    const texts = files.map((name) => readFileSync(join(folder, name), 'utf8'));
    const tokens = [find, replace, tests, ...texts].map(tokensOf);
    return createHash('sha256').update(JSON.stringify(tokens)).digest('hex').slice(0, 16);
  }

  /** Result of a fault { outcome, by }, if there is one that is valid. */
  of(fault, folder) {
    const { key, ...result } = this.known[fault.name] ?? {};
    return key !== undefined && key === this.keyOf(fault, folder) ? result : undefined;
  }

  keep(fault, folder, result) {
    this.known[fault.name] = { key: this.keyOf(fault, folder), ...result };
    writeFileSync(this.file, JSON.stringify(this.known, null, 2));
  }
}

/** A copy of a tree that keeps its previous build output. */
class Tree {
  constructor(source, folder) {
    this.source = source;
    this.folder = folder;
    this.scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-mutation-'));
    this.env = { ...process.env, TMPDIR: this.scratch, DPFTRL_ALL: '1' };
    delete this.env.NODE_TEST_CONTEXT; // Tests of the harness are themselves run by Node.
  }

  /** Copies the files in git, or about to be added, and removes those that were copied before. */
  async synchronise() {
    const list = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const { code, output } = await run(list, { cwd: this.source });
    if (code !== 0) throw new Error(`git ls-files failed: ${output}`);
    const listed = new Set(output.split('\0').filter(Boolean));
    const names = [...listed].filter((name) => existsSync(join(this.source, name)));
    const manifest = `${this.folder}.files.json`;
    const before = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : [];
    for (const name of before.filter((it) => !names.includes(it))) {
      rmSync(join(this.folder, name), { force: true });
    }
    for (const name of names) this.copy(name);
    for (const name of LINKED) if (existsSync(join(this.source, name))) this.link(name);
    writeFileSync(manifest, JSON.stringify(names));
  }

  /** Copies a file unless it is equal, in which case its modification time is unchanged. */
  copy(name) {
    const from = join(this.source, name);
    const to = join(this.folder, name);
    const bytes = readFileSync(from);
    if (existsSync(to) && readFileSync(to).equals(bytes)) return;
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, bytes);
    chmodSync(to, statSync(from).mode);
  }

  /** Links the entries of a folder, so that the copy can add its own. */
  link(name) {
    mkdirSync(join(this.folder, name), { recursive: true });
    for (const entry of readdirSync(join(this.source, name))) {
      const to = join(this.folder, name, entry);
      if (entry !== 'log' && !existsSync(to)) symlinkSync(join(this.source, name, entry), to);
    }
  }

  /** Builds an area; returns the output if that fails. */
  async build(area) {
    for (const name of readdirSync(this.scratch)) {
      rmSync(join(this.scratch, name), { recursive: true, force: true });
    }
    const { code, output } = await run(area.build, { cwd: this.folder, env: this.env });
    return code === 0 ? undefined : output;
  }

  /** Runs tests: { passed, by, seconds }, where `by` is the first that failed, or null. */
  async test(area, tests, limit) {
    const start = performance.now();
    const command = area.test(tests);
    const ran = await run(command, { cwd: this.folder, env: this.env, seconds: limit });
    const seconds = (performance.now() - start) / 1000;
    const by = ran.timedOut
      ? `timeout of ${limit} s`
      : ran.code === 0
        ? null
        : area.failed(ran.output);
    return { passed: area.passed(ran.output), by, seconds };
  }

  /** Runs tests without a fault; returns the time they may take with one, or why they do not pass. */
  async unmutated(area, tests) {
    const { passed, by, seconds } = await this.test(area, tests);
    if (by !== null) return { wrong: `fails without it: ${by}` };
    if (!(passed > 0)) return { wrong: `no test is called ${tests}` };
    return { limit: area.seconds?.(seconds) ?? Math.ceil(60 + 10 * seconds) };
  }

  /** Tries a fault. Paths in the output are made relative, since the tree's place is private. */
  async try(area, fault, limit) {
    const path = join(this.folder, fault.file);
    const text = readFileSync(path);
    writeFileSync(path, mutate(fault, this.folder));
    try {
      const refused = await this.build(area);
      const by = refused?.slice(-400) ?? (await this.test(area, fault.tests, limit)).by;
      const outcome = refused ? 'does not compile' : by === null ? 'survived' : 'killed';
      return { outcome, by: by?.replaceAll(`${this.folder}/`, '') };
    } finally {
      writeFileSync(path, text);
    }
  }
}

async function tryArea(tree, area, faults, done) {
  for (const tests of new Set(faults.map((it) => it.tests))) {
    // The last build may still contain the previous fault.
    const refused = await tree.build(area);
    if (refused) throw new Error(`the unmutated copy does not build:\n${refused}`);
    const { limit, wrong } = await tree.unmutated(area, tests);
    for (const fault of faults.filter((it) => it.tests === tests)) {
      const cannot = wrong && { outcome: 'cannot be tried', by: wrong };
      done(fault, cannot ?? (await tree.try(area, fault, limit)));
    }
  }
}

/**
 * Tries every fault without a valid result.
 *
 * @param areas  name -> { build, test(tests), passed(output), failed(output), seconds? }
 */
export async function tryFaults({ source, work, faults, results, areas, log = () => {} }) {
  const open = faults.filter((fault) => results.of(fault, source) === undefined);
  if (open.length === 0) return;
  mkdirSync(work, { recursive: true });
  const tree = new Tree(source, join(work, 'tree'));
  try {
    await tree.synchronise();
    for (const name of Object.keys(areas)) {
      const some = open.filter(({ area }) => area === name);
      if (some.length === 0) continue;
      log(`${name}: ${some.length} faults, first without any`);
      await tryArea(tree, areas[name], some, (fault, result) => {
        if (result.outcome !== 'cannot be tried') results.keep(fault, tree.folder, result);
        log(`${result.outcome.padEnd(16)} ${fault.name}${result.by ? `  (${result.by})` : ''}`);
      });
    }
  } finally {
    rmSync(tree.scratch, { recursive: true, force: true });
  }
}

/** Names the faults that were not killed, or only by a timeout: { text, isEnough }. */
export function judge(faults, results, source) {
  const judged = faults.map((fault) => ({ name: fault.name, ...results.of(fault, source) }));
  const killed = judged.filter(({ outcome }) => outcome === 'killed');
  const named = judged.filter((it) => !killed.includes(it) || it.by.startsWith('timeout'));
  const lines = named.map(({ outcome, name, by }) => {
    return `${outcome ?? 'no valid result'}: ${name}${by ? ` (${by})` : ''}`;
  });
  lines.push(`${killed.length} of ${faults.length} faults killed`);
  return { text: lines.join('\n'), isEnough: killed.length === faults.length };
}
