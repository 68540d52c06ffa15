import { type Kysely, type Migration, sql } from 'kysely';
import { firstCursor } from './feed.js';

/** Steps of the state database's schema, in order of name. A step that was released is never changed. */
export const MIGRATIONS: Record<string, Migration> = {
  '0001-foundation': { up: foundation },
  '0002-feed': { up: feed },
  '0003-webhooks': { up: webhooks },
  '0004-registered-rasters': { up: registeredRasters },
  '0005-styles': { up: styles },
  '0007-replies': { up: replies },
};

/** Statements are plain SQL: this file describes tables, and SQL is the language for that. */
async function foundation(db: Kysely<unknown>): Promise<void> {
  for (const statement of FOUNDATION) await sql.raw(statement).execute(db);
}

const FOUNDATION = [
  `CREATE TABLE collection_ids (id INTEGER PRIMARY KEY AUTOINCREMENT, slug TEXT NOT NULL UNIQUE) STRICT`,

  `CREATE TABLE collections (
    slug TEXT PRIMARY KEY, kind TEXT NOT NULL, definition_json TEXT NOT NULL, source_path TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`,

  `CREATE TABLE api_keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, prefix TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    permissions_json TEXT NOT NULL, created_at INTEGER NOT NULL, created_by TEXT, updated_at INTEGER NOT NULL,
    expires_at INTEGER, last_used_at INTEGER, rotated_at INTEGER, revoked_at INTEGER) STRICT`,

  `CREATE TABLE audit (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, event_type TEXT NOT NULL, action TEXT NOT NULL,
    actor TEXT NOT NULL, actor_type TEXT NOT NULL, outcome TEXT NOT NULL, resource_type TEXT NOT NULL,
    resource_id TEXT, correlation_id TEXT NOT NULL, remote_ip TEXT, user_agent TEXT, details TEXT,
    previous_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT`,
  `CREATE INDEX audit_at ON audit (at)`,
  `CREATE TRIGGER audit_is_not_updated BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit rows are append-only'); END`,
  `CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit rows are append-only'); END`,

  `CREATE TABLE jobs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, input_json TEXT NOT NULL, result_json TEXT,
    checkpoint_json TEXT, owner TEXT NOT NULL, idempotency_key TEXT, correlation_id TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, started_at INTEGER, completed_at INTEGER,
    attempt INTEGER NOT NULL, max_attempts INTEGER NOT NULL,
    lease_owner TEXT, lease_expires_at INTEGER, heartbeat_at INTEGER, cancel_requested_at INTEGER,
    phase TEXT, fraction REAL, eta_ms INTEGER, failure_code TEXT, failure_message TEXT,
    warnings_json TEXT NOT NULL, resources_json TEXT NOT NULL,
    UNIQUE (owner, kind, idempotency_key)) STRICT`,
  `CREATE INDEX jobs_by_state ON jobs (state, created_at)`,
  `CREATE INDEX jobs_by_time ON jobs (created_at, id)`,

  `CREATE TABLE job_logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    at INTEGER NOT NULL, level TEXT NOT NULL, message TEXT NOT NULL, phase TEXT) STRICT`,
  `CREATE INDEX job_logs_by_job ON job_logs (job_id, id)`,

  `CREATE TABLE job_steps (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, ordinal INTEGER NOT NULL, attempt INTEGER NOT NULL,
    phase TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL, started_at INTEGER NOT NULL,
    completed_at INTEGER, PRIMARY KEY (job_id, ordinal)) STRICT`,

  `CREATE TABLE job_artifacts (
    id TEXT PRIMARY KEY, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, label TEXT NOT NULL,
    kind TEXT NOT NULL, content_type TEXT NOT NULL, size_bytes INTEGER, location TEXT NOT NULL,
    created_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX job_artifacts_by_job ON job_artifacts (job_id, created_at, id)`,

  `CREATE TABLE documents (
    kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, etag TEXT NOT NULL, body_json TEXT NOT NULL,
    created_at INTEGER NOT NULL, created_by TEXT, updated_at INTEGER NOT NULL, updated_by TEXT,
    PRIMARY KEY (kind, id)) STRICT, WITHOUT ROWID`,
];

async function feed(db: Kysely<unknown>): Promise<void> {
  for (const statement of FEED) await sql.raw(statement).execute(db);
  await sql`INSERT INTO sqlite_sequence (name, seq) VALUES ('feed', ${firstCursor()})`.execute(db);
}

const FEED = [
  `CREATE TABLE feed (
    cursor INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, collection TEXT, entry_json TEXT NOT NULL) STRICT`,
  `CREATE INDEX feed_at ON feed (at)`,

  `CREATE TABLE outboxes (
    source TEXT PRIMARY KEY, cursor INTEGER NOT NULL, event_id TEXT, owner TEXT, lease_expires_at INTEGER NOT NULL)
    STRICT`,
];

async function webhooks(db: Kysely<unknown>): Promise<void> {
  for (const statement of WEBHOOKS) await sql.raw(statement).execute(db);
}

const WEBHOOKS = [
  `CREATE TABLE sinks (
    name TEXT PRIMARY KEY, position INTEGER NOT NULL, owner TEXT, lease_expires_at INTEGER NOT NULL) STRICT`,

  `CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL REFERENCES sinks (name) ON DELETE CASCADE,
    event_id TEXT NOT NULL, body TEXT NOT NULL, attempt INTEGER NOT NULL, error TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'claimed', 'dispatched', 'failed', 'dead_lettered')),
    created_at INTEGER NOT NULL, due_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX deliveries_open ON deliveries (sink, id) WHERE state IN ('pending', 'claimed', 'failed')`,
  `CREATE INDEX deliveries_ended ON deliveries (sink, state, id) WHERE state IN ('dispatched', 'dead_lettered')`,
];

async function registeredRasters(db: Kysely<unknown>): Promise<void> {
  for (const statement of REGISTERED_RASTERS) await sql.raw(statement).execute(db);
}

const REGISTERED_RASTERS = [
  `CREATE TABLE registered_rasters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('import', 'cloud', 'multidim', 'zarr')), layer_id INTEGER NOT NULL,
    name TEXT NOT NULL, description TEXT, place TEXT NOT NULL, about_json TEXT NOT NULL, parts_json TEXT NOT NULL,
    acquired TEXT, scanned_at INTEGER, created_at INTEGER NOT NULL, modified_at INTEGER,
    UNIQUE (kind, layer_id, place)) STRICT`,
  `CREATE INDEX registered_rasters_by_layer ON registered_rasters (layer_id, id)`,
];

async function replies(db: Kysely<unknown>): Promise<void> {
  for (const statement of REPLIES) await sql.raw(statement).execute(db);
}

const REPLIES = [
  `CREATE TABLE replies (
    principal TEXT NOT NULL, key_hash TEXT NOT NULL, target TEXT NOT NULL, instance TEXT NOT NULL,
    created_at INTEGER NOT NULL, body_hash TEXT, sealed TEXT, PRIMARY KEY (principal, key_hash)) STRICT`,
  `CREATE INDEX replies_by_age ON replies (created_at)`,
];

async function styles(db: Kysely<unknown>): Promise<void> {
  for (const statement of STYLES) await sql.raw(statement).execute(db);
}

const STYLES = [
  `CREATE TABLE styles (
    layer_id INTEGER NOT NULL, version INTEGER NOT NULL, document_version INTEGER NOT NULL, document_json TEXT,
    drawing_info_json TEXT, popup_info_json TEXT, changed_by TEXT, change_summary TEXT, revised_at INTEGER NOT NULL,
    PRIMARY KEY (layer_id, version)) STRICT`,
];
