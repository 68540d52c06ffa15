import Type, { type Static } from 'typebox';
import { SERVICE } from '../../../core/access/access.js';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import { type Exchange, formatActor } from '../../../core/http/operation.js';
import type { TableChoice, TableReport } from '../../../core/tasks/table-tasks.js';
import { isLayerInScope } from '../../../services/access/rules/policy.js';
import type { NewLayer, StoredLayer } from '../../../services/catalog/publish/layers.js';
import type { ServicesOf } from '../../admin/deps.js';
import { Acknowledgement, AcknowledgementSchema, OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { layerIdParam } from '../../admin/layer-lookup.js';
import { defineFilterParam } from '../../admin/params.js';
import { LayerSchema, type PublishedLayerBody } from '../../admin/published-layer.js';
import { connectionId } from '../../connections/admin/connections.js';
import { sourceLayerView } from '../../connections/admin/source-layers.js';
import { openPublications } from './publications.js';

const SERVICES = [
  'cache',
  'connections',
  'layerCopies',
  'layers',
  'publishedLayers',
  'rules',
  'sourceLayers',
] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const I = Type.Integer();
const OptionalInteger = Type.Union([I, Type.Null()]);

const Identifier = Type.String({ minLength: 1, maxLength: 63 });
const Name = Type.String({ minLength: 1, maxLength: 200 });
const Note = Type.Optional(Type.String({ maxLength: 2000 }));
const Srid = Type.Integer({ minimum: 1, maximum: 999_999 });
/** Keys of objects are longer than names of tables. */
const Place = Type.String({ minLength: 1, maxLength: 1024 });
const Fields = Type.Optional(Type.Array(Identifier, { maxItems: 1600 }));

const Publish = Type.Object({
  schema: Place,
  table: Place,
  layerName: Type.Optional(Name),
  description: Note,
  geometryColumn: Type.Optional(Identifier),
  geometryType: Type.Optional(Type.String({ maxLength: 40 })),
  srid: Type.Optional(Srid),
  primaryKey: Type.Optional(Identifier),
  fields: Fields,
  serviceName: Type.Optional(Name),
  enabled: Type.Optional(Type.Boolean()),
  license: Note,
  licenseUrl: Note,
  attribution: Note,
  publisher: Note,
  sourceUrl: Note,
});
const Validate = Type.Object({
  schema: Place,
  table: Place,
  layerName: Type.Optional(Name),
  serviceName: Type.Optional(Name),
  geometryColumn: Type.Optional(Identifier),
  primaryKey: Type.Optional(Identifier),
  targetSrid: Type.Optional(Srid),
  fields: Fields,
  srid: Type.Optional(Srid),
  geometryType: Type.Optional(Type.String({ maxLength: 40 })),
});
type Publish = Static<typeof Publish>;

const Check = Type.Object({
  code: Type.String(),
  severity: Type.Enum(['pass', 'warning', 'error']),
  message: Type.String(),
  expected: OptionalStringSchema,
  actual: OptionalStringSchema,
});
const ValidatedField = Type.Object({
  name: Type.String(),
  dataType: Type.String(),
  fieldType: Type.String(),
  isNullable: Type.Boolean(),
  isPrimaryKey: Type.Boolean(),
  isSelected: Type.Boolean(),
  maxLength: OptionalInteger,
});
const Validation = Type.Object({
  isValid: Type.Boolean(),
  status: Type.Enum(['valid', 'warning', 'invalid']),
  schema: Type.String(),
  table: Type.String(),
  layerName: OptionalStringSchema,
  serviceName: Type.String(),
  geometryColumn: OptionalStringSchema,
  geometryType: OptionalStringSchema,
  primaryKey: OptionalStringSchema,
  objectIdStrategy: Type.String(),
  sourceSrid: OptionalInteger,
  serviceSrid: OptionalInteger,
  targetSrid: OptionalInteger,
  estimatedRows: OptionalInteger,
  featureCount: OptionalInteger,
  nullGeometryCount: OptionalInteger,
  invalidGeometryCount: OptionalInteger,
  checks: Type.Array(Check),
  fields: Type.Array(ValidatedField),
});
const ExtentRefresh = Type.Object({
  serviceName: Type.String(),
  refreshedLayerCount: I,
  layersWithExtent: I,
  layersWithoutExtent: I,
  serviceExtentUpdated: Type.Boolean(),
  layers: Type.Array(
    Type.Object({
      layerId: I,
      layerName: Type.String(),
      hasExtent: Type.Boolean(),
      extentSrid: OptionalInteger,
    }),
  ),
});
const Enabled = Type.Object({ enabled: Type.Boolean() });

const serviceName = defineFilterParam('serviceName', 'Service of the layers. Default: all.');
const service = defineFilterParam('serviceName', `Service of the layers. Default: ${SERVICE}.`);
const byConnection = { id: connectionId };
const byLayer = { id: connectionId, layerId: layerIdParam, serviceName };

/** Publishing of tables as layers. */
export const publishedLayerOperations = group(
  { tag: 'Layers', scope: 'layers', envelope: 'wrapped', isForTenants: true },
  [
    report('GET /connections/{id}/layers', 'List Published Layers', {
      description: 'Layers that a source of the configuration publishes have the owner configuration.',
      params: { ...byConnection, serviceName },
      data: Type.Array(LayerSchema),
      errors: [400, 404],
      async answer({ params: { id: name, serviceName }, principal }, deps) {
        const connection = await deps.connections.get(name);
        const [published, configured] = await Promise.all([
          openPublications(connection, deps).list(serviceName),
          deps.sourceLayers.list(connection.id, serviceName),
        ]);
        return [
          ...published.filter(({ rule }) => isLayerInScope(principal, rule)).map(({ view }) => view),
          ...configured.filter((one) => isLayerInScope(principal, one.collection)).map(sourceLayerView),
        ];
      },
    }),
    action('POST /connections/{id}/layers', 'Publish Layer', {
      description:
        'Validates the table and publishes it in all APIs and processes before the response. Default of layerName: the table name. For a layer of a service or a file in a bucket, a job publishes a copy; the response waits for the job.',
      params: byConnection,
      body: jsonBody(Publish),
      data: LayerSchema,
      status: 201,
      errors: [400, 404, 409, 422, 503],
      async answer({ params, body, principal }, deps) {
        const connection = await deps.connections.get(params.id);
        return openPublications(connection, deps).publish(readLayer(body), principal);
      },
    }),
    action('PUT /connections/{id}/layers/{layerId}/enabled', 'Set Layer Enabled', {
      description:
        'A disabled layer is absent from all APIs and keeps its id. Layers of the configuration cannot be disabled.',
      params: byLayer,
      current: currentLayer,
      shownBy: '/connections/{id}/layers/{layerId}',
      body: jsonBody(Enabled),
      data: LayerSchema,
      errors: [400, 404, 409],
      async answer({ params, body, principal }, deps) {
        const { id, ...selection } = params;
        const publications = openPublications(await deps.connections.get(id), deps);
        const [changed] = await publications.enable(selection, body.enabled, principal);
        return changed!;
      },
    }),
    action('PUT /connections/{id}/layers/enabled', 'Set Service Layers Enabled', {
      description: 'Enables or disables all layers of the connection in a service, in one change.',
      params: { ...byConnection, serviceName: service },
      shownBy: '/connections/{id}/layers',
      body: jsonBody(Enabled),
      data: Type.Array(LayerSchema),
      errors: [400, 404, 409],
      async answer({ params, body, principal }, deps) {
        const { id, serviceName = SERVICE } = params;
        const publications = openPublications(await deps.connections.get(id), deps);
        return publications.enable({ serviceName }, body.enabled, principal);
      },
    }),
    report('POST /connections/{id}/tables/validate', 'Validate Table For Layer Publishing', {
      description: 'Returns all findings. Only the geometries of the first 10,000 rows are checked.',
      params: byConnection,
      body: jsonBody(Validate),
      data: Validation,
      errors: [400, 404, 503],
      async answer({ params, body }, deps) {
        const publications = openPublications(await deps.connections.get(params.id), deps);
        return validationView(body, await publications.validate(readChoice(body), body.layerName));
      },
    }),
    action('POST /connections/{id}/layers/extents/refresh', 'Refresh Layer Extents', {
      params: { ...byConnection, serviceName: service },
      data: ExtentRefresh,
      errors: [400, 404, 503],
      async answer({ params, principal }, { connections, publishedLayers: layers }) {
        const connection = await connections.get(params.id);
        const name = params.serviceName ?? SERVICE;
        const all = await layers.list(connection.id, name);
        const refreshed = await layers.refreshExtents(connection, all, formatActor(principal));
        return extentView(name, refreshed);
      },
    }),
    action('POST /connections/{id}/layers/{layerId}/features/refresh', 'Refresh Layer Feature Snapshot', {
      description:
        'Reads the table again, counts its rows and evicts cached tiles of the layer. For a copy, a job copies the data again; the response waits for the job.',
      params: { id: connectionId, layerId: layerIdParam },
      data: Type.Object({
        layerId: I,
        layerName: Type.String(),
        schema: Type.String(),
        table: Type.String(),
        materializedFeatureCount: I,
      }),
      errors: [400, 404, 409, 422, 503],
      async answer({ params: { id, layerId }, principal }, deps) {
        const publications = openPublications(await deps.connections.get(id), deps);
        const { featureCount, ...layer } = await publications.refresh(layerId, principal);
        return { layerId, ...layer, materializedFeatureCount: featureCount };
      },
    }),
  ],
);

/** A layer of a connection, as its list shows it. */
async function currentLayer({ params }: Exchange<typeof byLayer>, deps: Deps): Promise<PublishedLayerBody> {
  const publications = openPublications(await deps.connections.get(params.id), deps);
  return (await publications.get(params.layerId, params.serviceName)).view;
}

/** Beyond the contract: layers can be read one by one and deleted. */
export const singleLayer = group(
  { tag: 'Layers', scope: 'layers', envelope: 'wrapped', isForTenants: true },
  [
    report('GET /connections/{id}/layers/{layerId}', 'Get Published Layer', {
      description: 'The entity tag is the one that If-Match names to enable, disable or delete the layer.',
      params: byLayer,
      data: LayerSchema,
      errors: [400, 404],
      async answer(x, deps) {
        const { id, layerId, serviceName } = x.params;
        const { id: connection } = await deps.connections.get(id);
        const configured = (await deps.sourceLayers.list(connection, serviceName)).find(
          (one) => one.collection.layerId === layerId && isLayerInScope(x.principal, one.collection),
        );
        return configured ? sourceLayerView(configured) : currentLayer(x, deps);
      },
    }),
    action('DELETE /connections/{id}/layers/{layerId}', 'Delete Published Layer', {
      description: 'The table, or the original of a copy, is not changed.',
      params: byLayer,
      current: currentLayer,
      data: AcknowledgementSchema,
      errors: [400, 404, 409],
      async answer({ params: { id, layerId, serviceName }, principal }, deps) {
        const publications = openPublications(await deps.connections.get(id), deps);
        await publications.remove(layerId, serviceName, principal);
        return new Acknowledgement('The layer is deleted.');
      },
    }),
  ],
);

const TYPES =
  /^(Point|LineString|Polygon|MultiPoint|MultiLineString|MultiPolygon|GeometryCollection|Geometry)(ZM|Z|M)?$/i;

/** An empty list of fields is the same as none. */
function readChoice(body: Static<typeof Validate>): TableChoice {
  const { schema, table, geometryColumn, primaryKey, srid, geometryType, fields = [] } = body;
  requireSound([
    geometryType === undefined || TYPES.test(geometryType)
      ? undefined
      : problem('geometryType', 'must be a geometry type, for example Point or MultiPolygon'),
  ]);
  return {
    schema,
    table,
    ...(geometryColumn === undefined ? {} : { geometryColumn }),
    ...(primaryKey === undefined ? {} : { key: primaryKey }),
    ...(srid === undefined ? {} : { srid }),
    ...(geometryType === undefined ? {} : { geometryType }),
    ...(fields.length === 0 ? {} : { fields }),
  };
}

function readLayer(body: Publish): NewLayer {
  const { table, layerName = table, serviceName = SERVICE, enabled = true } = body;
  const { description, license, licenseUrl, attribution, publisher, sourceUrl } = body;
  requireSound([addressProblem('licenseUrl', licenseUrl), addressProblem('sourceUrl', sourceUrl)]);
  return {
    choice: readChoice(body),
    layerName,
    serviceName,
    enabled,
    description: description ?? null,
    license: license ?? null,
    licenseUrl: licenseUrl ?? null,
    attribution: attribution ?? null,
    publisher: publisher ?? null,
    sourceUrl: sourceUrl ?? null,
  };
}

function addressProblem(member: string, url: string | undefined) {
  const isAddress = url === undefined || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol));
  return isAddress ? undefined : problem(member, 'must be an http or https URL');
}

