import { hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import type { Services } from '../admin/deps.js';
import { timestamp } from '../admin/envelope.js';
import { fingerprint, listResources, type Resource } from '../manifest/apply.js';
import type { KindDeps } from '../manifest/kind.js';
import type { ArtifactKind } from './schemas.js';

/** Contents of an environment, by ids that have the same meaning in every environment, such as `Layer/countries`. */

/** One thing of the environment. */
export interface Artifact {
  readonly semanticId: string;
  readonly artifactKind: ArtifactKind;
  readonly name: string;
  readonly title: string | null;
  /** Kind of the manifest's object, or `Collection`, `Field`, `Catalog`. */
  readonly type: string;
  readonly parent: string | null;
  /** Changes with its content, and only with that. */
  readonly version: string;
  /** The manifest object, if there is one. */
  readonly object?: Resource;
  readonly collection?: Collection;
  readonly field?: { readonly name: string; readonly type: string };
}

export interface Holdings {
  /** Counts the states of the environment that were seen, from 1. */
  readonly revision: number;
  readonly etag: string;
  readonly artifacts: readonly Artifact[];
}

const KINDS: Readonly<Record<string, ArtifactKind>> = {
  Role: 'role',
  Service: 'service',
  PublishedLayer: 'publication',
  AccessPolicy: 'policy',
  RowPolicy: 'policy',
  FieldMask: 'policy',
  RateLimit: 'policy',
};

const REVISION = 'release revision';
const CURRENT = 'current';

/** Services that describe the contents of this server. */
export type InventoryDeps = KindDeps & Services<'releases'>;

/** The current contents of the environment, and its revision. */
export async function readHoldings(deps: InventoryDeps): Promise<Holdings> {
  const objects = (await listResources(deps)).map((object) => ofObject(object));
  const published = new Set(objects.map(({ semanticId }) => semanticId));
  const collections = deps.catalog().collections.flatMap((one) => ofCollection(one, published));
  const { environment } = deps.releases;
  const catalog: Artifact = {
    semanticId: `Catalog/${environment}`,
    artifactKind: 'catalog',
    name: environment,
    title: null,
    type: 'Catalog',
    parent: null,
    version: fingerprint(collections.map(({ version }) => version)),
  };
  const artifacts = [catalog, ...collections, ...objects].sort((a, b) =>
    a.semanticId < b.semanticId ? -1 : 1,
  );
  const etag = fingerprint(artifacts.map(({ semanticId, version }) => [semanticId, version]));
  return { revision: await loadRevision(etag, deps), etag, artifacts };
}

function ofObject(object: Resource): Artifact {
  const { kind, spec } = object;
  const { name } = object.metadata;
  const { title, connection } = spec as { title?: string; connection?: string };
  const parents: Record<string, string | null> = {
    Layer: `Collection/${name}`,
    Style: `Collection/${name}`,
    PublishedLayer: `Connection/${connection}`,
  };
  return {
    semanticId: `${kind}/${name}`,
    artifactKind: KINDS[kind] ?? 'resource',
    name,
    type: kind,
    title: title ?? null,
    parent: parents[kind] ?? null,
    version: fingerprint(spec),
    object,
  };
}

function ofCollection(collection: Collection, objects: ReadonlySet<string>): Artifact[] {
  const { id, kind, title } = collection;
  const semanticId = `Collection/${id}`;
  const fields = hasFeatures(collection) ? collection.source.fields : [];
  const shape = fields.map(({ name, type }) => ({ name, type }));
  const publication = `PublishedLayer/${id}`;
  return [
    {
      semanticId,
      artifactKind: 'resource',
      name: id,
      title: title ?? null,
      type: 'Collection',
      parent: objects.has(publication) ? publication : null,
      version: fingerprint({ kind, fields: shape }),
      collection,
    },
    ...shape.map(
      (field): Artifact => ({
        semanticId: `Field/${id}/${field.name}`,
        artifactKind: 'field',
        name: field.name,
        title: null,
        type: 'Field',
        parent: semanticId,
        version: fingerprint(field),
        collection,
        field,
      }),
    ),
  ];
}

/** The number of this state: one more than that of the state which was seen before it. */
async function loadRevision(etag: string, { state }: Services<'state'>): Promise<number> {
  const last = await state.documents.get<{ etag: string }>(REVISION, CURRENT);
  if (last?.body.etag === etag) return last.version;
  return state.documents.together([REVISION], async (store) => {
    const before = await store.get<{ etag: string }>(REVISION, CURRENT);
    if (before?.body.etag === etag) return before.version;
    return (await store.put(REVISION, CURRENT, { etag }, 'system')).version;
  });
}

/** Ids of the policies that name this. */
function listPolicies({ collection, type }: Artifact, all: readonly Artifact[]): string[] {
  if (type !== 'Collection' || !collection) return [];
  return all
    .filter(({ artifactKind }) => artifactKind === 'policy')
    .filter(({ name, object }) => {
      const { layer } = (object?.spec ?? {}) as { layer?: string };
      return object?.kind === 'AccessPolicy' ? name === collection.id : layer === collection.id;
    })
    .map(({ semanticId }) => semanticId);
}

export function describeArtifact(one: Artifact, { artifacts, revision }: Holdings) {
  return {
    semanticId: one.semanticId,
    artifactKind: one.artifactKind,
    name: one.name,
    namespace: null,
    title: one.title,
    status: 'active' as const,
    resourceType: one.artifactKind === 'resource' || one.artifactKind === 'policy' ? one.type : null,
    serviceType: one.artifactKind === 'service' ? one.type : null,
    publicationType: one.artifactKind === 'publication' ? one.type : null,
    parentSemanticId: one.parent,
    policyIds: listPolicies(one, artifacts),
    contentVersionId: one.version,
    metadataGeneration: revision,
    provenance: [],
  };
}

/**
 * The resource of this server for a semantic id. Throws `environment-unavailable` for other environments, which are
 * other servers.
 */
export function describeBinding(
  semanticId: string,
  environment: string,
  holdings: Holdings,
  deps: Services<'releases'>,
) {
  const isHere = environment === deps.releases.environment;
  const one = isHere ? holdings.artifacts.find((artifact) => artifact.semanticId === semanticId) : undefined;
  const state = !isHere ? 'environment-unavailable' : one ? 'bound' : 'missing';
  const { collection, object } = one ?? {};
  const spec = object?.spec as { connection?: string; host?: string; choice?: object } | undefined;
  const connection = object?.kind === 'Connection' ? one?.name : spec?.connection;
  return {
    semanticId,
    environment,
    state: state as 'bound' | 'missing' | 'environment-unavailable',
    artifactKind: one?.artifactKind ?? null,
    revision: one ? holdings.revision : null,
    etag: one ? holdings.etag : null,
    contentVersionId: one?.version ?? null,
    lastObservedAt: one ? timestamp(Date.now()) : null,
    connection: connection === undefined ? null : { name: connection },
    storage: spec?.choice ?? null,
    resource: collection
      ? { collectionId: collection.id, layerId: collection.layerId, kind: collection.kind }
      : null,
    service: one?.artifactKind === 'service' ? { name: one.name } : null,
    publication: one?.artifactKind === 'publication' ? { name: one.name } : null,
    field: one?.field ?? null,
  };
}
