import { SERVICE } from '../../../core/access/access.js';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import type { TableCheck, TableReport } from '../../../core/tasks/table-tasks.js';
import type { NewCopy, PublishedCopy } from '../../../services/catalog/copies/layer-copy.js';
import type { NewLayer } from '../../../services/catalog/publish/layers.js';
import type { PublishedLayerBody } from '../../admin/published-layer.js';

/** Copies of layers of services and of files of buckets, as the layers of their connection. */

/** A layer as a copy. Throws 400 for members that apply only to database tables. */
export function createNewCopy({ choice, ...layer }: NewLayer): NewCopy {
  const { schema, table, srid, ...others } = choice;
  const { license, licenseUrl, attribution, publisher, sourceUrl } = layer;
  requireSound(
    Object.keys(others).map((name) =>
      problem(name === 'key' ? 'primaryKey' : name, 'is only for tables of databases'),
    ),
  );
  const words = { license, licenseUrl, attribution, publisher, sourceUrl };
  const about = Object.fromEntries(Object.entries(words).filter(([, text]) => text !== null));
  const { layerName, serviceName, enabled, description } = layer;
  return { schema, table, srid: srid ?? null, layerName, serviceName, enabled, description, about };
}

export function copyView({ stored, collection }: PublishedCopy): PublishedLayerBody {
  const { schema, table, layerName } = stored.body;
  const { id, layerId, description, about = {}, storageCrs, service = SERVICE, source } = collection;
  return {
    layerId,
    layerName,
    schema,
    table,
    collectionId: id,
    description: description || null,
    geometryType: source.geometryType,
    primaryKey: source.idColumn,
    fieldCount: source.fields.length + 1,
    srid: storageCrs.isPlane ? null : storageCrs.epsg || null,
    enabled: !collection.isDisabled,
    serviceName: service,
    license: about.license ?? null,
    licenseUrl: about.licenseUrl ?? null,
    attribution: about.attribution ?? null,
    publisher: about.publisher ?? null,
    sourceUrl: about.sourceUrl ?? null,
    owner: 'api',
  };
}

/** Results that are not checked before a copy are omitted. */
export const copyReport = (checks: TableCheck[]): TableReport => ({
  checks,
  fields: [],
  geometryColumn: null,
  geometryType: null,
  primaryKey: null,
  identity: 'unresolved',
  sourceSrid: null,
  estimatedRows: null,
  featureCount: null,
  nullGeometries: null,
  invalidGeometries: null,
});
