import { DEFAULT_TABLES, type TableRule } from '../../../../core/catalog/table-rule.js';
import { countBy } from '../../../../core/features/count-by.js';
import { listActivityTables, sumActivity } from '../../../../core/sources/activity.js';
import type {
  CompositeKey,
  Field,
  GeometryType,
  IdType,
  PostgisSource,
} from '../../../../core/sources/vector-source.js';
import type { TableChoice } from '../../../../core/tasks/table-tasks.js';
import type { DiscoveredDatabase, Patience, VectorLayerInfo } from '../../../../core/tasks/vector-tasks.js';
import type { PgValue, PostgresConnection } from '../../../../native/postgres.js';
import { isPgError } from '../../../../native/postgres.js';
import { extentInDegrees } from '../../../edits/domain.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { readActivity } from '../connections/activity.js';
import { getConnectionPool, withConnection } from '../connections/database.js';
import { LookTime } from '../connections/look-time.js';
import { keyNumbers } from '../edits/key-numbers.js';
import { newestCursor } from '../edits/outbox.js';
import { TableMeasurement } from '../queries/measure.js';
import {
  findPrimaryKey,
  type RuledTables,
  ruledTables,
  type SpatialTable,
  type TableAttribute,
  TableFacts,
  type TableKey,
} from './catalog.js';
import { quote } from './names.js';
import { rasterColumns } from './raster-columns.js';
import { readIdentifier } from './tables.js';

/**
 * Returns the geometry columns of tables and views that the user can read. Tables that cannot be published are listed
 * with the reason.
 */
export function discoverTables(
  {
    database,
    patience = PATIENCE,
    tables = DEFAULT_TABLES,
  }: { database: string; patience?: Patience; tables?: TableRule },
  cancellation?: Cancellation,
): Promise<DiscoveredDatabase> {
  return withConnection(database, (connection) => listing(connection, database, patience, tables), {
    cancellation,
  });
}

/**
 * Resolves if the database responds, or if all connections of this thread are in use, because then tasks show the
 * state.
 */
export async function ping({ database }: { database: string }, cancellation?: Cancellation): Promise<null> {
  if (getConnectionPool(database).saturated) return null;
  await withConnection(database, (connection) => connection.query('SELECT 1'), { cancellation });
  return null;
}

const PATIENCE: Patience = { tableMs: 30_000, allMs: 600_000 };

async function listing(
  connection: PostgresConnection,
  database: string,
  patience: Patience,
  rule: TableRule,
): Promise<DiscoveredDatabase> {
  const contents: DiscoveredDatabase = { layers: [], rasters: [], problems: [] };
  const [[installed]] = (await connection.query(
    "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'postgis')",
  )) as [[boolean]];
  if (!installed)
    return { layers: [], rasters: [], problems: [{ reason: 'The database has no PostGIS extension.' }] };
  const { tables, omitted } = await ruledTables(connection, rule);
  if (omitted) contents.problems.push({ reason: describeOmitted(omitted, rule) });
  const cursor = await newestCursor(connection);
  const measure = new TableMeasurement(connection);
  const time = new LookTime(connection, patience);
  const facts = new TableFacts(connection, time.order(tables));
  const systems = new CrsDefinitions(connection);
  const columns = countBy(tables, ({ oid }) => oid);
  const identify = await readIdentifier(connection, database);
  contents.rasters.push(...(await rasterColumns(connection, database, identify)));
  const layers = new Map<SpatialTable, VectorLayerInfo>();
  for (const table of time.order(tables)) {
    const isRead = time.leftFor(table) > 0;
    const result = await time
      .within(table, () => describeTableLayer(connection, database, table, measure, {}, { facts, systems }))
      .catch((error: unknown) => {
        // An unreadable table, such as a view of a dropped table, must not hide the other tables.
        if (!isPgError(error) || !error.alive) throw error;
        return { problem: `It cannot be read: ${error.message}` };
      });
    if (result && !('problem' in result))
      layers.set(table, { ...result, cursor, identity: identify(table.oid) });
    else {
      const layer = `${table.schema}.${table.table}${columns.get(table.oid)! > 1 ? `.${table.geometryColumn}` : ''}`;
      contents.problems.push({
        layer,
        ...(result ? { reason: result.problem } : describeSlow(patience, isRead)),
      });
    }
  }
  contents.layers.push(...tables.flatMap((table) => layers.get(table) ?? []));
  return contents;
}

