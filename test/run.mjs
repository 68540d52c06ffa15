/**
 * Runs all tests with vitest and ends with one plain line, `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const filters = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
const report = join(folder, 'report.json');
const run = spawnSync(
  'node_modules/.bin/vitest',
  ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...filters],
  // Certificates that the machine adds are read by each process, for nothing: no test meets one.
  { stdio: 'inherit', env: { ...process.env, NODE_EXTRA_CA_CERTS: '' } },
);

let passed = 0;
let failed = 0;
try {
  const result = JSON.parse(readFileSync(report, 'utf8'));
  passed = result.numPassedTests;
  // A file that could not even be loaded counts: its tests did not run.
  const broken = result.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  failed = result.numFailedTests + broken.length;
} catch {
  failed = 1;
}
rmSync(folder, { recursive: true, force: true });
if (run.status !== 0 && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
