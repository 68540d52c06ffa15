import { isDeepStrictEqual } from 'node:util';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { countCommits, type LogCommits } from '../../../../core/files/commit-count.js';
import { isWritableStore } from '../../../../core/files/file-state.js';
import type { Box } from '../../../../core/geometry/box.js';
import { isUndefinedCrs } from '../../../../core/geometry/crs.js';
import { LOCAL_CRS } from '../../../../core/geometry/stated-crs.js';
import type { GeometryType } from '../../../../core/sources/vector-source.js';
import { STAC_COLUMNS, STAC_TABLE } from '../../../../core/stac/stac.js';
import type { InspectTask, VectorLayerInfo } from '../../../../core/tasks/vector-tasks.js';
import type Database from '../../../../native/sqlite.js';
import { extentInDegrees, type SensibleExtent } from '../../../edits/domain.js';
import type { OtherTables } from '../../feature-store.js';
import { withinTime } from '../../time-limit.js';
import { connect, quote } from '../connection.js';
import { newestCursor } from '../edits/outbox.js';
import { computeTableExtent, shareOnGlobe } from '../queries/extent.js';
import { isViewName, readTableColumns } from './columns.js';
import { layerStyles } from './layer-styles.js';
import { unreadGeometries } from './unread.js';

interface ContentsRow {
  table_name: string;
  identifier: string | null;
  description: string | null;
  min_x: number | null;
  min_y: number | null;
  max_x: number | null;
  max_y: number | null;
  column_name: string;
  geometry_type_name: string;
  z: number;
  srs_id: number;
  organization: string | null;
  organization_coordsys_id: number | null;
  definition: string | null;
}

const CONTENTS = `
  SELECT c.table_name, c.identifier, c.description, c.min_x, c.min_y, c.max_x, c.max_y,
         g.column_name, g.geometry_type_name, g.z, g.srs_id,
         s.organization, s.organization_coordsys_id, s.definition
  FROM gpkg_contents c
  JOIN gpkg_geometry_columns g ON g.table_name = c.table_name
  LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = g.srs_id
  WHERE c.data_type = 'features' AND c.table_name NOT IN ('layer_styles', 'qgis_projects')
  ORDER BY c.table_name`;

/**
 * Returns the feature tables and views of a GeoPackage (OGC 12-128r18, 2.1), or some of them. Empty tables are
 * included, because they can be edited. Unreadable tables are omitted; `otherTables` names them.
 */
export function inspectGeoPackage(
  path: string,
  named: Omit<InspectTask, 'kind' | 'path'> = {},
): VectorLayerInfo[] {
  const { crs = {}, assumeCrs, tables } = named;
  // Upper and lower case are the same in names of SQLite.
  const wanted = tables && new Set(tables.map((table) => table.toLowerCase()));
  const statedCrs = (table: string) => crs[table] ?? crs[''];
  return reading(path, (db) =>
    atOneMoment(db, path, (commits) => {
      const views = new ViewTime(db, VIEW_MS);
      return contents(db, views).flatMap((row) => {
        if (wanted && !wanted.has(row.table_name.toLowerCase())) return [];
        const read = views.read(row.table_name, () =>
          layer(db, path, row, statedCrs(row.table_name) ?? findCrs(row) ?? assumeCrs),
        );
        return 'problem' in read ? [] : [{ ...read.value, ...(commits && { commits }) }];
      });
    }),
  );
}

/** Maximum attempts to start a read while other programs write. */
const MAX_ATTEMPTS = 5;

/** Reads in one transaction, which sees exactly these commits. Undefined if the commits cannot be counted. */
function atOneMoment<T>(
  db: Database.Database,
  path: string,
  read: (commits: LogCommits | undefined) => T,
): T {
  for (let attempt = 1; ; attempt++) {
    db.exec('BEGIN');
    try {
      // SQLite opens or creates the log at its first read.
      db.prepare('SELECT 1 FROM sqlite_master').get();
      const commits = countCommits(path);
      db.exec('ROLLBACK; BEGIN');
      db.prepare('SELECT 1 FROM sqlite_master').get();
      const isSame = isDeepStrictEqual(countCommits(path), commits);
      if (isSame || attempt === MAX_ATTEMPTS) return read(isSame ? commits : undefined);
    } finally {
      if (db.inTransaction) db.exec('ROLLBACK');
    }
  }
}

/** Damage to the file, which all of its tables suffer from. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB|IOERR)/;

/** Milliseconds for a view, which may have no end, and for all views of a file. */
const VIEW_MS = 5000;
const VIEWS_MS = 10_000;
/** Milliseconds for a view that is read again to find its problem. */
const PROBLEM_MS = 1000;