function describeOmitted(
  { count, first, last }: NonNullable<RuledTables['omitted']>,
  { maxTables }: TableRule,
): string {
  const named =
    count === 1 ? `1 table is omitted: ${first}.` : `${count} tables are omitted: ${first} to ${last}.`;
  return `${named} postgis.maxTables is ${maxTables}. Select tables by postgis.include and postgis.exclude, or raise postgis.maxTables.`;
}

/** Reads the definition of each SRID once, as `EPSG:n`, WKT or PROJ text. */
class CrsDefinitions {
  readonly #found = new Map<number, Promise<string | undefined>>();

  constructor(private readonly connection: PostgresConnection) {}

  find(srid: number): Promise<string | undefined> {
    const known = this.#found.get(srid);
    if (known) return known;
    const found = readSpatialRef(this.connection, srid);
    this.#found.set(srid, found);
    // The statement may have been cancelled, so the next table repeats it.
    found.catch(() => this.#found.delete(srid));
    return found;
  }
}

function describeSlow({ tableMs, isFinal }: Patience, isRead: boolean): { reason: string; isSlow: true } {
  const reason =
    isRead && isFinal
      ? describeEndless(tableMs)
      : 'Reading it took too long. It is published as soon as it has been read.';
  return { reason, isSlow: true };
}

/** Reason for a table or view whose statements do not end. */
export function describeEndless(ms: number): string {
  return `Reading its rows did not end within ${ms / 1000} seconds: it is endless or too slow. Limit the rows of the view, store them in a materialized view, or exclude it with postgis.exclude.`;
}

/** Returns a table as a layer. Values in `choice` replace discovered values. */
export async function describeTableLayer(
  connection: PostgresConnection,
  database: string,
  table: SpatialTable,
  measure: TableMeasurement,
  choice: Omit<TableChoice, 'schema' | 'table'> = {},
  { facts, systems }: { facts: TableFacts; systems: CrsDefinitions } = {
    facts: new TableFacts(connection, [table]),
    systems: new CrsDefinitions(connection),
  },
): Promise<Omit<VectorLayerInfo, 'cursor'> | { problem: string }> {
  const attributes = await facts.attributesOf(table.oid);
  const name = `${quote(table.schema)}.${quote(table.table)}`;
  const key =
    choice.key === undefined
      ? await findPrimaryKey(
          connection,
          table,
          attributes,
          (column) => isUnique(connection, name, column),
          facts,
        )
      : statedKey(choice.key, attributes);
  if ('problem' in key) return key;
  const sample = await loadSample(connection, name, table);
  const stored = table.srid || sample.srids[0] || 0;
  const srid = stored || choice.srid || 0;
  if (sample.srids.length > 1) return { problem: 'Its geometries have several SRIDs.' };
  if (srid === 0) return { problem: 'Its SRID is not known: give the column an SRID.' };
  const crs = await systems.find(srid);
  if (!crs) return { problem: `Its SRID ${srid} is not in spatial_ref_sys.` };
  const declared = declaredType(table.geometryType);
  const { hasZ, curved } = declared;
  const isOpen = declared.type === 'Geometry' || declared.type === 'GeometryCollection';
  const type = declared.type === 'Geometry' ? statedType(choice.geometryType) : declared.type;
  const { fields: chosen } = choice;
  const keyed = describeKey(key, attributes, table.geometryColumn);
  const source: PostgisSource = {
    kind: 'postgis',
    database,
    schema: table.schema,
    table: table.table,
    geometryColumn: table.geometryColumn,
    geometryType: type === 'Geometry' && !table.writable ? sample.type : type,
    hasZ: declared.type === 'Geometry' ? sample.hasZ : hasZ,
    srid: stored,
    idColumn: keyed.field.name,
    idType: keyed.idType,
    // An index of geographies does not support boxes in degrees.
    hasIndex: table.indexed && !table.geography,
    crs,
    fields: attributes
      .map(({ field }) => field)
      .filter(({ name }) => name !== keyed.field.name && (chosen === undefined || chosen.includes(name))),
    writable: table.writable && !keyed.compositeKey,
  };
  const { compositeKey } = keyed;
  if (compositeKey) Object.assign(source, { compositeKey, readOnly: 'several columns identify its rows' });
  else if (choice.key !== undefined || table.hasChildren) {
    if (!(await hasUniqueKey(connection, table, source.idColumn, facts)))
      Object.assign(source, {
        writable: false,
        readOnly: `values of its key ${source.idColumn} are missing or repeated`,
      });
  }
  if (table.geography) source.geography = true;
  if (stored !== srid) source.statedSrid = srid;
  if (curved) source.curved = true;
  if (curved || sample.hasCurves) source.holdsCurves = true;
  if (declared.surface || (isOpen && !table.geography)) source.mayHoldSurfaces = true;
  const names = [...attributes.map(({ field }) => field.name), table.geometryColumn, source.idColumn];
  const reads = await tablesBehind(connection, table);
  if (reads.length > 0) source.reads = reads;
  // The counters are read before the rows are counted, so that later writes are detected.
  const activity = sumActivity(await readActivity(connection, listActivityTables(source)));
  const numbers = await keyNumbers(connection, source, keyed.field, names);
  if (numbers) source.generatedIds = numbers;
  const { count, estimated, extent, beyond, crossing } = await measure.table(table, crs);
  return {
    source,
    description: table.comment ?? undefined,
    extent,
    extent84: extent && extentInDegrees(extent, crs, crossing),
    ...(beyond ? { beyond } : {}),
    activity,
    featureCount: count,
    ...(estimated ? { countEstimated: true } : {}),
  };
}

/**
 * SQL for the names of the tables that a view reads, also through other views, and of the tables that inherit from a
 * table.
 */
const TABLES_BEHIND = `WITH RECURSIVE r (oid) AS (
    SELECT $1::oid
    UNION SELECT x.oid FROM r CROSS JOIN LATERAL (
      SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid = 'pg_class'::regclass
      WHERE w.ev_class = r.oid
      UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = r.oid) AS x (oid))
  SELECT c.name FROM r CROSS JOIN LATERAL (
    SELECT n.nspname || '.' || relname AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
    WHERE pg_class.oid = r.oid AND relkind IN ('r', 'v', 'p', 'f') OFFSET 0) AS c
  WHERE r.oid <> $1::oid ORDER BY 1`;

/**
 * Returns the tables behind a relation. Empty for a materialised view, which changes only when refreshed, and for a
 * table without child tables.
 */
async function tablesBehind(
  connection: PostgresConnection,
  { oid, kind, hasChildren }: SpatialTable,
): Promise<string[]> {
  if (kind !== 'v' && kind !== 'p' && !hasChildren) return [];
  return (await connection.query(TABLES_BEHIND, [oid])).map(([name]) => String(name));
}

interface KeyColumn {
  field: Field;
  idType: IdType;
  compositeKey?: CompositeKey;
}

/** Returns the column of the ids: a table column, or a column that is built from several. */
function describeKey(
  key: Exclude<TableKey, { problem: string }>,
  attributes: readonly TableAttribute[],
  geometryColumn: string,
): KeyColumn {
  const findAttribute = (column: string) => attributes.find(({ field }) => field.name === column)!;
  if ('column' in key) {
    const { field, idType } = findAttribute(key.column);
    return { field, idType: idType! };
  }
  const taken = new Set([geometryColumn, ...attributes.map(({ field }) => field.name)]);
  let name = 'id';
  for (let i = 1; taken.has(name); i++) name = `id_${i}`;
  return {
    field: { name, type: 'string', nullable: false, sqlType: 'text' },
    idType: 'string',
    compositeKey: { name, parts: key.columns.map((column) => findAttribute(column).field) },
  };
}

function statedKey(column: string, attributes: readonly TableAttribute[]): TableKey {
  const attribute = attributes.find(({ field }) => field.name === column);
  if (!attribute) return { problem: `It has no column ${column} to identify its rows by.` };
  return attribute.idType
    ? { column }
    : { problem: `Its column ${column} is neither integer, uuid nor text.` };
}

/** Whether each row has a unique value of the key, according to a unique index or a sample. */
async function hasUniqueKey(
  connection: PostgresConnection,
  table: SpatialTable,
  key: string,
  facts: TableFacts,
): Promise<boolean> {
  const indexes = await facts.indexesOf(table.oid);
  if (!table.hasChildren && indexes.some(([, count, name]) => count === 1 && name === key)) return true;
  return isUnique(connection, `${quote(table.schema)}.${quote(table.table)}`, key);
}

const statedType = (name: string | undefined) => declaredType(name ?? 'Geometry').type;

/** Maximum number of rows that are checked for duplicate values. */
export const UNIQUE_SAMPLE = 10_000;

/** Whether the values in a sample are unique and not null. */
export async function isUnique(
  connection: PostgresConnection,
  table: string,
  column: string,
): Promise<boolean> {
  const [row] = await connection.query(
    `SELECT count(*) = count(DISTINCT v) FROM (SELECT ${quote(column)} AS v FROM ${table} LIMIT ${UNIQUE_SAMPLE}) s`,
  );
  return row![0] === true;
}

const GEOMETRY_SAMPLE = 200;

interface Sample {
  srids: number[];
  type: GeometryType;
  hasZ: boolean;
  /** Whether any geometry is a curve, a surface, a TIN or a triangle. */
  hasCurves: boolean;
}

/** Returns facts from the first rows that the column's declaration does not state. */
async function loadSample(
  connection: PostgresConnection,
  name: string,
  table: SpatialTable,
): Promise<Sample> {
  const declared = declaredType(table.geometryType);
  if (table.srid !== 0 && declared.type !== 'Geometry')
    return { srids: [table.srid], ...declared, hasCurves: declared.surface };
  const geometry = `${quote(table.geometryColumn)}::geometry`;
  const rows = (await connection.query(
    `SELECT DISTINCT ST_SRID(g), GeometryType(g), ST_Zmflag(g) >= 2
     FROM (SELECT ${geometry} AS g FROM ${name} WHERE ${quote(table.geometryColumn)} IS NOT NULL
       LIMIT ${GEOMETRY_SAMPLE}) s`,
  )) as [number, string, boolean][];
  const kinds = rows.map(([, type]) => declaredType(type));
  const types = new Set(kinds.map(({ type }) => type));
  return {
    srids: [...new Set(rows.map(([srid]) => srid))],
    type: commonType(types),
    hasZ: rows.some(([, , z]) => z),
    hasCurves: kinds.some(({ curved, surface }) => curved || surface),
  };
}

/** Returns the type that includes all types: a multi type includes its single type. */
function commonType(types: ReadonlySet<GeometryType>): GeometryType {
  const [first, second] = [...types].sort((a, b) => a.length - b.length);
  if (types.size === 1) return first!;
  return types.size === 2 && second === `Multi${first}` ? second : 'Geometry';
}

const TYPES: Record<string, { type: GeometryType; curved?: boolean; surface?: boolean }> = {
  POINT: { type: 'Point' },
  LINESTRING: { type: 'LineString' },
  POLYGON: { type: 'Polygon' },
  MULTIPOINT: { type: 'MultiPoint' },
  MULTILINESTRING: { type: 'MultiLineString' },
  MULTIPOLYGON: { type: 'MultiPolygon' },
  GEOMETRYCOLLECTION: { type: 'GeometryCollection' },
  CIRCULARSTRING: { type: 'LineString', curved: true },
  COMPOUNDCURVE: { type: 'LineString', curved: true },
  CURVEPOLYGON: { type: 'Polygon', curved: true },
  MULTICURVE: { type: 'MultiLineString', curved: true },
  MULTISURFACE: { type: 'MultiPolygon', curved: true },
  POLYHEDRALSURFACE: { type: 'MultiPolygon', surface: true },
  TIN: { type: 'MultiPolygon', surface: true },
  TRIANGLE: { type: 'Polygon', surface: true },
};

/** A type as PostGIS spells it: `MultiPolygonZ`, `POINT`, `GeometryM`. */
export function declaredType(name: string): {
  type: GeometryType;
  hasZ: boolean;
  curved: boolean;
  /** Whether the type is a polyhedral surface, a TIN or a triangle. */
  surface: boolean;
} {
  const [, base, flags] = /^(.*?)(ZM|Z|M)?$/.exec(name.toUpperCase())!;
  const { type, curved = false, surface = false } = TYPES[base!] ?? { type: 'Geometry' };
  return { type, hasZ: flags?.startsWith('Z') ?? false, curved, surface };
}

/** Returns EPSG codes by their number, and other definitions completely. */
export async function readSpatialRef(
  connection: PostgresConnection,
  srid: number,
): Promise<string | undefined> {
  const rows = await connection.query(
    'SELECT auth_name, auth_srid, srtext, proj4text FROM spatial_ref_sys WHERE srid = $1::int4',
    [String(srid)],
  );
  if (rows.length === 0) return undefined;
  const [authority, code, wkt, proj] = rows[0] as PgValue[];
  if (typeof authority === 'string' && authority.toUpperCase() === 'EPSG' && code) return `EPSG:${code}`;
  return String(wkt || proj || '') || undefined;
}
