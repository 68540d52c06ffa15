/**
 * Names the test files whose repetitions (test/support/soak.ts) go on for longer in CI: those whose files were
 * changed by what lands together.
 */
import { isChanged } from './changes.mjs';

/** Test files by the folders and files that they try hardest. */
const SOAKS = {
  'test/e2e/stream-crash.test.ts': [
    'src/services/streams',
    'src/stores/streams/feed.ts',
    'src/gateway/streams',
    'src/client',
    'src/workers/edits',
    'src/core/streams/events.ts',
  ],
  'test/admin/audit-backlog.test.ts': ['src/stores/audit', 'src/gateway/audit/admin/audit-trail.ts'],
  'test/e2e/crash.test.ts': ['src/workers/edits', 'src/services/edits/edits.ts', 'src/workers/providers'],
  'test/e2e/killed-changes.test.ts': [
    'src/services/exchange/import.ts',
    'src/services/exchange/import-staging.ts',
    'src/services/catalog',
    'src/services/processes/publish.ts',
  ],
  'test/edits/replaced-files.test.ts': [
    'src/workers/edits',
    'src/services/edits/edits.ts',
    'src/services/catalog/publish/file-versions.ts',
    'src/workers/files/file-ledger.ts',
    'src/workers/files/write-ahead-log.ts',
    'src/workers/providers/kept-sqlite.ts',
    'src/workers/providers/geopackage',
  ],
  'test/e2e/resilience.test.ts': ['src/supervisor', 'src/workers/engine'],
  'test/e2e/bad-input.test.ts': ['src/gateway/http'],
  'test/e2e/many-files.test.ts': ['src/services/catalog', 'src/workers/rasters'],
  'test/streaming/several-servers.test.ts': ['src/services/streams', 'src/stores/streams/feed.ts'],
  'test/faults/faults.test.ts': [
    'src/stores/database/postgres-dialect.ts',
    'src/stores/database/postgres-channel.ts',
    'src/services/cluster',
    'src/services/streams/relay.ts',
    'src/gateway/http/requests/idempotency.ts',
    'src/services/jobs/lease.ts',
    'src/services/webhooks/sink.ts',
    'src/workers/providers/postgis/connections/pool.ts',
    'src/native/addon/postgres/pg_connection.cpp',
  ],
  'test/admin/import-server.test.ts': ['src/services/exchange/import.ts', 'src/services/jobs'],
  'test/native/clip-polygons.test.ts': ['src/native'],
  'test/native/h3.test.ts': ['src/native/core/analytics'],
};

const files = Object.entries(SOAKS).filter(([file, places]) => isChanged(file) || places.some(isChanged));
console.log(files.map(([file]) => file).join(' '));
