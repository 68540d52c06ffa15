/** Runs all tests with vitest and ends with one plain line, `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

const SLOWEST = 10;
/** Seconds that each file took when it ran last, for the order of the next run; outside of the checkout, as other caches. */
const DURATIONS = join(
  process.env.GRATICULE_CACHE ?? join(homedir(), '.cache/graticule'),
  'test-durations.json',
);

/** Share of an earlier duration that is expected if the last run was shorter. */
const REMEMBERED = 0.9;

const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
const { files, fault } = runVitest(process.argv.slice(2));
rmSync(folder, { recursive: true, force: true });
noteDurations(files);
printSlowest(files);

const passed = files
  .flatMap((file) => file.assertionResults)
  .filter((test) => test.status === 'passed').length;
const failed = files.flatMap(failedTests).length || (fault ? 1 : 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

/** The files of the run, and whether anything failed, in a test or beside them. */
function runVitest(filters) {
  const report = join(folder, 'report.json');
  const run = spawnSync(
    'node_modules/.bin/vitest',
    ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...filters],
    // Certificates that the machine adds are read by each process, for nothing: no test meets one.
    {
      stdio: 'inherit',
      env: { ...process.env, NODE_EXTRA_CA_CERTS: '', GRATICULE_TEST_DURATIONS: DURATIONS },
    },
  );
  try {
    return { files: JSON.parse(readFileSync(report, 'utf8')).testResults, fault: run.status !== 0 };
  } catch {
    return { files: [], fault: true };
  }
}

function nameOf(file) {
  return relative(process.cwd(), file.name);
}

/** The tests of a file that failed; the file itself where it failed before or after them. */
function failedTests(file) {
  const tests = file.assertionResults.filter((test) => test.status === 'failed');
  if (file.status === 'failed' && tests.length === 0) return [nameOf(file)];
  return tests.map((test) => `${nameOf(file)} > ${test.fullName}`);
}

function secondsOf(file) {
  return Math.round((file.endTime - file.startTime) / 1000);
}

/** Of many files, as one that runs alone is faster. A run that cannot write them goes on without. */
function noteDurations(all) {
  if (all.length <= SLOWEST) return;
  try {
    mkdirSync(dirname(DURATIONS), { recursive: true });
    const part = `${DURATIONS}.${process.pid}`;
    const earlier = earlierDurations();
    const seconds = Object.fromEntries(all.map((file) => [nameOf(file), expectSeconds(file, earlier)]));
    writeFileSync(part, JSON.stringify({ ...earlier, ...seconds }));
    renameSync(part, DURATIONS);
  } catch {}
}

/** A file that was brief or skipped in this run may run in full in the next one. */
function expectSeconds(file, earlier) {
  return Math.max(secondsOf(file), Math.floor((earlier[nameOf(file)] ?? 0) * REMEMBERED));
}

function earlierDurations() {
  try {
    return JSON.parse(readFileSync(DURATIONS, 'utf8'));
  } catch {
    return {};
  }
}

function printSlowest(all) {
  if (all.length <= SLOWEST) return;
  const slowest = [...all].sort((a, b) => secondsOf(b) - secondsOf(a)).slice(0, SLOWEST);
  console.log(`\nslowest: ${slowest.map((file) => `${nameOf(file)} ${secondsOf(file)} s`).join(', ')}`);
}
