import type { StoredLayer } from '../../../services/catalog/publish/layers.js';
import type { PublishedLayerBody } from '../../admin/published-layer.js';

export function tableLayerView({ id, body }: StoredLayer): PublishedLayerBody {
  const { layerId, layerName, serviceName, enabled, description, choice, info } = body;
  const { license, licenseUrl, attribution, publisher, sourceUrl } = body;
  const { geometryType, idColumn, fields } = info.source;
  return {
    layerId,
    layerName,
    schema: choice.schema,
    table: choice.table,
    collectionId: id,
    description,
    geometryType,
    srid: findSrid(info.source),
    primaryKey: idColumn,
    fieldCount: fields.length + 1,
    enabled,
    serviceName,
    license,
    licenseUrl,
    attribution,
    publisher,
    sourceUrl,
    owner: 'api',
  };
}

/** The stated SRID applies if the stored geometries have none. */
function findSrid(source: object): number | null {
  const { srid, statedSrid } = source as { srid?: number; statedSrid?: number };
  return statedSrid ?? srid ?? null;
}
