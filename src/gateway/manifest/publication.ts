import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import Type, { type Static } from 'typebox';
import { ApiError, fieldFailure } from '../../core/errors/errors.js';
import { prefixField } from '../../core/errors/field-errors.js';
import { problem } from '../../core/http/body-problems.js';
import type { TableChoice } from '../../core/tasks/table-tasks.js';
import { type CopySourceLayer, DERIVATION_KIND, type Derivation } from '../../services/access/rules/rules.js';
import type { LayerCopy } from '../../services/catalog/copies/layer-copy.js';
import { layerCollection } from '../../services/catalog/publish/layer-display.js';
import type { PublishedLayer } from '../../services/catalog/publish/layers.js';
import { findConnectionId } from '../../services/catalog/rasters/connection-rasters.js';
import {
  CONNECTION_KIND,
  type Connection,
  getConnectionProvider,
  OWN_PROVIDERS,
  SSL_MODES,
  type SslMode,
  type StoredConnection,
} from '../../services/connections/connection.js';
import { isDatabaseConnection, LAYER_COPY, PUBLISHED_LAYER } from '../../services/connections/connections.js';
import { slug } from '../../services/kit/slug.js';
import type { Services } from '../admin/deps.js';
import { requireSources } from '../admin/layer-rights.js';
import { NAME_SCHEMA } from '../admin/rule-schemas.js';
import { checkCredential, readConnectionTarget } from '../connections/admin/connection-bodies.js';
import { createObjectError, type ManifestKind } from './kind.js';

/** Connections, and the layers published from them. Manifests contain references to passwords, never passwords. */

const CLOSED = { additionalProperties: false };
const OptionalText = Type.Union([Type.String({ maxLength: 2000 }), Type.Null()]);
const Identifier = Type.String({ minLength: 1, maxLength: 63 });

const ConnectionSpec = Type.Object(
  {
    description: OptionalText,
    host: Type.String({ minLength: 1, maxLength: 253 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    databaseName: Type.String({ maxLength: 2048 }),
    username: Type.String({ maxLength: 256 }),
    sslMode: Type.Enum(Object.keys(SSL_MODES) as SslMode[]),
    secretReference: Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Null()]),
    secretType: Type.Union([Type.String({ maxLength: 100 }), Type.Null()]),
    isActive: Type.Boolean(),
    provider: Type.Optional(Type.Enum([...OWN_PROVIDERS])),
    region: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,40}$' })),
  },
  CLOSED,
);
type ConnectionSpec = Static<typeof ConnectionSpec>;

export const connection: ManifestKind = {
  kind: 'Connection',
  scope: 'connections',
  schema: ConnectionSpec,
  list: async ({ connections }) =>
    (await connections.list())
      .filter((one) => !connections.isSource(one))
      .map(({ body: { name, password: _, ...spec } }) => ({ name, spec })),
  configured: async ({ connections }) => connections.sources.map(({ body }) => body.name),
  /** The connection as it will be kept, for the layers behind it. */
  async prepare({ name, spec }, targets, deps) {
    requireSpec(spec as ConnectionSpec, deps);
    const { secretReference } = spec as ConnectionSpec;
    const before = targets.connections.get(name);
    const provider = before && getConnectionProvider(before.body);
    if (provider !== undefined && provider !== getConnectionProvider(spec as ConnectionSpec))
      throw createObjectError(
        problem('spec/provider', `cannot change from ${provider}. Remove the connection first`),
      );
    const password = secretReference === null ? (before?.body.password ?? null) : null;
    const body: Connection = { ...(spec as ConnectionSpec), name, password };
    const after = { ...(before ?? NEW), id: before?.id ?? randomUUID(), body };
    targets.connections.set(name, after);
    return after;
  },
  async prepareRemoval(name, { connections, layerCopies }) {
    const before = (await connections.list()).find(({ body }) => body.name === name);
    if (before) await layerCopies.trim(before.id);
  },
  async write({ documents, rasters }, name, spec, by, prepared) {
    const store = documents.announcing('publishing');
    if (spec) {
      const { id, body } = prepared as StoredConnection;
      // The rasters of a bucket are sources, so a change to its connection is announced to the catalog.
      const announcing = isDatabaseConnection({ body }) ? store : documents.announcing('catalog');
      return void (await announcing.put(CONNECTION_KIND, id, body, by));
    }
    const before = (await documents.list<Connection>(CONNECTION_KIND)).find(({ body }) => body.name === name);
    if (!before) return;
    const kinds = [PUBLISHED_LAYER, LAYER_COPY];
    const lists = await Promise.all(
      kinds.map((kind) => documents.list<Pick<LayerCopy, 'connectionId' | 'isGone'>>(kind)),
    );
    const layers = lists.flat().filter(({ body }) => !body.isGone);
    const registered = await rasters.list({ kind: 'cloud' });
    if (
      layers.some(({ body }) => body.connectionId === before.id) ||
      registered.some((raster) => findConnectionId(raster) === before.id)
    )
      throw new ApiError('conflict', `The connection '${name}' has published layers. Remove them first.`);
    await store.remove(CONNECTION_KIND, before.id);
  },
};