function validationView(
  { schema, table, layerName = table, serviceName = SERVICE, targetSrid }: Static<typeof Validate>,
  tableReport: TableReport,
): Static<typeof Validation> {
  const severities = tableReport.checks.map(({ severity }) => severity);
  const isValid = !severities.includes('error');
  return {
    isValid,
    status: isValid ? (severities.includes('warning') ? 'warning' : 'valid') : 'invalid',
    schema,
    table,
    layerName,
    serviceName,
    geometryColumn: tableReport.geometryColumn,
    geometryType: tableReport.geometryType,
    primaryKey: tableReport.primaryKey,
    objectIdStrategy: tableReport.identity,
    sourceSrid: tableReport.sourceSrid,
    serviceSrid: tableReport.sourceSrid,
    targetSrid: targetSrid ?? null,
    estimatedRows: tableReport.estimatedRows,
    featureCount: tableReport.featureCount,
    nullGeometryCount: tableReport.nullGeometries,
    invalidGeometryCount: tableReport.invalidGeometries,
    checks: tableReport.checks.map((check) => ({ expected: null, actual: null, ...check })),
    fields: tableReport.fields,
  };
}

function extentView(
  serviceName: string,
  { layers, changed }: { layers: readonly StoredLayer[]; changed: boolean },
): Static<typeof ExtentRefresh> {
  const views = layers.map(({ body: { layerId, layerName, info } }) => ({
    layerId,
    layerName,
    hasExtent: (info.extent84 ?? info.extent) !== undefined,
    extentSrid: info.extent84 ? 4326 : null,
  }));
  const layersWithExtent = views.filter(({ hasExtent }) => hasExtent).length;
  return {
    serviceName,
    refreshedLayerCount: views.length,
    layersWithExtent,
    layersWithoutExtent: views.length - layersWithExtent,
    serviceExtentUpdated: changed,
    layers: views,
  };
}
