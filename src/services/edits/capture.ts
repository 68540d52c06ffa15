import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogChange, ChangedCollection } from '../../core/catalog/catalog-change.js';
import { withoutPassword } from '../../core/sources/database-url.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { exception, type Log } from '../telemetry/log.js';

const DEADLINE_MS = 60_000;

/** Databases of which other tables are published than before. */
function findDatabases(changed: readonly ChangedCollection[]): string[] {
  return changed.flatMap(({ before, after }) =>
    [before, after].flatMap((one) => (hasFeatures(one) && one.source.database) || []),
  );
}

/**
 * Starts or stops capturing edits by other programs in the published tables of databases. Never rejects: problems are
 * logged. Such edits then become visible only when tiles expire, as without capture.
 */
export async function captureEdits(
  { after: { vectors }, changed }: CatalogChange,
  { enabled, pools, log }: { enabled: boolean; pools: Pools; log: Log },
): Promise<void> {
  const affected = new Set(findDatabases(changed));
  if (affected.size === 0) return;
  const databases = new Map<string, VectorSource[]>();
  for (const { source } of vectors) {
    if (source.database === undefined || !affected.has(source.database)) continue;
    const tables = databases.get(source.database) ?? [];
    databases.set(source.database, tables);
    if (enabled && source.writable) tables.push(source);
  }
  for (const [database, tables] of databases) {
    const store = { Store: withoutPassword(database) };
    try {
      const { problems } = await pools.run(
        'vector.capture',
        { database, tables },
        { deadlineMs: DEADLINE_MS },
      );
      for (const { table, reason } of problems)
        log.write('database.capture.table', { ...store, Table: table, Error: reason });
    } catch (error) {
      if (!enabled) continue;
      log.write('database.capture.failed', { ...store, ...exception(error) });
    }
  }
}
