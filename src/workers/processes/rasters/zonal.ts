/**
 * Statistics of a band in zones. Rejected: zones as rasters of numbers (gdal_rasterize), which have neither shares nor
 * overlaps; the library of exactextract, which is not a Debian package.
 */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { RasterProcess, RasterProcessOutcome } from '../../../core/rasters/raster-processes.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import type Database from '../../../native/sqlite.js';
import { TALLY_STATISTICS, ZoneTallies } from '../../../native/zonal.js';
import type { Dataset } from '../../gdal/gdal.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { type PixelBox, readWindowValues } from '../../rasters/pixels/values.js';
import { writeNumbers } from './numbers.js';
import {
  groupZones,
  invertGeoTransform,
  type PixelTransform,
  pixelsAround,
  type RasterZone,
  splitPixelBox,
  type ZoneGroup,
  zonesOver,
} from './zones.js';

type ZonalProcess = Extract<RasterProcess, { kind: 'zonal' }>;

/** Share of the work after which only the features have to be written. */
const COMPUTED = 0.8;

/** Writes the features of a GeoPackage, whose CRS is the raster's CRS, with the statistics after their attributes. */
export async function computeZonalStatistics(
  { dataset, band, features }: { dataset: Dataset; band: number; features: string },
  process: ZonalProcess,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<RasterProcessOutcome> {
  const source = inspectGeoPackage(features)[0]!.source as GeoPackageSource;
  const columns = readColumns(process);
  const db = connect(features, true);
  try {
    const { zones, count } = zonesOver(db, source, pixelsAround(dataset));
    const statistics = await compute({ dataset, band, db, source, process, columns }, zones, count, (done) =>
      onProgress(done * COMPUTED),
    );
    return { features: writeNumbers(db, source, { ...columns, numbers: statistics }, part) };
  } finally {
    db.close();
  }
}

/** Results for each zone: members of `TALLY_STATISTICS` by their indices, followed by quantiles. */
interface Columns {
  names: string[];
  /** Index of each name among the numbers of a zone. */
  places: number[];
  quantiles: number[];
  /** Numbers of a zone. */
  width: number;
}

function readColumns({ statistics, percentiles, prefix }: ZonalProcess): Columns {
  const quantiles = [
    ...(statistics.includes('median') ? [0.5] : []),
    ...percentiles.map((percent) => percent / 100),
  ];
  const fixed: readonly string[] = TALLY_STATISTICS;
  const first = fixed.length;
  const computePlace = (name: string) => (name === 'median' ? first : fixed.indexOf(name));
  const behind = first + quantiles.length - percentiles.length;
  return {
    names: [...statistics, ...percentiles.map((percent) => `percentile_${percent}`)].map(
      (name) => prefix + name,
    ),
    places: [...statistics.map(computePlace), ...percentiles.map((_, i) => behind + i)],
    quantiles,
    width: first + quantiles.length,
  };
}

interface Work {
  dataset: Dataset;
  band: number;
  db: Database.Database;
  source: GeoPackageSource;
  process: ZonalProcess;
  columns: Columns;
}

/** Returns the numbers of all zones, one after another, with NaN for missing numbers. */
async function compute(
  work: Work,
  zones: readonly RasterZone[],
  count: number,
  onProgress: (fraction: number) => void,
): Promise<Float64Array> {
  const { width } = work.columns;
  const all = new ZoneTallies(1, false).read(work.columns.quantiles);
  const numbers = new Float64Array(count * width);
  // Zones without pixels get the numbers of an empty zone.
  for (let i = 0; i < count; i++) numbers.set(all, i * width);
  let done = 0;
  for (const group of groupZones(zones)) {
    const results = await tally(work, group);
    group.zones.forEach(({ index }, i) => {
      numbers.set(results.subarray(i * width, (i + 1) * width), index * width);
    });
    done += group.zones.length;
    onProgress(done / zones.length);
  }
  return numbers;
}

async function tally(
  { dataset, band, db, source, process, columns }: Work,
  { zones, parts }: ZoneGroup,
): Promise<Float64Array> {
  const { statistics, percentiles, byCentre } = process;
  const holds = percentiles.length > 0 || statistics.some((name) => VALUES.has(name));
  const tallies = new ZoneTallies(zones.length, holds);
  const geometry = db
    .prepare(
      `SELECT ${quote(source.geometryColumn)} FROM ${quote(source.table)} WHERE ${quote(source.idColumn)} = ?`,
    )
    .pluck();
  const blobs = zones.map(({ id }) => geometry.get(id) as Uint8Array);
  const transform = invertGeoTransform(getGeoreference(dataset).geoTransform);
  for (const { shift, box } of parts) {
    for (const window of splitPixelBox(box)) {
      const pixels = await readWindowValues(dataset.bands.get(band), window);
      const { width } = window;
      const placed = windowTransform(transform, window, shift);
      if (!tallies.add(blobs, { pixels, width, transform: placed }, byCentre))
        throw new TaskFailure(
          'too-large',
          'A zone has too many different values for median, percentiles, majority, minority and variety.',
        );
    }
  }
  return tallies.read(columns.quantiles);
}

/** Statistics that all values must be there for. */
const VALUES: ReadonlySet<string> = new Set(['median', 'majority', 'minority', 'variety']);

/** Transform to columns and rows, relative to the corner of a window. Positions are first shifted to the east. */
function windowTransform(
  [u, ux, uy, v, vx, vy]: PixelTransform,
  { column, row }: PixelBox,
  shift: number,
): Float64Array {
  return Float64Array.of(u - column + ux * shift, ux, uy, v - row + vx * shift, vx, vy);
}
