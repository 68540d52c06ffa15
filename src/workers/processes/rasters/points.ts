/** Points that have a number. */

import { TaskFailure } from '../../../core/errors/failure.js';
import { RESULT_TABLE } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { wkbToGeoPackage } from '../../../native/index.js';
import type { Dataset } from '../../gdal/gdal.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { readBlobBox } from '../blob.js';
import { listLongitudeShifts } from './zones.js';

export interface Points {
  blobs: Uint8Array[];
  xs: Float64Array;
  ys: Float64Array;
  values: Float64Array;
}

/**
 * Points that have a value, each at the longitude that is nearest to the middle of the raster. Fails with `invalid-input`
 * when there is none.
 */
export function readPoints(path: string, field: string, dataset: Dataset): Points {
  const move = moveNear(dataset);
  const { idColumn, geometryColumn } = inspectGeoPackage(path)[0]!.source as GeoPackageSource;
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
      const box = readBlobBox(geometry);
      if (!box || !geometry) continue;
      const [x, y] = [move(box[0]), box[1]];
      points.push([x, y, value]);
      blobs.push(x === box[0] ? geometry : pointBlob(x, y));
      if (points.length > PROCESS_LIMITS.processZones)
        throw new TaskFailure('too-large', `There are more than ${PROCESS_LIMITS.processZones} points.`);
    }
    if (points.length === 0) throw new TaskFailure('invalid-input', 'No point has a value.');
    const [xs, ys, values] = [0, 1, 2].map((i) => Float64Array.from(points, (point) => point[i]!));
    return { blobs, xs: xs!, ys: ys!, values: values! };
  } finally {
    db.close();
  }
}

/** Moves an x around the Earth to where it is nearest to the middle of a raster. */
function moveNear(dataset: Dataset): (x: number) => number {
  const shifts = listLongitudeShifts(dataset);
  const { x: columns, y: rows } = dataset.rasterSize;
  const [x0, a, b] = getGeoreference(dataset).geoTransform;
  const middle = x0 + (a * columns + b * rows) / 2;
  const away = (x: number) => Math.abs(x - middle);
  return (x) => shifts.map((shift) => x + shift).reduce((best, one) => (away(one) < away(best) ? one : best));
}

/** A point as a GeoPackage blob. */
function pointBlob(x: number, y: number): Uint8Array {
  const wkb = Buffer.alloc(21);
  wkb.writeUInt8(1, 0);
  wkb.writeUInt32LE(1, 1);
  wkb.writeDoubleLE(x, 5);
  wkb.writeDoubleLE(y, 13);
  return wkbToGeoPackage(wkb, 0);
}
