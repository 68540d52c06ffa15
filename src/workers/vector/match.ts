import Database from 'better-sqlite3';
import type { Expression } from '../../core/cql2/ast.js';
import type { EventImage, MatchResult, MatchTask } from '../../core/events.js';
import { parseExact } from '../../core/json.js';
import { Recent } from '../../core/recent.js';
import type { Field, GeoPackageSource } from '../../core/tasks.js';
import { geojsonToWkb, sqliteExtensionPath, wkbToGeoPackage } from '../../native/index.js';
import { quote } from '../providers/geopackage/connection.js';
import { idsOf } from '../providers/geopackage/filter.js';

/**
 * Filters over the features of events. They are put into a table in memory and asked for with the same SQL as rows of a
 * GeoPackage, so that a stream and a page agree on what a filter means.
 */
interface Table {
  readonly source: GeoPackageSource;
  readonly insert: Database.Statement;
  readonly clear: Database.Statement;
  readonly filters: Recent<string, Database.Statement>;
}

const MAX_TABLES = 256;
const MAX_FILTERS = 4096;
const CRS84 = 'OGC:CRS84';

let memory: Database.Database | undefined;
let tables = new Recent<string, Table>(MAX_TABLES);
let made = 0;

/** Which filters let which images through. A filter that cannot be evaluated lets nothing through and says why. */
export function match({ fields, filters, images }: MatchTask): MatchResult {
  const table = tableOf(fields);
  const passed = new Uint8Array(filters.length * images.length);
  const problems: (string | null)[] = [];
  table.clear.run();
  images.forEach((image, i) => {
    table.insert.run(i, ...rowOf(image, fields));
  });
  filters.forEach((text, f) => {
    try {
      for (const i of passing(table, text)) passed[f * images.length + i] = 1;
      problems.push(null);
    } catch (error) {
      problems.push((error as Error).message);
    }
  });
  return { passed, problems };
}

function passing(table: Table, text: string): number[] {
  // The time that a filter may take is one of its values, so the SQL is kept and the values are made anew.
  const { sql, values } = idsOf(table.source, JSON.parse(text) as Expression);
  let statement = table.filters.get(sql);
  if (!statement) table.filters.set(sql, (statement = database().prepare(sql).pluck()));
  return statement.all(...values) as number[];
}

function tableOf(fields: readonly Field[]): Table {
  const key = JSON.stringify(fields);
  let table = tables.get(key);
  if (!table) tables.set(key, (table = newTable(fields)));
  return table;
}

function newTable(fields: readonly Field[]): Table {
  if (made === MAX_TABLES) reset();
  const name = `t${made++}`;
  const columns = [
    'fid INTEGER PRIMARY KEY',
    'geom BLOB',
    ...fields.map((field) => `${quote(field.name)} ${typeOf(field)}`),
  ];
  const db = database();
  db.exec(`CREATE TABLE ${name} (${columns.join(', ')})`);
  const marks = columns.map(() => '?').join(', ');
  return {
    source: sourceOf(name, [...fields]),
    insert: db.prepare(`INSERT INTO ${name} VALUES (${marks})`),
    clear: db.prepare(`DELETE FROM ${name}`),
    filters: new Recent(MAX_FILTERS),
  };
}

function database(): Database.Database {
  if (!memory) {
    memory = new Database(':memory:');
    memory.pragma('trusted_schema = OFF');
    memory.loadExtension(sqliteExtensionPath());
  }
  return memory;
}

function reset(): void {
  memory?.close();
  memory = undefined;
  tables = new Recent(MAX_TABLES);
  made = 0;
}

/** SQLite gives a value the form that a GeoPackage would hold it in. */
function typeOf({ type }: Field): string {
  if (type === 'integer' || type === 'boolean') return 'INTEGER';
  return type === 'number' ? 'REAL' : 'TEXT';
}

function sourceOf(table: string, fields: Field[]): GeoPackageSource {
  return {
    kind: 'geopackage',
    path: ':memory:',
    table,
    geometryColumn: 'geom',
    geometryType: 'Geometry',
    hasZ: true,
    idColumn: 'fid',
    hasIndex: false,
    crs: CRS84,
    fields,
    writable: false,
  };
}

function rowOf({ geometry, attributes }: EventImage, fields: readonly Field[]): unknown[] {
  const values = parseExact(attributes) as Record<string, unknown>;
  return [blobOf(geometry), ...fields.map(({ name }) => stored(values[name]))];
}

function blobOf(geometry: string | null): Buffer | null {
  if (geometry === null) return null;
  return wkbToGeoPackage(geojsonToWkb(geometry, { from: CRS84, to: CRS84, maxVertices: 1_048_576 }), 4326);
}

function stored(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'object' ? JSON.stringify(value) : value;
}
