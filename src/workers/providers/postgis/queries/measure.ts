import { isAroundEarth } from '../../../../core/edits/edit-areas.js';
import type { Box } from '../../../../core/geometry/box.js';
import type { PgValue, PostgresConnection } from '../../../../native/postgres.js';
import { isPgError } from '../../../../native/postgres.js';
import { type SensibleExtent, sensibleExtent } from '../../../edits/domain.js';
import { cutAtAntimeridian } from '../antimeridian.js';
import { CANCELED } from '../connections/failure.js';
import type { SpatialTable } from '../schema/catalog.js';
import { quote } from '../schema/names.js';

/** Rows up to which a table is counted: this takes well under a second. */
const COUNTED_ROWS = 200_000;
/** Time for one count or extent, and for all of a database. */
const ONE_MS = 3000;
const ALL_MS = 20_000;

export interface Measurement extends SensibleExtent {
  count: number;
  /** True when the count is the planner's. */
  estimated: boolean;
  /** Extent as a box across 180 degrees, if a geography crosses that meridian. */
  crossing?: Box;
}

export type MeasuredTable = Pick<
  SpatialTable,
  'schema' | 'table' | 'geometryColumn' | 'geography' | 'kind' | 'estimate'
>;

/** Counts rows and finds extents, exactly where that is quick, by the planner's statistics elsewhere. */
export class TableMeasurement {
  readonly #until = performance.now() + ALL_MS;

  constructor(readonly connection: PostgresConnection) {}

  async table(table: MeasuredTable, crs: string): Promise<Measurement> {
    // Views and foreign tables have no statistics: they are tried.
    const counted = table.estimate <= COUNTED_ROWS ? await this.#counted(table) : undefined;
    const { count, extent } = counted ?? {
      count: await this.#estimate(table),
      extent: await this.#extent(table),
    };
    const search = sensibleExtent(extent, crs);
    let step = search.next();
    while (!step.done) step = search.next(await this.#extentWithin(table, step.value));
    const crossing = table.geography ? await this.#crossing(table, step.value.extent) : undefined;
    return { count, estimated: !counted, ...step.value, ...(crossing ? { crossing } : {}) };
  }

  /** Returns the extent of geographies as a box across 180 degrees, if some of them cross that meridian. */
  async #crossing(table: MeasuredTable, extent: Box | undefined): Promise<Box | undefined> {
    if (!isAroundEarth(extent)) return undefined;
    const [row] = (await this.#within(hemispheresSql(formatGeometry(table), formatName(table)))) ?? [];
    return row && crossingBox(extent!, row);
  }

  async #counted(table: MeasuredTable): Promise<{ count: number; extent: Box | undefined } | undefined> {
    const sql = `SELECT n, ${writeBoxSides('e')} FROM
      (SELECT count(*) AS n, ${wholeExtentSql(formatGeometry(table))} AS e FROM ${formatName(table)}) s`;
    const [row] = (await this.#within(sql)) ?? [];
    return row && { count: Number(row[0]), extent: findBox(row.slice(1)) };
  }

  async #extentWithin(table: MeasuredTable, domain: Box): Promise<Box | undefined> {
    const geometry = formatGeometry(table);
    const envelope = `ST_MakeEnvelope($1::float8, $2::float8, $3::float8, $4::float8, ST_SRID(${geometry}))`;
    const sql = `SELECT ${writeBoxSides('e')} FROM
      (SELECT ${extentSql(geometry)} AS e FROM ${formatName(table)} WHERE ${geometry} @ ${envelope}) s`;
    const [row] = (await this.#within(sql, domain.map(String))) ?? [];
    return row && findBox(row);
  }

  async #estimate({ estimate, ...table }: MeasuredTable): Promise<number> {
    if (estimate > 0) return Math.round(estimate);
    const [row] = await this.connection.query(`EXPLAIN (FORMAT JSON) SELECT 1 FROM ${formatName(table)}`);
    const [{ Plan: plan }] = JSON.parse(String(row![0])) as [{ Plan: { 'Plan Rows': number } }];
    return plan['Plan Rows'];
  }

