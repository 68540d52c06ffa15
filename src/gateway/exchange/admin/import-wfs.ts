import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import type { RemoteLayer, WfsPlan } from '../../../core/exchange/ingest.js';
import { type Exchange, type Reply, withoutSession } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { tableName } from '../../../services/catalog/table-name.js';
import { buildRemoteRequest } from '../../../services/connections/remote-credentials.js';
import { remoteFailure } from '../../../services/connections/remote-failure.js';
import type { RemoteInput } from '../../../services/exchange/import-input.js';
import { WFS, type WfsReport, type WfsSource } from '../../../services/exchange/remote/wfs.js';
import { parseSourceUrl } from '../../../services/uploads/remote-file.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../admin/kit.js';
import { requireReplaceable } from '../../admin/layer-rights.js';
import { requireSrid } from '../../admin/upload-form.js';
import {
  createMemberError,
  createSubmitOptions,
  EMBEDDED_SCHEMA,
  finishedOrCancelled,
  requireSchema,
} from '../../connections/admin/remote-imports.js';
import { timeSpan } from '../../jobs/admin/job-views.js';

const SERVICES = ['access', 'catalog', 'imports', 'jobs', 'pools', 'sealing'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const Nullable = Type.Union([I, Type.Null()]);

const Body = Type.Object({
  serviceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  version: Type.Optional(Type.Enum(['2.0.0', '2.0.2'])),
  featureTypeNames: Type.Optional(
    Type.Array(Type.String({ maxLength: 256 }), {
      maxItems: 200,
      description: 'Feature types to import. Default: all.',
    }),
  ),
  targetSchema: Type.Optional(Type.String({ description: 'Only main: the embedded store has one schema.' })),
  targetSrid: Type.Optional(Type.Integer({ default: 4326 })),
  username: Type.Optional(Type.String({ maxLength: 256 })),
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 50_000, default: 1000 })),
  requestTimeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600, default: 120 })),
  dryRun: Type.Optional(Type.Boolean({ default: false })),
  applyMode: Type.Optional(
    Type.Boolean({ default: false, description: 'Must be true where dryRun is not.' }),
  ),
  overwriteExisting: Type.Optional(Type.Boolean({ default: false })),
});
type WfsBody = Static<typeof Body>;

const FeatureType = Type.Object({
  sourceName: S,
  classification: Type.Enum(['planned', 'imported', 'skipped', 'failed']),
  geometryType: OptionalStringSchema,
  srid: Nullable,
  targetSchema: OptionalStringSchema,
  targetTable: OptionalStringSchema,
  featuresCopied: I,
  featuresFailed: I,
  warnings: Type.Array(S),
});
type FeatureTypeView = Static<typeof FeatureType>;

const Result = Type.Object({
  success: Type.Boolean(),
  wasDryRun: Type.Boolean(),
  sourceServiceUrl: S,
  sourceVersion: OptionalStringSchema,
  featureTypesPlanned: I,
  featureTypesImported: I,
  featureTypesSkipped: I,
  featuresCopied: I,
  featuresFailed: I,
  featureTypes: Type.Array(FeatureType),
  manifest: Type.Object({}),
  parityEvidence: Type.Object({}),
  duration: S,
  errorMessage: OptionalStringSchema,
  warnings: Type.Array(S),
});

export const importWfs = action('POST /import/ogc-wfs/start', 'Start OGC WFS Import', {
  description:
    'Imports each feature type as a collection, completely or not at all. With dryRun, returns the plan without reading features.',
  body: jsonBody(Body),
  responses: {
    200: { description: 'The plan or the imported collections.', content: { 'application/json': Result } },
    ...errorDocs([400, 409, 502, 503]),
  },
  reply: start,
});

type WfsExchange = Exchange<Record<never, never>, WfsBody>;

/** A feature type and the table that it becomes. */
interface Target {
  layer: RemoteLayer;
  table: string;
}

async function start(x: WfsExchange, deps: Deps): Promise<Reply> {
  const began = Date.now();
  const { body } = x;
  requireSchema('targetSchema', body.targetSchema);
  const targetCrs = requireSrid('targetSrid', body.targetSrid ?? 4326);
  if (!body.dryRun && !body.applyMode)
    throw createMemberError('applyMode', 'must be true, unless dryRun is true');
  const plan = await loadPlan(x, deps);
  const targets = listTargets(body, plan);
  const views: FeatureTypeView[] = [];
  const reports: { sourceName: string; sourceCount: number | null; targetCount: number }[] = [];
  for (const target of targets) {
    if (body.dryRun) {
      views.push(buildView(target, 'planned', 0, []));
      continue;
    }
    const { view, report } = await importType(x, deps, { plan, target, targetCrs });
    views.push(view);
    reports.push({
      sourceName: view.sourceName,
      sourceCount: report?.matched ?? null,
      targetCount: view.featuresCopied,
    });
  }
  return json(buildResult(body, plan, { views, reports, began }) satisfies Static<typeof Result>);
}

function loadPlan({ body, signal, caller }: WfsExchange, { pools }: Deps): Promise<WfsPlan> {
  const task = { ...requestFor(body), version: body.version };
  return pools.run('ingest.wfsPlan', task, { signal, caller }).catch((error: unknown) => {
    throw remoteFailure('serviceUrl', error);
  });
}

