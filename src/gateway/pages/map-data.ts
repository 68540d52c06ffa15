import type {
  ArchiveCollection,
  Collection,
  RasterCollection,
  VectorCollection,
} from '../../core/collection.js';
import type { Box, GeometryType, SimpleStyle } from '../../core/tasks.js';
import type { MapGeometry, MapLayerData, RasterLayerData, VectorLayerData } from './page-data.js';

/** Colours of layers without a style: told apart by colour-blind readers, readable on light and dark maps. */
const PALETTE = ['#2a78b8', '#d1662a', '#2f9461', '#b0508f', '#a98a16', '#6a63c4', '#1d94a3', '#c4474e'];

/** Our tiles are cut to this zoom; beyond it the browser magnifies them. */
const DETAIL_ZOOM = 16;

/** How the browser's map shows a collection. */
export function mapLayer(collection: Collection, baseUrl: string): MapLayerData {
  switch (collection.kind) {
    case 'vector':
      return vectorLayer(collection, baseUrl);
    case 'raster':
      return rasterLayer(collection, baseUrl);
    case 'archive':
      return archiveLayer(collection, baseUrl);
  }
}

/**
 * Layers of many collections, top first: points, lines, polygons, then rasters. Of two alike, the one with
 * more features is on top, as states above their countries.
 */
export function mapLayers(collections: readonly Collection[], baseUrl: string): MapLayerData[] {
  const layers = [...collections]
    .sort((a, b) => featuresOf(b) - featuresOf(a))
    .map((collection) => mapLayer(collection, baseUrl));
  return layers.sort((a, b) => drawingRank(a) - drawingRank(b));
}

function featuresOf(collection: Collection): number {
  return collection.kind === 'vector' ? collection.featureCount : 0;
}

function drawingRank(layer: MapLayerData): number {
  if (layer.kind === 'raster') return 4;
  return { point: 0, line: 1, mixed: 2, polygon: 3 }[layer.geometry];
}

/** Colour that stands for a layer in a legend. */
export function legendColor(layer: MapLayerData): string | undefined {
  if (layer.kind === 'raster') return undefined;
  const { fill, stroke, pointColor } = layer.style;
  if (layer.geometry === 'line') return stroke;
  return layer.geometry === 'point' ? pointColor : fill;
}

function vectorLayer(collection: VectorCollection, baseUrl: string): VectorLayerData {
  const geometry = mapGeometry(collection.source.geometryType);
  return {
    ...common(collection, baseUrl, 'mvt'),
    kind: 'vector',
    sourceLayers: [collection.id],
    geometry,
    style: completeStyle(collection),
    items: itemsUrl(collection, baseUrl),
  };
}

function rasterLayer(collection: RasterCollection, baseUrl: string): RasterLayerData {
  return { ...common(collection, baseUrl, 'png'), kind: 'raster' };
}

function archiveLayer(collection: ArchiveCollection, baseUrl: string): MapLayerData {
  const { minZoom, maxZoom, format } = collection;
  const shared = { ...common(collection, baseUrl, format), minZoom, maxZoom };
  if (format !== 'mvt') return { ...shared, kind: 'raster' };
  return {
    ...shared,
    kind: 'vector',
    sourceLayers: collection.vectorLayers.map(({ id }) => id),
    geometry: 'mixed',
    style: completeStyle(collection),
    items: null,
  };
}

function common(collection: Collection, baseUrl: string, format: string) {
  return {
    id: collection.id,
    title: collection.title,
    tiles: `${baseUrl}/ogc/tiles/collections/${collection.layerId}/tiles/WebMercatorQuad/{z}/{y}/{x}?f=${format}`,
    extent: collection.extent84 ?? null,
    minZoom: 0,
    maxZoom: DETAIL_ZOOM,
  };
}

export function itemsUrl(collection: Collection, baseUrl: string): string {
  return `${baseUrl}/ogc/features/collections/${encodeURIComponent(collection.id)}/items`;
}

/** The collection's style, with a colour of the palette for what it leaves open. */
export function completeStyle(collection: Collection): SimpleStyle {
  const color = PALETTE[collection.layerId % PALETTE.length]!;
  const own: SimpleStyle = collection.kind === 'vector' ? collection.style : {};
  return {
    fill: own.fill ?? color,
    fillOpacity: own.fillOpacity ?? 0.35,
    stroke: own.stroke ?? color,
    strokeWidth: own.strokeWidth ?? 1,
    strokeOpacity: own.strokeOpacity ?? 0.9,
    pointColor: own.pointColor ?? own.fill ?? color,
    pointRadius: own.pointRadius ?? 4,
  };
}

function mapGeometry(type: GeometryType): MapGeometry {
  if (type.endsWith('Point')) return 'point';
  if (type.endsWith('LineString')) return 'line';
  return type.endsWith('Polygon') ? 'polygon' : 'mixed';
}

/**
 * What to show faintly below a map for orientation: polygons that cover the world, the fewest features first.
 * Null when there are none.
 */
export function backdropLayer(published: readonly Collection[], baseUrl: string): VectorLayerData | null {
  const [found] = published.filter(coversWorld).sort((a, b) => a.featureCount - b.featureCount);
  return found ? vectorLayer(found, baseUrl) : null;
}

/** Such a collection needs no backdrop of its own. */
export function coversWorld(collection: Collection): collection is VectorCollection {
  const box = collection.extent84;
  if (!box || collection.kind !== 'vector' || !collection.source.geometryType.endsWith('Polygon'))
    return false;
  return box[2] - box[0] > 300 && box[3] - box[1] > 120;
}

/** The smallest box around boxes; one that crosses the antimeridian widens it to all longitudes. */
export function unionOf(boxes: readonly Box[]): Box | undefined {
  if (boxes.length === 0) return undefined;
  const crosses = boxes.some((box) => box[0] > box[2]);
  return [
    crosses ? -180 : Math.min(...boxes.map((box) => box[0])),
    Math.min(...boxes.map((box) => box[1])),
    crosses ? 180 : Math.max(...boxes.map((box) => box[2])),
    Math.max(...boxes.map((box) => box[3])),
  ];
}