  async #extent(table: MeasuredTable): Promise<Box | undefined> {
    const statistics = `SELECT ${writeBoxSides('e')} FROM (SELECT ST_EstimatedExtent($1::text, $2::text, $3::text) AS e) s`;
    // Statistics of geographies are of positions in space.
    const [estimated] =
      'rm'.includes(table.kind) && !table.geography
        ? ((await this.#within(statistics, [table.schema, table.table, table.geometryColumn])) ?? [])
        : [];
    const box = estimated && findBox(estimated);
    if (box) return box;
    const sql = `SELECT ${writeBoxSides('e')} FROM (SELECT ${wholeExtentSql(formatGeometry(table))} AS e FROM ${formatName(table)}) s`;
    const [row] = (await this.#within(sql)) ?? [];
    return row && findBox(row);
  }

  /** Returns the rows of a statement. Undefined if it takes too long or fails. */
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

const formatName = ({ schema, table }: Pick<MeasuredTable, 'schema' | 'table'>) =>
  `${quote(schema)}.${quote(table)}`;

function formatGeometry({ geometryColumn, geography }: MeasuredTable): string {
  const geometry = `${quote(geometryColumn)}::geometry`;
  return geography ? cutAtAntimeridian(geometry) : geometry;
}

/** The extent of the geometries whose sides are numbers. ST_Extent forgets all rows before one with NaN. */
export function extentSql(geometry: string): string {
  return `ST_Extent(${geometry}) FILTER (WHERE ${areNumbers(geometry)})`;
}

/** The extent of all geometries, which no CRS can have if a side of one is not a number. */
export function wholeExtentSql(geometry: string): string {
  const isNumeric = areNumbers(geometry);
  return `ST_Extent(CASE WHEN ${isNumeric} THEN ${geometry} WHEN NOT (${isNumeric}) THEN ST_MakePoint(1e308, 1e308) END)`;
}

/** The condition that all sides of a geometry are numbers: a box with NaN lies within every other. */
function areNumbers(geometry: string): string {
  const sides = ['ST_XMin', 'ST_YMin', 'ST_XMax', 'ST_YMax'].map(
    (side) => `${side}(${geometry}) < 'Infinity'`,
  );
  return sides.join(' AND ');
}

/** Returns the sides of a box, which are numbers unless the box is null. Infinite sides and NaN become 1e308. */
export function writeBoxSides(box: string): string {
  const sides = ['ST_XMin', 'ST_YMin', 'ST_XMax', 'ST_YMax'].map(
    (side) => `CASE WHEN ${box} IS NOT NULL THEN least(greatest(${side}(${box}), -1e308), 1e308) END`,
  );
  return sides.join(', ');
}

/**
 * SQL for the western end of the parts in the eastern hemisphere, and for the eastern end of the remaining parts. A
 * third column states whether a part is in both.
 */
export function hemispheresSql(geometry: string, from: string, where = 'TRUE'): string {
  const [west, east] = ['ST_XMin(d.geom)', 'ST_XMax(d.geom)'];
  const isEastern = `${west} >= 0`;
  return `SELECT min(${west}) FILTER (WHERE ${isEastern}), max(${east}) FILTER (WHERE NOT ${isEastern}),
      bool_or(${west} < 0 AND ${east} > 0)
    FROM ${from}, ST_Dump(${geometry}) AS d WHERE ${where} AND ${west} BETWEEN -180 AND 180 AND ${east} BETWEEN -180 AND 180`;
}

/** Box across 180 degrees from a row of `hemispheresSql`. Undefined if a part crosses 0 degrees. */
export function crossingBox([, south, , north]: Box, [west, east, isInBoth]: PgValue[]): Box | undefined {
  if (isInBoth !== false || typeof west !== 'number' || typeof east !== 'number') return undefined;
  return [west, south, east, north];
}

function findBox(sides: readonly PgValue[]): Box | undefined {
  return sides.every((side) => typeof side === 'number') ? (sides as unknown as Box) : undefined;
}
