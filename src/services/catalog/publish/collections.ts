import type { Collection } from '../../../core/catalog/collection.js';
import { hasVariables } from '../../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { globeExtent, liesOnGlobe } from '../../../core/geometry/box.js';
import { CRS84, CRS84H, type Crs } from '../../../core/geometry/crs.js';
import type { AssumedCrs } from '../../../core/geometry/stated-crs.js';
import type { RasterInfo } from '../../../core/rasters/rasters.js';
import { defaultRasterStyle, defaultStyle } from '../../../core/styles/default-style.js';
import type { VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import type { ArchiveInfo } from '../../../core/tiles/archives.js';
import { WEB_MERCATOR } from '../../../core/tiles/tile-matrix.js';
import { findEpsgCrs, ownCrs, parseCrs } from '../../../native/crs.js';
import { describeCrs } from '../../../native/index.js';
import { buildFileStyles } from '../../styles/of-files.js';
import { formatBoxSides } from '../inspections/crs-notes.js';

/** Creates the collection once its identifiers are known. */
export type MakeCollection = (id: string, layerId: number) => Collection;

export type Versions = Pick<Collection, 'version' | 'origin' | 'readAt'>;

/** Throws for a CRS that cannot be used. */
export function vectorCollection(
  layer: VectorLayerInfo,
  file: string,
  { version, origin, readAt }: Versions,
  assumedCrs?: AssumedCrs,
): MakeCollection {
  const storageCrs = crsOfData(layer.source.crs);
  const { extent84, extent, featureCount } = layer;
  const globe = storageCrs.isPlane ? undefined : extent84 && globeExtent(extent84);
  const warning = [assumedCrs?.as === 'plane' ? undefined : findWarning(layer), ...(layer.remarks ?? [])]
    .filter((text) => text !== undefined)
    .join(' ');
  // A copy of the foreign file is served: edits of it would never reach the file.
  const isCopy = layer.source.path !== undefined && layer.source.path !== file;
  return (id, layerId) => ({
    kind: 'vector',
    id,
    layerId,
    title: layer.title && layer.title !== layer.source.table ? layer.title : formatTitle(layer.source.table),
    description: layer.description ?? '',
    extent84: globe,
    ...(extent ? { extent } : {}),
    ...(warning === '' ? {} : { warning }),
    ...(layer.takenFor ? { takenFor: layer.takenFor } : {}),
    ...(assumedCrs ? { assumedCrs } : {}),
    storageCrs,
    crs: advertised(storageCrs, layer.source.hasZ),
    file,
    ...(layer.identity === undefined ? {} : { identity: layer.identity }),
    version,
    origin,
    readAt,
    // Edits are sent to streams in longitudes and latitudes.
    source: {
      ...layer.source,
      rows: layer.featureCount,
      ...(isCopy || storageCrs.isPlane ? { writable: false } : {}),
    },
    featureCount: layer.featureCount,
    cursor: layer.cursor,
    ...(layer.commits ? { commits: layer.commits } : {}),
    countEstimated: layer.countEstimated,
    ...(layer.activity ? { activity: layer.activity } : {}),
    ...buildFileStyles(
      defaultStyle(layer.source.geometryType, id, { count: featureCount, extent84: globe }),
      layer.styles,
    ),
    ...(layer.stac ? { stac: layer.stac } : {}),
  });
}

/** A raster collection. `file` is the source of the data, without passwords. */
export function rasterCollection(
  raster: RasterInfo,
  name: string,
  file: string,
  version: string,
): MakeCollection {
  const storageCrs = crsOfData(raster.crs);
  return (id, layerId) => ({
    kind: 'raster',
    id,
    layerId,
    title: formatTitle(name),
    description: `${raster.width} x ${raster.height} pixels, ${raster.bands.length} band${raster.bands.length === 1 ? '' : 's'}, ${raster.driver}`,
    extent84: globeExtent(raster.extent84),
    storageCrs,
    crs: advertised(storageCrs),
    file,
    version,
    origin: version,
    raster,
    bands: raster.bands,
    style: defaultRasterStyle(raster.bands, { isGridded: hasVariables(raster.source), name: file }),
  });
}

export function archiveCollection(archive: ArchiveInfo, name: string, version: string): MakeCollection {
  return (id, layerId) => ({
    kind: 'archive',
    id,
    layerId,
    title: archive.title && archive.title !== name ? archive.title : formatTitle(name),
    description: archive.description ?? '',
    extent84: globeExtent(archive.extent84),
    storageCrs: WEB_MERCATOR,
    // Tiles are served only in their stored CRS.
    crs: [WEB_MERCATOR],
    file: archive.path,
    version,
    origin: version,
    container: archive.container,
    format: archive.format,
    minZoom: archive.minZoom,
    maxZoom: archive.maxZoom,
    vectorLayers: archive.vectorLayers,
    attribution: archive.attribution,
  });
}

/** The EPSG code of a CRS that a file spells out, when PROJ is sure of it. */
function identifiedCrs(wkt: string): Crs | undefined {
  try {
    const { authority, code } = describeCrs(wkt);
    return authority === 'EPSG' ? findEpsgCrs(Number(code)) : undefined;
  } catch {
    return undefined;
  }
}

/** The CRS that data is in. Fails for one that PROJ cannot read. */
function crsOfData(text: string): Crs {
  const crs = text === 'OGC:CRS84' ? CRS84 : (parseCrs(text) ?? identifiedCrs(text));
  if (crs) return crs;
  try {
    const { wkt, isGeographic, axisSwapped } = describeCrs(text);
    const isPlane = wkt.startsWith('ENGCRS');
    return ownCrs(text, wkt, { geographic: isGeographic, northFirst: axisSwapped, isPlane });
  } catch {
    throw new TaskFailure(
      'source-unreadable',
      'Its coordinate reference system is not one that PROJ can read.',
    );
  }
}

/** Minimum size of a coordinate that represents NaN or infinity in measurements by stores. */
const NOT_FINITE = 1e308;

/** Warning for users about the coordinates of a layer. */
function findWarning({ extent84, beyond }: VectorLayerInfo): string | undefined {
  const box = beyond ?? (extent84 && !liesOnGlobe(extent84) ? extent84 : undefined);
  if (!box) return undefined;
  if (box.some((side) => Math.abs(side) >= NOT_FINITE))
    return 'Coordinates contradict the coordinate reference system or are not finite numbers. Geometries with NaN or infinity cannot be read and are shown as null.';
  return `Coordinates contradict the coordinate reference system: ${formatBoxSides(box)}.`;
}

/** CRS84 (and with heights CRS84h), the storage CRS, and the two that maps use; no repeats. */
function advertised(storage: Crs, hasZ = false): Crs[] {
  if (storage.isPlane) return [storage];
  const list = [CRS84, ...(hasZ ? [CRS84H] : []), storage, findEpsgCrs(4326), WEB_MERCATOR].filter(
    (crs) => crs !== undefined,
  );
  return list.filter((crs, i) => list.findIndex((other) => other.uri === crs.uri) === i);
}

/** Extensions of files, which tables can have in their names. */
const EXTENSION =
  /\.(gpkg|shp|geojson|json|csv|kml|gml|fgb|parquet|tiff?|nc|mbtiles|pmtiles|sqlite|dxf|xlsx)$/i;

/** A name as words. */
export function formatTitle(name: string): string {
  const words = name.replace(EXTENSION, '').replace(/[_-]+/g, ' ').trim();
  return words ? words[0]!.toUpperCase() + words.slice(1) : name;
}