function requestFor({ serviceUrl, username, password, requestTimeoutSeconds = 120 }: WfsBody) {
  const url = parseSourceUrl('serviceUrl', serviceUrl);
  return buildRemoteRequest(url, { mode: 'basic', username, password }, requestTimeoutSeconds * 1000);
}

function listTargets({ featureTypeNames }: WfsBody, { types }: WfsPlan): Target[] {
  const missing = featureTypeNames?.find((name) => !types.some((one) => one.name === name));
  if (missing !== undefined)
    throw createMemberError('featureTypeNames', `'${missing}' does not exist on the server`);
  const chosen = featureTypeNames ? types.filter(({ name }) => featureTypeNames.includes(name)) : types;
  const targets = chosen.map((layer) => ({ layer, table: tableName(layer.name.replace(/^.*:/, '')) }));
  const tables = targets.map(({ table }) => table);
  // Types of two namespaces may have one name.
  return targets.map((target) =>
    tables.indexOf(target.table) === tables.lastIndexOf(target.table)
      ? target
      : { ...target, table: tableName(target.layer.name) },
  );
}

interface TypeImport {
  plan: WfsPlan;
  target: Target;
  targetCrs: string;
}

async function importType(
  x: WfsExchange,
  deps: Deps,
  { plan, target, targetCrs }: TypeImport,
): Promise<{ view: FeatureTypeView; report?: WfsReport }> {
  const { table } = target;
  const input: RemoteInput<WfsSource> = { table, targetCrs, remote: readSource(x.body, plan, target, deps) };
  if (x.body.overwriteExisting) {
    requireReplaceable([table], x.principal, deps);
    input.replace = true;
    input.principal = withoutSession(x.principal);
  }
  let job: JobRow;
  try {
    const { id } = await deps.imports.submitRemote(WFS, input, createSubmitOptions(x));
    job = await finishedOrCancelled(x, deps, id);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'conflict') throw error;
    return { view: buildView(target, 'skipped', 0, [error.message]) };
  }
  const warnings = JSON.parse(job.warnings_json) as string[];
  if (job.state !== 'Succeeded')
    return { view: buildView(target, 'failed', 0, [...warnings, job.failure_message ?? job.state]) };
  const { features, report } = JSON.parse(job.result_json!) as { features: number; report: WfsReport };
  return { view: buildView(target, 'imported', features, warnings), report };
}

function readSource(body: WfsBody, plan: WfsPlan, { layer }: Target, { sealing }: Deps): WfsSource {
  return {
    serviceUrl: body.serviceUrl,
    version: plan.version,
    typeName: layer.name,
    title: (layer.title ?? layer.name).slice(0, 200),
    geoJson: plan.geoJson,
    srid: layer.srid,
    pageSize: body.pageSize ?? 1000,
    requestMs: (body.requestTimeoutSeconds ?? 120) * 1000,
    sealedHeaders: sealing.seal(JSON.stringify(requestFor(body).headers)),
  };
}

function buildView(
  { layer, table }: Target,
  classification: FeatureTypeView['classification'],
  featuresCopied: number,
  warnings: string[],
): FeatureTypeView {
  return {
    sourceName: layer.name,
    classification,
    geometryType: layer.geometryType ?? null,
    srid: layer.srid ?? null,
    targetSchema: EMBEDDED_SCHEMA,
    targetTable: table,
    featuresCopied,
    featuresFailed: 0,
    warnings,
  };
}

interface Outcome {
  views: FeatureTypeView[];
  reports: { sourceName: string; sourceCount: number | null; targetCount: number }[];
  began: number;
}

function buildResult(body: WfsBody, plan: WfsPlan, { views, reports, began }: Outcome) {
  const count = (classification: string) =>
    views.filter((view) => view.classification === classification).length;
  const failures = views.filter(({ classification }) => classification === 'failed');
  const reasons = failures.map(({ sourceName, warnings }) => `${sourceName}: ${warnings.at(-1)}`);
  const copied = views.reduce((sum, { featuresCopied }) => sum + featuresCopied, 0);
  return {
    success: failures.length === 0,
    wasDryRun: body.dryRun ?? false,
    sourceServiceUrl: body.serviceUrl,
    sourceVersion: plan.version,
    featureTypesPlanned: views.length,
    featureTypesImported: count('imported'),
    featureTypesSkipped: count('skipped'),
    featuresCopied: copied,
    featuresFailed: 0,
    featureTypes: views,
    manifest: {
      serviceUrl: body.serviceUrl,
      version: plan.version,
      encoding: plan.geoJson ?? 'GML',
      featureTypes: views.map(({ sourceName, targetTable, srid }) => ({ sourceName, targetTable, srid })),
    },
    parityEvidence: {
      featureTypes: reports.map((one) => ({ ...one, matches: one.sourceCount === one.targetCount })),
    },
    duration: timeSpan(Date.now() - began),
    errorMessage: reasons.length === 0 ? null : reasons.join('; ').slice(0, 2000),
    warnings: views.flatMap(({ sourceName, classification, warnings }) =>
      classification === 'failed' ? [] : warnings.map((text) => `${sourceName}: ${text}`),
    ),
  };
}
