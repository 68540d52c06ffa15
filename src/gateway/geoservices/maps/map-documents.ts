import { findAttribution, hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { canHaveIntegerIds, useGeneratedCollectionIds } from '../../../core/catalog/generated-ids.js';
import { findEsriGeometryType } from '../../../core/geoservices/geoservices-features.js';
import { WEB_MERCATOR } from '../../../core/tiles/tile-matrix.js';
import { mapSettings } from '../../../services/catalog/layers/map-settings.js';
import { esriLayer } from '../../../services/replicas/layer-view.js';
import {
  CURRENT_VERSION,
  chooseEsriUnits,
  createSpatialReference,
  extentIn,
  layerCrs,
  layerDocument,
} from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import type { DrawnLayer } from './map-layers.js';
import { tileInfo } from './tile-info.js';

/** Documents of map services and their layers. */

export const MAP_SERVER_FORMATS = ['png', 'png8', 'png24', 'png32', 'jpg', 'jpgpng', 'webp', 'tiff'] as const;

export function mapServiceDocument(name: string, layers: readonly DrawnLayer[]) {
  const extent = extentIn(layers, WEB_MERCATOR);
  const { maxImageWidth, maxImageHeight } = mapSettings(layers.at(-1)?.maps ?? {});
  return {
    currentVersion: CURRENT_VERSION,
    serviceDescription: name,
    mapName: name,
    description: '',
    copyrightText: [...new Set(layers.flatMap((one) => findAttribution(one) ?? []))].join(' '),
    supportsDynamicLayers: true,
    layers: layers.map(mapLayerEntry),
    tables: [],
    // Spatial reference of the tiles, as clients expect it for a map with tiles.
    spatialReference: createSpatialReference(WEB_MERCATOR),
    singleFusedMapCache: true,
    tileInfo: tileInfo('PNG32'),
    initialExtent: extent,
    fullExtent: extent,
    minScale: 0,
    maxScale: 0,
    units: chooseEsriUnits(WEB_MERCATOR),
    supportedImageFormatTypes: MAP_SERVER_FORMATS.map((format) => format.toUpperCase()).join(','),
    documentInfo: { Title: name, Author: '', Comments: '', Subject: '', Category: '', Keywords: '' },
    capabilities: 'Map,Query,Data',
    supportedQueryFormats: 'JSON, geoJSON',
    exportTilesAllowed: false,
    maxRecordCount: GEOSERVICES_LIMITS.geoServicesRecords,
    maxImageHeight,
    maxImageWidth,
    supportedExtensions: 'WMSServer',
  };
}

const RASTER = 'Raster Layer';
export const mapLayerType = (layer: DrawnLayer) => (hasFeatures(layer) ? 'Feature Layer' : RASTER);

function mapLayerEntry(layer: DrawnLayer) {
  const geometryType = hasFeatures(layer) ? findEsriGeometryType(esriLayer(layer)) : undefined;
  return {
    id: layer.layerId,
    name: layer.title,
    parentLayerId: -1,
    defaultVisibility: true,
    subLayerIds: null,
    minScale: 0,
    maxScale: 0,
    type: mapLayerType(layer),
    ...(geometryType === undefined ? {} : { geometryType }),
    supportsDynamicLegends: false,
  };
}

/** `catalog` contains what the caller may read. */
export function mapLayerDocument(layer: DrawnLayer, catalog: CatalogSnapshot) {
  const place = { parentLayer: null, subLayers: [], defaultVisibility: true };
  if (hasFeatures(layer)) {
    const isQueried = canHaveIntegerIds(layer.source);
    return {
      ...layerDocument(useGeneratedCollectionIds(layer), catalog, false),
      ...place,
      // In the spatial reference of the map, as clients take it.
      extent: extentIn([layer], WEB_MERCATOR),
      // A layer of mixed geometries is not a table, because it is drawn.
      type: 'Feature Layer',
      capabilities: isQueried ? 'Map,Query,Data' : 'Map',
      canModifyLayer: false,
      canScaleSymbols: false,
    };
  }
  const crs = layerCrs(layer);
  return {
    currentVersion: CURRENT_VERSION,
    id: layer.layerId,
    name: layer.title,
    type: RASTER,
    description: layer.description,
    copyrightText: findAttribution(layer) ?? '',
    ...place,
    minScale: 0,
    maxScale: 0,
    extent: extentIn([layer], WEB_MERCATOR),
    sourceSpatialReference: createSpatialReference(crs),
    hasAttachments: false,
    htmlPopupType: 'esriServerHTMLPopupTypeNone',
    displayField: '',
    fields: [],
    capabilities: 'Map,Data',
  };
}
