/**
 * Changes one thing at a time in files of src, and looks whether a test fails:
 * `node test/mutate.mjs PATH... [--per-file N] [--tests FILE,...]`. A mutant that no test sees is printed: either a test is
 * missing, or the code is not needed, or the change makes no difference. The units nearest to the file are run first, then,
 * on a server built of the mutant, the files of --tests.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Time for the tests of one mutant, which may run for ever; less for units, which take seconds. */
const DEADLINE_MS = 240_000;
const UNITS_DEADLINE_MS = 60_000;
/** Units, or other test files, that are run for a file. */
const NEAREST = 12;
const NEAREST_OTHERS = 3;

/** What is changed, where it stands in code, and into what. */
const CHANGES = [
  [/ === /g, () => ' !== '],
  [/ !== /g, () => ' === '],
  [/ <= /g, () => ' < '],
  [/ >= /g, () => ' > '],
  [/ < /g, () => ' <= '],
  [/ > /g, () => ' >= '],
  [/ && /g, () => ' || '],
  [/ \|\| /g, () => ' && '],
  [/ \?\? /g, () => ' && '],
  [/ \+ /g, () => ' - '],
  [/ - /g, () => ' + '],
  [/ \* /g, () => ' / '],
  [/\btrue\b/g, () => 'false'],
  [/\bfalse\b/g, () => 'true'],
  [/\bif \((.*)\) (?=return|throw|continue|break|\{$)/g, ([, condition]) => `if (!(${condition})) `],
  [/\breturn ([^;]+);$/g, ([, value]) => (value === 'undefined' ? 'return {};' : 'return undefined;')],
  [/^(\s+)((?:this\.|await |[a-z]\w*\.)[\w.#]+\(.*\);)$/g, ([, indent, call]) => `${indent}// ${call}`],
  [/(?<=[=(,] )(\d+)(?=[;,) ])/g, ([digits]) => String(Number(digits) + 1)],
];

function filesIn(path) {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? filesIn(join(path, entry.name))
      : entry.name.endsWith('.ts')
        ? [join(path, entry.name)]
        : [],
  );
}

/** Which parts of a line are code: not in comments, texts or templates. */
function isCode(line, at) {
  let quote;
  for (let i = 0; i < at; i++) {
    if (quote) {
      if (line[i] === '\\') i++;
      else if (line[i] === quote) quote = undefined;
    } else if (`'"\``.includes(line[i])) quote = line[i];
    else if (line[i] === '/' && line[i + 1] === '/') return false;
  }
  return quote === undefined;
}

/** Lines that say nothing at run time. */
const SILENT =
  /^\s*(\*|\/\*|\/\/|import |export \*|export type|export interface|type |interface |readonly |\| )|^\s*[\w?]+\??: [^=]*;$/;

function mutantsOf(text) {
  const lines = text.split('\n');
  return lines.flatMap((line, i) => {
    if (SILENT.test(line)) return [];
    return CHANGES.flatMap(([pattern, change]) =>
      [...line.matchAll(pattern)].flatMap((match) => {
        if (!isCode(line, match.index)) return [];
        const changed =
          line.slice(0, match.index) + change(match) + line.slice(match.index + match[0].length);
        return [{ line: i + 1, before: line.trim(), after: changed.trim(), lines: lines.with(i, changed) }];
      }),
    );
  });
}

const IMPORT = /(?:from|import\()\s*'(\.[^']+)'/g;
const importsOf = (path) =>
  [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(([, to]) =>
    normalize(join(dirname(path), to)).replace(/\.js$/, '.ts'),
  );

/** Units nearest to a file, by how many imports lie between; where none imports it, the nearest of other test files. */
function nearestTests(file, importers) {
  const tests = [];
  let front = [file];
  const seen = new Set(front);
  while (front.length > 0) {
    front = [...new Set(front.flatMap((one) => importers.get(one) ?? []))].filter((one) => !seen.has(one));
    for (const one of front) seen.add(one);
    tests.push(...front.filter((one) => one.endsWith('.test.ts')));
  }
  const nearestUnits = tests.filter((test) => units.has(test)).slice(0, NEAREST);
  return nearestUnits.length > 0 ? nearestUnits : tests.slice(0, NEAREST_OTHERS);
}

function importersOf(paths) {
  const importers = new Map();
  for (const path of paths)
    for (const to of importsOf(path)) importers.set(to, [...(importers.get(to) ?? []), path]);
  return importers;
}

/** Whether the tests pass. */
function passes(tests) {
  const { status } = spawnSync('node_modules/.bin/vitest', ['run', '--bail=1', '--reporter=dot', ...tests], {
    // In full: the code that they test is changed.
    env: { ...process.env, GRATICULE_MUTANT: '1', GRATICULE_SOAK: tests.join(' ') },
    stdio: 'ignore',
    // A mutant that never ends may hear nothing else.
    killSignal: 'SIGKILL',
    timeout: tests.every((test) => units.has(test)) ? UNITS_DEADLINE_MS : DEADLINE_MS,
  });
  return status === 0;
}

/** So many of a list, evenly spread. */
function spread(list, count) {
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, i) => list[Math.floor(((i + 0.5) * list.length) / count)]);
}

/** Writes the server that the tests of built servers start. */
function bundle() {
  return spawnSync('node', ['src/bundle.mjs'], { stdio: 'ignore' }).status === 0;
}

const args = process.argv.slice(2);
function option(name) {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args.splice(at, 2)[1];
}
const perFile = Number(option('--per-file') ?? 20);
const serverTests = option('--tests')?.split(',') ?? [];
if (args.length === 0 || !(perFile > 0)) {
  console.error('usage: ./run mutate PATH... [--per-file N] [--tests FILE,...]');
  process.exit(2);
}

/** Whether all tests pass with a file as it is. */
function survives(tests) {
  if (tests.length > 0 && !passes(tests)) return false;
  return serverTests.length === 0 || (bundle() && passes(serverTests));
}

const listed = spawnSync('node_modules/.bin/vitest', ['list', '--filesOnly', '--project=units'], {
  encoding: 'utf8',
});
const units = new Set(
  listed.stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/^\[.*\] /, '')),
);
const importers = importersOf([...filesIn('src'), ...filesIn('test')]);
let [made, survived] = [0, 0];
for (const file of args.flatMap(filesIn)) {
  const text = readFileSync(file, 'utf8');
  const tests = nearestTests(file, importers);
  const mutants = spread(mutantsOf(text), perFile);
  if (mutants.length === 0) continue;
  if (tests.length + serverTests.length === 0) {
    console.log(`${file}: no test imports it`);
    continue;
  }
  if (!survives(tests)) {
    console.log(`${file}: tests fail without a change: ${[...tests, ...serverTests].join(' ')}`);
    continue;
  }
  const restore = () => writeFileSync(file, text);
  process.once('SIGINT', () => {
    restore();
    process.exit(130);
  });
  let alive = 0;
  try {
    for (const { line, before, after, lines } of mutants) {
      writeFileSync(file, lines.join('\n'));
      if (!survives(tests)) continue;
      alive++;
      console.log(`${file}:${line}\n  - ${before}\n  + ${after}`);
    }
  } finally {
    restore();
    process.removeAllListeners('SIGINT');
  }
  console.log(
    `${file}: ${mutants.length - alive} of ${mutants.length} mutants found by ${tests.length + serverTests.length} test files`,
  );
  made += mutants.length;
  survived += alive;
}
if (serverTests.length > 0) bundle();
console.log(`${made - survived} of ${made} mutants found, ${survived} survived`);
