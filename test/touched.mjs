/**
 * Names the test files that a change touches, for `./run test --changed`: `node test/touched.mjs [COMMIT]`. The change is
 * what differs from the commit; without one it is what is not committed, or the last commit.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Test folders of rooms of src that are called otherwise. Rooms of the name of a test folder need no entry. */
const FOLDERS = {
  alerts: ['webhooks'],
  auth: ['access'],
  cli: ['manifest'],
  maps: ['styles'],
  operations: ['admin'],
  rasters: ['processes'],
  start: ['cluster'],
  stores: ['providers'],
  supervisor: ['engine'],
  uploads: ['exchange'],
};
/** Files that others start or read, not import: whoever imports the file behind them is touched. */
const BEHIND = {
  'src/bundle-loader.cjs': ['test/deploy/bundles.test.ts', 'test/support/hosted-server.ts'],
  'src/bundle.mjs': ['test/deploy/bundles.test.ts', 'test/support/hosted-server.ts'],
  'test/support/host-bundle.mjs': ['test/support/hosted-server.ts'],
  'test/support/host.mjs': ['test/support/hosted-server.ts'],
  'test/support/host.ts': ['test/support/hosted-server.ts'],
};
/** Changes that may touch any test. */
const MAY_TOUCH_ALL =
  /^(package(-lock)?\.json|binding\.gyp|run|\.ci\/|demo\/|tsconfig\S*|vitest\.config\.ts|test\/\w+\.(mjs|txt))/;
/** Quick tests that compare the whole tree with itself: texts with what generates them, words, imports between layers. */
const WHOLE_TREE = ['test/contract/generated-files.test.ts', 'test/docs/', 'test/layers/'];
const MAX_WHOLE_TREE_SECONDS = 5;
/** Steps from a changed file to a test that imports it, for tests that start servers; units are touched however far they are. */
const MAX_STEPS = 2;
/** Seconds that files which start servers took when they ran last, in all; four run at a time. */
const MAX_SECONDS = 400;
/** Seconds of a file that nobody has run here. */
const USUAL_SECONDS = 5;

/**
 * The tests that a change touches, and those that are left out because all would take too long. `imports` has the modules
 * that each file imports, `units` are the tests that start nothing, and `reads` says whether a test names a path.
 * `unknown` are changes that may touch any other test, too.
 */
export function touchedTests({ changed, imports, units, durations, reads = () => false }) {
  const tests = [...imports.keys()].filter((file) => file.endsWith('.test.ts'));
  const steps = stepsFrom([...changed, ...changed.flatMap((file) => BEHIND[file] ?? [])], imports);
  const texts = changed.filter((file) => !imports.has(file));
  const folders = new Set(changed.flatMap(foldersOf));
  const isNear = (test) => steps.get(test) <= MAX_STEPS;
  const estimateSeconds = (test) => durations[test] ?? USUAL_SECONDS;
  const isOfWholeTree = (test) =>
    WHOLE_TREE.some((path) => test.startsWith(path)) && (durations[test] ?? 0) <= MAX_WHOLE_TREE_SECONDS;
  const chosen = tests.filter(
    (test) =>
      steps.get(test) === 0 ||
      (steps.has(test) && units.has(test)) ||
      isOfWholeTree(test) ||
      texts.some((path) => reads(test, path)),
  );
  const others = tests
    .filter((test) => (isNear(test) || folders.has(test.split('/')[1])) && !chosen.includes(test))
    .sort(
      (one, other) =>
        Number(isNear(other)) - Number(isNear(one)) || estimateSeconds(one) - estimateSeconds(other),
    );
  const left = [];
  let seconds = 0;
  for (const test of others) {
    seconds += estimateSeconds(test);
    if (seconds <= MAX_SECONDS) chosen.push(test);
    else left.push(test);
  }
  return { chosen: chosen.sort(), left, unknown: changed.filter((file) => MAY_TOUCH_ALL.test(file)) };
}

/** Steps of imports from these files to each that imports them. */
function stepsFrom(files, imports) {
  const importers = new Map();
  for (const [file, all] of imports)
    for (const to of all) importers.set(to, [...(importers.get(to) ?? []), file]);
  const steps = new Map(files.map((file) => [file, 0]));
  for (let front = files, step = 1; front.length > 0; step++) {
    front = [...new Set(front.flatMap((file) => importers.get(file) ?? []))].filter(
      (file) => !steps.has(file),
    );
    for (const file of front) steps.set(file, step);
  }
  return steps;
}

/**
 * Names of folders of test, by the rooms of a path: `src/services/tiles/jobs/seed.ts` is of `tiles` and `jobs`,
 * `deploy/compose.yaml` of `deploy`.
 */
function foldersOf(path) {
  const all = path.replace(/\.\w+$/, '').split('/');
  const rooms = /^(src|test)\//.test(path) ? all.slice(1) : all;
  return [...rooms, ...rooms.flatMap((room) => FOLDERS[room] ?? [])];
}

const IMPORT = /(?:from|import\()\s*'(\.[^']+)'/g;

function importsOf(path) {
  return [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(([, to]) =>
    normalize(join(dirname(path), to)).replace(/\.js$/, '.ts'),
  );
}

function readImports() {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  return new Map(files.map((file) => [file, importsOf(file)]));
}

/** Whether a test names a path, or the folder of a fixture, in its text. */
function isNamed(test, path) {
  const text = readFileSync(test, 'utf8');
  return text.includes(path) || (path.startsWith('test/fixtures/') && text.includes(dirname(path)));
}

function linesOf(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr.trim());
  return stdout.trim().split('\n').filter(Boolean);
}

function changedSince(commit) {
  const isOpen = () => linesOf('git', 'status', '--porcelain').length > 0;
  const base = commit ?? (isOpen() ? 'HEAD' : 'HEAD~1');
  const added = linesOf('git', 'ls-files', '--others', '--exclude-standard');
  return [...linesOf('git', 'diff', '--name-only', base), ...added];
}

function readDurations() {
  const cache = process.env.GRATICULE_CACHE ?? join(homedir(), '.cache/graticule');
  const file = join(cache, 'test-durations.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const changed = changedSince(process.argv[2]);
  const listed = linesOf('node_modules/.bin/vitest', 'list', '--filesOnly', '--project=units');
  const units = new Set(listed.map((line) => line.replace(/^\[.*\] /, '')));
  const { chosen, left, unknown } = touchedTests({
    changed,
    imports: readImports(),
    units,
    durations: readDurations(),
    reads: isNamed,
  });
  console.error(`${changed.length} changed files touch ${chosen.length} test files`);
  if (unknown.length > 0) console.error(`may touch any test, see ./run test: ${unknown.join(' ')}`);
  if (left.length > 0) console.error(`left out, as they take long: ${left.join(' ')}`);
  console.log(chosen.join(' '));
}
