import { basename, relative } from 'node:path';
import { SERVICE } from '../../../core/access/access.js';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { TableInfo } from '../../../core/tasks/table-tasks.js';
import type { SourceLayer } from '../../../services/catalog/publish/source-layers.js';
import type { PublishedLayerBody } from '../../admin/published-layer.js';

/** Layers of a configured source, in the same form as the tables and layers of a connection. */

export function sourceLayerView(layer: SourceLayer): PublishedLayerBody {
  const { collection } = layer;
  const { id, layerId, title, description, about = {}, storageCrs, service = SERVICE } = collection;
  const source = hasFeatures(collection) ? collection.source : undefined;
  return {
    layerId,
    layerName: title,
    collectionId: id,
    description: description || null,
    ...tableName(layer),
    geometryType: source?.geometryType ?? null,
    srid: storageCrs.isPlane ? null : storageCrs.epsg || null,
    primaryKey: source?.idColumn ?? null,
    fieldCount: source ? source.fields.length + 1 : 0,
    enabled: true,
    serviceName: service,
    license: about.license ?? null,
    licenseUrl: about.licenseUrl ?? null,
    attribution: about.attribution ?? null,
    publisher: about.publisher ?? null,
    sourceUrl: about.sourceUrl ?? null,
    owner: 'configuration',
  };
}

/** Rasters and tiles have no rows. */
export function sourceTables(layer: SourceLayer): TableInfo[] {
  const { collection } = layer;
  if (!hasFeatures(collection)) return [];
  const { source, storageCrs, featureCount } = collection;
  const { geometryColumn, geometryType, idColumn, idType = 'integer', hasIndex } = source;
  const column = { isNullable: false, isPrimaryKey: false, maxLength: null };
  return [
    {
      ...tableName(layer),
      kind: 'table',
      geometryColumn,
      geometryType,
      geometryColumns: [geometryColumn],
      srid: storageCrs.isPlane ? null : storageCrs.epsg || null,
      hasSpatialIndex: hasIndex,
      estimatedRows: featureCount ?? null,
      comment: collection.description || null,
      columns: [
        { ...column, name: idColumn, dataType: idType, isPrimaryKey: true },
        ...source.fields.map(({ name, type, sqlType, nullable, maxLength }) => ({
          name,
          dataType: sqlType ?? type,
          isNullable: nullable,
          isPrimaryKey: false,
          maxLength: maxLength ?? null,
        })),
        { ...column, name: geometryColumn, dataType: geometryType, isNullable: true },
      ],
    },
  ];
}

/** Below a folder the file stands where a database has a schema. */
function tableName({ place, collection }: SourceLayer): { schema: string; table: string } {
  const source = hasFeatures(collection) ? collection.source : undefined;
  const file = basename(collection.file.replace(/[?#].*$/s, ''));
  const schema = source?.schema ?? (relative(place, collection.file) || file);
  return { schema: schema.startsWith('..') ? file : schema, table: source?.table ?? file };
}
