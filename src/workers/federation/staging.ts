import type { FederatedSource } from '../../core/federation/federated-source.js';
import { type GeoPackageSource, hasIntegerIds } from '../../core/sources/vector-source.js';
import { readNumber, toInt64 } from '../../core/values/exact-number.js';
import { type JsonText, membersIn } from '../../core/values/json-text.js';
import { geojsonToWkb, sqliteExtensionPath, wkbToGeoPackage } from '../../native/index.js';
import Database from '../../native/sqlite.js';
import type { FeatureJson } from '../exchange/ingest/pages.js';
import { keepInMemory, quote } from '../providers/geopackage/connection.js';
import { addMasks } from '../providers/geopackage/queries/masks.js';
import { ROW_COLUMN } from '../providers/geopackage/schema/create.js';
import { refused } from '../storage/remote/allowed-hosts.js';
import { FEDERATED_CRS, nameFederatedSource } from './protocol.js';

/** A feature that was read, and the CRS of its coordinates. */
export interface StagedFeature extends FeatureJson {
  readonly crs: string;
}

/** Path by which the GeoPackage store finds the features. */
const PATH = 'memory:federated';
/** SRS id of longitude and latitude in GeoPackage geometries. */
const SRS = 4326;
const MAX_VERTICES = 1_048_576;
const MAX_FREE = 64;

interface Table {
  readonly name: string;
  readonly insert: Database.Statement;
  readonly clear: Database.Statement;
}

let memory: Database.Database | undefined;
const free = new Map<string, Table[]>();
let count = 0;

/**
 * Gives features to a function as a table of the GeoPackage store. Filters, sorting, formats and tiles are therefore
 * the same as for files. The function must have read everything when it returns.
 */
export async function withStaged<T>(
  source: FederatedSource,
  features: readonly StagedFeature[],
  work: (staged: GeoPackageSource) => T | Promise<T>,
): Promise<T> {
  const key = JSON.stringify([
    source.idColumn,
    source.geometryColumn,
    ...source.fields.map(({ name }) => name),
  ]);
  const table = free.get(key)?.pop() ?? createTable(source);
  try {
    fill(table, source, features);
  } catch (error) {
    release(key, table);
    throw nameFederatedSource(source.federation.id, error);
  }
  try {
    return await work(buildSource(source, table.name));
  } finally {
    table.clear.run();
    release(key, table);
  }
}

function fill(table: Table, source: FederatedSource, features: readonly StagedFeature[]): void {
  const db = getDatabase();
  db.exec('BEGIN');
  try {
    table.clear.run();
    for (const [i, feature] of features.entries()) table.insert.run(i, ...buildRow(source, feature));
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

function release(key: string, table: Table): void {
  const tables = free.get(key) ?? [];
  free.delete(key);
  free.set(key, [...tables, table]);
  const [first] = free;
  if (free.size <= MAX_FREE || !first) return;
  free.delete(first[0]);
  for (const { name } of first[1]) getDatabase().exec(`DROP TABLE ${quote(name)}`);
}

function createTable({ idColumn, geometryColumn, fields }: FederatedSource): Table {
  const name = `federated_${count++}`;
  // A column with a type would convert integers of 64 bits to doubles.
  const columns = [
    `${ROW_COLUMN} INTEGER PRIMARY KEY`,
    `${quote(idColumn)} BLOB`,
    `${quote(geometryColumn)} BLOB`,
    ...fields.map((field) => `${quote(field.name)} BLOB`),
  ];
  const db = getDatabase();
  db.exec(`CREATE TABLE ${quote(name)} (${columns.join(', ')})`);
  const marks = columns.map(() => '?').join(', ');
  return {
    name,
    insert: db.prepare(`INSERT INTO ${quote(name)} VALUES (${marks})`),
    clear: db.prepare(`DELETE FROM ${quote(name)}`),
  };
}

function getDatabase(): Database.Database {
  if (memory) return memory;
  memory = new Database(':memory:');
  memory.pragma('trusted_schema = OFF');
  memory.loadExtension(sqliteExtensionPath());
  addMasks(memory);
  keepInMemory(PATH, memory);
  return memory;
}

function buildSource(
  { remote: _, federation: _1, ...source }: FederatedSource,
  table: string,
): GeoPackageSource {
  return {
    ...source,
    kind: 'geopackage',
    path: PATH,
    table,
    rowColumn: ROW_COLUMN,
    hasIndex: false,
    crs: FEDERATED_CRS,
  };
}

function buildRow(source: FederatedSource, { id, geometry, properties, crs }: StagedFeature): unknown[] {
  const values = membersIn(properties) ?? new Map<string, JsonText>();
  return [
    buildId(source, id),
    buildBlob(geometry, crs),
    ...source.fields.map(({ name }) => buildValue(values.get(name))),
  ];
}

function buildId(source: FederatedSource, id: JsonText | undefined): bigint | string {
  if (id === undefined || id === 'null') throw refused('a feature has no id');
  const text = id.startsWith('"') ? (JSON.parse(id) as string) : id;
  if (!hasIntegerIds(source)) return text;
  const number = readNumber(text);
  const integer = number === undefined ? undefined : toInt64(number);
  if (integer === undefined)
    throw refused(`the id ${text.slice(0, 60)} is not an integer, but the other ids of the layer are`);
  return integer;
}

function buildBlob(geometry: JsonText, crs: string): Buffer | null {
  if (geometry === 'null') return null;
  try {
    return wkbToGeoPackage(
      geojsonToWkb(geometry, { from: crs, to: FEDERATED_CRS, maxVertices: MAX_VERTICES }),
      SRS,
    );
  } catch (error) {
    throw refused(`a geometry cannot be read: ${(error as Error).message.slice(0, 200)}`);
  }
}

function buildValue(json: JsonText = 'null'): unknown {
  if (json === 'null') return null;
  if (json === 'true' || json === 'false') return json === 'true' ? 1 : 0;
  if (json.startsWith('"')) return JSON.parse(json);
  const number = readNumber(json);
  return number === undefined ? json : (toInt64(number) ?? Number(json));
}
