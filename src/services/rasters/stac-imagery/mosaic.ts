import { mergeProblem } from '../../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Box } from '../../../core/geometry/box.js';
import { around, boxesTouch, plainBoxes } from '../../../core/geometry/box.js';
import type {
  BandStack,
  Merge,
  MosaicMember,
  RasterGrid,
  RasterInfo,
  RasterMosaic,
  RemoteRaster,
} from '../../../core/rasters/rasters.js';
import type { Scene, SceneSearch } from '../../../core/stac/stac-scenes.js';
import type { SceneMerge, StacSource } from '../../../core/stac/stac-source.js';
import { transformBox } from '../../../native/index.js';
import { resolveSourceUrl } from '../../storage/places.js';
import type { Imagery } from './searches.js';

/** Pixels per side that a mosaic has at most: GDAL counts them in 32 bits. */
const MAX_SIDE = 2 ** 30;

/** The raster of a scene: its asset, or several assets as bands. Throws for an unreadable URL. */
export function sceneRaster(
  { bands, credentials }: Pick<StacSource, 'bands' | 'credentials'>,
  { hrefs }: Scene,
): RemoteRaster | BandStack {
  const parts = hrefs.map(
    (href): RemoteRaster => ({
      kind: 'remote',
      url: resolveSourceUrl(href),
      // An API could name data that only this server may read.
      ...(credentials !== 'environment' && { isAnonymous: true }),
    }),
  );
  if (parts.length === 1 && !bands) return parts[0]!;
  return { kind: 'stack', parts, ...(bands && { bands }) };
}

/** Rasters of scenes that are members of mosaics. */
const rasters = new WeakMap<Scene, RemoteRaster | BandStack>();

/** The raster of a member. Throws for an unreadable URL. */
function memberRaster(source: StacSource, scene: Scene): RemoteRaster | BandStack {
  const raster = rasters.get(scene) ?? sceneRaster(source, scene);
  rasters.set(scene, raster);
  return raster;
}

/**
 * Updates the URLs of published members from a new search with the same scenes, because signatures in URLs expire.
 */
export function renewAddresses(
  source: StacSource,
  before: readonly Scene[],
  { scenes }: Pick<SceneSearch, 'scenes'>,
): void {
  for (const [i, scene] of before.entries()) {
    try {
      const addresses = listParts(sceneRaster(source, scenes[i]!)).map(({ url }) => url);
      for (const [k, part] of listParts(memberRaster(source, scene)).entries()) part.url = addresses[k]!;
    } catch {
      // An unreadable scene is not a member.
    }
  }
}

const listParts = (raster: RemoteRaster | BandStack): RemoteRaster[] =>
  raster.kind === 'stack' ? raster.parts : [raster];

/** The scenes of a search as one raster; without them where they are searched for each window. */
export function sceneMosaic(imagery: Imagery): RasterInfo {
  const { source, search, sample, bands, crs } = imagery;
  const isWindow = source.search === 'window';
  const places = isWindow ? [] : search.scenes.flatMap(({ bbox }) => plainBoxes(bbox));
  const boxes = places.length > 0 ? places : plainBoxes(computeArea(imagery));
  const members = isWindow ? [] : sceneMembers(source, search.scenes);
  const grid = parseGrid(crs, boxes, sample);
  const newest = members
    .flatMap(({ acquired }) => acquired ?? [])
    .sort()
    .at(-1);
  const { blockSize, overviewCount } = sample;
  return {
    bands: [...bands],
    blockSize,
    overviewCount,
    ...grid,
    driver: 'mosaic',
    source: {
      kind: 'mosaic' as const,
      members,
      grid,
      byRange: true as const,
      ...(isWindow && { search: source }),
      ...chooseReading(source, sample),
    },
    epsg: /^EPSG:(\d+)$/.test(grid.crs)
      ? Number(grid.crs.slice(5))
      : sample.crs === grid.crs
        ? sample.epsg
        : null,
    extent: computeExtent(grid),
    extent84: boxes.reduce(around),
    ...(newest === undefined ? {} : { acquired: newest }),
  };
}

const DEGREES = 'EPSG:4326';
/** In which Web Mercator has a place for everything. */
const MERCATOR_WORLD: Box = [-180, -85, 180, 85];

/** Area in which scenes can be found. */
function computeArea({ source, search, sample }: Imagery): Box {
  return source.bbox ?? search.extent ?? (source.search === 'window' ? MERCATOR_WORLD : sample.extent84);
}

/** The scenes of a search as members, in the order in which they are drawn. */
export function sceneMembers(source: StacSource, scenes: readonly Scene[]): MosaicMember[] {
  const ids = collectIds(source, scenes);
  return inDrawingOrder(scenes, source.merge).flatMap((scene) => buildMembers(source, scene, ids));
}

/** Ids of members: those of the scenes, with their collections where several have one. */
function collectIds({ collections }: StacSource, scenes: readonly Scene[]): ReadonlyMap<Scene, string> {
  const counts = new Map<string, number>();
  if (collections.length > 1) for (const { id } of scenes) counts.set(id, (counts.get(id) ?? 0) + 1);
  const isShared = (id: string) => (counts.get(id) ?? 0) > 1;
  return new Map(
    scenes.map((scene) => [scene, isShared(scene.id) ? `${scene.collection}.${scene.id}` : scene.id]),
  );
}

