import type { Box } from '../../../../core/geometry/box.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { writeGeometrySql, writeTableSql } from '../schema/names.js';
import { writeEnvelope } from './filter.js';

/** Whether the envelope of any row touches each box, by the index, in one statement. Boxes are in the source's CRS. */
export async function occupied(
  source: PostgisSource,
  boxes: readonly Box[],
  cancellation?: Cancellation,
): Promise<boolean[]> {
  if (boxes.length === 0) return [];
  const params = new SqlParams();
  const answers = boxes.map(
    (box) =>
      `EXISTS (SELECT 1 FROM ${writeTableSql(source)} WHERE ${writeGeometrySql(source)} && ${writeEnvelope(box, source, params)})`,
  );
  const sql = `SELECT ${answers.join(', ')}`;
  const [row] = await withConnection(source.database, (connection) => connection.query(sql, params.values), {
    cancellation,
  });
  return row as boolean[];
}
