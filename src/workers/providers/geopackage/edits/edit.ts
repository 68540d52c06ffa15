import { passesAll } from '../../../../core/cql2/ast.js';
import type { OperandKind } from '../../../../core/cql2/functions.js';
import { and } from '../../../../core/cql2/index.js';
import { computeOperandKind } from '../../../../core/cql2/types.js';
import type { Calculation, EditResult, EditTask } from '../../../../core/edits/edits.js';
import type { FileWrites } from '../../../../core/edits/file-writes.js';
import type { FieldValue } from '../../../../core/features/feature-values.js';
import type { Box } from '../../../../core/geometry/box.js';
import { around } from '../../../../core/geometry/box.js';
import { type Field, fieldsNamed, type GeoPackageSource } from '../../../../core/sources/vector-source.js';
import type { JsonText } from '../../../../core/values/json-text.js';
import { wkbToGeoPackage } from '../../../../native/index.js';
import { calculatedValues } from '../../../edits/calculation.js';
import { runEdits } from '../../../edits/run.js';
import {
  type CalculatedFeature,
  EditRefusal,
  type EditSession,
  type GeometryForm,
  type NewEvent,
  type RowChange,
  rowNotDeleted,
  rowNotInserted,
  type StoredFeature,
  storedFeature,
} from '../../../edits/session.js';
import { joinFragments, raw, sql } from '../../fragment.js';
import { readIntegerId } from '../../integer-ids.js';
import { PROVIDER_LIMITS } from '../../limits.js';
import { writerOptions } from '../../writer.js';
import { quote } from '../connection.js';
import { passingRows } from '../queries/filter.js';
import { GeoPackageFilterWriter } from '../queries/filter-sql.js';
import { featureSql, rowName, storedOptions } from '../queries/items.js';
import { quoteIndexTable, quoteRowColumn } from '../queries/window.js';
import { guarded } from './edit-errors.js';
import { recordEvents } from './outbox.js';
import {
  beginOn,
  type EditTableFacts,
  requireCommitted,
  type Writer,
  withState,
  writesBegun,
} from './writer.js';

/** Edits rows of a GeoPackage and writes the events, in one transaction of its only writer. */
export function edit(task: EditTask): Promise<EditResult> {
  return runEdits(task, async () => GeoPackageSession.begin(task));
}

const OUTPUT_84 = { format: 'geojson', crs: 'OGC:CRS84', swapAxes: false, precision: 7 } as const;

/** Members of a task that a transaction needs. */
type SessionTask = Pick<EditTask, 'source' | 'filter' | 'origin'>;

type Bound = string | number | bigint | Uint8Array | null;

export class GeoPackageSession implements EditSession {
  readonly #source: GeoPackageSource;
  readonly #table: string;
  readonly #id: string;
  readonly #geometry: string;
  readonly #facts: EditTableFacts;
  /** Around the new geometries, in the CRS of the source. */
  #extent: Box | undefined;

  private constructor(
    readonly writer: Writer,
    private readonly task: SessionTask,
  ) {
    this.#source = task.source as GeoPackageSource;
    this.#table = quote(this.#source.table);
    this.#id = quote(this.#source.idColumn);
    this.#geometry = quote(this.#source.geometryColumn);
    this.#facts = writer.tableFacts(this.#source);
  }

  static begin(task: SessionTask, statementMs: number = PROVIDER_LIMITS.editStatementMs): GeoPackageSession {
    return guarded(() => {
      const writer = beginOn((task.source as GeoPackageSource).path);
      writer.limitStatements(statementMs);
      try {
        return new GeoPackageSession(writer, task);
      } catch (error) {
        writer.endLimit();
        if (writer.db.inTransaction) writer.statement('ROLLBACK').run();
        throw error;
      }
    });
  }

  async savepoint(): Promise<void> {
    this.#run('SAVEPOINT edit');
  }

  async undo(): Promise<void> {
    this.#run('ROLLBACK TO edit');
    this.#run('RELEASE edit');
  }

  async keep(): Promise<void> {
    this.#run('RELEASE edit');
  }

  async exists(id: string): Promise<boolean> {
    const key = readIntegerId(id);
    if (key === undefined) throw EditRefusal.member('/id', 'must be an integer in this collection');
    return this.#get(`SELECT 1 FROM ${this.#table} WHERE ${this.#id} = ?`, [key]) !== undefined;
  }

