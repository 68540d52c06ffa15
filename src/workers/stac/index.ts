import type { Field } from '../../core/sources/vector-source.js';
import {
  HIDDEN,
  ITEM_FIELDS,
  STAC_BASE,
  type StacIndexState,
  type StacItem,
  type StacPart,
  type StacTasks,
} from '../../core/stac/stac.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../native/index.js';
import type Database from '../../native/sqlite.js';
import { quote } from '../providers/geopackage/connection.js';
import { columnValue, keptStatements, PropertyColumns, parseDateTimeMs } from './columns.js';
import { type IndexedItem, listPartItems } from './content.js';
import { openIndex, PARTS } from './items-table.js';

type Db = Database.Database;

/** Task `vector.stacState`. */
export function stacState({ path, stamps }: StacTasks['vector.stacState']['input']): StacIndexState {
  const db = openIndex(path);
  try {
    const stampsBefore = new Map(partsIn(db).map(({ collection, stamp }) => [collection, stamp]));
    const absent = [...stampsBefore.keys()].filter((collection) => !(collection in stamps));
    if (absent.length > 0)
      db.transaction(() => absent.forEach((collection) => void remove(db, collection))).immediate();
    const stale = Object.keys(stamps).filter((name) => stampsBefore.get(name) !== stamps[name]);
    return { stale, fields: fieldsIn(db) };
  } finally {
    db.close();
  }
}

/** Task `vector.stacIndex`. */
export async function stacIndex({
  path,
  parts,
}: StacTasks['vector.stacIndex']['input']): Promise<StacIndexState> {
  const db = openIndex(path);
  try {
    for (const part of parts) {
      // Read before the transaction: a database may take its time.
      const items = await listPartItems(part);
      db.transaction(() => replace(db, part, items)).immediate();
    }
    db.pragma('wal_checkpoint(PASSIVE)');
    return { stale: [], fields: fieldsIn(db) };
  } finally {
    db.close();
  }
}

function partsIn(db: Db) {
  return db.prepare(`SELECT collection, stamp, fields FROM ${PARTS}`).all() as {
    collection: string;
    stamp: string;
    fields: string;
  }[];
}

function fieldsIn(db: Db): Record<string, Field[]> {
  return Object.fromEntries(
    partsIn(db).map(({ collection, fields }) => [collection, JSON.parse(fields) as Field[]]),
  );
}

function remove(db: Db, collection: string): void {
  db.prepare('DELETE FROM items WHERE collection = ?').run(collection);
  db.prepare(`DELETE FROM ${PARTS} WHERE collection = ?`).run(collection);
}

function replace(db: Db, { collection, stamp }: StacPart, items: Iterable<IndexedItem>): void {
  // Another gateway may have done it while this one waited.
  if (partsIn(db).some((part) => part.collection === collection && part.stamp === stamp)) return;
  remove(db, collection);
  const columns = new PropertyColumns(db, 'items');
  const used = new Map<string, Field>();
  const prepared = keptStatements(db);
  for (const item of items) {
    const fields = columns.of(item.item);
    for (const field of fields) used.set(field.name, field);
    insert(prepared, collection, item, fields);
  }
  const fields = JSON.stringify([...ITEM_FIELDS, ...used.values()]);
  db.prepare(`INSERT INTO ${PARTS} VALUES (?, ?, ?)`).run(collection, stamp, fields);
}

function insert(
  prepared: (sql: string) => Database.Statement,
  collection: string,
  { item, files }: IndexedItem,
  fields: readonly Field[],
): void {
  const names = ['geometry', 'collection', 'id', 'datetime', HIDDEN.start, HIDDEN.end];
  const columns = [...names, ...fields.map(({ name }) => name)];
  const { start, end } = parseTimes(item);
  const instant = parseDateTimeMs(item.properties['datetime']);
  // If two items have the same id, the first is kept.
  const { changes, lastInsertRowid } =
    prepared(`INSERT OR IGNORE INTO items (${columns.map(quote).join(', ')})
    VALUES (${columns.map(() => '?').join(', ')})`).run(
      buildGeometry(item),
      collection,
      item.id,
      instant === undefined ? null : new Date(instant).toISOString(),
      start ?? null,
      end ?? null,
      ...fields.map((field) => columnValue(field, item.properties[field.name])),
    );
  if (changes === 0) return;
  const text = JSON.stringify(linked(collection, item));
  prepared('INSERT INTO item_texts VALUES (?, ?, ?)').run(
    lastInsertRowid,
    text,
    files ? JSON.stringify(files) : null,
  );
}

/** An item with the links that every item of the server has, before its own. */
function linked(collection: string, item: StacItem): StacItem {
  const parent = `${STAC_BASE}/stac/collections/${encodeURIComponent(collection)}`;
  const json = 'application/json';
  const own = [
    { rel: 'self', href: `${parent}/items/${encodeURIComponent(item.id)}`, type: 'application/geo+json' },
    { rel: 'parent', href: parent, type: json },
    { rel: 'collection', href: parent, type: json },
    { rel: 'root', href: `${STAC_BASE}/stac`, type: json },
  ];
  return { ...item, links: [...own, ...((item['links'] as object[] | undefined) ?? [])] };
}

/**
 * Returns the times that `datetime` of a search is compared with: start and end, or the instant (STAC item search).
 */
function parseTimes({ properties }: StacItem): { start: number | undefined; end: number | undefined } {
  const instant = parseDateTimeMs(properties['datetime']);
  const start = parseDateTimeMs(properties['start_datetime']) ?? instant;
  return { start, end: parseDateTimeMs(properties['end_datetime']) ?? instant ?? start };
}

function buildGeometry({ geometry }: StacItem): Buffer | null {
  if (!geometry) return null;
  const wkb = geojsonToWkb(geometry, { from: 'OGC:CRS84', to: 'OGC:CRS84', maxVertices: 1_048_576 });
  return wkbToGeoPackage(wkb, 4326);
}
