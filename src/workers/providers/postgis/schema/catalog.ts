import { compilePattern, type TableRule } from '../../../../core/catalog/table-rule.js';
import type { Field, FieldType } from '../../../../core/sources/vector-source.js';
import type { PgValue, PostgresConnection } from '../../../../native/postgres.js';
import { groupRows } from '../queries/group-rows.js';

/** Geometry column and its table, as described by the database's catalog. */
export interface SpatialTable {
  oid: string;
  schema: string;
  table: string;
  /** pg_class.relkind: r table, v view, m materialised view, p partitioned table, f foreign table. */
  kind: string;
  geometryColumn: string;
  geography: boolean;
  /** Declared type such as `MultiPolygonZ` or `Geometry`. */
  geometryType: string;
  srid: number;
  comment: string | null;
  writable: boolean;
  /** Whether it has child tables, whose rows it shows and no unique index of it covers. */
  hasChildren: boolean;
  /** Whether a spatial index covers the column. */
  indexed: boolean;
  /** The planner's estimate of the rows; -1 when the table was never analysed. */
  estimate: number;
}

/**
 * FROM clause for the geometry columns that the user can read. Tables of extensions and partitions are omitted:
 * extension tables are not user data, and partitions belong to their parent.
 */
const FROM_TABLES = `FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_type y ON y.oid = a.atttypid
    JOIN pg_extension e ON e.extname = 'postgis' AND e.extnamespace = y.typnamespace
  WHERE y.typname IN ('geometry', 'geography') AND a.attnum > 0 AND NOT a.attisdropped
    AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
    AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'topology', 'tiger', 'tiger_data')
    AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    AND NOT EXISTS (SELECT FROM pg_depend d
      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`;
/** Bits of pg_relation_is_updatable: 4 UPDATE, 8 INSERT, 16 DELETE. */
const TABLES = `
  SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, a.attname, y.typname = 'geography',
    CASE y.typname WHEN 'geometry' THEN postgis_typmod_type(a.atttypmod)
      ELSE CASE a.atttypmod WHEN -1 THEN 'Geometry' ELSE postgis_typmod_type(a.atttypmod) END END,
    CASE WHEN y.typname = 'geography' AND a.atttypmod = -1 THEN 4326 ELSE postgis_typmod_srid(a.atttypmod) END::int4,
    obj_description(c.oid, 'pg_class'),
    has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
      AND has_table_privilege(c.oid, 'DELETE') AND pg_relation_is_updatable(c.oid, true) & 28 = 28,
    EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
      WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = a.attnum
        AND m.amname IN ('gist', 'spgist', 'brin')),
    c.reltuples::float8, c.relhassubclass AND c.relkind <> 'p'
  ${FROM_TABLES}`;
const ORDER = 'ORDER BY n.nspname, c.relname, a.attnum';
const BY_RULE = `AND n.nspname || '.' || c.relname LIKE ANY ($1::text[])
    AND NOT n.nspname || '.' || c.relname LIKE ANY ($2::text[])`;
/** Selects only names, because all other facts about a table cost far more. */
const NAMES = `SELECT DISTINCT n.nspname::text, c.relname::text ${FROM_TABLES}
  ${BY_RULE} ORDER BY 1, 2`;

/** Tables that a rule selects, up to its maximum, and the tables beyond it. */
export interface RuledTables {
  readonly tables: SpatialTable[];
  /** Undefined if there are none. */
  readonly omitted?: { readonly count: number; readonly first: string; readonly last: string };
}

/** The geometry columns that the user may read and the rule includes. The limit counts tables, not columns. */
export async function ruledTables(
  connection: PostgresConnection,
  { include, exclude, maxTables }: TableRule,
): Promise<RuledTables> {
  const patterns = [include, exclude].map((list) => arrayText(list.map(compilePattern)));
  const names = (await connection.query(NAMES, patterns)) as [string, string][];
  if (names.length <= maxTables) {
    const rows = await connection.query(`${TABLES} ${BY_RULE} ${ORDER}`, patterns);
    return { tables: rows.map(spatialTable) };
  }
  const chosen = names.slice(0, maxTables);
  const rows = await connection.query(
    `${TABLES} AND (n.nspname, c.relname) IN (SELECT s, t FROM unnest($1::text[], $2::text[]) AS w(s, t)) ${ORDER}`,
    [arrayText(chosen.map(([schema]) => schema)), arrayText(chosen.map(([, table]) => table))],
  );
  const beyond = names.slice(maxTables).map((name) => name.join('.'));
  return {
    tables: rows.map(spatialTable),
    omitted: { count: beyond.length, first: beyond[0]!, last: beyond.at(-1)! },
  };
}

