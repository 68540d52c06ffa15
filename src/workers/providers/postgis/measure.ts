import type { Box } from '../../../core/tasks.js';
import type { PgValue, PostgresConnection } from '../../../native/postgres.js';
import type { SpatialTable } from './catalog.js';
import { CANCELED, isPgError } from './failure.js';
import { quote } from './names.js';

/** Rows up to which a table is counted: this takes well under a second. */
const COUNTED_ROWS = 200_000;
/** Time for one count or extent, and for all of a database. */
const ONE_MS = 3000;
const ALL_MS = 20_000;

export interface Measured {
  count: number;
  /** True when the count is the planner's. */
  estimated: boolean;
  /** In the source's CRS. */
  extent: Box | undefined;
}

/** Counts rows and finds extents, exactly where that is quick, by the planner's statistics elsewhere. */
export class Measure {
  readonly #until = performance.now() + ALL_MS;

  constructor(readonly connection: PostgresConnection) {}

  async table(table: SpatialTable): Promise<Measured> {
    const name = `${quote(table.schema)}.${quote(table.table)}`;
    const geometry = `${quote(table.geometryColumn)}::geometry`;
    // Views and foreign tables have no statistics: they are tried.
    if (table.estimate <= COUNTED_ROWS) {
      const sides = sidesOf('e');
      const [row] =
        (await this.#within(
          `SELECT n, ${sides} FROM (SELECT count(*) AS n, ST_Extent(${geometry}) AS e FROM ${name}) s`,
        )) ?? [];
      if (row) return { count: Number(row[0]), estimated: false, extent: boxOf(row.slice(1)) };
    }
    return {
      count: await this.#estimate(table, name),
      estimated: true,
      extent: await this.#extent(table, name),
    };
  }

  async #estimate({ estimate }: SpatialTable, name: string): Promise<number> {
    if (estimate > 0) return Math.round(estimate);
    const [row] = await this.connection.query(`EXPLAIN (FORMAT JSON) SELECT 1 FROM ${name}`);
    const [{ Plan: plan }] = JSON.parse(String(row![0])) as [{ Plan: { 'Plan Rows': number } }];
    return plan['Plan Rows'];
  }

  async #extent(table: SpatialTable, name: string): Promise<Box | undefined> {
    const statistics = `SELECT ${sidesOf('e')} FROM (SELECT ST_EstimatedExtent($1::text, $2::text, $3::text) AS e) s`;
    const [estimated] = 'rm'.includes(table.kind)
      ? ((await this.#within(statistics, [table.schema, table.table, table.geometryColumn])) ?? [])
      : [];
    const box = estimated && boxOf(estimated);
    if (box) return box;
    const geometry = `${quote(table.geometryColumn)}::geometry`;
    const [row] =
      (await this.#within(
        `SELECT ${sidesOf('e')} FROM (SELECT ST_Extent(${geometry}) AS e FROM ${name}) s`,
      )) ?? [];
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

function sidesOf(box: string): string {
  return ['ST_XMin', 'ST_YMin', 'ST_XMax', 'ST_YMax'].map((side) => `${side}(${box})`).join(', ');
}

function boxOf(sides: readonly PgValue[]): Box | undefined {
  return sides.every((side) => typeof side === 'number') ? (sides as unknown as Box) : undefined;
}
