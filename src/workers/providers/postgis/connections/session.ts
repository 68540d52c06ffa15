import { LIMITS } from '../../../../core/kit/limits.js';
import { PostgresConnection } from '../../../../native/postgres.js';
import { PROVIDER_LIMITS } from '../../limits.js';

const CONNECT_MS = 5000;
let statementMs: number = PROVIDER_LIMITS.editStatementMs;
let checkMs: number | undefined;

/** Milliseconds that a statement may take. */
export const statementBound = () => statementMs;

/**
 * Sets the statement timeout of this thread. Long statements must not continue after the client has disconnected: the
 * server checks the connection every `checkEveryMs`, if it can (PostgreSQL 14 and later). Call it before the first
 * statement.
 */
export function boundStatements(ms: number, checkEveryMs: number): void {
  statementMs = ms;
  checkMs = checkEveryMs;
}

const CHECK_CLIENT = `SELECT set_config(name, $1::text, false) FROM pg_settings
  WHERE name = 'client_connection_check_interval'`;

/**
 * Statement that sets up a session and returns the number of free connections of the server, in one round trip.
 * - PostGIS can be in a schema outside the search path.
 * - Plans are made for the actual values, because the position of a window decides which plan is fast.
 * - Compilation (jit) costs more than it saves for responses of milliseconds.
 * - The server closes sessions whose machine no longer responds; otherwise a few network failures would use up its
 *   connections.
 * - An edit locks the outbox, for which all other edits wait. The edit of a paused or disconnected process is soon
 *   rolled back.
 */
const SETUP = `SELECT
  set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''),
    (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE e.extname = 'postgis')), false),
  set_config('statement_timeout', $1::text, false),
  set_config('idle_in_transaction_session_timeout', $2::text, false),
  set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false),
  set_config('tcp_keepalives_count', '3', false), set_config('TimeZone', 'UTC', false),
  set_config('DateStyle', 'ISO, YMD', false), set_config('IntervalStyle', 'iso_8601', false),
  set_config('extra_float_digits', '1', false), set_config('bytea_output', 'hex', false),
  set_config('standard_conforming_strings', 'on', false),
  set_config('plan_cache_mode', 'force_custom_plan', false), set_config('jit', 'off', false),
  current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4
    - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int4`;

/** Opens a session that returns times in UTC and ISO 8601. Rejects with `PgError`. */
export async function openSession(
  url: string,
  opening: (connection: PostgresConnection) => void,
): Promise<{ connection: PostgresConnection; room: number }> {
  const connection = new PostgresConnection();
  opening(connection);
  try {
    await connection.connect(url, CONNECT_MS);
    const [row] = await connection.query(SETUP, [String(statementMs), String(LIMITS.idleTransactionMs)]);
    // Some platforms cannot look, and refuse any value.
    if (checkMs !== undefined) await connection.query(CHECK_CLIENT, [String(checkMs)]).catch(() => []);
    return { connection, room: Number(row!.at(-1)) };
  } catch (error) {
    connection.close();
    throw error;
  }
}
