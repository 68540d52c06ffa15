import { byData, hasCoverage, hasFeatures, hasPoints } from '../../../core/catalog/abilities.js';
import type {
  ArchiveCollection,
  Collection,
  RasterCollection,
  VectorCollection,
} from '../../../core/catalog/collection.js';
import type {
  CellsData,
  MapGeometry,
  MapLayerData,
  RasterLayerData,
  VectorLayerData,
} from '../../../core/catalog/page-data.js';
import type { Box } from '../../../core/geometry/box.js';
import type { GeometryType } from '../../../core/sources/vector-source.js';
import { defaultStyle } from '../../../core/styles/default-style.js';
import type { StyleLayer } from '../../../core/styles/model.js';
import { findPointZoom } from '../../../core/styles/point-density.js';
import { isVectorArchive } from '../../../core/tiles/archives.js';

/** Our tiles are cut to this zoom; beyond it the browser magnifies them. */
const DETAIL_ZOOM = 16;

/** The layer that shows a collection on the map in the browser. */
export function mapLayer(collection: Collection, baseUrl: string): MapLayerData {
  return byData<MapLayerData>(collection, {
    features: (own) => vectorLayer(own, baseUrl),
    coverage: (own) => rasterLayer(own, baseUrl),
    storedTiles: (own) => archiveLayer(own, baseUrl),
  });
}

/**
 * Layers of many collections, top layer first: points, lines, polygons, then rasters. Among layers with the same
 * geometry type, those with more features come first, so that states cover countries.
 */
export function createMapLayers(collections: readonly Collection[], baseUrl: string): MapLayerData[] {
  const layers = collections
    .filter(({ storageCrs }) => !storageCrs.isPlane)
    .sort((a, b) => countFeatures(b) - countFeatures(a))
    .map((collection) => mapLayer(collection, baseUrl));
  return layers.sort((a, b) => drawingRank(a) - drawingRank(b));
}

/** Number of layers on a new map. */
const FIRST = 8;
/** Rasters cover what is below them. */
const FIRST_RASTERS = 2;

/**
 * Selects a few of many collections: those in the region of the world where most of them are, smaller before larger
 * ones, and at most two rasters. The result is in catalog order.
 */
export function firstOnes(collections: readonly Collection[]): Collection[] {
  const placed = collections.filter(({ storageCrs }) => !storageCrs.isPlane);
  if (placed.length <= FIRST) return placed;
  const crowd = buildCrowd(placed);
  const near = placed.map((one) => ({ one, count: crowd(one) }));
  near.sort((a, b) => b.count - a.count);
  const choice = new Set<Collection>();
  let rasters = 0;
  const [middle] = near;
  const close = near.filter(({ one }) => isNear(one, middle!.one));
  for (const { one } of [...close, ...near]) {
    if (choice.size >= FIRST) break;
    if (choice.has(one) || (hasCoverage(one) && rasters >= FIRST_RASTERS)) continue;
    if (hasCoverage(one)) rasters += 1;
    choice.add(one);
  }
  return placed.filter((one) => choice.has(one));
}

/** Degrees within which two middles are near each other. */
const NEAR = 10;

/** Counts the middles around that of a collection, by cells: each with each would be millions of pairs on large servers. */
function buildCrowd(collections: readonly Collection[]): (one: Collection) => number {
  const cells = new Map<string, number>();
  const buildCell = (one: Collection) => findMiddle(one)?.map((degrees) => Math.floor(degrees / NEAR));
  for (const one of collections) {
    const key = buildCell(one)?.join();
    if (key !== undefined) cells.set(key, (cells.get(key) ?? 0) + 1);
  }
  return (one) => {
    const cell = buildCell(one);
    if (!cell) return 0;
    const [column, row] = cell as [number, number];
    let count = 0;
    for (const x of [-1, 0, 1])
      for (const y of [-1, 0, 1]) count += cells.get(`${column + x},${row + y}`) ?? 0;
    return count;
  };
}

function isNear(a: Collection, b: Collection): boolean {
  const [p, q] = [findMiddle(a), findMiddle(b)];
  if (!p || !q) return false;
  return Math.abs(p[0] - q[0]) < NEAR && Math.abs(p[1] - q[1]) < NEAR;
}

function findMiddle({ extent84 }: Collection): [number, number] | undefined {
  if (!extent84) return undefined;
  const [west, south, east, north] = extent84;
  // An extent of continental size or larger has no useful centre.
  if (west > east || east - west > 60) return undefined;
  return [(west + east) / 2, (south + north) / 2];
}

function countFeatures(collection: Collection): number {
  return hasFeatures(collection) ? (collection.featureCount ?? 0) : 0;
}

function drawingRank(layer: MapLayerData): number {
  if (layer.kind === 'raster') return 4;
  return { point: 0, line: 1, mixed: 2, polygon: 3 }[layer.geometry];
}

