import type { LRUCache } from 'lru-cache';
import {
  type Expression,
  isArray,
  isNumber,
  isProperty,
  isScalar,
  type Operand,
} from '../../core/cql2/ast.js';
import { FEATURE_LIMITS } from '../../core/features/limits.js';
import { type Field, type GeoPackageSource, isDecimal } from '../../core/sources/vector-source.js';
import type { EventImage, MatchResult, MatchSchema, MatchTask } from '../../core/streams/events.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import { readNumber, toInt64 } from '../../core/values/exact-number.js';
import { decodeStoredJson } from '../../core/values/json.js';
import { type JsonText, membersIn } from '../../core/values/json-text.js';
import { sortableDigits } from '../../core/values/sortable-digits.js';
import { geojsonToWkb, sqliteExtensionPath, wkbToGeoPackage } from '../../native/index.js';
import Database from '../../native/sqlite.js';
import { type Fragment, raw } from '../providers/fragment.js';
import { quote } from '../providers/geopackage/connection.js';
import { GeoPackageFilterWriter } from '../providers/geopackage/queries/filter-sql.js';

/**
 * Filters on the features of events. The features are inserted into a table in memory and filtered by the same SQL as
 * rows of a GeoPackage. Streams and pages therefore agree on the meaning of a filter.
 */
interface Table {
  readonly source: GeoPackageSource;
  readonly insert: Database.Statement;
  readonly clear: Database.Statement;
  readonly filters: LRUCache<string, Database.Statement>;
}

const MAX_TABLES = 256;
const MAX_FILTERS = 4096;
const CRS84 = 'OGC:CRS84';
/** Place of an image in the task; no attribute is called so. */
const IMAGE = '"graticule:image"';

let memory: Database.Database | undefined;
let tables = boundedCache<string, Table>(MAX_TABLES);
let count = 0;

/**
 * Returns the images that match each filter. A filter that cannot be evaluated matches no image and returns the
 * reason.
 */
export function match({ schema, filters, images }: MatchTask): MatchResult {
  const table = buildTable(schema);
  const passed = new Uint8Array(filters.length * images.length);
  const problems: (string | null)[] = [];
  table.clear.run();
  images.forEach((image, i) => {
    table.insert.run(i, ...buildRow(image, schema));
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
  // The deadline of a filter is one of its values, so the SQL is cached and the values are written again.
  const condition = new EventFilterWriter(table.source).predicate(decodeStoredJson(text) as Expression);
  const sql = `SELECT ${IMAGE} FROM ${table.source.table} t WHERE gr_before(?) AND ${condition.sql}`;
  let statement = table.filters.get(sql);
  if (!statement) table.filters.set(sql, (statement = database().prepare(sql).pluck()));
  return statement.all(Date.now() + FEATURE_LIMITS.matchMs, ...condition.values) as number[];
}

function buildTable(schema: MatchSchema): Table {
  const key = JSON.stringify(schema);
  let table = tables.get(key);
  if (!table) tables.set(key, (table = newTable(schema)));
  return table;
}

function newTable(schema: MatchSchema): Table {
  if (count === MAX_TABLES) reset();
  const name = `t${count++}`;
  const { idColumn, geometryColumn, fields } = schema;
  const columns = [
    `${IMAGE} INTEGER PRIMARY KEY`,
    // Numbers that come as text become numbers again.
    `${quote(idColumn)} NUMERIC`,
    `${quote(geometryColumn)} BLOB`,
    ...fields.map((field) => `${quote(field.name)} ${chooseType(field)}`),
    ...fields.filter(isDecimal).map(({ name }) => `${digitsColumn(name)} TEXT`),
  ];
  const db = database();
  db.exec(`CREATE TABLE ${name} (${columns.join(', ')})`);
  const marks = columns.map(() => '?').join(', ');
  return {
    source: tableSource(name, schema),
    insert: db.prepare(`INSERT INTO ${name} VALUES (${marks})`),
    clear: db.prepare(`DELETE FROM ${name}`),
    filters: boundedCache(MAX_FILTERS),
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
  tables = boundedCache(MAX_TABLES);
  count = 0;
}

/** Column type that gives a value the form in which a GeoPackage would store it. */
function chooseType({ type }: Field): string {
  if (type === 'integer' || type === 'boolean') return 'INTEGER';
  return type === 'number' ? 'REAL' : 'TEXT';
}

function tableSource(table: string, { idColumn, geometryColumn, fields }: MatchSchema): GeoPackageSource {
  return {
    kind: 'geopackage',
    path: ':memory:',
    table,
    geometryColumn,
    geometryType: 'Geometry',
    hasZ: true,
    idColumn,
    hasIndex: false,
    crs: CRS84,
    fields: [...fields],
    writable: false,
  };
}

function buildRow({ id, geometry, attributes }: EventImage, { fields }: MatchSchema): unknown[] {
  const values = membersIn(attributes)!;
  return [
    ...[id, buildBlob(geometry)],
    ...fields.map(({ name }) => stored(values.get(name))),
    ...fields.filter(isDecimal).map(({ name }) => sortableDigits(values.get(name) ?? 'null') ?? null),
  ];
}

/** SQLite stores decimals only as doubles, so another column contains their digits as sortable text. */
const digitsColumn = (name: string) => quote(`graticule:digits:${name}`);

/** Compares decimals by their digits, as PostgreSQL does. */
class EventFilterWriter extends GeoPackageFilterWriter {
  protected override exactNumbers(operands: readonly Operand[]): Fragment[] | undefined {
    const digits = operands.map((operand) => this.#digitsOf(operand));
    const isExact = digits.every((one) => one !== undefined) && operands.some((one) => !isNumber(one));
    return isExact ? (digits as Fragment[]) : undefined;
  }

  #digitsOf(operand: Operand): Fragment | undefined {
    if (isNumber(operand)) return this.text(sortableDigits(operand)!);
    if (isScalar(operand) || isArray(operand) || !isProperty(operand)) return undefined;
    const field = this.schema.fields.find(({ name }) => name === operand.property);
    return field && isDecimal(field) ? raw(`t.${digitsColumn(field.name)}`) : undefined;
  }
}

function buildBlob(geometry: string | null): Buffer | null {
  if (geometry === null) return null;
  return wkbToGeoPackage(geojsonToWkb(geometry, { from: CRS84, to: CRS84, maxVertices: 1_048_576 }), 4326);
}

function stored(json: JsonText = 'null'): unknown {
  if (json === 'null') return null;
  if (json === 'true' || json === 'false') return json === 'true' ? 1 : 0;
  if (json.startsWith('"')) return JSON.parse(json);
  const number = readNumber(json);
  return number === undefined ? json : (toInt64(number) ?? Number(json));
}
