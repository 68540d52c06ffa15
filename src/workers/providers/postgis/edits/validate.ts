import type {
  ReportedField,
  TableCheck,
  TableChoice,
  TableReport,
  TableTasks,
} from '../../../../core/tasks/table-tasks.js';
import type { Patience } from '../../../../core/tasks/vector-tasks.js';
import { isPgError, type PgValue, type PostgresConnection } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { CANCELED } from '../connections/failure.js';
import { LookTime } from '../connections/look-time.js';
import { TableMeasurement } from '../queries/measure.js';
import {
  findPrimaryKey,
  readTableAttributes,
  type SpatialTable,
  spatialTables,
  type TableAttribute,
} from '../schema/catalog.js';
import {
  declaredType,
  describeEndless,
  isUnique,
  readSpatialRef,
  UNIQUE_SAMPLE,
} from '../schema/discover.js';
import { quote } from '../schema/names.js';
import { findGeometryColumn } from '../schema/table-layers.js';
import { postgisVersion } from '../schema/tables.js';

/** Maximum number of rows whose geometries are inspected, and the time limit in milliseconds. */
const SAMPLE_ROWS = 10_000;
const SAMPLE_MS = 3000;

/** A request waits for 30 seconds. */
const PATIENCE: Patience = { tableMs: 15_000, allMs: 15_000 };

/** Validates a table. All findings are returned together, and no check scans a large table. */
export function validateTable(
  { database, choice }: TableTasks['vector.validate']['input'],
  cancellation?: Cancellation,
): Promise<TableReport> {
  return withConnection(database, (connection) => new Validation(connection, choice).report(), {
    cancellation,
  });
}

interface Relation {
  oid: string;
  isReadable: boolean;
  hasRightOnSchema: boolean;
  estimate: number;
}

