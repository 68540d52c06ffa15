import Type, { type Static } from 'typebox';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { type Exchange, withoutSession } from '../../../../core/http/operation.js';
import { pathString } from '../../../../core/http/params.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import { referenceProblem } from '../../../../services/connections/secrets.js';
import type {
  MigrationRequest,
  UnsupportedPolicy,
} from '../../../../services/exchange/migrations/geoserver/request.js';
import { restRequest } from '../../../../services/exchange/migrations/geoserver/source.js';
import type { SecretReferences } from '../../../../services/exchange/remote/secret-references.js';
import {
  buildImportQuery,
  endsImport,
  isOwnImport,
  requireJob,
} from '../../../../services/jobs/ownership.js';
import type { ServicesOf } from '../../../admin/deps.js';
import { createRowBuilders, jsonBody } from '../../../admin/kit.js';
import { requireWhole } from '../../../admin/layer-rights.js';
import { requireSrid } from '../../../admin/upload-form.js';
import { createMemberError, createSubmitOptions } from '../../../connections/admin/remote-imports.js';
import { cancelMessage } from '../../../jobs/admin/job-views.js';
import { MigrationJob, migrationView } from './migration-job-views.js';

const SERVICES = ['access', 'catalog', 'connections', 'geoServerMigrations'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

/** Migrations of GeoServers, as jobs. */

const S = Type.String();
const Names = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { minItems: 1, maxItems: 500, description }),
  );
const Reference = Type.Optional(
  Type.String({ maxLength: 1024, description: 'Secret in connections.secrets: env:NAME or file:/path.' }),
);
const Policy = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 2, default: 1, description: '0 Skip 1 LogWarning 2 FailImport' }),
);

const Body = Type.Object({
  geoServerRestUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  username: Type.Optional(Type.String({ maxLength: 256 })),
  password: Type.Optional(Type.String({ description: 'Refused: send a reference to a secret.' })),
  passwordSecretReference: Reference,
  targetSvcUrl: Type.Optional(
    Type.String({
      maxLength: LIMITS.urlBytes,
      description: 'Only of this server, which imports into itself.',
    }),
  ),
  svcApiKeySecretReference: Type.Optional(
    Type.String({ description: 'Refused: the caller is authenticated already.' }),
  ),
  workspaceNames: Names('Default: all.'),
  dataStoreNames: Names('Stores of data and of coverages: name, or workspace:name. Default: all.'),
  layerNames: Names('Name, or workspace:name. Default: all.'),
  dryRun: Type.Optional(Type.Boolean({ default: false })),
  applyMode: Type.Optional(
    Type.Boolean({ default: false, description: 'Must be true where dryRun is not.' }),
  ),
  autoPublishLayers: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'Only true is supported. Imported layers are always published.',
    }),
  ),
  importStyles: Type.Optional(Type.Boolean({ default: false })),
  overwriteExisting: Type.Optional(Type.Boolean({ default: false })),
  batchSize: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 10,
      description: `Layers that are under way at a time, of which at most ${EXCHANGE_LIMITS.batchJobs} are.`,
    }),
  ),
  maxRetries: Type.Optional(Type.Integer({ minimum: 0, maximum: 10, default: 3 })),
  requestTimeoutSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 3600,
      default: 120,
      description: 'Maximum seconds of each request, and of reading the REST API.',
    }),
  ),
  targetSrid: Type.Optional(
    Type.Integer({ description: 'EPSG code of the imported features. Default: the CRS of the source.' }),
  ),
  importOptions: Type.Optional(
    Type.Object({
      continueOnResourceFailure: Type.Optional(Type.Boolean({ default: true })),
      defaultWorkspaceName: Type.Optional(
        Type.String({ maxLength: 60, description: 'Workspace for layers without a workspace.' }),
      ),
      workspaceNameMappings: Type.Optional(
        Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 60 }), {
          description:
            'New names of workspaces. With an empty name, layers keep their names without a workspace.',
        }),
      ),
      unsupportedLayerBehavior: Policy,
      unsupportedDataStoreBehavior: Policy,
      unsupportedStyleBehavior: Policy,
    }),
  ),
});
type StartBody = Static<typeof Body>;

const byId = { jobId: pathString('jobId', 'Id of the migration.') };

