import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import type { Client, ClientConfig } from 'pg';
import type { Config } from '../../core/config/config.js';
import type { RemoteReason } from '../../core/errors/remote-problems.js';
import { type Address, requiresSsl, type SslMode } from './connection.js';
import { hostProblem } from './hosts.js';

/** Result of a test, as a code for programs. */
type ConnectionReason =
  | RemoteReason
  | 'ok'
  | 'tls-required'
  | 'database-missing'
  | 'no-postgis'
  | 'postgis-version'
  | 'too-many-connections'
  | 'starting'
  | 'secret'
  | 'missing';

export interface ConnectionHealth {
  readonly isHealthy: boolean;
  readonly reason: ConnectionReason;
  /** For people. */
  readonly message: string;
}

const CONNECT_MS = 6000;
const STATEMENT_MS = 3000;
const OLDEST_POSTGIS = 3;

/**
 * Connects like the workers do, and returns the result. The JavaScript client of PostgreSQL distinguishes failures by
 * codes, while libpq only has messages.
 */
export async function probeConnection(
  address: Address,
  password: string,
  settings: Config['connections'],
): Promise<ConnectionHealth> {
  const forbidden = hostProblem(address, settings.allow);
  if (forbidden !== undefined) return unhealthy('host-not-allowed', `The host ${forbidden}.`);
  const config = clientConfig(address, password);
  const [first, second] = attempts(address.sslMode);
  const result = await attempt({ ...config, ssl: await readTls(first!, settings) }, address);
  if (!second || !/^(tls|certificate)/.test(result.reason)) return result;
  return attempt({ ...config, ssl: await readTls(second, settings) }, address);
}

/** Modes of one connection each, in their order. */
function attempts(mode: SslMode): SslMode[] {
  if (mode === 'Prefer') return ['Require', 'Disable'];
  return mode === 'Allow' ? ['Disable', 'Require'] : [mode];
}

function clientConfig({ host, port, databaseName, username }: Address, password: string): ClientConfig {
  return {
    host,
    port,
    database: databaseName,
    user: username,
    // A function, because the client would replace an empty string by the server's environment.
    password: () => password,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    statement_timeout: STATEMENT_MS,
    application_name: 'graticule',
  };
}

async function readTls(
  mode: SslMode,
  { certificates }: Config['connections'],
): Promise<false | ConnectionOptions> {
  if (!requiresSsl(mode)) return false;
  if (mode === 'Require') return { rejectUnauthorized: false };
  const ca = await readFile(certificates, 'utf8').catch(() => '');
  return { ca, ...(mode === 'VerifyCA' ? { checkServerIdentity: () => undefined } : {}) };
}

async function attempt(config: ClientConfig, address: Address): Promise<ConnectionHealth> {
  const { default: pg } = await import('pg');
  const client = new pg.Client(config);
  // Later errors are ignored, because the result is already known.
  client.on('error', () => {});
  try {
    await client.connect();
    return await loadHealth(client);
  } catch (error) {
    return failure(error as Error & { code?: string }, address);
  } finally {
    void client.end().catch(() => {});
  }
}

const FACTS = `SELECT current_setting('server_version') AS server,
  (SELECT extversion FROM pg_extension WHERE extname = 'postgis') AS postgis,
  (SELECT extversion IS NOT NULL FROM pg_available_extensions x LEFT JOIN pg_extension e ON e.extname = x.name
    WHERE x.name = 'postgis') IS NOT NULL AS available`;
const TABLES = `SELECT count(*)::int AS geometries,
  count(*) FILTER (WHERE has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT'))::int AS readable
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_type y ON y.oid = a.atttypid
  WHERE y.typname IN ('geometry', 'geography') AND a.attnum > 0 AND NOT a.attisdropped
    AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname !~ '^pg_'
    AND NOT EXISTS (SELECT FROM pg_depend d
      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`;

