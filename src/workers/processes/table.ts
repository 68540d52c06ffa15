import { existsSync } from 'node:fs';
import { TaskFailure } from '../../core/errors/failure.js';
import { GEOJSON_GEOMETRIES } from '../../core/geometry/geojson-types.js';
import { RESULT_TABLE, resultColumns } from '../../core/processes/feature-processes.js';
import type { FieldType } from '../../core/sources/vector-source.js';
import { findFreeName } from '../../core/values/column-names.js';
import { type ExactNumber, isExactNumber } from '../../core/values/exact-number.js';
import Database from '../../native/sqlite.js';
import { removeDatabaseFiles } from '../files/database-files.js';
import { connect, quote } from '../providers/geopackage/connection.js';
import { addCrs, createCore } from '../providers/geopackage/schema/create.js';
import { asMulti, typeNumber } from './blob.js';

/** An attribute of the results. */
export interface Attribute {
  name: string;
  type: FieldType;
}

/** `ExactNumber`s become doubles. */
export type TableValue = string | number | bigint | boolean | Uint8Array | ExactNumber | null | undefined;

/** Returns attributes with distinct names. Column names are case-insensitive. */
export function distinct(attributes: readonly Attribute[]): Attribute[] {
  const taken = new Set<string>();
  return attributes.map(({ name, type }) => {
    const free = findFreeName(name, taken);
    taken.add(free.toLowerCase());
    return { name: free, type };
  });
}

/** Column types of GeoPackage (OGC 12-128r18, table 1). */
const COLUMN_TYPES: Readonly<Record<FieldType, string>> = {
  integer: 'INTEGER',
  number: 'REAL',
  string: 'TEXT',
  boolean: 'BOOLEAN',
  date: 'DATE',
  'date-time': 'DATETIME',
  binary: 'BLOB',
  json: 'TEXT',
  array: 'TEXT',
};

/** By their numbers in WKB. */
const TYPE_NAMES = ['GEOMETRY', ...GEOJSON_GEOMETRIES.map((type) => type.toUpperCase())];
const MULTI = 3;
const Z = 1000;

/** Features of one statement, and values beyond which it has fewer; SQLite takes 32,766. */
const STATEMENT_ROWS = 32;
const STATEMENT_VALUES = 32_000;
/** Bytes of geometries above which features do not wait for a full statement. */
const STATEMENT_BYTES = 8_388_608;

/**
 * GeoPackage with one table that a process fills. It is unusable before `finish`, and a later run then starts again.
 */
export class FeatureTable {
  readonly srsId: number;
  /** Adds as many features as a statement takes; and a single one. */
  readonly #insertMany: Database.Statement;
  readonly #insert: Database.Statement;
  /** Values of a feature, and of all of a statement. */
  readonly #width: number;
  readonly #full: number;
  /** Values that wait for a statement. */
  #waiting: (string | number | bigint | Uint8Array | null)[] = [];
  /** Bytes of the geometries. */
  #bytes = 0;
  /** Numbers of the types that came. */
  readonly #types = new Set<number>();
  #features = 0;
  readonly #names: string;