class Validation {
  readonly #report: TableReport = {
    checks: [],
    fields: [],
    geometryColumn: null,
    geometryType: null,
    primaryKey: null,
    identity: 'unresolved',
    sourceSrid: null,
    estimatedRows: null,
    featureCount: null,
    nullGeometries: null,
    invalidGeometries: null,
  };

  constructor(
    private readonly connection: PostgresConnection,
    private readonly choice: TableChoice,
  ) {}

  get #name(): string {
    return `${quote(this.choice.schema)}.${quote(this.choice.table)}`;
  }

  async report(): Promise<TableReport> {
    const relation = await this.#relation();
    if (!relation) return this.#report;
    const { estimate, oid } = relation;
    this.#report.estimatedRows = estimate < 0 ? null : Math.round(estimate);
    this.#checkNames();
    const attributes = await readTableAttributes(this.connection, oid);
    const table = await this.#geometryColumn();
    this.#checkFields(attributes);
    const isRead = await new LookTime(this.connection, PATIENCE).within(table ?? { kind: 'r' }, async () => {
      await this.#checkKey(oid, table, attributes);
      if (table) await this.#checkGeometries(table);
      return true;
    });
    if (!isRead) this.#tell('error', 'rows', describeEndless(PATIENCE.tableMs));
    return this.#report;
  }

  #tell(
    severity: TableCheck['severity'],
    code: string,
    message: string,
    facts: Pick<TableCheck, 'expected' | 'actual'> = {},
  ): void {
    this.#report.checks.push({ code, severity, message, ...facts });
  }

  async #relation(): Promise<Relation | undefined> {
    const { schema, table } = this.choice;
    const [row] = await this.connection.query(
      `SELECT c.oid::text, has_any_column_privilege(c.oid, 'SELECT'), has_schema_privilege(n.oid, 'USAGE'), c.reltuples::float8
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = $1::text AND c.relname = $2::text AND c.relkind IN ('r', 'v', 'm', 'p', 'f')`,
      [schema, table],
    );
    if (!row) {
      this.#tell('error', 'table-missing', `There is no table or view ${schema}.${table}.`);
      return undefined;
    }
    const [oid, isReadable, hasRightOnSchema, estimate] = row as [string, boolean, boolean, number];
    if (!hasRightOnSchema)
      this.#tell(
        'error',
        'rights',
        `The user may not use the schema: GRANT USAGE ON SCHEMA ${quote(schema)}.`,
      );
    else if (!isReadable)
      this.#tell('error', 'rights', `The user may not read the table: GRANT SELECT ON ${this.#name}.`);
    else this.#tell('pass', 'rights', 'The user may read the table.');
    return hasRightOnSchema && isReadable ? { oid, isReadable, hasRightOnSchema, estimate } : undefined;
  }

  #checkNames(): void {
    const { schema, table } = this.choice;
    const unusual = [schema, table].filter((name) => !/^[a-z_][a-z0-9_$]*$/.test(name));
    if (unusual.length > 0)
      this.#tell(
        'warning',
        'name-quoting',
        `SQL must quote ${unusual.map(quote).join(' and ')}; this server does.`,
      );
  }

  async #geometryColumn(): Promise<SpatialTable | undefined> {
    const { geometryColumn: wanted } = this.choice;
    if ((await postgisVersion(this.connection)) === null) {
      this.#tell('error', 'postgis', 'The database has no PostGIS extension: CREATE EXTENSION postgis.');
      return undefined;
    }
    const columns = await spatialTables(this.connection, this.choice);
    const table = findGeometryColumn(columns, wanted);
    const names = columns.map(({ geometryColumn }) => geometryColumn);
    if (!table) {
      const message =
        wanted === undefined ? 'It has no geometry column.' : `It has no geometry column ${wanted}.`;
      this.#tell('error', 'geometry', message, names.length > 0 ? { expected: names.join(', ') } : {});
      return undefined;
    }
    Object.assign(this.#report, { geometryColumn: table.geometryColumn, geometryType: table.geometryType });
    if (wanted === undefined && names.length > 1)
      this.#tell('warning', 'geometry', `It has several geometry columns. ${table.geometryColumn} is used.`, {
        actual: names.join(', '),
      });
    else this.#tell('pass', 'geometry', `Geometries are in ${table.geometryColumn}.`);
    if (table.indexed) this.#tell('pass', 'spatial-index', 'A spatial index covers the geometries.');
    else
      this.#tell(
        'warning',
        'spatial-index',
        `No spatial index covers the geometries: each window reads all rows. CREATE INDEX ON ${this.#name} USING gist (${quote(table.geometryColumn)}).`,
      );
    return table;
  }

  async #checkKey(
    oid: string,
    table: SpatialTable | undefined,
    attributes: readonly TableAttribute[],
  ): Promise<void> {
    const unique = (column: string) => isUnique(this.connection, this.#name, column);
    const stated = this.choice.key;
    if (stated !== undefined) return this.#checkStatedKey(stated, attributes, unique);
    const about = { ...(table ?? { kind: 'r' }), oid } as SpatialTable;
    const key = await findPrimaryKey(this.connection, about, attributes, unique);
    if ('problem' in key) return this.#tell('error', 'key', key.problem);
    this.#report.identity = about.kind === 'r' || about.kind === 'p' ? 'primaryKey' : 'uniqueColumn';
    if ('columns' in key) {
      this.#report.primaryKey = key.columns.join(', ');
      return this.#tell(
        'warning',
        'key',
        `${key.columns.join(', ')} identify the rows together: the layer is read-only, and its ids are made of their values.`,
      );
    }
    this.#report.primaryKey = key.column;
    this.#tell('pass', 'key', `${key.column} identifies the rows.`);
  }

  async #checkStatedKey(
    key: string,
    attributes: readonly TableAttribute[],
    unique: (column: string) => Promise<boolean>,
  ): Promise<void> {
    const attribute = attributes.find(({ field }) => field.name === key);
    if (!attribute) return this.#tell('error', 'key', `It has no column ${key} to identify rows by.`);
    if (!attribute.idType)
      return this.#tell('error', 'key', `${key} is neither integer, uuid nor text.`, {
        expected: 'integer, uuid, text',
        actual: attribute.field.sqlType ?? '',
      });
    if (!(await unique(key)))
      return this.#tell(
        'error',
        'key',
        `${key} has missing or repeated values among the first ${UNIQUE_SAMPLE} rows.`,
      );
    this.#report.primaryKey = key;
    this.#report.identity = 'statedColumn';
    this.#tell('pass', 'key', `${key} identifies the rows.`);
  }

  #checkFields(attributes: readonly TableAttribute[]): void {
    const { fields: chosen } = this.choice;
    const { primaryKey } = this.#report;
    const isChosen = (name: string) => chosen === undefined || chosen.includes(name);
    this.#report.fields = attributes.map(
      ({ field }): ReportedField => ({
        name: field.name,
        dataType: field.sqlType ?? 'text',
        fieldType: field.type,
        isNullable: field.nullable,
        isPrimaryKey: field.name === primaryKey,
        isSelected: field.name === primaryKey || isChosen(field.name),
        maxLength: field.maxLength ?? null,
      }),
    );
    const names = new Set(attributes.map(({ field }) => field.name));
    for (const name of chosen ?? [])
      if (!names.has(name))
        this.#tell('error', 'field', `It has no column ${name}, or the user may not read it.`);
    const texts = this.#report.fields.filter(
      ({ fieldType, dataType, isSelected }) => isSelected && fieldType === 'string' && !TEXTS.test(dataType),
    );
    if (texts.length > 0)
      this.#tell('warning', 'field-type', 'Values of these columns are served as text.', {
        actual: texts
          .slice(0, 20)
          .map(({ name, dataType }) => `${name} ${dataType}`)
          .join(', '),
      });
  }

  async #checkGeometries(table: SpatialTable): Promise<void> {
    const sample = await this.#sample(table.geometryColumn, true);
    if (sample) {
      const [nulls, invalid] = sample;
      Object.assign(this.#report, { nullGeometries: nulls, invalidGeometries: invalid });
      if (nulls > 0)
        this.#tell('warning', 'null-geometries', `${nulls} of the rows looked at have no geometry.`);
      if (invalid > 0)
        this.#tell(
          'warning',
          'invalid-geometries',
          `${invalid} of the rows looked at have an invalid geometry.`,
        );
    } else
      this.#tell('warning', 'sample', 'The geometries could not be looked at in time, or cannot be read.');
    const crs = await this.#checkSrid(table, sample?.[2] ?? []);
    this.#checkType(table, sample?.[3] ?? []);
    if (crs === undefined) return;
    const { count, estimated } = await new TableMeasurement(this.connection).table(table, crs);
    this.#report.featureCount = count;
    this.#report.estimatedRows ??= estimated ? count : null;
  }

  async #checkSrid(table: SpatialTable, inRows: readonly number[]): Promise<string | undefined> {
    const { srid: stated } = this.choice;
    if (inRows.length > 1) {
      this.#tell('error', 'srid', 'Its geometries have several SRIDs.', { actual: inRows.join(', ') });
      return undefined;
    }
    const own = table.srid || inRows[0] || 0;
    const srid = own || stated || 0;
    this.#report.sourceSrid = srid || null;
    if (srid === 0) {
      this.#tell('error', 'srid', 'Its SRID is not known: give the column an SRID, or state srid.');
      return undefined;
    }
    if (stated !== undefined && own !== 0 && stated !== own)
      this.#tell('error', 'srid', 'Its geometries have another SRID than is stated.', {
        expected: `${stated}`,
        actual: `${own}`,
      });
    const crs = await readSpatialRef(this.connection, srid);
    if (crs === undefined) this.#tell('error', 'srid', `Its SRID ${srid} is not in spatial_ref_sys.`);
    else this.#tell('pass', 'srid', `The SRID is ${srid}.`);
    return crs;
  }

  #checkType(table: SpatialTable, inRows: readonly string[]): void {
    const { geometryType: stated } = this.choice;
    const declared = declaredType(table.geometryType).type;
    if (stated === undefined) {
      if (declared === 'Geometry' && inRows.length > 1)
        this.#tell('warning', 'geometry-type', 'Its geometries are of several types.', {
          actual: inRows.join(', '),
        });
      return;
    }
    const { type } = declaredType(stated);
    const own = declared === 'Geometry' ? inRows.map((name) => declaredType(name).type) : [declared];
    const others = own.filter((one) => one !== type && `Multi${one}` !== type && type !== 'Geometry');
    if (others.length > 0)
      this.#tell('error', 'geometry-type', 'Its geometries are of another type than is stated.', {
        expected: type,
        actual: own.join(', '),
      });
  }

  /**
   * Statistics of the first rows: the number without a geometry, the number with an invalid geometry, SRIDs and
   * types. Undefined if it takes too long.
   */
  async #sample(column: string, judged: boolean): Promise<[number, number, number[], string[]] | undefined> {
    const valid = judged ? 'NOT ST_IsValid(g)' : 'false';
    const timer = setTimeout(() => this.connection.cancel(), SAMPLE_MS);
    try {
      const [row] = await this.connection.query(
        `SELECT count(*) FILTER (WHERE g IS NULL)::int4, count(*) FILTER (WHERE ${valid})::int4,
           jsonb_agg(DISTINCT ST_SRID(g)) FILTER (WHERE g IS NOT NULL)::text,
           jsonb_agg(DISTINCT GeometryType(g)) FILTER (WHERE g IS NOT NULL)::text
         FROM (SELECT ${quote(column)}::geometry AS g FROM ${this.#name} LIMIT ${SAMPLE_ROWS}) s`,
      );
      const [nulls, invalid, srids, types] = row as [number, number, PgValue, PgValue];
      return [nulls, invalid, listIn<number>(srids), listIn<string>(types)];
    } catch (error) {
      if (!isPgError(error) || !error.alive) throw error;
      if (error.code !== CANCELED && !error.code.startsWith('XX')) throw error;
      return judged ? this.#sample(column, false) : undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

const TEXTS = /^(text|character|character varying|name|uuid|"char"|bpchar)(\(|$)/;

const listIn = <T>(text: PgValue): T[] => (text === null ? [] : (JSON.parse(String(text)) as T[]));