  async read(id: string, form?: GeometryForm): Promise<StoredFeature | null> {
    const key = readIntegerId(id);
    if (key === undefined || !this.#passes(key)) return null;
    const source = this.#source;
    const fields = fieldsNamed(source, undefined);
    const in84 = writerOptions(source, OUTPUT_84, fields);
    const feature = featureSql(source, 'geojson', fields);
    const shown = form ? featureSql(source, 'geojson', []) : 'NULL';
    const texts = this.#get(`SELECT ${feature} AS stored, ${feature} AS in84, ${shown} AS shown`, [
      ...[storedOptions(source), key, in84, key],
      ...(form ? [writerOptions(source, { format: 'geojson', ...form }, []), key] : []),
    ]) as { stored: Buffer | null; in84: Buffer; shown: Buffer | null };
    if (!texts.stored?.length) return null;
    return storedFeature(rowName, [texts.stored, texts.in84, ...(texts.shown ? [texts.shown] : [])]);
  }

  /** Whether the row is visible to the caller. */
  #passes(key: bigint): boolean {
    const { filter } = this.task;
    if (passesAll(filter)) return true;
    const passing = passingRows(this.#source, filter);
    return this.#get(`SELECT 1 FROM (${passing.sql}) WHERE row = ?`, [...passing.values, key]) !== undefined;
  }

  async calculate(calculation: Calculation): Promise<CalculatedFeature[]> {
    const source = this.#source;
    const operands = Object.values(calculation.expressions);
    const writer = new GeoPackageFilterWriter(source);
    const columns = operands.map((operand) => writer.operand(operand));
    const id = raw(`t.${this.#id}`);
    const passing = passingRows(source, and(this.task.filter, calculation.filter));
    const query = sql`SELECT ${joinFragments([id, ...columns], ', ')} FROM ${this.#table} t
      WHERE ${quoteRowColumn(source)} IN (${passing}) ORDER BY ${id} LIMIT ${String(calculation.maxFeatures + 1)}`;
    const rows = guarded(
      () =>
        this.writer.db
          .prepare(query.sql)
          .safeIntegers()
          .raw()
          .all(...query.values) as Bound[][],
    );
    const kinds = operands.map((operand) => computeOperandKind(operand, source));
    return rows.map(([key, ...values]) => {
      const results = values.map((value, i) => formatJson(value, kinds[i]!));
      return { id: String(key), values: calculatedValues(source, calculation, results) };
    });
  }

  async insert(id: string | undefined, change: RowChange): Promise<string> {
    const columns: [string, Bound][] = this.#columns(change);
    if (id !== undefined) columns.unshift([this.#id, readIntegerId(id)!]);
    const names = columns.map(([name]) => name);
    const sql =
      names.length === 0
        ? `INSERT INTO ${this.#table} DEFAULT VALUES`
        : `INSERT INTO ${this.#table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    this.writer.renewLimit();
    const key = guarded(() => {
      const insert = this.writer.statement(sql).safeIntegers();
      const { changes, lastInsertRowid } = insert.run(...columns.map(([, value]) => value));
      // A trigger may ignore the row: the last id is then of another one.
      if (changes === 0) throw rowNotInserted();
      return BigInt(lastInsertRowid);
    });
    this.#wrote(key, change);
    return String(key);
  }

  async update(id: string, change: RowChange): Promise<boolean> {
    const columns = this.#columns(change);
    const sets = [
      ...columns.map(([name]) => `${name} = ?`),
      ...change.reset.map((name) => `${quote(name)} = (${this.#facts.defaults.get(name) ?? 'NULL'})`),
    ];
    const key = readIntegerId(id)!;
    if (sets.length === 0) return true;
    const values = columns.map(([, value]) => value);
    const sql = `UPDATE ${this.#table} SET ${sets.join(', ')} WHERE ${this.#id} = ?`;
    const isUpdated = this.#run(sql, [...values, key]) > 0;
    this.#wrote(key, change);
    return isUpdated;
  }

  async holds(id: string, change: RowChange): Promise<boolean> {
    const columns = this.#columns(change);
    const conditions = [`${this.#id} = ?`, ...columns.map(([name]) => `${name} IS ?`)];
    const values = [readIntegerId(id)!, ...columns.map(([, value]) => value)];
    return this.#get(`SELECT 1 FROM ${this.#table} WHERE ${conditions.join(' AND ')}`, values) !== undefined;
  }

  async delete(id: string): Promise<void> {
    const key = readIntegerId(id)!;
    const count = this.#run(`DELETE FROM ${this.#table} WHERE ${this.#id} = ?`, [key]);
    if (count === 0 && (await this.read(id)) !== null) throw rowNotDeleted(id);
    if (!this.#facts.tendsIndex) return;
    const isGone = `NOT EXISTS (SELECT 1 FROM ${this.#table} WHERE ${this.#id} = ?)`;
    this.#run(`DELETE FROM ${quoteIndexTable(this.#source)} WHERE id = ? AND ${isGone}`, [key, key]);
  }

  async record(events: readonly NewEvent[]): Promise<number> {
    return guarded(() => recordEvents(this.writer, this.#source.table, this.task.origin, events));
  }

  async commit(): Promise<FileWrites | undefined> {
    this.#noteContents();
    const writes = writesBegun(this.#source.path, this.writer);
    this.writer.endLimit();
    guarded(() => this.writer.statement('COMMIT').run());
    requireCommitted(this.#source.path);
    return writes && withState(this.#source.path, writes);
  }

  async rollback(): Promise<void> {
    this.writer.endLimit();
    if (this.writer.db.inTransaction) guarded(() => this.writer.statement('ROLLBACK').run());
  }

  #columns({ geometry, values }: RowChange): [string, Bound][] {
    const fields = new Map(this.#source.fields.map((field) => [field.name, field]));
    const columns: [string, Bound][] = [...values].map(([name, value]) => [
      quote(name),
      bound(value, fields.get(name)!),
    ]);
    if (geometry !== undefined) {
      if (geometry !== null && UNWRITTEN.has(this.#facts.geometryType))
        throw EditRefusal.member(
          '/geometry',
          `cannot be written, because the column has the type ${this.#facts.geometryType} and edits write simple features. Omit the geometry`,
        );
      columns.push([this.#geometry, geometry && wkbToGeoPackage(geometry, this.#facts.srsId)]);
    }
    return columns;
  }

  /** Keeps index and extent true for a row whose geometry was written. */
  #wrote(key: bigint, { geometry }: RowChange): void {
    if (geometry === undefined) return;
    const g = this.#geometry;
    const box = this.#get(
      `SELECT ST_MinX(${g}) AS minx, ST_MinY(${g}) AS miny, ST_MaxX(${g}) AS maxx, ST_MaxY(${g}) AS maxy
       FROM ${this.#table} WHERE ${this.#id} = ?`,
      [key],
    ) as { minx: number | null; miny: number; maxx: number; maxy: number } | undefined;
    const filled = box && box.minx !== null;
    if (this.#facts.tendsIndex) {
      const rtree = quoteIndexTable(this.#source);
      if (filled) {
        const entry = [key, box.minx, box.maxx, box.miny, box.maxy];
        this.#run(`INSERT OR REPLACE INTO ${rtree} VALUES (?, ?, ?, ?, ?)`, entry);
      } else {
        this.#run(`DELETE FROM ${rtree} WHERE id = ?`, [key]);
      }
    }
    if (!filled) return;
    const extent: Box = [box.minx!, box.miny, box.maxx, box.maxy];
    this.#extent = around(this.#extent ?? extent, extent);
  }

  /**
   * Updates gpkg_contents: the time of the change, and a bounding box that contains every row (OGC 12-128r18, 1.1.3).
   */
  #noteContents(): void {
    const now = "strftime('%Y-%m-%dT%H:%M:%fZ','now')";
    const { table } = this.#source;
    if (!this.#extent) {
      this.#run(`UPDATE gpkg_contents SET last_change = ${now} WHERE table_name = ?`, [table]);
      return;
    }
    const [minx, miny, maxx, maxy] = around(this.#extent, this.#statedExtent() ?? this.#extent);
    this.#run(
      `UPDATE gpkg_contents SET last_change = ${now}, min_x = ?, min_y = ?, max_x = ?, max_y = ? WHERE table_name = ?`,
      [minx, miny, maxx, maxy, table],
    );
  }

  /** The extent that the file states; from all rows where it states none. */
  #statedExtent(): Box | undefined {
    const stated = this.#get('SELECT min_x, min_y, max_x, max_y FROM gpkg_contents WHERE table_name = ?', [
      this.#source.table,
    ]) as Record<string, number | null> | undefined;
    const box = Object.values(stated ?? {});
    if (box.length === 4 && box.every((side) => side !== null)) return box as unknown as Box;
    const g = this.#geometry;
    const all = this.#get(
      `SELECT min(ST_MinX(${g})), min(ST_MinY(${g})), max(ST_MaxX(${g})), max(ST_MaxY(${g})) FROM ${this.#table}`,
    ) as Record<string, number | null>;
    const values = Object.values(all);
    return values.every((side) => side !== null) ? (values as unknown as Box) : undefined;
  }

  #run(sql: string, values: readonly Bound[] = []): number {
    this.writer.renewLimit();
    return guarded(() => this.writer.statement(sql).run(...values).changes);
  }

  #get(sql: string, values: readonly Bound[] = []): unknown {
    this.writer.renewLimit();
    return guarded(() => this.writer.statement(sql).get(...values));
  }
}

/** Types of columns that take no simple feature (OGC 12-128r18, annex G). */
const UNWRITTEN = new Set(['CIRCULARSTRING', 'COMPOUNDCURVE', 'POLYHEDRALSURFACE', 'TIN', 'TRIANGLE']);

/** A computed value as clients send it: timestamps are compared without their Z. */
function formatJson(value: Bound, kind: OperandKind): JsonText {
  if (value === null) return 'null';
  if (kind === 'boolean') return String(Number(value) !== 0);
  if (kind === 'timestamp') return JSON.stringify(`${value}Z`);
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/**
 * A value in the form of its column (OGC 12-128r18, table 1). Integers are bound as integers, because REAL would lose
 * digits.
 */
function bound(value: FieldValue, { type }: Field): Bound {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (type === 'integer' && typeof value === 'number') return BigInt(value);
  if (type === 'date-time' && typeof value === 'string') return writtenInstant(value);
  return value;
}

/** DATETIME is written with milliseconds, and with microseconds where there are some. */
function writtenInstant(timestamp: string): string {
  const [seconds, fraction = ''] = timestamp.slice(0, -1).split('.');
  const digits = fraction.slice(0, 6).replace(/0+$/, '');
  return `${seconds}.${digits.length > 3 ? digits : digits.padEnd(3, '0')}Z`;
}