  private constructor(
    private readonly db: Database.Database,
    readonly crs: string,
    private readonly id: string,
    private readonly geometry: string,
    attributes: readonly Attribute[],
  ) {
    this.srsId = addCrs(db, crs);
    const columns = attributes.map(({ name, type }) => `, ${quote(name)} ${COLUMN_TYPES[type]}`);
    db.exec(`CREATE TABLE ${RESULT_TABLE} (${quote(id)} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
      ${quote(geometry)} GEOMETRY${columns.join('')})`);
    const names = [id, geometry, ...attributes.map(({ name }) => name)];
    this.#names = names.map(quote).join(', ');
    this.#width = names.length;
    const rows = Math.max(1, Math.min(STATEMENT_ROWS, Math.floor(STATEMENT_VALUES / this.#width)));
    this.#full = rows * this.#width;
    const buildInsert = (count: number) => {
      const row = `(${names.map(() => '?').join(', ')})`;
      return db.prepare(
        `INSERT INTO ${RESULT_TABLE} (${this.#names}) VALUES ${new Array(count).fill(row).join(', ')}`,
      );
    };
    this.#insertMany = buildInsert(rows);
    this.#insert = buildInsert(1);
  }

  /** With a `source` its statements may read that SQLite file as the schema `source`, and have our functions. */
  static create(
    path: string,
    crs: string,
    attributes: readonly Attribute[],
    { source }: { source?: string } = {},
  ): FeatureTable {
    removeDatabaseFiles(path);
    const db = source === undefined ? new Database(path) : attach(connect(path, false), source);
    // The file is written to the disk once, when it is complete. Without the schema name the pragmas would also change
    // the source.
    db.pragma('main.journal_mode = MEMORY');
    db.pragma('main.synchronous = OFF');
    createCore(db);
    db.exec('BEGIN');
    const { idColumn, geometryColumn } = resultColumns(attributes);
    try {
      return new FeatureTable(db, crs, idColumn, geometryColumn, attributes);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  get features(): number {
    return this.#features;
  }

  /** Adds a feature; its id is the next one where none is given. The geometry is a GeoPackage blob. */
  add(geometry: Uint8Array | null, values: readonly TableValue[], id: number | bigint | null = null): void {
    if (geometry) this.#types.add(typeNumber(geometry));
    if (values.length + 2 !== this.#width) throw new Error('a feature has another number of values');
    const waiting = this.#waiting;
    waiting.push(id, geometry);
    this.#features++;
    this.#bytes += geometry?.byteLength ?? 0;
    for (const value of values) {
      waiting.push(columnValue(value));
      if (value instanceof Uint8Array) this.#bytes += value.byteLength;
    }
    if (this.#bytes > STATEMENT_BYTES) return this.#addRest();
    if (waiting.length < this.#full) return;
    this.#bytes = 0;
    this.#insertMany.run(waiting);
    this.#waiting = [];
  }

  /**
   * Prepares a statement that reads, or adds, the selected rows: the id, the geometry and the values of each feature.
   */
  prepare(select: string, { adds = false } = {}): Database.Statement {
    return this.db.prepare(adds ? `INSERT INTO ${RESULT_TABLE} (${this.#names}) ${select}` : select);
  }

  /**
   * Counts the features that such a statement added, whose ids are above `id`. Removes features whose geometry is an
   * error text instead of a blob.
   */
  accept(added: number, id: bigint): { id: number; reason: string }[] {
    const [rowId, geometry] = [quote(this.id), quote(this.geometry)];
    const types = this.db
      .prepare(`SELECT DISTINCT gr_geometry_type(${geometry}) FROM ${RESULT_TABLE} WHERE ${rowId} > ?`)
      .pluck()
      .all(id) as (number | null)[];
    for (const type of types) if (type !== null) this.#types.add(type);
    const faults = types.includes(null)
      ? (this.db
          .prepare(
            `DELETE FROM ${RESULT_TABLE} WHERE ${rowId} > ? AND typeof(${geometry}) = 'text'
             RETURNING ${rowId} AS id, ${geometry} AS reason`,
          )
          .all(id) as { id: number; reason: string }[])
      : [];
    this.#features += added - faults.length;
    return faults;
  }

  /** Adds the rows that wait for a full statement. */
  #addRest(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    for (let i = 0; i < waiting.length; i += this.#width) this.#insert.run(waiting.slice(i, i + this.#width));
  }

  /**
   * Writes the metadata of the table and flushes the file to the disk. A `draft` is not flushed, because it is not
   * needed after a crash.
   */
  finish({ draft = false } = {}): number {
    const { db } = this;
    this.#addRest();
    const { type, z } = this.#typeOfAll();
    const register = db.prepare(
      "INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES (?, 'features', ?)",
    );
    register.run(RESULT_TABLE, this.srsId);
    db.prepare('INSERT INTO gpkg_geometry_columns VALUES (?, ?, ?, ?, ?, 0)').run(
      ...[RESULT_TABLE, this.geometry, type, this.srsId, z],
    );
    db.exec('COMMIT');
    if (!draft) db.pragma('main.synchronous = FULL');
    db.pragma('user_version = 10300');
    db.close();
    return this.#features;
  }

  /** Ends without a result; the file stays behind. */
  abandon(): void {
    if (this.db.open) this.db.close();
  }

  /**
   * Returns one type for all geometries, if there is one. Single geometries become multi geometries if both occur.
   */
  #typeOfAll(): { type: string; z: number } {
    const numbers = [...this.#types];
    const plain = new Set(numbers.map((number) => number % Z));
    const high = numbers.filter((number) => number >= Z).length;
    const z = high === 0 ? 0 : high === numbers.length ? 1 : 2;
    const single = new Set(
      [...plain].map((number) => (number > MULTI && number <= 2 * MULTI ? number - MULTI : number)),
    );
    if (single.size !== 1) return { type: TYPE_NAMES[0]!, z };
    if (plain.size === 1) return { type: TYPE_NAMES[[...plain][0]!]!, z };
    this.#makeMulti();
    return { type: TYPE_NAMES[[...single][0]! + MULTI]!, z };
  }

  #makeMulti(): void {
    const { db, geometry } = this;
    const g = quote(geometry);
    db.function('as_multi', { deterministic: true }, (blob) =>
      blob === null ? null : asMulti(blob as Uint8Array),
    );
    db.exec(`UPDATE ${RESULT_TABLE} SET ${g} = as_multi(${g})`);
  }
}

function attach(db: Database.Database, source: string): Database.Database {
  try {
    // SQLite would make a file that there is not.
    if (!existsSync(source))
      throw new TaskFailure('source-unreadable', 'The file of the features no longer exists.');
    db.prepare('ATTACH ? AS source').run(source);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function columnValue(value: TableValue): string | number | bigint | Uint8Array | null {
  if (value === undefined) return null;
  return typeof value === 'boolean' || isExactNumber(value) ? Number(value) : value;
}