/** Reads tables without a limit, and views until their time is over. */
class ViewTime {
  #leftMs = VIEWS_MS;
  /** A view in the place of a table of GeoPackage or of its extensions is read with every table. */
  readonly #hasSystemViews: boolean;

  constructor(
    private readonly db: Database.Database,
    private readonly viewMs: number,
  ) {
    this.#hasSystemViews = db.prepare(SYSTEM_VIEWS).pluck().get() === 1;
  }

  /** Reads tables of GeoPackage. Fails with `source-unreadable` if a view in the place of one takes too long. */
  readSystem<T>(read: () => T): T {
    const result = this.#hasSystemViews
      ? orTooSlow(() => ({ value: this.#limited(read) }))
      : { value: read() };
    if ('value' in result) return result.value;
    throw new TaskFailure(
      'source-unreadable',
      'A table of the GeoPackage, such as gpkg_contents, is a view that takes too long to read.',
    );
  }

  read<T>(name: string, read: () => T): Read<T> {
    const isLimited = this.#hasSystemViews || isViewName(this.db, name);
    return isLimited ? orTooSlow(() => readable(() => this.#limited(read))) : readable(read);
  }

  #limited<T>(read: () => T): T {
    const start = performance.now();
    try {
      return withinTime(this.db, Math.max(0, Math.min(this.viewMs, this.#leftMs)), read);
    } finally {
      this.#leftMs -= performance.now() - start;
    }
  }
}

function orTooSlow<T>(read: () => Read<T>): Read<T> {
  try {
    return read();
  } catch (error) {
    if (error instanceof TaskFailure && error.code === 'too-large') return { problem: TOO_SLOW };
    throw error;
  }
}

const TOO_SLOW = `The view takes longer than ${VIEW_MS / 1000} seconds to read, or all views of the file longer than ${VIEWS_MS / 1000}.`;

type Read<T> = { value: T } | { problem: string };

/** An unreadable table, such as a view of a dropped table, must not hide the other tables. */
function readable<T>(read: () => T): Read<T> {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof TaskFailure && error.code === 'source-unreadable') return { problem: error.message };
    const { code, message } = error as Error & { code?: string };
    if (!code?.startsWith('SQLITE_') || DAMAGE.test(code)) throw error;
    return { problem: `It cannot be read: ${message}.` };
  }
}

/**
 * Returns the other tables of a GeoPackage.
 * - `tiles`: tile tables (OGC 12-128r18, 2.2), including value grids.
 * - `plain`: tables with rows but without geometries: attributes (2.4), features without a stated column, and
 *   unregistered tables.
 * - `problems`: the feature tables that `inspectGeoPackage` omitted, which are all except `inspected`.
 */
export function otherTables(path: string, inspected: readonly string[]): OtherTables {
  return reading(path, (db) => {
    const views = new ViewTime(db, PROBLEM_MS);
    const leftOut = contents(db, views).filter(({ table_name: table }) => !inspected.includes(table));
    const problems = leftOut.flatMap((row) => {
      const read = views.read(row.table_name, () => layer(db, path, row, findCrs(row)));
      return 'problem' in read ? [{ layer: row.table_name, reason: read.problem }] : [];
    });
    const list = (sql: string) => views.readSystem(() => db.prepare(sql).pluck().all() as string[]);
    const [tiles, plain] = [list(TILES), list(PLAIN)];
    const held = plain.filter((table) => !OF_PROGRAMS.test(table) && hasRows(db, table, views));
    return { tiles, plain: held, problems };
  });
}

const SYSTEM_VIEWS = `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'view'
  AND (name LIKE 'gpkg\\_%' ESCAPE '\\' OR name LIKE 'rtree\\_%' ESCAPE '\\' OR lower(name) IN ('layer_styles', '${STAC_TABLE}')))`;

const TILES =
  "SELECT table_name FROM gpkg_contents WHERE data_type IN ('tiles', '2d-gridded-coverage') ORDER BY 1";
const PLAIN = `
  SELECT name FROM pragma_table_list
  WHERE schema = 'main' AND type IN ('table', 'view')
    AND lower(name) NOT IN (SELECT lower(table_name) FROM gpkg_geometry_columns)
    AND lower(name) NOT IN (
      SELECT lower(table_name) FROM gpkg_contents WHERE data_type IN ('tiles', '2d-gridded-coverage'))
  ORDER BY 1`;
/** Tables of SQLite, of GeoPackage and its extensions, and of programs that store their own data in the file. */
const OF_PROGRAMS =
  /^(sqlite_|gpkg_|gpkgext_|rtree_|idx_|graticule_|ogr_|qgis_|vgpkg_|layer_styles$|geometry_columns$|spatial_ref_sys|data_licenses$)/i;

/** Unreadable views count as empty. */
function hasRows(db: Database.Database, table: string, views: ViewTime): boolean {
  try {
    const found = views.read(table, () => db.prepare(`SELECT 1 FROM ${quote(table)} LIMIT 1`).get());
    return 'value' in found && found.value !== undefined;
  } catch {
    return false;
  }
}

function reading<T>(path: string, read: (db: Database.Database) => T): T {
  const db = connect(path, true);
  try {
    return read(db);
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    throw new TaskFailure('source-unreadable', `The GeoPackage is damaged: ${(error as Error).message}`);
  } finally {
    db.close();
  }
}

function contents(db: Database.Database, views: ViewTime): ContentsRow[] {
  const isGeoPackage = db
    .prepare("SELECT count(*) FROM sqlite_master WHERE name IN ('gpkg_contents', 'gpkg_geometry_columns')")
    .pluck()
    .get() as number;
  if (isGeoPackage < 2)
    throw new TaskFailure('source-unreadable', 'The file has no GeoPackage feature tables.');
  return views.readSystem(() => db.prepare(CONTENTS).all() as ContentsRow[]);
}

function layer(
  db: Database.Database,
  path: string,
  row: ContentsRow,
  named: string | undefined,
): VectorLayerInfo {
  const table = row.table_name;
  const columns = readTableColumns(db, table, row.column_name);
  const { idColumn, rowColumn, isView } = columns;
  const fields = columns.fields.slice(0, MAX_FIELDS);
  const hasIndex = !isView && indexExists(db, table, row.column_name);
  const { crs, takenFor } = chooseCrs(db, row, named, hasIndex);
  const featureCount = countRows(db, table);
  const place = { table, geometryColumn: row.column_name, hasIndex, crs };
  const { extent, beyond }: Partial<SensibleExtent> =
    featureCount === 0 ? {} : computeTableExtent(db, place, statedExtent(row));
  const remarks = [unreadGeometries(db, table, row.column_name), noteOfColumns(columns.fields.length)].filter(
    (remark) => remark !== undefined,
  );
  const stac = stacDocument(db, table);
  const type = geometryType(row.geometry_type_name);
  const styles = layerStyles(db, table, { geometryType: type, fields });
  return {
    source: {
      kind: 'geopackage',
      path,
      table,
      geometryColumn: row.column_name,
      geometryType: type,
      hasZ: row.z > 0,
      idColumn,
      idGenerated: true,
      ...(rowColumn ? { rowColumn } : {}),
      hasIndex,
      crs,
      fields: stac ? fields.filter(({ name }) => !STAC_COLUMNS.some((column) => column === name)) : fields,
      // Items are defined by their catalog.
      writable: !stac && !isView && isWritableStore(path),
      ...(isView ? { readOnly: 'it is a view', reads: tablesBehind(db, table) } : {}),
    },
    title: row.identifier ?? undefined,
    description: row.description ?? undefined,
    extent,
    extent84: extent && extentInDegrees(extent, crs),
    ...(beyond ? { beyond } : {}),
    ...(takenFor ? { takenFor } : {}),
    ...(remarks.length > 0 ? { remarks } : {}),
    featureCount,
    cursor: newestCursor(db),
    ...(styles.length > 0 ? { styles } : {}),
    ...(stac ? { stac } : {}),
  };
}

/**
 * Returns the names of tables that a view can read, also through other views: all names that its SQL contains as
 * words. An extra table is harmless.
 */
function tablesBehind(db: Database.Database, view: string): string[] {
  const named = db
    .prepare(
      "SELECT name, CASE type WHEN 'view' THEN sql END FROM sqlite_master WHERE type IN ('table', 'view')",
    )
    .raw()
    .all() as [name: string, sql: string | null][];
  const found = new Set<string>();
  const follow = (sql: string | null | undefined) => {
    if (!sql) return;
    const text = sql.toLowerCase();
    for (const [name, inner] of named) {
      if (name === view || found.has(name) || !text.includes(name.toLowerCase())) continue;
      found.add(name);
      follow(inner);
    }
  };
  follow(named.find(([name]) => name === view)?.[1]);
  return [...found].sort();
}

/**
 * Maximum attributes of a call of an SQL function (SQLITE_MAX_FUNCTION_ARG), in addition to options, id and geometry.
 */
const MAX_FIELDS = 990;

const noteOfColumns = (count: number) =>
  count > MAX_FIELDS
    ? `The table has ${count} attributes: the first ${MAX_FIELDS} are published.`
    : undefined;

const GEOMETRY_TYPES: Record<string, GeometryType> = {
  POINT: 'Point',
  LINESTRING: 'LineString',
  POLYGON: 'Polygon',
  MULTIPOINT: 'MultiPoint',
  MULTILINESTRING: 'MultiLineString',
  MULTIPOLYGON: 'MultiPolygon',
  GEOMETRYCOLLECTION: 'GeometryCollection',
  // Curves are read as lines, and surfaces as polygons.
  CURVE: 'LineString',
  CIRCULARSTRING: 'LineString',
  COMPOUNDCURVE: 'LineString',
  SURFACE: 'Polygon',
  CURVEPOLYGON: 'Polygon',
  TRIANGLE: 'Polygon',
  MULTICURVE: 'MultiLineString',
  MULTISURFACE: 'MultiPolygon',
  POLYHEDRALSURFACE: 'MultiPolygon',
  TIN: 'MultiPolygon',
};

function geometryType(name: string): GeometryType {
  return GEOMETRY_TYPES[name.toUpperCase()] ?? 'Geometry';
}

/** Undefined for data of an unknown one. */
function findCrs(row: ContentsRow): string | undefined {
  if (row.organization?.toUpperCase() === 'EPSG' && row.organization_coordsys_id) {
    return `EPSG:${row.organization_coordsys_id}`;
  }
  return row.srs_id > 0 && row.definition && !isUndefinedCrs(row.definition) ? row.definition : undefined;
}

/** Minimum share of features with possible longitudes and latitudes for which all coordinates count as such. */
const MOST = 0.9;

/**
 * Returns the assumed CRS of data in an unnamed CRS: longitudes and latitudes, unless more than a few stray rows
 * contradict.
 */
function crsByExtent(db: Database.Database, row: ContentsRow, hasIndex: boolean) {
  const { table_name: table, column_name: geometryColumn } = row;
  const place = { table, geometryColumn, hasIndex, crs: 'OGC:CRS84' };
  if (shareOnGlobe(db, place) >= MOST) return { crs: place.crs, takenFor: 'degrees' as const };
  return { crs: planeCrs(row.identifier ?? table), takenFor: 'plane' as const };
}

function chooseCrs(db: Database.Database, row: ContentsRow, named: string | undefined, hasIndex: boolean) {
  if (named === LOCAL_CRS)
    return { crs: planeCrs(row.identifier ?? row.table_name), takenFor: 'plane' as const };
  return named === undefined ? crsByExtent(db, row, hasIndex) : { crs: named, takenFor: undefined };
}

/** WKT 2 of a local CRS that has a name and no georeference. */
function planeCrs(name: string): string {
  const quoted = name.replaceAll('"', '""');
  return `ENGCRS["Plane of ${quoted}",EDATUM["Unknown place"],CS[Cartesian,2],AXIS["x",east],AXIS["y",north],LENGTHUNIT["metre",1]]`;
}

function indexExists(db: Database.Database, table: string, column: string): boolean {
  const sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?";
  return db.prepare(sql).pluck().get(`rtree_${table}_${column}`) === 1;
}

function countRows(db: Database.Database, table: string): number {
  return db
    .prepare(`SELECT count(*) FROM ${quote(table)}`)
    .pluck()
    .get() as number;
}

function statedExtent({ min_x, min_y, max_x, max_y }: ContentsRow): Box | undefined {
  const sides = [min_x, min_y, max_x, max_y];
  if (!sides.every((side): side is number => side !== null && Number.isFinite(side))) return undefined;
  const [minx, miny, maxx, maxy] = sides as unknown as Box;
  return minx <= maxx && miny <= maxy ? [minx, miny, maxx, maxy] : undefined;
}

/** Returns the document of the STAC collection whose items a table contains. */
function stacDocument(db: Database.Database, table: string): Record<string, unknown> | undefined {
  const exists = db.prepare('SELECT count(*) FROM sqlite_master WHERE name = ?').pluck().get(STAC_TABLE);
  if (exists !== 1) return undefined;
  const sql = `SELECT document FROM ${STAC_TABLE} WHERE table_name = ?`;
  const text = db.prepare(sql).pluck().get(table) as string | undefined;
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
}
