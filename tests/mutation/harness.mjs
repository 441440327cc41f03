// SPDX-License-Identifier: Apache-2.0

// Plants named faults in copies of a tree, one at a time, and determines which tests detect them.
// The caller (run.mjs) defines the areas, which say what is built and run for each fault.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { statSync, symlinkSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const LINKED = ['node_modules', '.toolchain'];
const FIELDS = ['name', 'file', 'find', 'replace', 'tests', 'equivalent'];

/** Number of occurrences of a text in another. */
const occurrences = (text, part) => text.split(part).length - 1;

/**
 * Returns the file with the fault in it. Throws unless the text to be replaced occurs exactly once.
 */
function mutate(fault, source) {
  const path = join(source, fault.file);
  if (!existsSync(path)) throw new Error(`there is no ${fault.file}`);
  const text = readFileSync(path, 'utf8');
  const times = occurrences(text, fault.find);
  if (times !== 1) throw new Error(`its text occurs ${times} times in ${fault.file}`);
  return text.replace(fault.find, () => fault.replace);
}

/** Reads the faults of all lists in a folder. Throws an error that names every stale one. */
export function readFaults(folder, source) {
  const names = new Set();
  const wrong = [];
  const lists = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const faults = lists.flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  for (const fault of faults) {
    try {
      const strange = Object.keys(fault).find((key) => !FIELDS.includes(key));
      if (strange) throw new Error(`unknown field ${strange}`);
      if (names.has(fault.name)) throw new Error('another fault has this name');
      names.add(fault.name);
      const text = [fault.find, fault.replace];
      if (text.some((it) => typeof it !== 'string')) throw new Error('find and replace are texts');
      if (fault.find === fault.replace) throw new Error('it changes nothing');
      const tests = [fault.tests].flat();
      if (tests.length === 0 || tests.some((it) => !it || typeof it !== 'string')) {
        throw new Error('tests must name what is to notice it');
      }
      mutate(fault, source);
    } catch (error) {
      wrong.push(`${fault.name}: ${error.message}`);
    }
  }
  if (wrong.length > 0) throw new Error(`stale faults:\n${wrong.join('\n')}`);
  return faults;
}

