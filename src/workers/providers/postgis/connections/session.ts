import { LIMITS } from '../../../../core/kit/limits.js';
import { PostgresConnection } from '../../../../native/postgres.js';
import { PROVIDER_LIMITS } from '../../limits.js';

const CONNECT_MS = 5000;
let statementMs: number = PROVIDER_LIMITS.editStatementMs;
let checkMs: number | undefined;

/** Milliseconds that a statement may take. */
export const statementBound = () => statementMs;

/**
 * Sets how long statements of this thread may take. Statements of minutes must not go on for a client that is gone:
 * the server looks for it every `checkEveryMs`, where it is able to (PostgreSQL 14 and later). Call it before the first one.
 */
export function boundStatements(ms: number, checkEveryMs: number): void {
  statementMs = ms;
  checkMs = checkEveryMs;
}

const CHECK_CLIENT = `SELECT set_config(name, $1::text, false) FROM pg_settings
  WHERE name = 'client_connection_check_interval'`;

/**
 * One round trip sets a session up and asks how many connections the server has left. PostGIS may live in a schema
 * that the search path does not name. Plans are made for the values at hand: where a window lies decides what is
 * fast. Compiling (jit) costs more than it saves in answers of milliseconds. The server forgets sessions whose machine
 * does not answer any more, or a few losses of the network would take all its connections. An edit holds the lock of the
 * outbox, for which all others wait: one whose process is paused, or cut off, is undone soon.
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

/** Opens a session that answers in UTC and ISO 8601. Rejects with `PgError`. */
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
