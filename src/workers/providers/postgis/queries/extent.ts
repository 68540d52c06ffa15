import type { Expression } from '../../../../core/cql2/ast.js';
import { isAroundEarth } from '../../../../core/edits/edit-areas.js';
import type { ExtentResult, FeatureQuery } from '../../../../core/features/features.js';
import type { Box } from '../../../../core/geometry/box.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import { measuredIn, sensibleExtent } from '../../../edits/domain.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { quote, writeGeometrySql, writeTableSql } from '../schema/names.js';
import { buildWhere, writeEnvelope } from './filter.js';
import {
  crossingBox,
  extentSql,
  hemispheresSql,
  TableMeasurement,
  wholeExtentSql,
  writeBoxSides,
} from './measure.js';

/** Extent of the rows that a filter lets through, or of a table: this exactly where that is quick. */
export function extent({ source, filter }: FeatureQuery, cancellation?: Cancellation): Promise<ExtentResult> {
  const table = source as PostgisSource;
  return filter === undefined ? ofTable(table, cancellation) : ofPassing(table, filter, cancellation);
}

function ofTable(source: PostgisSource, cancellation?: Cancellation): Promise<ExtentResult> {
  const { database, schema, table, geometryColumn, geography = false, crs } = source;
  return withConnection(
    database,
    async (connection) => {
      const [row] = await connection.query(
        'SELECT relkind::text, reltuples::float8 FROM pg_class WHERE oid = $1::regclass',
        [`${quote(schema)}.${quote(table)}`],
      );
      if (!row) return {};
      const [kind, estimate] = row as [string, number];
      const measured = await new TableMeasurement(connection).table(
        { schema, table, geometryColumn, geography, kind, estimate },
        crs,
      );
      return measuredIn(measured.extent, crs, measured.crossing);
    },
    { cancellation },
  );
}

function ofPassing(
  source: PostgisSource,
  filter: Expression,
  cancellation?: Cancellation,
): Promise<ExtentResult> {
  const geometry = writeGeometrySql(source);
  return withConnection(
    source.database,
    async (connection) => {
      const within = async (domain?: Box): Promise<Box | undefined> => {
        const params = new SqlParams();
        const conditions = [buildWhere(source, filter, params)];
        if (domain) conditions.push(`${geometry} @ ${writeEnvelope(domain, source, params)}`);
        const box = domain ? extentSql(geometry) : wholeExtentSql(geometry);
        const sql = `SELECT ${writeBoxSides('e')} FROM
          (SELECT ${box} AS e FROM ${writeTableSql(source)} WHERE ${conditions.map((one) => `(${one})`).join(' AND ')}) s`;
        const [row] = await connection.query(sql, params.values);
        return row?.every((side) => typeof side === 'number') ? (row as unknown as Box) : undefined;
      };
      const search = sensibleExtent(await within(), source.crs);
      let step = search.next();
      while (!step.done) step = search.next(await within(step.value));
      const { extent } = step.value;
      if (!source.geography || !isAroundEarth(extent)) return measuredIn(extent, source.crs);
      const params = new SqlParams();
      const passing = `(${buildWhere(source, filter, params)})`;
      const [row] = await connection.query(
        hemispheresSql(geometry, writeTableSql(source), passing),
        params.values,
      );
      return measuredIn(extent, source.crs, row && crossingBox(extent!, row));
    },
    { cancellation },
  );
}
