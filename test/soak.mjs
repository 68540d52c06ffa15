/**
 * Names the test files whose repetitions (test/support/soak.ts) go on for longer in CI: those whose files were
 * changed by what lands together.
 */
import { isChanged } from './changes.mjs';

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
  'test/admin/audit-backlog.test.ts': ['src/stores/audit', 'src/gateway/admin/audit-trail.ts'],
  'test/e2e/crash.test.ts': ['src/workers/edits', 'src/services/edits.ts', 'src/workers/providers'],
  'test/e2e/killed-changes.test.ts': [
    'src/services/import',
    'src/services/publish',
    'src/services/processes/publish.ts',
  ],
  'test/edits/replaced-files.test.ts': [
    'src/workers/edits',
    'src/services/edits.ts',
    'src/services/publish/file-versions.ts',
    'src/workers/file-ledger.ts',
    'src/workers/write-ahead-log.ts',
    'src/workers/providers/kept-sqlite.ts',
    'src/workers/providers/geopackage',
  ],
  'test/e2e/resilience.test.ts': ['src/supervisor', 'src/workers/engine'],
  'test/e2e/bad-input.test.ts': ['src/gateway/http'],
  'test/e2e/many-files.test.ts': ['src/services/publish', 'src/workers/raster'],
  'test/streaming/several-servers.test.ts': ['src/services/events', 'src/stores/feed.ts'],
  'test/faults/faults.test.ts': [
    'src/stores/postgres-dialect.ts',
    'src/stores/postgres-channel.ts',
    'src/services/cluster',
    'src/services/events/relay.ts',
    'src/services/idempotency.ts',
    'src/services/jobs/lease.ts',
    'src/services/webhooks/sink.ts',
    'src/workers/providers/postgis/pool.ts',
    'src/native/addon/pg_connection.cpp',
  ],
  'test/admin/import-server.test.ts': ['src/services/import.ts', 'src/services/jobs'],
  'test/native/clip-polygons.test.ts': ['src/native'],
  'test/native/h3.test.ts': ['src/native/core/analytics'],
};

const files = Object.entries(SOAKS).filter(([file, places]) => isChanged(file) || places.some(isChanged));
console.log(files.map(([file]) => file).join(' '));