/** Options for reading the members. */
function chooseReading(
  { merge }: StacSource,
  { bands }: RasterInfo,
): Pick<RasterMosaic, 'bandTypes' | 'merge'> {
  const values = MERGE[merge];
  return { bandTypes: bands.map(({ type }) => type), ...(values && { merge: values }) };
}

/** Scenes that are merged to see what becomes of their values. */
const MERGED_SAMPLES = 16;

/**
 * Mosaic of the scenes around the sample, to inspect the bands of a merge. Undefined if scenes are only drawn over
 * each other. Throws for bands that cannot be merged.
 */
export function mergedSample({
  source,
  search,
  sample,
}: Pick<Imagery, 'source' | 'search' | 'sample'>): RasterMosaic | undefined {
  if (!MERGE[source.merge]) return undefined;
  const problem = mergeProblem(sample.bands);
  if (problem !== undefined) throw new TaskFailure('source-unreadable', `merge=${source.merge}: ${problem}.`);
  const { extent84, crs, width, height, geoTransform } = sample;
  const [x, dx, , y, , dy] = geoTransform;
  const near = search.scenes.filter(({ bbox }) => boxesTouch(bbox, extent84)).slice(0, MERGED_SAMPLES);
  return {
    kind: 'mosaic',
    members: sceneMembers(source, near),
    grid: { crs, geoTransform: [x, dx, 0, y, 0, dy], width, height },
    ...chooseReading(source, sample),
  };
}

/** The one that is seen is the last. */
function inDrawingOrder(scenes: readonly Scene[], merge: SceneMerge): readonly Scene[] {
  switch (merge) {
    case 'newest':
      // Among scenes with the same time, the first one in the API's order is on top.
      return scenes.toReversed().sort((a, b) => compare(a.acquired ?? '', b.acquired ?? ''));
    case 'lowest-cloud':
      return scenes.toReversed().sort((a, b) => (b.cloudCover ?? 101) - (a.cloudCover ?? 101));
    default:
      return scenes.toReversed();
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Members for a scene. Empty for an unreadable URL. */
function buildMembers(source: StacSource, scene: Scene, ids: ReadonlyMap<Scene, string>): MosaicMember[] {
  const { bbox, acquired, self, cloudCover } = scene;
  try {
    return [
      {
        id: ids.get(scene)!,
        source: memberRaster(source, scene),
        extent84: bbox,
        ...(acquired === undefined ? {} : { acquired }),
        ...(self === undefined ? {} : { via: self }),
        ...(cloudCover === undefined ? {} : { cloudCover }),
      },
    ];
  } catch {
    return [];
  }
}

/** Merges that compute values. The other merges are drawing orders. */
const MERGE: Partial<Record<SceneMerge, Merge>> = {
  highest: 'max',
  lowest: 'min',
  mean: 'average',
  median: 'median',
  'standard-deviation': 'standard-deviation',
  count: 'count',
};

/** Around boxes in degrees, on the pixels of the sample where it is in the same CRS. */
function parseGrid(crs: string, boxes84: readonly Box[], sample: RasterInfo): RasterGrid {
  const [dx, dy] = pixelIn(crs, sample);
  const [west, south, east, north] = boxes84.map((box) => placed(box, crs)).reduce(around);
  const [x0, y0] = sample.crs === crs ? [sample.geoTransform[0], sample.geoTransform[3]] : [0, 0];
  const left = x0 + Math.floor((west - x0) / dx) * dx;
  const top = y0 + Math.ceil((north - y0) / dy) * dy;
  const [width, height] = [Math.ceil((east - left) / dx), Math.ceil((top - south) / dy)];
  if (!(width >= 1 && height >= 1 && width <= MAX_SIDE && height <= MAX_SIDE))
    throw new TaskFailure(
      'source-unreadable',
      `The scenes are outside the area of ${crs}. Set another CRS with crs.`,
    );
  return { crs, geoTransform: [left, dx, 0, top, 0, -dy], width, height };
}

/** CRS of the sample, unless a scene declares another CRS; then degrees. */
export function commonCrs({ source, search, sample }: Pick<Imagery, 'source' | 'search' | 'sample'>): string {
  const isSame = search.scenes.every(({ epsg }) => epsg === undefined || epsg === sample.epsg);
  return source.search === 'static' && isSame ? sample.crs : DEGREES;
}

/** Sides of a pixel of the sample. */
function pixelIn(
  crs: string,
  { extent, width, height, geoTransform, ...sample }: RasterInfo,
): [number, number] {
  const [, a, b, , c, d] = geoTransform;
  if (sample.crs === crs) return [Math.hypot(a, c), Math.hypot(b, d)];
  const [west, south, east, north] = transformBox(extent, sample.crs, crs);
  return [(east - west) / width, (north - south) / height];
}

function placed(box: Box, crs: string): Box {
  const image = transformBox(box, 'OGC:CRS84', crs);
  if (image.every(Number.isFinite)) return image;
  throw new TaskFailure(
    'source-unreadable',
    `A scene is outside the area of ${crs}. Set another CRS with crs.`,
  );
}

function computeExtent({ geoTransform: [x, dx, , y, , dy], width, height }: RasterGrid): Box {
  return [x, y + height * dy, x + width * dx, y];
}