async function loadHealth(client: Client): Promise<ConnectionHealth> {
  const { server, postgis, available } = (await client.query(FACTS)).rows[0];
  if (postgis === null)
    return unhealthy(
      'no-postgis',
      `The database has no PostGIS extension: ${available ? 'CREATE EXTENSION postgis' : 'install PostGIS on its server'}.`,
    );
  if (Number.parseInt(postgis, 10) < OLDEST_POSTGIS)
    return unhealthy('postgis-version', `PostGIS ${postgis} is too old: 3.0 or newer is needed.`);
  const { geometries, readable } = (await client.query(TABLES)).rows[0];
  if (geometries > 0 && readable === 0)
    return unhealthy(
      'rights',
      `The user may read none of ${geometries} geometry columns: GRANT USAGE on their schemas and SELECT on their tables.`,
    );
  const message = `PostgreSQL ${server} with PostGIS ${postgis}; ${readable} geometry columns can be read.`;
  return { isHealthy: true, reason: 'ok', message };
}

const CODES: Readonly<Record<string, ConnectionReason>> = {
  ENOTFOUND: 'name-not-found',
  EAI_AGAIN: 'name-not-found',
  EAI_FAIL: 'name-not-found',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'timeout',
  '28P01': 'password',
  '3D000': 'database-missing',
  '42501': 'rights',
  '53300': 'too-many-connections',
  '57P03': 'starting',
};

/** Words of the client that have no code. */
const WORDS: readonly [RegExp, ConnectionReason][] = [
  [/does not support SSL/i, 'tls-unavailable'],
  [/timeout/i, 'timeout'],
  [/certificate|altname|self.signed|wrong version number|SSL routines/i, 'certificate'],
  [/SASL|SCRAM|password/i, 'password'],
];

function failure({ code = '', message }: Error & { code?: string }, address: Address): ConnectionHealth {
  const reason = describeReason(code, message);
  return unhealthy(reason, formatText(reason, address, message));
}

function describeReason(code: string, message: string): ConnectionReason {
  if (code === '28000') return /encryption|SSL off/i.test(message) ? 'tls-required' : 'password';
  if (CODES[code]) return CODES[code];
  if (/^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|ERR_OSSL)/.test(code)) return 'certificate';
  return WORDS.find(([words]) => words.test(message))?.[1] ?? 'other';
}

function formatText(
  reason: ConnectionReason,
  { host, port, databaseName, username, sslMode }: Address,
  message: string,
): string {
  const place = `${host}:${port}`;
  switch (reason) {
    case 'name-not-found':
      return `The host name ${host} cannot be resolved (DNS).`;
    case 'refused':
      return `${place} refuses connections: no server listens there.`;
    case 'unreachable':
      return `${place} cannot be reached from this server.`;
    case 'timeout':
      return `${place} did not answer in time: a firewall may be between, or the server is busy.`;
    case 'tls-unavailable':
      return `${place} speaks no TLS, which sslMode ${sslMode} asks for.`;
    case 'tls-required':
      return `${place} takes this user with TLS only: set sslMode to Require or a stricter one. (${message})`;
    case 'certificate':
      return `The certificate of ${place} is not accepted with sslMode ${sslMode}: ${message}. Authorities are read from connections.certificates.`;
    case 'password':
      return `The server does not accept the user ${username} with this password. (${message})`;
    case 'database-missing':
      return `There is no database ${databaseName} on ${place}.`;
    case 'rights':
      return `The user ${username} may not connect to the database ${databaseName}: GRANT CONNECT. (${message})`;
    case 'too-many-connections':
      return `${place} has no connection left.`;
    case 'starting':
      return `${place} is starting or stopping. Retry later.`;
    default:
      return `${place} cannot be used: ${message}`;
  }
}

function unhealthy(reason: ConnectionReason, message: string): ConnectionHealth {
  return { isHealthy: false, reason, message };
}
