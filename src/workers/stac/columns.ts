import type { Field, FieldType } from '../../core/sources/vector-source.js';
import { ITEM_FIELDS, STAC_COLUMNS, type StacItem } from '../../core/stac/stac.js';
import type Database from '../../native/sqlite.js';
import { quote } from '../providers/geopackage/connection.js';

type Db = Database.Database;

/** Columns of properties; further properties are in the items, but cannot be searched. */
const MAX_COLUMNS = 64;
const MAX_NAME = 64;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;
const DATE_TIMES = new Set(['datetime', 'start_datetime', 'end_datetime', 'created', 'updated']);

const DECLARED: Partial<Record<FieldType, string>> = {
  number: 'REAL',
  boolean: 'BOOLEAN',
  'date-time': 'DATETIME',
  json: 'JSON',
};

/** The columns of a table of items that properties are searched by. */
export class PropertyColumns {
  readonly #db: Db;
  readonly #table: string;
  readonly #fields: Map<string, Field>;

  constructor(db: Db, table: string) {
    this.#db = db;
    this.#table = table;
    db.exec(`CREATE TABLE IF NOT EXISTS graticule_columns
      (table_name TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, PRIMARY KEY (table_name, name)) WITHOUT ROWID`);
    const sql = 'SELECT name, type FROM graticule_columns WHERE table_name = ?';
    const rows = db.prepare(sql).all(table) as Pick<Field, 'name' | 'type'>[];
    this.#fields = new Map(rows.map((row) => [row.name, { ...row, nullable: true }]));
  }

  /** Returns the columns for the properties of an item, and adds new ones. `datetime` is not a property column. */
  of({ properties }: StacItem): Field[] {
    return Object.entries(properties).flatMap(([name, value]) => {
      const field = this.#fields.get(name) ?? this.#added(name, value);
      return field ? [field] : [];
    });
  }

  #added(name: string, value: unknown): Field | undefined {
    const type = findType(name, value);
    if (!type || this.#fields.size >= MAX_COLUMNS || !isColumnName(name)) return undefined;
    // SQLite names are case-insensitive.
    const lower = name.toLowerCase();
    if ([...this.#fields.keys()].some((other) => other.toLowerCase() === lower)) return undefined;
    this.#db.exec(`ALTER TABLE ${quote(this.#table)} ADD COLUMN ${quote(name)} ${DECLARED[type] ?? 'TEXT'}`);
    this.#db.prepare('INSERT INTO graticule_columns VALUES (?, ?, ?)').run(this.#table, name, type);
    const field: Field = { name, type, nullable: true };
    this.#fields.set(name, field);
    return field;
  }
}

function isColumnName(name: string): boolean {
  const names = [
    ...['geometry', 'footprint', 'fid', 'stac_id', ...STAC_COLUMNS],
    ...ITEM_FIELDS.map((field) => field.name),
  ];
  const plain = /^[A-Za-z][\w:.-]*$/.test(name) && name.length <= MAX_NAME && !name.startsWith('graticule:');
  return plain && !names.includes(name.toLowerCase());
}

function findType(name: string, value: unknown): FieldType | undefined {
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'string')
    return DATE_TIMES.has(name) || DATE_TIME.test(value) ? 'date-time' : 'string';
  const scalars = Array.isArray(value) && value.every((member) => typeof member !== 'object');
  return scalars && value.length > 0 ? 'json' : undefined;
}

/**
 * Returns a value in the form of its column. Null if it has another type. Instants are in UTC with milliseconds, as
 * sortable text.
 */
export function columnValue({ type }: Field, value: unknown): string | number | null {
  if (type === 'number') return typeof value === 'number' && Number.isFinite(value) ? value : null;
  if (type === 'boolean') return typeof value === 'boolean' ? Number(value) : null;
  if (type === 'json') return Array.isArray(value) ? JSON.stringify(value) : null;
  if (typeof value !== 'string') return null;
  return type === 'date-time' ? utc(parseDateTimeMs(value)) : value;
}

/** Returns milliseconds since 1970. Undefined for text that is not an RFC 3339 date-time. */
export function parseDateTimeMs(value: unknown): number | undefined {
  if (typeof value !== 'string' || !DATE_TIME.test(value)) return undefined;
  const instant = Date.parse(value.toUpperCase().replace(' ', 'T'));
  return Number.isNaN(instant) ? undefined : instant;
}

function utc(instant: number | undefined): string | null {
  return instant === undefined ? null : new Date(instant).toISOString();
}

/** Statements of a connection, each prepared once: items differ in their properties, but not much. */
export function keptStatements(db: Db): (sql: string) => Database.Statement {
  const statements = new Map<string, Database.Statement>();
  return (sql) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = db.prepare(sql)));
    return statement;
  };
}
