import type { Box } from '../../../core/box.js';
import type { PgValue, PostgresConnection } from '../../../native/postgres.js';
import { isPgError } from '../../../native/postgres.js';
import { type SensibleExtent, sensibleExtent } from '../domain.js';
import type { SpatialTable } from './catalog.js';
import { CANCELED } from './failure.js';
import { quote } from './names.js';

/** Rows up to which a table is counted: this takes well under a second. */
const COUNTED_ROWS = 200_000;
/** Time for one count or extent, and for all of a database. */
const ONE_MS = 3000;
const ALL_MS = 20_000;

export interface Measured extends SensibleExtent {
  count: number;
  /** True when the count is the planner's. */
  estimated: boolean;
}

export type MeasuredTable = Pick<SpatialTable, 'schema' | 'table' | 'geometryColumn' | 'kind' | 'estimate'>;

/** Counts rows and finds extents, exactly where that is quick, by the planner's statistics elsewhere. */
export class Measure {
  readonly #until = performance.now() + ALL_MS;

  constructor(readonly connection: PostgresConnection) {}

  async table(table: MeasuredTable, crs: string): Promise<Measured> {
    // Views and foreign tables have no statistics: they are tried.
    const counted = table.estimate <= COUNTED_ROWS ? await this.#counted(table) : undefined;
    const { count, extent } = counted ?? {
      count: await this.#estimate(table),
      extent: await this.#extent(table),
    };
    const search = sensibleExtent(extent, crs);
    let step = search.next();
    while (!step.done) step = search.next(await this.#extentWithin(table, step.value));
    return { count, estimated: !counted, ...step.value };
  }

  async #counted(table: MeasuredTable): Promise<{ count: number; extent: Box | undefined } | undefined> {
    const sql = `SELECT n, ${sidesOf('e')} FROM
      (SELECT count(*) AS n, ST_Extent(${geometryOf(table)}) AS e FROM ${nameOf(table)}) s`;
    const [row] = (await this.#within(sql)) ?? [];
    return row && { count: Number(row[0]), extent: boxOf(row.slice(1)) };
  }

  async #extentWithin(table: MeasuredTable, domain: Box): Promise<Box | undefined> {
    const geometry = geometryOf(table);
    const envelope = `ST_MakeEnvelope($1::float8, $2::float8, $3::float8, $4::float8, ST_SRID(${geometry}))`;
    const sql = `SELECT ${sidesOf('e')} FROM
      (SELECT ST_Extent(${geometry}) AS e FROM ${nameOf(table)} WHERE ${geometry} @ ${envelope} AND ${areNumbers(geometry)}) s`;
    const [row] = (await this.#within(sql, domain.map(String))) ?? [];
    return row && boxOf(row);
  }

  async #estimate({ estimate, ...table }: MeasuredTable): Promise<number> {
    if (estimate > 0) return Math.round(estimate);
    const [row] = await this.connection.query(`EXPLAIN (FORMAT JSON) SELECT 1 FROM ${nameOf(table)}`);
    const [{ Plan: plan }] = JSON.parse(String(row![0])) as [{ Plan: { 'Plan Rows': number } }];
    return plan['Plan Rows'];
  }

  async #extent(table: MeasuredTable): Promise<Box | undefined> {
    const statistics = `SELECT ${sidesOf('e')} FROM (SELECT ST_EstimatedExtent($1::text, $2::text, $3::text) AS e) s`;
    const [estimated] = 'rm'.includes(table.kind)
      ? ((await this.#within(statistics, [table.schema, table.table, table.geometryColumn])) ?? [])
      : [];
    const box = estimated && boxOf(estimated);
    if (box) return box;
    const sql = `SELECT ${sidesOf('e')} FROM (SELECT ST_Extent(${geometryOf(table)}) AS e FROM ${nameOf(table)}) s`;
    const [row] = (await this.#within(sql)) ?? [];
    return row && boxOf(row);
  }

  /** The answer, or undefined when it would take too long or the statement fails. */
  async #within(sql: string, params: string[] = []): Promise<PgValue[][] | undefined> {
    const left = Math.min(ONE_MS, this.#until - performance.now());
    if (left <= 0) return undefined;
    const timer = setTimeout(() => this.connection.cancel(), left);
    try {
      return await this.connection.query(sql, params);
    } catch (error) {
      if (isPgError(error) && error.alive && (error.code === CANCELED || error.code.startsWith('XX')))
        return undefined;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

const nameOf = ({ schema, table }: Pick<MeasuredTable, 'schema' | 'table'>) =>
  `${quote(schema)}.${quote(table)}`;

const geometryOf = ({ geometryColumn }: MeasuredTable) => `${quote(geometryColumn)}::geometry`;

/** The condition that all sides of a geometry are numbers: a box with NaN lies within every other. */
export function areNumbers(geometry: string): string {
  const sides = ['ST_XMin', 'ST_YMin', 'ST_XMax', 'ST_YMax'].map(
    (side) => `${side}(${geometry}) < 'Infinity'`,
  );
  return sides.join(' AND ');
}

/** The sides of a box, which are numbers unless it is null: what is infinite, or NaN, becomes 1e308. */
export function sidesOf(box: string): string {
  const sides = ['ST_XMin', 'ST_YMin', 'ST_XMax', 'ST_YMax'].map(
    (side) => `CASE WHEN ${box} IS NOT NULL THEN least(greatest(${side}(${box}), -1e308), 1e308) END`,
  );
  return sides.join(', ');
}

function boxOf(sides: readonly PgValue[]): Box | undefined {
  return sides.every((side) => typeof side === 'number') ? (sides as unknown as Box) : undefined;
}
