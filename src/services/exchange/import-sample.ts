import { join } from 'node:path';
import type { Collection } from '../../core/catalog/collection.js';
import type { OgrLayerInfo } from '../../core/exchange/ogr.js';
import { makeFolder } from '../../core/files/own-folder.js';
import { type Box, liesOnGlobe } from '../../core/geometry/box.js';
import type { Field, VectorSource } from '../../core/sources/vector-source.js';
import type { Pools, TaskOptions } from '../../core/tasks/tasks.js';
import type { VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import { isCsv } from '../../core/values/csv.js';
import { parseJsonExactly, utf8 } from '../../core/values/json.js';
import { computeExtentInDegrees } from '../catalog/crs/extent-in-degrees.js';
import { type Guess, listGuesses } from '../catalog/inspections/guess-crs.js';
import { findUndeclaredCrs, type UndeclaredCrs } from './undeclared-crs.js';

/** Features of a sample. */
export const MAX_SAMPLE = 100;
/** Bytes of the features of a sample, which the event loop parses. */
const MAX_BYTES = 256 << 10;
/** Part of the extent of the features within which their lines and rings are simplified. */
const SIMPLIFIED_PART = 1 / 2000;
const PRECISION = 7;
const TABLE = 'sample';

/** Features of a file as an import would read them. */
export interface ImportSample {
  /** West, south, east and north. Null if the place is unknown, or the layer is empty. */
  extent: Box | null;
  /** Extent in the units of the file. */
  coordinateExtent: Box | undefined;
  /** Properties of the first feature. */
  properties: Record<string, unknown> | undefined;
  /** Notes about changed values, as the import has them. */
  notes: readonly string[];
  fields: Pick<Field, 'name' | 'type'>[];
  /** GeoJSON features in degrees, with exact numbers. Their geometries are null if the place is unknown. */
  features: unknown[];
  crsGuesses: Guess[];
  /** CRS that an import assumes for data that declares none. */
  undeclared: UndeclaredCrs | undefined;
}

export interface SampleRequest {
  /** File that OGR opens. */
  readonly path: string;
  readonly layer: OgrLayerInfo;
  /** New folder for intermediate files. */
  readonly folder: string;
  readonly neighbours: readonly Collection[];
  /** Collections that suggest CRSs. */
  readonly published: readonly Collection[];
}

/**
 * Imports the first features of a file into a new folder, and describes them. Types of columns, dates and the CRS are
 * those of a file in a published folder. Undefined for a layer without features.
 */
export async function readSample(
  { path, layer, folder, neighbours, published }: SampleRequest,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions & { deadlineMs: number },
): Promise<ImportSample | undefined> {
  await makeFolder(folder);
  const staging = join(folder, 'staging.gpkg');
  const staged = await pools.run(
    'ogr.stage',
    {
      ...{ path, layer: layer.name, isUnpacked: false, output: staging, table: TABLE },
      ...{ mayLackCrs: true, maxFeatures: MAX_SAMPLE, limitMs: options.deadlineMs },
    },
    options,
  );
  if ('problem' in staged || staged.features === 0) return undefined;
  const store = join(folder, 'sample.gpkg');
  await pools.run(
    'vector.load',
    {
      ...{ staging, stagingTable: TABLE, store, table: TABLE },
      ...{ untyped: isCsv(path), spans: /\.kml$/i.test(path), keepIds: true, unpublished: true },
    },
    options,
  );
  const [info] = await pools.run('vector.inspect', { kind: 'geopackage', path: store }, options);
  if (!info) return undefined;
  const { source } = info;
  // The extent of the complete layer is known for most formats.
  const extent = layer.extent ?? info.extent;
  const takenFor = info.takenFor && extent && liesOnGlobe(extent) ? 'degrees' : info.takenFor;
  const judged = { ...(takenFor && { takenFor }), ...(extent && { extent }) };
  const isDeclared = takenFor === undefined;
  const hints = { namesDegrees: layer.namesDegrees === true, neighbours };
  const undeclared = isDeclared ? undefined : findUndeclaredCrs(judged, hints);
  const crs = isDeclared ? source.crs : undeclared?.crs;
  const features = await readFeatures(
    { ...source, ...(crs && { crs }) },
    info,
    crs !== undefined,
    pools,
    options,
  );
  return {
    coordinateExtent: extent,
    properties: (features[0] as { properties?: Record<string, unknown> } | undefined)?.properties,
    notes: staged.notes ?? [],
    extent: (crs !== undefined && extent && computeExtentInDegrees(extent, crs)) || null,
    fields: source.fields.map(({ name, type }) => ({ name, type })),
    features,
    crsGuesses: isDeclared || !extent ? [] : listGuesses(extent, published),
    undeclared,
  };
}

async function readFeatures(
  source: VectorSource,
  { extent }: VectorLayerInfo,
  isPlaced: boolean,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions,
): Promise<unknown[]> {
  const box = isPlaced && extent ? computeExtentInDegrees(extent, source.crs) : undefined;
  const side = box ? Math.max(box[2] - box[0], box[3] - box[1]) : 0;
  const task = {
    ...{ source, filter: undefined, limit: MAX_SAMPLE, offset: 0, maxBytes: MAX_BYTES },
    ...({ format: 'geojson', crs: isPlaced ? 'OGC:CRS84' : source.crs, swapAxes: false } as const),
    ...{ precision: PRECISION, skipGeometry: !isPlaced },
    ...(side > 0 && { tolerance: side * SIMPLIFIED_PART }),
  };
  const { features } = await pools.run('vector.items', task, options);
  return parseJsonExactly(`[${utf8(features)}]`, 'all') as unknown[];
}
