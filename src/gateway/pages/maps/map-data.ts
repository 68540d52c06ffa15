import { byData, hasFeatures, hasPoints } from '../../../core/catalog/abilities.js';
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
import { findPointZoom } from '../../../core/styles/point-density.js';
import { isVectorArchive } from '../../../core/tiles/archives.js';
import { getPageStyle } from './page-style.js';

/** Largest zoom of generated tiles. At larger zooms, the browser magnifies them. */
const MAX_TILE_ZOOM = 16;

/** The layer that shows a collection on the map in the browser. */
export function mapLayer(collection: Collection, baseUrl: string): MapLayerData {
  return byData<MapLayerData>(collection, {
    features: (own) => vectorLayer(own, baseUrl),
    coverage: (own) => rasterLayer(own, baseUrl),
    storedTiles: (own) => archiveLayer(own, baseUrl),
  });
}

/**
 * Layers of many collections, top layer first: points, lines, layers of several geometry types, polygons, rasters.
 * Among layers with the same geometry type, those with more features come first, so that states cover countries.
 * Collections in a local CRS have no position on Earth and are omitted.
 */
export function createMapLayers(collections: readonly Collection[], baseUrl: string): MapLayerData[] {
  const layers = collections
    .filter(({ storageCrs }) => !storageCrs.isPlane)
    .sort((a, b) => countFeatures(b) - countFeatures(a))
    .map((collection) => mapLayer(collection, baseUrl));
  return layers.sort((a, b) => drawingRank(a) - drawingRank(b));
}

function countFeatures(collection: Collection): number {
  return hasFeatures(collection) ? (collection.featureCount ?? 0) : 0;
}

function drawingRank(layer: MapLayerData): number {
  if (layer.kind === 'raster') return 4;
  return { point: 0, line: 1, mixed: 2, polygon: 3 }[layer.geometry];
}

/** Legend colour of a layer. Undefined if its style has no colour. */
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

/** Cells of a layer with many points. If the layer has its own style, the map prefers points. */
function buildCells(collection: VectorCollection, baseUrl: string): CellsData | null {
  const { featureCount, extent84, style } = collection;
  const zoom = hasPoints(collection) ? findPointZoom({ count: featureCount, extent84 }) : undefined;
  if (zoom === undefined) return null;
  return {
    tiles: `${common(collection, baseUrl, 'mlt').tiles}?aggregate=cells`,
    below: Math.ceil(zoom),
    preferred: isDefaultStyle(style) ? 'cells' : 'points',
  };
}

/** Whether the layer has the default style: neither a user (version above 0) nor its file has set another style. */
function isDefaultStyle({ version, layers }: VectorCollection['style']): boolean {
  // `defaultStyle` draws dense points with these two layers.
  return version === 0 && layers.map(({ type, id }) => `${type} ${id}`).join() === 'circle halo,circle point';
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
    style: getPageStyle(collection),
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
    maxZoom: MAX_TILE_ZOOM,
  };
}

export function buildItemsUrl(collection: Collection, baseUrl: string): string {
  return `${baseUrl}/ogc/features/collections/${encodeURIComponent(collection.id)}/items`;
}

/** URL of the map viewer with one collection. Default: all collections. */
export function buildViewerUrl(baseUrl: string, id?: string): string {
  return `${baseUrl}/ogc/maps/viewer${id === undefined ? '' : `?collections=${encodeURIComponent(id)}`}`;
}

function mapGeometry(type: GeometryType): MapGeometry {
  if (type.endsWith('Point')) return 'point';
  if (type.endsWith('LineString')) return 'line';
  return type.endsWith('Polygon') ? 'polygon' : 'mixed';
}

/** The smallest box around boxes. If a box crosses the antimeridian, the result has all longitudes. */
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