/** Legend colour of a layer; undefined without one. */
export function legendColor(layer: MapLayerData): string | undefined {
  if (layer.kind === 'raster') return undefined;
  // The upper layer of a circle has the colour, and the lower one its halo.
  const layers = layer.geometry === 'point' ? [...layer.style].reverse() : layer.style;
  for (const { type, paint } of layers) {
    const color = (paint as Record<string, unknown> | undefined)?.[`${type}-color`];
    if (typeof color === 'string') return color;
  }
  return undefined;
}

function vectorLayer(collection: VectorCollection, baseUrl: string): VectorLayerData {
  const geometry = mapGeometry(collection.source.geometryType);
  return {
    ...common(collection, baseUrl, 'mlt'),
    kind: 'vector',
    encoding: 'mlt',
    sourceLayers: [collection.id],
    geometry,
    style: collection.style.layers,
    items: buildItemsUrl(collection, baseUrl),
    count: collection.featureCount ?? null,
    cells: buildCells(collection, baseUrl),
  };
}

/** Cells of a layer with many points. With an own style, points are preferred. */
function buildCells(collection: VectorCollection, baseUrl: string): CellsData | null {
  const { featureCount, extent84, style } = collection;
  const zoom = hasPoints(collection) ? findPointZoom({ count: featureCount, extent84 }) : undefined;
  if (zoom === undefined) return null;
  return {
    tiles: `${common(collection, baseUrl, 'mlt').tiles}?aggregate=cells`,
    below: Math.ceil(zoom),
    preferred: style.version === 0 && !hasOwnLook(style.layers) ? 'cells' : 'points',
  };
}

/** Whether a style is more than the circles of the default style. */
function hasOwnLook(layers: readonly StyleLayer[]): boolean {
  const ids = layers.map(({ type, id }) => `${type} ${id}`);
  return ids.join() !== 'circle halo,circle point';
}

function rasterLayer(collection: RasterCollection, baseUrl: string): RasterLayerData {
  return { ...common(collection, baseUrl, 'png'), kind: 'raster' };
}

function archiveLayer(collection: ArchiveCollection, baseUrl: string): MapLayerData {
  const { minZoom, maxZoom, format } = collection;
  const shared = { ...common(collection, baseUrl, format), minZoom, maxZoom };
  if (!isVectorArchive(format)) return { ...shared, kind: 'raster' };
  return {
    ...shared,
    kind: 'vector',
    encoding: format,
    sourceLayers: collection.vectorLayers.map(({ id }) => id),
    geometry: 'mixed',
    style: pageStyle(collection),
    items: null,
    count: null,
    cells: null,
  };
}

function common(collection: Collection, baseUrl: string, format: string) {
  return {
    id: collection.id,
    title: collection.title,
    tiles: `${baseUrl}/tiles/${collection.layerId}/{z}/{x}/{y}.${format}`,
    extent: collection.extent84 ?? null,
    minZoom: 0,
    maxZoom: DETAIL_ZOOM,
  };
}

export function buildItemsUrl(collection: Collection, baseUrl: string): string {
  return `${baseUrl}/ogc/features/collections/${encodeURIComponent(collection.id)}/items`;
}

/** The map viewer, with one collection or all. */
export function viewerUrl(baseUrl: string, id?: string): string {
  return `${baseUrl}/ogc/maps/viewer${id === undefined ? '' : `?collections=${encodeURIComponent(id)}`}`;
}

/**
 * The style of the features of a page. Archives have no style, and get the default one. The default style of dense
 * points is for all points of a collection, of which a page has few.
 */
export function pageStyle(collection: Collection): readonly StyleLayer[] {
  if (hasFeatures(collection))
    return hasDenseStyle(collection) ? sparseStyle(collection) : collection.style.layers;
  return defaultStyle('Geometry', collection.id).layers;
}

const sparseStyle = ({ source, id }: VectorCollection) => defaultStyle(source.geometryType, id).layers;

function hasDenseStyle({ source, id, featureCount, extent84, style }: VectorCollection): boolean {
  if (!source.geometryType.endsWith('Point')) return false;
  const dense = defaultStyle(source.geometryType, id, { count: featureCount, extent84 });
  return JSON.stringify(style.layers) === JSON.stringify(dense.layers);
}

function mapGeometry(type: GeometryType): MapGeometry {
  if (type.endsWith('Point')) return 'point';
  if (type.endsWith('LineString')) return 'line';
  return type.endsWith('Polygon') ? 'polygon' : 'mixed';
}

/** The smallest box around boxes; one that crosses the antimeridian widens it to all longitudes. */
export function mergeBoxes(boxes: readonly Box[]): Box | undefined {
  if (boxes.length === 0) return undefined;
  const crosses = boxes.some((box) => box[0] > box[2]);
  return [
    crosses ? -180 : Math.min(...boxes.map((box) => box[0])),
    Math.min(...boxes.map((box) => box[1])),
    crosses ? 180 : Math.max(...boxes.map((box) => box[2])),
    Math.max(...boxes.map((box) => box[3])),
  ];
}