/** Runs a program; resolves to { code, output, timedOut }, where code is null after a signal. */
export function run([file, ...args], { cwd, env, seconds = 7200 }) {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn(file, args, { cwd, env, detached: true, stdio });
    let output = '';
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      process.kill(-child.pid, 'SIGKILL'); // It and its child processes.
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

/** Files that belong to a tree: those in git, or about to be added. */
async function filesOf(source) {
  const list = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { code, output } = await run(list, { cwd: source, env: process.env });
  if (code !== 0) throw new Error(`git ls-files failed: ${output}`);
  const names = [...new Set(output.split('\0').filter(Boolean))].sort();
  return names.filter((name) => existsSync(join(source, name)));
}

/** Reads a file; for TypeScript, removes types and comments. */
function substance(path) {
  const text = readFileSync(path, 'utf8');
  if (!path.endsWith('.ts')) return text;
  const { ESNext } = ts.ModuleKind;
  const compilerOptions = { module: ESNext, target: ts.ScriptTarget.ESNext, removeComments: true };
  return ts.transpileModule(text, {
    compilerOptions: { ...compilerOptions, verbatimModuleSyntax: true },
  }).outputText;
}

/** Text of a named test in the given files, or all of them if it is not found. */
function textOfTest(name, files) {
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  const [suite, test] = name?.split('.') ?? [];
  const starts = [`test('${name}'`, `test("${name}"`, `(${suite}, ${test})`];
  for (const text of texts) {
    const start = starts.map((it) => text.indexOf(it)).find((at) => at >= 0);
    if (start === undefined) continue;
    const length = text.slice(start + 1).search(/^(?:test\(|TEST)/m);
    return length < 0 ? text.slice(start) : text.slice(start, start + 1 + length);
  }
  return texts.join('\0');
}

/**
 * Results stored in a file between runs, by name of the fault. A result stays valid while the
 * fault, the file it changes and the test that detected it are unchanged, or all files of its named
 * tests if none detected it.
 */
export class Results {
  constructor(file, { source, testFilesOf }) {
    this.file = file;
    this.source = source;
    this.testFilesOf = testFilesOf;
    this.known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  }

  keyOf(fault, by, folder) {
    const files = this.testFilesOf(fault).map((name) => join(folder, name));
    return createHash('sha256')
      .update(JSON.stringify(fault))
      .update(substance(join(folder, fault.file)))
      .update(textOfTest(by, files))
      .digest('hex')
      .slice(0, 16);
  }

  /** Result of a fault, if still valid. */
  of(fault) {
    const { key, ...result } = this.known[fault.name] ?? {};
    if (key === undefined || key !== this.keyOf(fault, result.by, this.source)) return undefined;
    return result;
  }

  /** Stores the result of a fault that was tried in a copy of the source. */
  keep(fault, result, folder) {
    this.known[fault.name] = { key: this.keyOf(fault, result.by, folder), ...result };
    this.save();
  }

  /** Drops the results of faults that are on no list. */
  forgetOthers(faults) {
    const names = new Set(faults.map(({ name }) => name));
    const kept = Object.entries(this.known).filter(([name]) => names.has(name));
    this.known = Object.fromEntries(kept);
  }

  save() {
    const sorted = Object.entries(this.known).sort(([a], [b]) => (a < b ? -1 : 1));
    const lines = sorted.map(([name, it]) => `${JSON.stringify(name)}: ${JSON.stringify(it)}`);
    writeFileSync(this.file, `{\n${lines.join(',\n')}\n}\n`);
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

  async synchronise() {
    const manifest = `${this.folder}.files.json`;
    const before = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : [];
    const names = await filesOf(this.source);
    for (const gone of before.filter((name) => !names.includes(name))) {
      rmSync(join(this.folder, gone), { force: true });
    }
    for (const name of names) this.copy(name);
    for (const name of LINKED.filter((it) => existsSync(join(this.source, it)))) {
      this.link(name);
    }
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

  /** Plants a fault; returns a function that removes it. */
  plant(fault) {
    const path = join(this.folder, fault.file);
    const text = readFileSync(path);
    writeFileSync(path, mutate(fault, this.folder));
    return () => writeFileSync(path, text);
  }

  /** Builds an area; returns the output if that fails. */
  async build(area) {
    for (const name of readdirSync(this.scratch)) {
      rmSync(join(this.scratch, name), { recursive: true, force: true });
    }
    const { code, output } = await run(area.build, { cwd: this.folder, env: this.env });
    return code === 0 ? undefined : output;
  }

  /** Runs the named tests, or all tests of the area, until one fails: { outcome, by, seconds }. */
  async test(area, tests, seconds) {
    const start = performance.now();
    const end = (outcome, by, output) => {
      return { outcome, by, seconds: Math.round((performance.now() - start) / 100) / 10, output };
    };
    for (const command of area.test(tests)) {
      const ran = await run(command, { cwd: this.folder, env: this.env, seconds });
      const { code, output, timedOut } = ran;
      if (timedOut) return end('killed', `timeout of ${seconds} s`, output);
      if (code !== 0) return end('killed', area.failed(output), output);
      if (!(area.passed(output) > 0)) return end('no tests');
    }
    return end('survived');
  }

  remove() {
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

/** Processes a queue in all trees in parallel; throws the first error after all have ended. */
async function share(trees, queue, work) {
  const rest = [...queue];
  const workIn = async (tree) => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) await work(tree, one);
  };
  const ended = await Promise.allSettled(trees.map(workIn));
  const broken = ended.find(({ status }) => status === 'rejected');
  if (broken) throw broken.reason;
}

/**
 * Checks that without a fault the tree builds and every test passes. Returns time limits for tests
 * with a fault.
 */
async function checkUnmutated(trees, area, sets) {
  for (const tree of trees) {
    const fault = await tree.build(area);
    if (fault !== undefined) throw new Error(`the unmutated copy does not build:\n${fault}`);
  }
  const limits = new Map();
  await share(trees, sets, async (tree, { tests }) => {
    const { outcome, by, seconds, output } = await tree.test(area, tests, 7200);
    const named = tests ?? 'all tests';
    if (outcome === 'no tests') throw new Error(`no test is called ${named}`);
    if (outcome !== 'survived') throw new Error(`${named} fail without a fault: ${by}\n${output}`);
    limits.set(String(tests), area.seconds?.(seconds) ?? Math.ceil(60 + 10 * seconds));
  });
  return limits;
}

/**
 * Tries one fault in one tree. A fault that no test detects ends as 'survived'. Paths in the stored
 * output are relative to the project, since the location of the tree is private.
 */
async function tryFault(tree, area, fault, tests, limit) {
  const takeOut = tree.plant(fault);
  const inProject = (text) => text?.replaceAll(`${tree.folder}/`, '');
  try {
    const refused = await tree.build(area);
    if (refused !== undefined)
      return { outcome: 'does not compile', by: inProject(refused).slice(-400) };
    const { outcome, by, seconds } = await tree.test(area, tests, limit);
    return { outcome, by: inProject(by), seconds };
  } finally {
    takeOut();
  }
}

/** Tries faults of one area with their named tests (or all tests), in all trees in parallel. */
async function tryAll({ trees, area, faults, isWide, done }) {
  const testsOf = (fault) => (isWide ? undefined : fault.tests);
  const sets = new Map(faults.map((it) => [String(testsOf(it)), { tests: testsOf(it) }]));
  const limits = await checkUnmutated(trees, area, sets.values());
  await share(trees, faults, async (tree, fault) => {
    const tests = testsOf(fault);
    done(fault, await tryFault(tree, area, fault, tests, limits.get(String(tests))), tree);
  });
}

/**
 * Tries every fault without a valid result: first with its named tests, and if they pass, with all
 * tests of its area. Returns Map(fault -> { outcome, by, seconds }), in which a result that became
 * invalid because a file was changed while it was tried is 'changed meanwhile'.
 *
 * @param areas  name -> { build, test(tests), passed(output), failed(output) }
 * @param areaOf  fault -> name of its area
 */
export async function tryFaults(options) {
  const { source, work, faults, results, areas, areaOf, jobs = 1, log = () => {} } = options;
  const isOpen = (fault) => results.of(fault) === undefined;
  mkdirSync(work, { recursive: true });
  const trees = Array.from({ length: jobs }, (_, i) => new Tree(source, join(work, `tree-${i}`)));
  const save = (fault, result, tree) => {
    results.keep(fault, result, tree.folder);
    log(`${result.outcome.padEnd(16)} ${fault.name}${result.by ? `  (${result.by})` : ''}`);
  };
  try {
    if (faults.some(isOpen)) for (const tree of trees) await tree.synchronise();
    for (const [name, area] of Object.entries(areas)) {
      const open = faults.filter((fault) => areaOf(fault) === name && isOpen(fault));
      open.sort((a, b) => (a.file < b.file ? -1 : Number(a.file > b.file))); // fewer files to restore
      if (open.length === 0) continue;
      log(`${name}: ${open.length} faults, first without any`);
      const passed = [];
      const done = (fault, result, tree) => {
        if (result.outcome !== 'survived' || fault.equivalent) save(fault, result, tree);
        else passed.push(fault);
      };
      await tryAll({ trees, area, faults: open, isWide: false, done });
      if (passed.length === 0) continue;
      log(`${name}: all tests, for ${passed.length} faults that their own tests let pass`);
      await tryAll({ trees, area, faults: passed, isWide: true, done: save });
    }
  } finally {
    for (const tree of trees) tree.remove();
  }
  const changed = { outcome: 'changed meanwhile' };
  return new Map(faults.map((fault) => [fault, results.of(fault) ?? changed]));
}

/** Returns counts of outcomes, and what is wrong with them: { text, isEnough }. */
export function judge(results, { least, share }) {
  const of = (outcome, isEquivalent) =>
    [...results].filter(
      ([it, result]) => result.outcome === outcome && !it.equivalent !== isEquivalent,
    );
  const [killed, survived] = [of('killed', false), of('survived', false)];
  const broken = [...of('does not compile', false), ...of('does not compile', true)];
  const equivalent = of('survived', true);
  const distinct = of('killed', true);
  const ratio = killed.length / Math.max(1, killed.length + survived.length);
  const list = (what, some) =>
    some.map(([{ name }, { by }]) => `${what}: ${name}${by ? ` (${by})` : ''}`);
  const numCounted = killed.length + survived.length + equivalent.length;
  const late = killed.filter(([, { by }]) => by.startsWith('timeout'));
  const lines = [
    ...list('survived', survived),
    ...list('does not compile', broken),
    ...list('said to be equivalent, but killed', distinct),
    ...list('killed', late),
    ...list('changed while it was tried', of('changed meanwhile', false)),
    `${killed.length} killed, ${survived.length} survived, ${equivalent.length} equivalent, ` +
      `${broken.length} do not compile; ${(100 * ratio).toFixed(1)} % of ` +
      `${killed.length + survived.length} killed (at least ${100 * share} %), ` +
      `${numCounted} faults (at least ${least})`,
  ];
  const isEnough = ratio >= share && numCounted >= least && distinct.length === 0;
  return { text: lines.join('\n'), isEnough };
}
