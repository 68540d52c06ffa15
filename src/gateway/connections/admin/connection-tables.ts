import Type, { type Static } from 'typebox';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { RemoteLayer, RemoteService } from '../../../core/exchange/ingest.js';
import type { Principal } from '../../../core/http/operation.js';
import type { TableInfo, TableName } from '../../../core/tasks/table-tasks.js';
import { isLayerInScope } from '../../../services/access/rules/policy.js';
import type { StoredConnection } from '../../../services/connections/connection.js';
import type { DataObject } from '../../../services/connections/object-store.js';
import { getRemoteTableName } from '../../../services/exchange/copies/copy-sources.js';
import type { Services } from '../../admin/deps.js';
import { OptionalStringSchema, OptionalTimestampSchema } from '../../admin/envelope.js';
import { ruledLayer } from '../../admin/layer-rights.js';

/** Contents of a connection as a list of tables. */

const I = Type.Integer();

const Column = Type.Object({
  name: Type.String(),
  dataType: Type.String(),
  isNullable: Type.Boolean(),
  isPrimaryKey: Type.Boolean(),
  maxLength: Type.Union([I, Type.Null()]),
});
export const TableSchema = Type.Object({
  schema: Type.String(),
  table: Type.String(),
  kind: Type.String(),
  geometryColumn: OptionalStringSchema,
  geometryType: OptionalStringSchema,
  srid: Type.Union([I, Type.Null()]),
  geometryColumns: Type.Array(Type.String()),
  hasSpatialIndex: Type.Boolean(),
  estimatedRows: Type.Union([I, Type.Null()]),
  comment: OptionalStringSchema,
  columns: Type.Array(Column),
  format: Type.Optional(Type.String()),
  bytes: Type.Optional(I),
  modified: Type.Optional(OptionalTimestampSchema),
  title: Type.Optional(Type.String({ description: 'Title of a service layer.' })),
});

type TableView = Static<typeof TableSchema>;

const TABLE_DEFAULTS = {
  geometryColumn: null,
  geometryType: null,
  srid: null,
  geometryColumns: [],
  hasSpatialIndex: false,
  estimatedRows: null,
  comment: null,
  columns: [],
};

/** Objects of a bucket as tables. `schema` contains the name of the bucket. */
export function describeObjects({ body }: StoredConnection, objects: readonly DataObject[]): TableView[] {
  return objects.map(({ key, bytes, modified, format, isRaster }) => ({
    ...TABLE_DEFAULTS,
    schema: body.databaseName,
    table: key,
    kind: isRaster ? 'raster' : 'object',
    format,
    bytes,
    modified,
  }));
}

/** Layers of a service as tables. `schema` contains the kind of the layer. */
export function describeServiceLayers({ layers }: RemoteService): TableView[] {
  return layers.map((layer) => ({
    ...TABLE_DEFAULTS,
    schema: layer.kind,
    table: getRemoteTableName(layer),
    kind: 'layer',
    title: layer.title ?? layer.name,
    geometryType: layer.geometryType ?? null,
    srid: layer.srid ?? null,
    estimatedRows: layer.featureCount ?? null,
    comment: layer.description ?? null,
    columns: listColumns(layer),
  }));
}

function listColumns({ fields = [] }: RemoteLayer): TableView['columns'] {
  return fields.map(({ name, type = '', length = null, nullable = true }) => ({
    name,
    dataType: type,
    isNullable: nullable,
    isPrimaryKey: type === 'esriFieldTypeOID',
    maxLength: length,
  }));
}

/**
 * Tables of a connection that the caller can see. A caller whose tenant limits it to some layers does not see the tables
 * of other layers.
 */
export async function filterVisibleTables(
  principal: Principal,
  connectionId: string,
  tables: readonly TableInfo[],
  { publishedLayers, sourceLayers }: Services<'publishedLayers' | 'sourceLayers'>,
): Promise<TableInfo[]> {
  if (principal.layers === undefined) return [...tables];
  const published = (await publishedLayers.list(connectionId)).map((one) => ({
    ...one.body.choice,
    layer: ruledLayer(one),
  }));
  const configured = (await sourceLayers.list(connectionId)).flatMap(({ collection: layer }) =>
    hasFeatures(layer) ? [{ ...layer.source, layer }] : [],
  );
  const formatName = ({ schema = '', table }: Partial<TableName>) => JSON.stringify([schema, table]);
  const withheld = [...published, ...configured].filter(({ layer }) => !isLayerInScope(principal, layer));
  const names = new Set(withheld.map(formatName));
  return tables.filter((one) => !names.has(formatName(one)));
}
