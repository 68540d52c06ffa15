import { passesAll } from '../../../../core/cql2/ast.js';
import { findField, type Losses, type LossesTask, readLosses } from '../../../../core/features/features.js';
import type { Field, GeoPackageSource } from '../../../../core/sources/vector-source.js';
import { quote, statement } from '../connection.js';
import { passingRows } from './filter.js';
import { quoteRowColumn } from './window.js';

/** Bits of `gr_geometry_loss`, in the order of `LOSS_KINDS`. */
const BITS = [1, 2, 4, 8, 16];

/** SQLite stores NaN as NULL, so only infinite values are counted. */
export function losses(task: LossesTask): Losses {
  const source = task.source as GeoPackageSource;
  const fields = task.fields.map((name) => findField(source, name)!).filter(isPlainNumber);
  const columns = fields.map(({ name }, i) => `t.${quote(name)} AS c${i}`);
  const counts = [
    ...fields.map((_, i) => `sum(c${i} IN (9e999, -9e999))`),
    ...BITS.map((bit) => `sum(bits & ${bit} <> 0)`),
  ];
  const passing = passesAll(task.filter) ? undefined : passingRows(source, task.filter);
  const where = passing ? `WHERE ${quoteRowColumn(source)} IN (${passing.sql})` : '';
  const bits = `gr_geometry_loss(t.${quote(source.geometryColumn)}) AS bits`;
  // LIMIT prevents the flattening of the subquery: geometries are read once, not for each bit.
  const sql = `SELECT ${counts.join(', ')}
    FROM (SELECT ${[...columns, bits].join(', ')} FROM ${quote(source.table)} t ${where} LIMIT -1)`;
  const row = statement(source.path, sql)
    .raw()
    .get(...(passing?.values ?? []));
  return readLosses(fields, row as unknown[]);
}

const isPlainNumber = ({ type, mask }: Field) => !mask && (type === 'number' || type === 'integer');
