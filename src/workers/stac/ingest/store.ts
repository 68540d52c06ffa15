import type { Field } from '../../../core/sources/vector-source.js';
import { STAC_COLUMNS, STAC_TABLE } from '../../../core/stac/stac.js';
import { wkbToGeoPackage } from '../../../native/index.js';
import type Database from '../../../native/sqlite.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { createCore, createSpatialIndex } from '../../providers/geopackage/schema/create.js';
import { columnValue, keptStatements, PropertyColumns } from '../columns.js';
import type { TakenItem } from './item.js';
import type { DocumentRefusal, StacJson } from './read.js';

type Db = Database.Database;

/** Refused documents that are kept with their reasons; of further ones the number. */
const MAX_REFUSED = 100;
const MAX_COLLECTIONS = 1000;
const WGS84 = 4326;

interface Table {
  name: string;
  columns: PropertyColumns;
  items: number;
}

/**
 * GeoPackage with the items of a catalog: a table of footprints for each collection, and the items as JSON in
 * separate tables.
 */
export class StacStore {
  readonly #db: Db;
  readonly #tables = new Map<string, Table>();
  readonly #documents = new Map<string, StacJson>();
  readonly #refused: DocumentRefusal[] = [];
  #refusedCount = 0;
  readonly #prepared: (sql: string) => Database.Statement;

  constructor(path: string) {
    this.#db = connect(path, false);
    // The file is renamed when it is complete, and is otherwise created again.
    this.#db.pragma('journal_mode = OFF');
    this.#db.pragma('synchronous = OFF');
    this.#prepared = keptStatements(this.#db);
    createCore(this.#db);
    this.#db.exec(`CREATE TABLE ${STAC_TABLE} (table_name TEXT PRIMARY KEY, document TEXT NOT NULL);
      CREATE TABLE graticule_stac_refused (path TEXT NOT NULL, reason TEXT NOT NULL);
      CREATE TABLE graticule_stac_counts (items INTEGER NOT NULL, refused INTEGER NOT NULL);
      BEGIN`);
  }

  document(document: StacJson): void {
    this.#documents.set(String(document['id']), document);
  }

  refuse(path: string, reason: string): void {
    this.#refusedCount++;
    if (this.#refused.length < MAX_REFUSED) this.#refused.push({ path, reason });
  }

  add(collection: string, { item, wkb, files }: TakenItem): void {
    const table = this.#tableOf(collection);
    const fields = table.columns.of(item);
    const columns = [
      'footprint',
      'stac_id',
      'datetime',
      ...STAC_COLUMNS,
      ...fields.map((field) => field.name),
    ];
    const { changes } = this.#prepared(
      `INSERT OR IGNORE INTO ${quote(table.name)} (${columns.map(quote).join(', ')})
       VALUES (${columns.map(() => '?').join(', ')})`,
    ).run(
      wkb && wkbToGeoPackage(wkb, WGS84),
      item.id,
      columnValue(DATETIME, item.properties['datetime']),
      JSON.stringify(item),
      Object.keys(files).length > 0 ? JSON.stringify(files) : null,
      ...fields.map((field) => columnValue(field, item.properties[field.name])),
    );
    table.items += changes;
    if (changes === 0) this.refuse(`${collection}/${item.id}`, 'Another item of the collection has this id.');
  }

  #tableOf(collection: string): Table {
    const current = this.#tables.get(collection);
    if (current) return current;
    if (this.#tables.size >= MAX_COLLECTIONS)
      throw new Error(`there are more than ${MAX_COLLECTIONS} collections`);
    const name = `stac_${this.#tables.size + 1}`;
    this.#db.exec(`CREATE TABLE ${name} (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, footprint GEOMETRY,
      stac_id TEXT NOT NULL UNIQUE, datetime DATETIME, ${STAC_COLUMNS.map((column) => `${column} JSON`).join(', ')})`);
    const columns = new PropertyColumns(this.#db, name);
    const table = { name, columns, items: 0 };
    this.#tables.set(collection, table);
    return table;
  }

  /** Indexes and describes the added items. Returns the number of items. */
  finish(): number {
    for (const [collection, { name }] of this.#tables) this.#describe(collection, name);
    const items = [...this.#tables.values()].reduce((sum, table) => sum + table.items, 0);
    const insert = this.#db.prepare('INSERT INTO graticule_stac_refused VALUES (?, ?)');
    for (const { path, reason } of this.#refused) insert.run(path, reason);
    this.#db.prepare('INSERT INTO graticule_stac_counts VALUES (?, ?)').run(items, this.#refusedCount);
    this.#db.exec('COMMIT');
    return items;
  }

  #describe(collection: string, table: string): void {
    const document = this.#documents.get(collection) ?? { id: collection };
    const { title, description } = document;
    const db = this.#db;
    db.prepare(
      `INSERT INTO gpkg_contents (table_name, data_type, identifier, description, srs_id) VALUES (?, 'features', ?, ?, ${WGS84})`,
    ).run(
      table,
      collection,
      typeof description === 'string' ? description : typeof title === 'string' ? title : '',
    );
    db.prepare(`INSERT INTO gpkg_geometry_columns VALUES (?, 'footprint', 'GEOMETRY', ${WGS84}, 2, 0)`).run(
      table,
    );
    db.prepare(`INSERT INTO ${STAC_TABLE} VALUES (?, ?)`).run(table, JSON.stringify(document));
    createSpatialIndex(db, table, 'footprint', 'fid');
  }

  close(): void {
    this.#db.close();
  }
}

const DATETIME: Field = { name: 'datetime', type: 'date-time', nullable: true };

/** Returns the result of the ingest that created a store. */
export function readIngestOutcome(path: string): {
  items: number;
  refused: DocumentRefusal[];
  refusedCount: number;
} {
  const db = connect(path, true);
  try {
    const counts = db.prepare('SELECT items, refused FROM graticule_stac_counts').get() as {
      items: number;
      refused: number;
    };
    const refused = db.prepare('SELECT path, reason FROM graticule_stac_refused').all() as DocumentRefusal[];
    return { items: counts.items, refused, refusedCount: counts.refused };
  } finally {
    db.close();
  }
}