/** An array as PostgreSQL reads it. */
function arrayText(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** The geometry columns that the user may read, of all tables or of one. */
export async function spatialTables(
  connection: PostgresConnection,
  one?: { schema: string; table: string },
): Promise<SpatialTable[]> {
  const rows = one
    ? await connection.query(`${TABLES} AND n.nspname = $1::text AND c.relname = $2::text ${ORDER}`, [
        one.schema,
        one.table,
      ])
    : await connection.query(`${TABLES} ${ORDER}`);
  return rows.map(spatialTable);
}

function spatialTable(row: PgValue[]): SpatialTable {
  const [oid, schema, table, kind, geometryColumn, geography, geometryType, srid, ...rest] = row;
  const [comment, writable, indexed, estimate, hasChildren] = rest;
  return {
    oid,
    schema,
    table,
    kind,
    geometryColumn,
    geography,
    geometryType,
    srid,
    comment,
    writable,
    hasChildren,
    indexed,
    estimate,
  } as SpatialTable;
}

/** Attribute of a table that is not a geometry. */
export interface TableAttribute {
  field: Field;
  /** Its key type when features can be named by it. */
  idType: 'integer' | 'string' | 'uuid' | undefined;
}

/** Types of a domain are those below it. The trailing CASE is the length of varchar(n) and char(n). */
const COLUMNS = `
  SELECT a.attrelid::text, a.attname, format_type(b.oid, CASE WHEN y.typtype = 'd' THEN y.typtypmod ELSE a.atttypmod END),
    b.typcategory::text, b.typtype::text, b.typname, format_type(nullif(b.typelem, 0), NULL),
    NOT (a.attnotnull OR y.typnotnull), a.attidentity = 'a' OR a.attgenerated <> '',
    col_description(a.attrelid, a.attnum),
    (SELECT jsonb_agg(v.enumlabel ORDER BY v.enumsortorder) FROM pg_enum v WHERE v.enumtypid = b.oid),
    CASE WHEN b.typname IN ('varchar', 'bpchar') AND greatest(a.atttypmod, y.typtypmod) > 4
      THEN greatest(a.atttypmod, y.typtypmod) - 4 END
  FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    JOIN pg_type b ON b.oid = CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END
  WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
    AND b.typname NOT IN ('geometry', 'geography', 'raster', 'topogeometry')
    AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
  ORDER BY a.attrelid, a.attnum`;

export async function readTableAttributes(
  connection: PostgresConnection,
  oid: string,
): Promise<TableAttribute[]> {
  return (await readAttributes(connection, [oid])).get(oid) ?? [];
}

async function readAttributes(
  connection: PostgresConnection,
  oids: readonly string[],
): Promise<Map<string, TableAttribute[]>> {
  return groupRows(await connection.query(COLUMNS, [arrayText(oids)]), attribute);
}

/** Tables whose columns and keys are read by one statement. */
const READ_AT_ONCE = 500;

/** Columns and keys of many tables. Two statements read them for every few hundred tables. */
export class TableFacts {
  readonly #attributes = new Map<string, TableAttribute[]>();
  readonly #indexes = new Map<string, KeyRow[]>();
  readonly #unread: string[];

  constructor(
    private readonly connection: PostgresConnection,
    tables: readonly Pick<SpatialTable, 'oid'>[],
  ) {
    this.#unread = [...new Set(tables.map(({ oid }) => oid))];
  }

  async attributesOf(oid: string): Promise<TableAttribute[]> {
    await this.#readUntil(oid);
    return this.#attributes.get(oid) ?? [];
  }

  async indexesOf(oid: string): Promise<KeyRow[]> {
    await this.#readUntil(oid);
    return this.#indexes.get(oid) ?? [];
  }

  async #readUntil(oid: string): Promise<void> {
    while (!this.#attributes.has(oid) && this.#unread.length > 0) {
      const oids = this.#unread.slice(0, READ_AT_ONCE);
      const attributes = await readAttributes(this.connection, oids);
      const indexes = await readIndexes(this.connection, oids);
      for (const one of oids) {
        this.#attributes.set(one, attributes.get(one) ?? []);
        this.#indexes.set(one, indexes.get(one) ?? []);
      }
      this.#unread.splice(0, oids.length);
    }
  }
}

function attribute(row: PgValue[]): TableAttribute {
  const [name, sqlType, category, kind, typeName, element, nullable, generated, comment, labels, maxLength] =
    row as [string, string, string, string, string, string | null, boolean, boolean, ...PgValue[]];
  const type = fieldType(typeName, category, kind);
  const field: Field = { name, type, nullable, sqlType };
  const bits = BITS[typeName.replace(/^_/, '')];
  if (bits !== undefined) field.bits = bits;
  if (type === 'array') field.items = elementType(element ?? 'text');
  if (generated) field.generated = true;
  if (typeof comment === 'string') field.description = comment;
  if (typeof labels === 'string') field.enumeration = JSON.parse(labels) as string[];
  if (typeof maxLength === 'number') field.maxLength = maxLength;
  return { field, idType: KEY_TYPES[typeName] };
}

