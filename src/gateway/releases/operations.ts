import { ApiError, notFound } from '../../core/errors/errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../core/http/params.js';
import { permits } from '../../services/access/permissions.js';

import { timestamp } from '../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../admin/kit.js';
import { defineFilterParam, enumeration } from '../admin/params.js';
import { recordExport } from '../http/recorded-export.js';
import { KIND_SERVICES } from '../manifest/kind.js';
import { EXACT_MANIFEST_MEMBERS } from '../manifest/schemas.js';
import { describeArtifact, describeBinding, readHoldings } from './inventory.js';
import {
  createPackage,
  describeReleasePackage,
  gitOpsManifest,
  listPackages,
  requirePackage,
  summarizePackage,
} from './packages.js';
import { prevalidatePackage } from './prevalidation.js';
import { PrevalidationRequest, PrevalidationSchema } from './prevalidation-schemas.js';
import { rolloutRows } from './rollout-rows.js';
import {
  ARTIFACT_KINDS,
  BindingQuery,
  Bindings,
  GitOpsManifest,
  Inventory,
  PACKAGE_STATES,
  Package,
  PackagePage,
  PackageRequest,
} from './schemas.js';

const SERVICES = [...KIND_SERVICES, 'releases'] as const;
const { implement, report } = createRowBuilders(SERVICES);

/** Same limit as for a manifest. */
const MAX_BYTES = 64 << 20;

const byId = { packageId: pathString('packageId', 'Id of the package.') };
const isAsked = (filter: string | undefined, value: string | null) =>
  filter === undefined || filter.toLowerCase() === value?.toLowerCase();

/** Release packages of metadata, and carrying them out. */
export const releases = group({ tag: 'Metadata and capabilities', scope: 'releases', envelope: 'raw' }, [
  report('GET /metadata/environments/{environment}/inventory', 'Get Metadata Semantic Inventory', {
    description:
      'Lists the collections, fields and manifest objects of this environment. Other environments are other servers.',
    params: {
      environment: pathString('environment', 'Name of the environment: releases.environment.'),
      artifactKind: enumeration('artifactKind', ARTIFACT_KINDS, 'Only entries of this kind.'),
      resourceType: defineFilterParam('resourceType', 'Only entries of this type, as Layer or Style.'),
    },
    data: Inventory,
    errors: [400, 404],
    async answer({ params: { environment, artifactKind, resourceType } }, deps) {
      if (environment !== deps.releases.environment) throw notFound('environment', environment);
      const holdings = await readHoldings(deps);
      const entries = holdings.artifacts
        .map((one) => describeArtifact(one, holdings))
        .filter((entry) => isAsked(artifactKind, entry.artifactKind))
        .filter((entry) => isAsked(resourceType, entry.resourceType));
      const { revision, etag } = holdings;
      return { environment, revision, etag, generatedAt: timestamp(Date.now()), entries };
    },
  }),
  report('POST /metadata/environment-bindings/query', 'Query Metadata Environment Bindings', {
    body: jsonBody(BindingQuery),
    data: Bindings,
    errors: [400],
    async answer({ body: { environments, semanticIds } }, deps) {
      const holdings = await readHoldings(deps);
      const bindings = environments.flatMap((environment) =>
        semanticIds.map((id) => describeBinding(id, environment, holdings, deps)),
      );
      return { requestedAt: timestamp(Date.now()), environments, bindings };
    },
  }),
  ...resource(
    '/metadata/release-packages/{packageId}',
    {
      list: 'List Metadata Release Packages',
      create: 'Create Metadata Release Package',
      get: 'Get Metadata Release Package',
    },
    {
      list: implement({
        params: {
          status: enumeration('status', PACKAGE_STATES, 'Only packages in this state.'),
          sourceEnvironment: defineFilterParam('sourceEnvironment', 'Only packages of this environment.'),
          targetEnvironment: defineFilterParam('targetEnvironment', 'Only packages for this environment.'),
          limit: defineIntegerParam(
            'limit',
            { min: 1, max: 200, default: 50 },
            { description: 'Most items of a page.' },
          ),
          offset: defineIntegerParam(
            'offset',
            { min: 0, max: 1_000_000, default: 0 },
            { description: 'Number of items to skip.' },
          ),
        },
        data: PackagePage,
        errors: [400],
        async answer({ params }, deps) {
          const { status, sourceEnvironment, targetEnvironment, limit, offset } = params;
          const all = (await listPackages(deps))
            .map(summarizePackage)
            .filter((one) => isAsked(status, one.status) && isAsked(sourceEnvironment, one.sourceEnvironment))
            .filter(
              (one) =>
                targetEnvironment === undefined ||
                one.targetEnvironments.some((target) => isAsked(targetEnvironment, target)),
            );
          const items = all.slice(offset, offset + limit);
          return { items, limit, offset, count: items.length, generatedAt: timestamp(Date.now()) };
        },
      }),
      create: implement({
        description:
          'Creates a package of all manifest objects of the environment, or of the objects in semanticIds. With desiredRevision, returns 409 if the environment has another revision.',
        body: jsonBody(PackageRequest),
        data: Package,
        status: 201,
        errors: [400, 403, 404, 409],
        location: ({ packageId }: { packageId: string }) => `/metadata/release-packages/${packageId}`,
        async answer({ body, principal }, deps) {
          requireManifest(principal);
          return describeReleasePackage(await createPackage(body, formatActor(principal), deps));
        },
      }),
      get: implement({
        params: byId,
        data: Package,
        errors: [404],
        answer: async ({ params }, deps) =>
          describeReleasePackage(await requirePackage(params.packageId, deps)),
      }),
    },
  ),
  report(
    'GET /metadata/release-packages/{packageId}/gitops-manifest',
    'Get Metadata Release GitOps Manifest',
    {
      description:
        'Returns the package with its objects, digest and signature, for `graticule apply` in another environment. Also requires admin:manifest:read.',
      params: byId,
      data: GitOpsManifest,
      errors: [403, 404],
      exports: true,
      async answer(x, deps) {
        requireManifest(x.principal);
        const { packageId } = x.params;
        const found = await requirePackage(packageId, deps);
        recordExport(x, { format: 'json', filter: { package: packageId }, count: 1 });
        return gitOpsManifest(found, deps);
      },
    },
  ),
  report('POST /metadata/prevalidate', 'Prevalidate Metadata Release Package Compatibility', {
    description:
      'Checks whether a package can be applied to this environment, without changing it. Send the id of a package of this environment or the GitOps manifest of another environment. Returns at most 20 errors, schema errors first. A missing permission is returned without other errors.',
    body: { ...jsonBody(PrevalidationRequest), maxBytes: MAX_BYTES, exactMembers: EXACT_MANIFEST_MEMBERS },
    data: PrevalidationSchema,
    envelope: 'wrapped',
    errors: [400, 403, 404, 413],
    answer({ body, principal }, deps) {
      requireManifest(principal);
      return prevalidatePackage(body, principal, deps);
    },
  }),
  ...rolloutRows,
]);

/** Throws `forbidden` if the caller may not read the manifest, because a package contains the same data. */
function requireManifest(principal: Principal): void {
  if (!permits(principal, 'admin:manifest:read'))
    throw new ApiError(
      'forbidden',
      'Release packages contain the manifest and require the permission admin:manifest:read.',
    );
}
