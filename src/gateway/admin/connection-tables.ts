import Type, { type Static } from 'typebox';
import type { RemoteLayer, RemoteService } from '../../core/ingest.js';
import type { StoredConnection } from '../../services/connections/connection.js';
import type { DataObject } from '../../services/connections/object-store.js';
import { tableOf } from '../../services/publish/copy-sources.js';
import { OptionalStringSchema, OptionalTimestampSchema } from './envelope.js';

/** What a connection leads to, in the form of tables. */

const I = Type.Integer();

const Column = Type.Object({
  ...{ name: Type.String(), dataType: Type.String(), isNullable: Type.Boolean() },
  ...{ isPrimaryKey: Type.Boolean(), maxLength: Type.Union([I, Type.Null()]) },
});
export const TableSchema = Type.Object({
  ...{ schema: Type.String(), table: Type.String(), kind: Type.String() },
  ...{ geometryColumn: OptionalStringSchema, geometryType: OptionalStringSchema },
  ...{ srid: Type.Union([I, Type.Null()]), geometryColumns: Type.Array(Type.String()) },
  ...{ hasSpatialIndex: Type.Boolean(), estimatedRows: Type.Union([I, Type.Null()]) },
  ...{ comment: OptionalStringSchema, columns: Type.Array(Column) },
  ...{ format: Type.Optional(Type.String()), bytes: Type.Optional(I) },
  modified: Type.Optional(OptionalTimestampSchema),
  title: Type.Optional(Type.String({ description: 'Of a layer of a service.' })),
});

type TableView = Static<typeof TableSchema>;

const NO_TABLE = {
  ...{ geometryColumn: null, geometryType: null, srid: null, geometryColumns: [], hasSpatialIndex: false },
  ...{ estimatedRows: null, comment: null, columns: [] },
};

/** Objects of a bucket, which stands where a database has a schema. */
export function objectTables({ body }: StoredConnection, objects: readonly DataObject[]): TableView[] {
  return objects.map(({ key, bytes, modified, format, isRaster }) => ({
    ...NO_TABLE,
    ...{ schema: body.databaseName, table: key, kind: isRaster ? 'raster' : 'object' },
    ...{ format, bytes, modified },
  }));
}

/** Layers of a service, whose kind stands where a database has a schema. */
export function serviceTables({ layers }: RemoteService): TableView[] {
  return layers.map((layer) => ({
    ...NO_TABLE,
    ...{ schema: layer.kind, table: tableOf(layer), kind: 'layer', title: layer.title ?? layer.name },
    ...{ geometryType: layer.geometryType ?? null, srid: layer.srid ?? null },
    ...{ estimatedRows: layer.featureCount ?? null, comment: layer.description ?? null },
    columns: columnsOf(layer),
  }));
}

function columnsOf({ fields = [] }: RemoteLayer): TableView['columns'] {
  return fields.map(({ name, type = '', length = null, nullable = true }) => ({
    ...{ name, dataType: type, isNullable: nullable, isPrimaryKey: type === 'esriFieldTypeOID' },
    maxLength: length,
  }));
}
