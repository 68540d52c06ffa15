/**
 * Names the test files whose repetitions (test/support/soak.ts) go their whole length, as CI does: those whose files were
 * changed by what lands together, which is the commits of the last hours before the newest.
 */
import { spawnSync } from 'node:child_process';

const HOURS = 4;

/** Test files by the folders and files that they try hardest. */
const SOAKS = {
  'test/e2e/stream-crash.test.ts': [
    'src/services/events',
    'src/stores/feed.ts',
    'src/gateway/surfaces/streaming',
    'src/client',
    'src/workers/edits',
    'src/core/events.ts',
  ],
  'test/e2e/crash.test.ts': ['src/workers/edits', 'src/services/edits.ts', 'src/workers/providers'],
  'test/e2e/resilience.test.ts': ['src/supervisor', 'src/workers/engine'],
  'test/e2e/bad-input.test.ts': ['src/gateway/http'],
  'test/e2e/many-files.test.ts': ['src/services/publish', 'src/workers/raster'],
  'test/streaming/several-servers.test.ts': ['src/services/events', 'src/stores/feed.ts'],
  'test/admin/import-server.test.ts': ['src/services/import.ts', 'src/services/jobs'],
  'test/native/clip-polygons.test.ts': ['src/native'],
  'test/native/h3.test.ts': ['src/native/core/analytics'],
};

function git(...args) {
  const { stdout, status } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Files changed in the last hours before the newest commit; undefined without the history that tells. */
function changedFiles() {
  const newest = git('log', '-1', '--format=%ct');
  const before = newest && git('rev-list', '-1', `--before=${Number(newest) - HOURS * 3600}`, 'HEAD');
  if (!before) return undefined;
  return git('diff', '--name-only', before, 'HEAD')?.split('\n');
}

const changed = changedFiles();
const touched = (place) => changed.some((path) => path === place || path.startsWith(`${place}/`));
const files = Object.entries(SOAKS).filter(
  ([file, places]) => !changed || touched(file) || places.some(touched),
);
console.log(files.map(([file]) => file).join(' '));
