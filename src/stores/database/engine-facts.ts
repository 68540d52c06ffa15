import { sql } from 'kysely';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** The database of the state. */
export interface EngineFacts {
  /** `SQLite 3.51.0` or `PostgreSQL 17.2`. */
  readonly version: string;
  /** Versions of the installed extensions, by name. */
  readonly extensions: ReadonlyMap<string, string>;
}

export async function readEngineFacts(db: StateDb): Promise<EngineFacts> {
  const { database } = getVocabulary(db);
  const isPostgres = database === 'PostgreSQL';
  const statement = isPostgres
    ? sql<{ version: string }>`SELECT current_setting('server_version') AS version`
    : sql<{ version: string }>`SELECT sqlite_version() AS version`;
  const { version } = (await statement.execute(db)).rows[0]!;
  const extensions = new Map<string, string>();
  if (isPostgres) {
    const found = sql<{ name: string; version: string }>`
      SELECT extname AS name, extversion AS version FROM pg_extension ORDER BY extname`;
    for (const row of (await found.execute(db)).rows) extensions.set(row.name, row.version);
  }
  return { version: `${database} ${version.split(' ')[0]}`, extensions };
}