const BITS: Record<string, Field['bits']> = { int2: 16, int4: 32, float4: 32 };

const KEY_TYPES: Record<string, TableAttribute['idType']> = {
  int2: 'integer',
  int4: 'integer',
  int8: 'integer',
  uuid: 'uuid',
  text: 'string',
  varchar: 'string',
  bpchar: 'string',
};

const FIELD_TYPES: Record<string, FieldType> = {
  int2: 'integer',
  int4: 'integer',
  int8: 'integer',
  float4: 'number',
  float8: 'number',
  numeric: 'number',
  bool: 'boolean',
  date: 'date',
  timestamp: 'date-time',
  timestamptz: 'date-time',
  bytea: 'binary',
  json: 'json',
  jsonb: 'json',
  hstore: 'json',
};

/** Whatever has no counterpart is text, as PostgreSQL writes it: intervals, ranges, enums, networks. */
function fieldType(typeName: string, category: string, kind: string): FieldType {
  if (category === 'A') return 'array';
  // A composite type is a JSON object.
  if (kind === 'c') return 'json';
  return FIELD_TYPES[typeName] ?? 'string';
}

const ELEMENT_TYPES: readonly [RegExp, FieldType][] = [
  [/^(smallint|integer|bigint)$/, 'integer'],
  [/^(real|double precision|numeric)$/, 'number'],
  [/^boolean$/, 'boolean'],
  [/^jsonb?$/, 'json'],
  [/^date$/, 'date'],
  [/^timestamp/, 'date-time'],
];

function elementType(name: string): FieldType {
  return ELEMENT_TYPES.find(([pattern]) => pattern.test(name))?.[1] ?? 'string';
}

/** The column that identifies the rows of a table, or the columns that do so together, or why there are none. */
export type TableKey = { column: string } | { columns: readonly string[] } | { problem: string };

/**
 * Selects primary keys first, then unique indexes on columns that are not null. Names break ties, so the result is
 * stable.
 */
const KEYS = `
  SELECT i.indrelid::text, i.indisprimary, i.indnkeyatts::int4, a.attname, a.attnotnull, a.attnum::int4,
    (SELECT json_agg(c.attname ORDER BY k.n) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
      JOIN pg_attribute c ON c.attrelid = i.indrelid AND c.attnum = k.attnum
      WHERE k.n <= i.indnkeyatts AND c.attnotnull)::text
  FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = ANY ($1::oid[]) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
  ORDER BY i.indrelid, i.indisprimary DESC, a.attnum`;

type KeyRow = [
  isPrimary: boolean,
  count: number,
  name: string,
  isNotNull: boolean,
  number: number,
  names: string | null,
];

async function readIndexes(
  connection: PostgresConnection,
  oids: readonly string[],
): Promise<Map<string, KeyRow[]>> {
  return groupRows(await connection.query(KEYS, [arrayText(oids)]), (row) => row as KeyRow);
}

/** Names that views give to a key. */
const KEY_NAMES = ['fid', 'id', 'gid', 'ogc_fid', 'objectid'];

export async function findPrimaryKey(
  connection: PostgresConnection,
  table: SpatialTable,
  attributes: readonly TableAttribute[],
  isUnique: (column: string) => Promise<boolean>,
  facts = new TableFacts(connection, [table]),
): Promise<TableKey> {
  const indexes = await facts.indexesOf(table.oid);
  const isReadable = (part: string) => attributes.some(({ field }) => field.name === part);
  const usable = (name: string) => attributes.some(({ field, idType }) => field.name === name && idType);
  // A column of a materialised view is never declared not null, so its rows are checked below.
  const single = indexes.find(([, columns, name, notNull]) => columns === 1 && notNull && usable(name));
  if (single) return { column: single[2] };
  if ('vmf'.includes(table.kind)) {
    const indexed = indexes.filter(([, columns]) => columns === 1).map(([, , name]) => name);
    const named = KEY_NAMES.flatMap((key) =>
      attributes.filter(({ field }) => field.name.toLowerCase() === key).map(({ field }) => field.name),
    );
    for (const name of [...indexed, ...named])
      if (usable(name) && (await isUnique(name))) return { column: name };
    return {
      problem: 'No column identifies its rows: name a unique one of integers or uuids fid, id or gid.',
    };
  }
  for (const [, count, , , , names] of indexes) {
    const parts = JSON.parse(names ?? '[]') as string[];
    const areAll = parts.length === count && parts.every((part) => isReadable(part));
    if (count > 1 && areAll) return { columns: parts };
  }
  const primary = indexes.find(([isPrimary]) => isPrimary);
  if (primary && primary[1] > 1) return { problem: 'The user may not read all columns of its primary key.' };
  if (primary) return { problem: `Its primary key ${primary[2]} is neither integer, uuid nor text.` };
  return { problem: 'It has no primary key.' };
}