/** Throws `invalid-body` under the same conditions as requests for connections. */
function requireSpec(spec: ConnectionSpec, deps: Services<'connections'>): void {
  const { secretReference, secretType } = spec;
  try {
    readConnectionTarget(spec, deps);
    checkCredential(
      { secretReference: secretReference ?? undefined, secretType: secretType ?? undefined },
      deps,
    );
  } catch (error) {
    if (!(error instanceof ApiError) || error.errors === undefined) throw error;
    const errors = error.errors.map((one) => prefixField('/spec', one));
    throw fieldFailure('invalid-body', errors);
  }
}

const NEW = { version: 0, etag: '', createdAt: 0, createdBy: null, updatedAt: 0, updatedBy: null };

const Choice = Type.Object(
  {
    schema: Identifier,
    table: Identifier,
    geometryColumn: Type.Optional(Identifier),
    key: Type.Optional(Identifier),
    srid: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999 })),
    geometryType: Type.Optional(Type.String({ maxLength: 40 })),
    fields: Type.Optional(Type.Array(Identifier, { maxItems: 1600 })),
  },
  CLOSED,
);

const LayerSpec = Type.Object(
  {
    connection: NAME_SCHEMA,
    layerName: NAME_SCHEMA,
    serviceName: NAME_SCHEMA,
    enabled: Type.Boolean(),
    description: OptionalText,
    license: OptionalText,
    licenseUrl: OptionalText,
    attribution: OptionalText,
    publisher: OptionalText,
    sourceUrl: OptionalText,
    choice: Choice,
    layerId: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Number of the layer. Used if it is free and the layer does not have a number.',
      }),
    ),
  },
  CLOSED,
);
type LayerSpec = Static<typeof LayerSpec>;

export const publishedLayer: ManifestKind = {
  kind: 'PublishedLayer',
  scope: 'layers',
  schema: LayerSpec,
  ownMembers: ['layerId'],
  async list({ connections, publishedLayers }) {
    const names = new Map((await connections.list()).map(({ id, body }) => [id, body.name]));
    return (await publishedLayers.list()).map(({ id, body }) => {
      const { connectionId, info: _info, inspectedAt: _at, ...spec } = body;
      return { name: id, spec: { ...spec, connection: names.get(connectionId)! } };
    });
  },
  configured: async ({ sourceLayers }) => (await sourceLayers.list()).map(({ collection }) => collection.id),
  /** The layer as it will be stored. Its table is inspected now. */
  async prepare({ name, spec }, targets, deps) {
    const { connection: from, choice, layerId: asked = 0, ...rest } = spec as LayerSpec;
    const source = targets.connections.get(from);
    if (!source) throw createObjectError(problem('spec/connection', 'must be the name of a connection'));
    if (!isDatabaseConnection(source))
      throw createObjectError(problem('spec/connection', 'must be a connection to a database'));
    if (slug(rest.layerName) !== name)
      throw createObjectError(
        problem('metadata/name', `must be ${slug(rest.layerName)}, which follows from the name of the layer`),
      );
    if (/^\d+$/.test(name))
      throw createObjectError(
        problem('metadata/name', `'${name}' could be the number of another layer. Add a letter`),
      );
    const isPublished = (await deps.state.documents.get(PUBLISHED_LAYER, name)) !== undefined;
    if (!isPublished && deps.catalog().byId(name))
      throw createObjectError(
        problem('metadata/name', 'is the id of an existing collection. Choose another name'),
      );
    const table = choice as TableChoice;
    const inspection = await inspected(source, table, deps);
    const layerId = (await deps.state.collections.find(name)) ?? asked;
    const body: PublishedLayer = { ...rest, choice: table, connectionId: source.id, layerId, ...inspection };
    const url = deps.connections.publicUrlOf(source);
    const sources = await deps.publishedLayers.sourcesOf(name, table, source);
    requireSources(sources, targets.principal, deps);
    if (rest.enabled)
      targets.collections.set(
        name,
        layerCollection({ id: name, body }, { info: body.info, readAt: body.inspectedAt }, url),
      );
    return { body, sources };
  },
  async write({ collections, documents }, name, spec, by, prepared) {
    const store = documents.announcing('publishing');
    if (!spec) return void (await store.remove(PUBLISHED_LAYER, name));
    const { body: layer, sources } = prepared as {
      body: PublishedLayer;
      sources: readonly CopySourceLayer[];
    };
    const access = documents.announcing('access');
    if (sources.length > 0) {
      const before = await documents.get<Derivation>(DERIVATION_KIND, name);
      await access.put(DERIVATION_KIND, name, buildDerivation(sources, before?.body), by);
    } else await access.remove(DERIVATION_KIND, name);
    if (layer.layerId > 0) await collections.take(layer.layerId, name);
    const layerId = await collections.idOf(name);
    await store.put(PUBLISHED_LAYER, name, { ...layer, layerId }, by);
  },
};

/** The choices of an administrator for a layer apply as long as it shows the same table. */
function buildDerivation(sources: readonly CopySourceLayer[], before: Derivation | undefined): Derivation {
  const ids = (all: readonly CopySourceLayer[]) => all.map(({ id }) => id).sort();
  const isSame = before?.chosen && isDeepStrictEqual(ids(before.sources), ids(sources));
  return isSame ? { sources, chosen: before.chosen! } : { sources };
}

/** Inspects the table. An error is reported as a problem of the layer. */
async function inspected(
  connection: StoredConnection,
  choice: TableChoice,
  { publishedLayers }: Services<'publishedLayers'>,
) {
  try {
    return await publishedLayers.inspect(connection, choice);
  } catch (error) {
    throw createObjectError(problem('spec/choice', (error as Error).message));
  }
}
