/** Points that have a number. */

import { TaskFailure } from '../../../core/failure.js';
import { RESULT_TABLE } from '../../../core/feature-processes.js';
import { LIMITS } from '../../../core/limits.js';
import type { GeoPackageSource } from '../../../core/vector-source.js';
import { boxOf } from '../../process/blob.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { inspect } from '../../providers/geopackage/inspect.js';

export interface Points {
  blobs: Uint8Array[];
  xs: Float64Array;
  ys: Float64Array;
  values: Float64Array;
}

/** Points that have a value. Fails with `invalid-input` when there is none. */
export function readPoints(path: string, field: string): Points {
  const { idColumn, geometryColumn } = inspect(path)[0]!.source as GeoPackageSource;
  const db = connect(path, true);
  try {
    const columns = [geometryColumn, field].map(quote).join(', ');
    const rows = db
      .prepare(
        `SELECT ${columns} FROM ${quote(RESULT_TABLE)} WHERE ${quote(field)} IS NOT NULL ORDER BY ${quote(idColumn)}`,
      )
      .raw()
      .iterate() as IterableIterator<[Uint8Array | null, number]>;
    const points: [number, number, number][] = [];
    const blobs: Uint8Array[] = [];
    for (const [geometry, value] of rows) {
      const box = boxOf(geometry);
      if (!box || !geometry) continue;
      points.push([box[0], box[1], value]);
      blobs.push(geometry);
      if (points.length > LIMITS.processZones)
        throw new TaskFailure('too-large', `There are more than ${LIMITS.processZones} points.`);
    }
    if (points.length === 0) throw new TaskFailure('invalid-input', 'No point has a value.');
    const [xs, ys, values] = [0, 1, 2].map((i) => Float64Array.from(points, (point) => point[i]!));
    return { blobs, xs: xs!, ys: ys!, values: values! };
  } finally {
    db.close();
  }
}
