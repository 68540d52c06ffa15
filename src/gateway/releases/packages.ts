import { randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { problem, requireSound } from '../../core/http/body-problems.js';
import { computeSignature } from '../../core/values/signature.js';
import type { StoredDocument } from '../../stores/state/documents.js';
import type { Services } from '../admin/deps.js';
import { timestamp } from '../admin/envelope.js';
import { API_VERSION, type Resource } from '../manifest/apply.js';
import { computePackageDigest } from '../manifest/signature.js';
import {
  type Artifact,
  describeBinding,
  type Holdings,
  type InventoryDeps,
  readHoldings,
} from './inventory.js';
import type { GitOpsManifest, Package, PackageRequest } from './schemas.js';

/** Release packages: the contents of an environment when the package was created. They are immutable. */

const PACKAGE = 'release package';

type View = Static<typeof Package>;
/** Stored form: the package without members that its document stores, and its objects. */
interface Body {
  readonly view: Omit<View, 'packageId' | 'createdAt' | 'updatedAt' | 'createdBy'>;
  readonly resources: readonly Resource[];
}
export type StoredPackage = StoredDocument<Body>;

/** Throws `not-found` for a source that is not here, `invalid-body` for ids that are not there, and `conflict`. */
export async function createPackage(
  request: Static<typeof PackageRequest>,
  by: string,
  deps: InventoryDeps,
): Promise<StoredPackage> {
  const { environment } = deps.releases;
  if (request.sourceEnvironment !== environment) throw notFound('environment', request.sourceEnvironment);
  const holdings = await readHoldings(deps);
  if (request.desiredRevision !== undefined && request.desiredRevision !== holdings.revision)
    throw new ApiError(
      'conflict',
      `sourceRevision: ${environment} is at revision ${holdings.revision}. Read it again and retry.`,
    );
  const chosen = choice(request, holdings);
  const id = randomUUID();
  const name = request.packageKey ?? `release-${id}`;
  const view: Body['view'] = {
    metadata: {
      id,
      name,
      namespace: request.namespace ?? null,
      title: request.title ?? null,
      description: request.summary ?? null,
      annotations: {},
      metadataGeneration: holdings.revision,
    },
    status: 'ready',
    sourceEnvironment: environment,
    sourceRevision: holdings.revision,
    sourceEtag: holdings.etag,
    targetEnvironments: request.targetEnvironments ?? [],
    entries: chosen.map((one) => packageEntry(one, request, holdings, deps)),
    extensions: {},
  };
  const body: Body = { view, resources: chosen.flatMap(({ object }) => (object ? [object] : [])) };
  return deps.state.documents.together([PACKAGE], async (store) => {
    const taken = (await store.list<Body>(PACKAGE)).some((one) => one.body.view.metadata.name === name);
    if (taken) throw new ApiError('conflict', `The package '${name}' already exists. Choose another name.`);
    return store.create(PACKAGE, id, body, by);
  });
}

/** The requested objects, or all objects of the manifest. */
function choice(request: Static<typeof PackageRequest>, { artifacts }: Holdings): Artifact[] {
  const ids = new Map(artifacts.map((one) => [one.semanticId, one]));
  const chosen = request.semanticIds ?? artifacts.filter(({ object }) => object).map((one) => one.semanticId);
  const within = new Set(chosen);
  requireSound([
    ...chosen.map((id, n) =>
      ids.has(id) ? undefined : problem(`semanticIds/${n}`, 'must be an object of this server'),
    ),
    ...Object.keys(request.changeClasses ?? {}).map((id) =>
      within.has(id) ? undefined : problem('changeClasses', `'${id}' is not in the package`),
    ),
  ]);
  return chosen.map((id) => ids.get(id)!);
}

function packageEntry(
  one: Artifact,
  request: Static<typeof PackageRequest>,
  holdings: Holdings,
  deps: Services<'releases'>,
): View['entries'][number] {
  const { semanticId, artifactKind, field, parent, type } = one;
  return {
    semanticId,
    artifactKind,
    resourceType: type,
    changeClass: request.changeClasses?.[semanticId] ?? null,
    status: 'ready',
    desiredMetadataRevision: holdings.revision,
    desiredContentVersionId: request.desiredContentVersionId ?? one.version,
    desiredProvenance: request.provenance ?? [],
    dependentSemanticIds: holdings.artifacts
      .filter((other) => other.parent === semanticId)
      .map((other) => other.semanticId),
    sourceField: field
      ? { semanticId, parentResourceId: parent, fieldName: field.name, fieldType: field.type }
      : null,
    targetStates: (request.targetEnvironments ?? []).map((environment) => {
      const { state, revision, contentVersionId, resource } = describeBinding(
        semanticId,
        environment,
        holdings,
        deps,
      );
      return {
        environment,
        bindingState: state,
        currentMetadataRevision: revision,
        currentContentVersionId: contentVersionId,
        bindingSummary: resource ?? {},
      };
    }),
  };
}

/** Newest first. */
export async function listPackages({ state }: Services<'state'>): Promise<StoredPackage[]> {
  return (await state.documents.list<Body>(PACKAGE)).reverse();
}

export async function findPackage(
  id: string,
  { state }: Services<'state'>,
): Promise<StoredPackage | undefined> {
  return state.documents.get<Body>(PACKAGE, id);
}

export async function requirePackage(id: string, deps: Services<'state'>): Promise<StoredPackage> {
  const stored = await findPackage(id, deps);
  if (!stored) throw notFound(PACKAGE, id.slice(0, 128));
  return stored;
}

const history = ({ createdAt, updatedAt, createdBy }: StoredPackage) => ({
  createdBy: createdBy ?? 'system',
  createdAt: timestamp(createdAt),
  updatedAt: timestamp(updatedAt),
});

export function describeReleasePackage(stored: StoredPackage): View {
  return { packageId: stored.id, ...stored.body.view, ...history(stored) };
}

export function summarizePackage(stored: StoredPackage) {
  const { metadata, status, sourceEnvironment, sourceRevision, targetEnvironments, entries } =
    stored.body.view;
  return {
    packageId: stored.id,
    packageKey: metadata.name,
    namespace: metadata.namespace,
    title: metadata.title,
    summary: metadata.description,
    status,
    sourceEnvironment,
    sourceRevision,
    targetEnvironments,
    entryCount: entries.length,
    ...history(stored),
  };
}

/** The package as `graticule apply` takes it elsewhere, with its digest and signature. */
export function gitOpsManifest(
  stored: StoredPackage,
  { releases }: Services<'releases'>,
): Static<typeof GitOpsManifest> {
  const { metadata, sourceEnvironment, sourceRevision, sourceEtag, targetEnvironments, entries } =
    stored.body.view;
  const spec = {
    packageId: stored.id,
    source: { environment: sourceEnvironment, revision: sourceRevision, etag: sourceEtag },
    targets: targetEnvironments.map((environment) => ({ environment })),
    entries,
  };
  const { resources } = stored.body;
  const digest = computePackageDigest({ metadata, spec }, resources);
  return {
    apiVersion: API_VERSION,
    kind: 'MetadataReleasePackage',
    metadata,
    spec,
    resources: [...resources],
    digest,
    signature: computeSignature(digest, releases.key),
  };
}
