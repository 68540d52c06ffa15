import { LIMITS } from '../../../core/kit/limits.js';
import type { TileLayer } from '../../../core/tasks/vector-tasks.js';
import { sqliteExtensionPath } from '../../../native/index.js';
import Database from '../../../native/sqlite.js';
import { quote } from '../../providers/geopackage/connection.js';
import {
  FID,
  GEOMETRY,
  getLevelTable,
  type Overview,
  type OverviewState,
  readOverviewState,
} from '../../providers/overviews/file.js';
import type { OverviewRows, StoreState } from '../../providers/overviews/overview-rows.js';
import { getFeatureStore } from '../../providers/store.js';
import type { Cancellation } from '../../threads/cancellation.js';

type Db = Database.Database;

/**
 * Maximum edits that an overview follows before it is rebuilt, because edited features of a level are not reduced.
 */
const MAX_CHANGES = 5000;

/**
 * Applies the edits up to the layer's version to an overview. `lost`: this is impossible. `stale`: other programs
 * have written to the table, but the overview is recent.
 */
export async function follow(
  overview: Overview,
  layer: TileLayer,
  cancellation?: Cancellation,
): Promise<'current' | 'stale' | 'lost'> {
  const rows = getFeatureStore(layer.source).overviewRows?.(layer.source);
  if (!rows) return 'lost';
  let state = readOverviewState(overview.path);
  if (state.cursor < (layer.cursor ?? 0)) {
    if (!(await catchUp(overview, rows, cancellation))) return 'lost';
    state = readOverviewState(overview.path);
  }
  if (state.writes === null || undisturbed(state, await rows.state())) return 'current';
  return Date.now() - overview.built < LIMITS.databaseTileMs ? 'stale' : 'lost';
}

/** True if the number of writes since the table was read is not larger than the number of edits by this server. */
function undisturbed({ writes, changes }: OverviewState, now: StoreState | null): boolean {
  const [file, count] = (writes ?? '').split(' ');
  const [fileNow, countNow] = (now?.writes ?? '').split(' ');
  const since = Number(countNow) - Number(count);
  return file === fileNow && since >= 0 && since <= changes;
}

/** Applies the rows that changed since the overview's cursor. Returns false if they are unknown. */
async function catchUp(
  { path, levels }: Overview,
  rows: OverviewRows,
  cancellation?: Cancellation,
): Promise<boolean> {
  const { cursor: since, changes } = readOverviewState(path);
  const changed = await rows.changes(since);
  if (!changed || changes + changed.events > MAX_CHANGES) return false;
  const db = new Database(path, { timeout: 10_000 });
  try {
    db.loadExtension(sqliteExtensionPath());
    db.pragma('synchronous = OFF');
    await rows.stage(db, changed.ids, cancellation);
    const fids = changed.ids.map((id) => rows.fidOf(id));
    db.transaction(() => {
      // Another thread may have been faster; then its rows are at least as new.
      const now = db.prepare('SELECT cursor FROM graticule_overview').pluck().get() as number;
      if (now >= changed.cursor) return;
      for (const { level, resolution } of levels) replace(db, level, resolution, fids);
      db.prepare('UPDATE graticule_overview SET cursor = ?, changes = changes + ?').run(
        changed.cursor,
        changed.events,
      );
    }).immediate();
    rows.unstage(db);
    return true;
  } finally {
    db.close();
  }
}

/** Replaces the rows of some ids in a level by their current state. All of them are shown. */
function replace(db: Db, level: number, resolution: number, fids: readonly (number | bigint)[]): void {
  const table = getLevelTable(level);
  const index = quote(`rtree_${table}_${GEOMETRY}`);
  const fields = db
    .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE name NOT IN ('${FID}', '${GEOMETRY}')`)
    .pluck()
    .all() as string[];
  const list = fields.map((name) => `, ${quote(name)}`).join('');
  const statements = [
    `DELETE FROM ${table} WHERE ${FID} = ?`,
    `DELETE FROM ${index} WHERE id = ?`,
    `INSERT OR REPLACE INTO ${table} SELECT * FROM (SELECT ${FID}, gr_generalise(${GEOMETRY}, ${resolution}) AS g${list}
       FROM staged WHERE ${FID} = ? LIMIT -1) WHERE g NOTNULL`,
    `INSERT INTO ${index} SELECT ${FID}, ST_MinX(${GEOMETRY}), ST_MaxX(${GEOMETRY}), ST_MinY(${GEOMETRY}),
       ST_MaxY(${GEOMETRY}) FROM ${table} WHERE ${FID} = ?`,
  ].map((sql) => db.prepare(sql));
  for (const fid of fids) for (const statement of statements) statement.run(fid);
}