export const geoServerMigrations = [
  action('POST /import/platform-b/start', 'Start Import (platform-b)', {
    description:
      'Imports the layers of a GeoServer as a job: feature types through its WFS, and coverages through its WCS, each whole or not at all. With dryRun the job only plans.',
    body: jsonBody(Body),
    data: Type.Object({ jobId: S, message: S, statusUrl: S, cancelUrl: S }),
    status: 202,
    errors: [400, 503],
    answer: start,
  }),
  report('GET /import/platform-b/jobs', 'List Import Jobs (platform-b)', {
    data: Type.Object({ jobs: Type.Array(MigrationJob) }),
    errors: [503],
    answer: async ({ principal }, deps) => ({
      jobs: (await deps.geoServerMigrations.list(buildImportQuery(principal))).map((one) =>
        migrationView(one, deps),
      ),
    }),
  }),
  report('GET /import/platform-b/jobs/{jobId}', 'Get Import Job (platform-b)', {
    params: byId,
    data: MigrationJob,
    errors: [400, 404, 503],
    async answer({ params, principal }, deps) {
      const migration = await deps.geoServerMigrations.get(params.jobId);
      requireJob(migration.job, principal, isOwnImport, 'GeoServer migration');
      return migrationView(migration, deps);
    },
  }),
  action('POST /import/platform-b/jobs/{jobId}/cancel', 'Cancel Import Job (platform-b)', {
    params: byId,
    data: Type.Object({ jobId: S, message: S }),
    errors: [400, 404, 409, 503],
    async answer({ params, principal }, deps) {
      const migration = await deps.geoServerMigrations.get(params.jobId);
      const { id } = requireJob(migration.job, principal, endsImport, 'GeoServer migration');
      const job = await deps.geoServerMigrations.cancel(id);
      return { jobId: job.id, message: cancelMessage(job, 'migration') };
    },
  }),
];

type StartExchange = Exchange<Record<never, never>, StartBody>;

async function start(x: StartExchange, deps: Deps) {
  const { body } = x;
  requireThisServer(x);
  if (body.autoPublishLayers === false)
    throw createMemberError(
      'autoPublishLayers',
      'must be true, because the embedded store publishes all its content',
    );
  if (!body.dryRun && !body.applyMode)
    throw createMemberError('applyMode', 'must be true, unless dryRun is true');
  const request = buildRequest(x, deps.connections.settings.secrets);
  // The layers to replace are known only after the other server has responded.
  if (request.overwrite) requireWhole(deps.catalog().collections, 'write', x.principal, deps);
  const { id } = await deps.geoServerMigrations.start(request, createSubmitOptions(x));
  return {
    jobId: id,
    message: body.dryRun
      ? 'The migration is planned in the background.'
      : 'The GeoServer is imported in the background.',
    statusUrl: `jobs/${id}`,
    cancelUrl: `jobs/${id}/cancel`,
  };
}

function requireThisServer({ body, baseUrl }: StartExchange): void {
  const { targetSvcUrl: url, svcApiKeySecretReference } = body;
  if (url !== undefined && (!URL.canParse(url) || new URL(url).origin !== new URL(baseUrl).origin))
    throw createMemberError(
      'targetSvcUrl',
      `must be the URL of this server, ${baseUrl}, because layers are imported into it`,
    );
  if (svcApiKeySecretReference !== undefined)
    throw createMemberError(
      'svcApiKeySecretReference',
      'is not allowed, because this server needs no key to import into itself',
    );
}

/** Throws 400 naming the member. */
function buildRequest({ body, principal }: StartExchange, secrets: readonly string[]): MigrationRequest {
  const timeoutSeconds = body.requestTimeoutSeconds ?? 120;
  const { url: restUrl } = restRequest('geoServerRestUrl', body.geoServerRestUrl, { timeoutSeconds });
  const options = body.importOptions ?? {};
  return {
    restUrl,
    credentials: readCredentials(body, secrets),
    requestMs: timeoutSeconds * 1000,
    maxRetries: body.maxRetries ?? 3,
    ...(body.workspaceNames ? { workspaces: body.workspaceNames } : {}),
    ...(body.dataStoreNames ? { stores: body.dataStoreNames } : {}),
    ...(body.layerNames ? { layers: body.layerNames } : {}),
    dryRun: body.dryRun ?? false,
    importStyles: body.importStyles ?? false,
    overwrite: body.overwriteExisting ?? false,
    principal: withoutSession(principal),
    lanes: body.batchSize ?? 10,
    ...(body.targetSrid === undefined ? {} : { targetCrs: requireSrid('targetSrid', body.targetSrid) }),
    continueOnFailure: options.continueOnResourceFailure ?? true,
    defaultWorkspace: options.defaultWorkspaceName ?? '',
    workspaceNames: options.workspaceNameMappings ?? {},
    unsupported: {
      layer: policyOf(options.unsupportedLayerBehavior),
      store: policyOf(options.unsupportedDataStoreBehavior),
      style: policyOf(options.unsupportedStyleBehavior),
    },
  };
}

function readCredentials(
  { username, password, passwordSecretReference: reference }: StartBody,
  secrets: readonly string[],
): SecretReferences {
  if (password !== undefined)
    throw createMemberError('password', 'is not allowed. Send passwordSecretReference');
  const problem = reference === undefined ? undefined : referenceProblem(reference, secrets);
  if (problem !== undefined) throw createMemberError('passwordSecretReference', problem);
  if ((username === undefined) !== (reference === undefined))
    throw username === undefined
      ? createMemberError('username', 'is required with a password')
      : createMemberError('passwordSecretReference', 'is required with a username');
  return { mode: 'basic', username, passwordReference: reference };
}

const POLICIES: readonly UnsupportedPolicy[] = ['skip', 'warn', 'fail'];

const policyOf = (ordinal: number | undefined): UnsupportedPolicy => POLICIES[ordinal ?? 1]!;
