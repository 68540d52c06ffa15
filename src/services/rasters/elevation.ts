import type { RasterCollection } from '../../core/catalog/collection.js';
import { findMosaicMerge, listMosaicMembers, withMerge } from '../../core/catalog/raster-sources.js';
import { badParameter } from '../../core/errors/errors.js';
import { type Box, boxesTouch, wrapBox } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { ELEVATION_LIMITS, type ElevationResult, type SampleRule } from '../../core/rasters/elevations.js';
import { MERGES, type Merge, type RasterSource } from '../../core/rasters/rasters.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { chooseRaster } from './choose.js';
import { windowIn84 } from './source-items.js';
import { withItsScenes } from './stac-imagery/windows.js';

/** Merge methods for overlapping rasters. `default` is the rule of the collection. */
export const MOSAIC_RULES = ['default', ...MERGES] as const;
type ElevationMosaicRule = (typeof MOSAIC_RULES)[number];

export interface ElevationRequest {
  /** x,y ordered, in `crs`. */
  readonly line: readonly (readonly [number, number])[];
  readonly crs: Crs;
  readonly sampling: SampleRule | undefined;
  readonly rule: ElevationMosaicRule;
}

export interface Elevations extends ElevationResult {
  readonly source: ElevationSource;
  readonly rule: string;
}

/** Rasters and vertical reference of heights. */
interface ElevationSource {
  readonly rasterIds: readonly number[];
  readonly rasterCount: number;
  readonly pixelType: string;
  readonly noDataValue: number | null;
  readonly verticalUnit: string;
  readonly verticalDatum: string | null;
  /** Reason for a unit that the raster does not state. */
  readonly verticalUnitAssumption: string | null;
}

/** Heights of a raster along a line. Throws 400 for rasters of colours or classes. */
export async function findElevations(
  x: TaskContext,
  pools: Pools,
  collection: RasterCollection,
  { line, crs, sampling, rule }: ElevationRequest,
): Promise<Elevations> {
  requireHeights(collection);
  const box = computeLineBox(line);
  const window84 = crs.geographic ? wrapBox(box) : windowIn84(box, crs.proj);
  if (!window84) throw badParameter('srid', 'has coordinates that are outside the domain of the CRS');
  const searched = await withItsScenes(pools, collection, {
    window84,
    datetime: undefined,
    signal: x.signal,
  });
  const chosen = chooseRaster(searched, { window84, datetime: undefined })!;
  const source = applyRule(chosen.source, rule);
  const result = await runTask(
    x,
    pools,
    'raster.elevation',
    {
      source,
      ...(chosen.at && { at: chosen.at }),
      line: line.map(([px, py]) => [px, py]),
      crs: crs.proj,
      ...(sampling && { sampling }),
    },
    { layerId: collection.layerId },
  );
  if (result.samples.length === 0) throw tooShort(sampling, result.length);
  const { extent84 } = collection;
  const isTouched = extent84 !== undefined && boxesTouch(extent84, window84);
  return {
    ...result,
    rule: rule === 'default' ? (findMosaicMerge(source) ?? 'default') : rule,
    source: describeSource(collection, isTouched ? source : undefined, result),
  };
}

function tooShort(sampling: SampleRule | undefined, length: number): Error {
  const { profileSamples } = ELEVATION_LIMITS;
  const interval = sampling && 'interval' in sampling ? sampling.interval : 0;
  return badParameter(
    'interval',
    `${interval} m is too short for a line of ${Math.round(length)} m. A profile has at most ${profileSamples} samples`,
  );
}

const COLORS: ReadonlySet<string> = new Set(['Red', 'Green', 'Blue', 'Palette', 'Alpha']);

/** The first band must be a quantity. */
function requireHeights({ id, bands }: RasterCollection): void {
  const [band] = bands;
  if (!band || band.classes || COLORS.has(band.colorInterpretation))
    throw badParameter('datasetId', `'${id}' contains colours or classes. Use a raster of heights`);
}

function computeLineBox(line: ElevationRequest['line']): Box {
  const [xs, ys] = [line.map(([px]) => px), line.map(([, py]) => py)];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

function applyRule(source: RasterSource, rule: ElevationMosaicRule): RasterSource {
  if (rule === 'default' || !listMosaicMembers(source)) return source;
  return withMerge(source, rule satisfies Merge);
}

function describeSource(
  { raster, bands, rasterIds }: RasterCollection,
  source: RasterSource | undefined,
  { verticalDatum, verticalUnit }: ElevationResult,
): ElevationSource {
  const [band] = bands as readonly [RasterCollection['bands'][number]];
  const members = source && listMosaicMembers(source);
  const numbers = members?.map(({ id }) => Number(id)).filter((id) => rasterIds?.includes(id));
  const unit = band.unit || verticalUnit;
  return {
    rasterIds: numbers ?? (source && rasterIds) ?? [],
    rasterCount: source ? (members?.length ?? 1) : 0,
    pixelType: band.type,
    noDataValue: raster.bands.find((one) => one.band === band.band)?.noData ?? null,
    verticalUnit: unit || 'metre',
    verticalDatum: verticalDatum ?? null,
    verticalUnitAssumption: unit
      ? null
      : 'Neither the band nor the CRS of the raster states a vertical unit. The unit is assumed to be the metre.',
  };
}
