import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { CoveragePlan, CoverageProtocol, RemoteCoverage } from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { buildRemoteRequest } from '../../../services/connections/remote-credentials.js';
import { timelyFailure } from '../../../services/connections/remote-failure.js';
import { type CoverageTarget, getCoverageName } from '../../../services/exchange/remote/coverages.js';
import { parseSourceUrl } from '../../../services/uploads/remote-file.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../admin/kit.js';
import { createMemberError, createSubmitOptions } from '../../connections/admin/remote-imports.js';

const SERVICES = ['coverageImports', 'pools'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const OptionalInteger = Type.Union([I, Type.Null()]);

const Members = {
  serviceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  inventory: Type.Object(
    {
      resources: Type.Optional(
        Type.Array(Type.Object({ kind: Type.Optional(S), name: Type.Optional(S) }), { maxItems: 100_000 }),
      ),
    },
    { description: 'Result of a scan. Its resources of kind coverage are imported. Default: all coverages.' },
  ),
  version: Type.Optional(Type.String({ maxLength: 20 })),
  coverageSelection: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: EXCHANGE_LIMITS.remoteCoverages,
    }),
  ),
  targets: Type.Optional(
    Type.Object(
      {
        layerId: Type.Optional(Type.Integer({ minimum: 1 })),
        name: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
        description: Type.Optional(Type.String({ maxLength: 4000 })),
      },
      { description: 'The new collection. With name, select exactly one coverage.' },
    ),
  ),
  targetServiceName: Type.Optional(
    Type.String({ description: 'Only default is supported. Imported layers belong to that service.' }),
  ),
  username: Type.Optional(Type.String({ maxLength: 256 })),
  password: Type.Optional(Type.String({ maxLength: 1024 })),
  dryRun: Type.Optional(Type.Boolean({ default: true })),
  applyMode: Type.Optional(
    Type.Boolean({ default: false, description: 'Must be true where dryRun is not.' }),
  ),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600, default: 120 })),
};
const WcsBody = Type.Object({
  ...Members,
  outputFormat: Type.Optional(Type.String({ default: 'image/tiff', maxLength: 100 })),
});
const CoveragesBody = Type.Object({ ...Members, serviceType: Type.Enum(['WCS', 'OGC API Coverages']) });
type Body = Static<typeof WcsBody>;

const Classification = Type.Enum(['planned', 'imported', 'skipped', 'failed']);
const RecordSchema = Type.Object({
  sourceCoverageId: S,
  targetCoverageName: S,
  targetLayerId: OptionalInteger,
  rasterId: OptionalInteger,
  action: Type.Enum(['import', 'skip']),
  classification: Classification,
  outputFormat: S,
  byteCount: I,
  declaredBands: Type.Array(S),
  declaredCrs: OptionalStringSchema,
  warnings: Type.Array(S),
});
type CoverageRecord = Static<typeof RecordSchema>;

const Result = {
  dryRun: Type.Boolean(),
  applyMode: Type.Boolean(),
  manifest: Type.Object({}),
  records: Type.Array(RecordSchema),
  styleDiagnostics: Type.Array(Type.Object({})),
};
const WcsResult = Type.Object({ ...Result, requestedOutputFormat: S, resolvedVersion: OptionalStringSchema });

const GEOTIFF = 'image/tiff';
const ABOUT =
  'Each coverage is downloaded whole as GeoTIFF and becomes a raster of a layer. With dryRun the plan is answered.';

export const importWcs = action('POST /import/ogc-wcs/import', 'Import Legacy WCS Coverages', {
  description: `${ABOUT} WCS 2.0 and 1.0 are read.`,
  body: jsonBody(WcsBody),
  responses: {
    200: { description: 'The plan or the imported coverages.', content: { 'application/json': WcsResult } },
    ...errorDocs([400, 502, 503, 504]),
  },
  reply: async (x: Exchange<Record<never, never>, Static<typeof WcsBody>>, deps): Promise<Reply> => {
    const format = x.body.outputFormat ?? GEOTIFF;
    if (!/^(image\/(geo)?tiff|geotiff|gtiff)/i.test(format))
      throw createMemberError('outputFormat', 'must be image/tiff (GeoTIFF)');
    const { version, ...result } = await importAll(x, deps, 'wcs');
    return json({ ...result, requestedOutputFormat: format, resolvedVersion: version || null });
  },
});

export const importCoverages = action('POST /import/ogc/coverages/import', 'Import OGC Coverages', {
  description: ABOUT,
  body: jsonBody(CoveragesBody),
  responses: {
    200: {
      description: 'The plan or the imported coverages.',
      content: { 'application/json': Type.Object(Result) },
    },
    ...errorDocs([400, 502, 503, 504]),
  },
  reply: async (x: Exchange<Record<never, never>, Static<typeof CoveragesBody>>, deps): Promise<Reply> => {
    const protocol = x.body.serviceType === 'WCS' ? 'wcs' : 'ogc-api-coverages';
    const { version: _, ...result } = await importAll(x, deps, protocol);
    return json(result);
  },
});

type CoverageExchange = Exchange<Record<never, never>, Body>;

async function importAll(x: CoverageExchange, deps: Deps, protocol: CoverageProtocol) {
  const { body } = x;
  const dryRun = body.dryRun ?? true;
  const applyMode = body.applyMode ?? false;
  if (!dryRun && !applyMode) throw createMemberError('applyMode', 'must be true, unless dryRun is true');
  if (body.targetServiceName !== undefined && body.targetServiceName !== 'default')
    throw createMemberError('targetServiceName', 'must be default, the service of new layers');
  const plan = await loadPlan(x, deps, protocol);
  if (body.targets?.name !== undefined && plan.coverages.length !== 1)
    throw createMemberError(
      'targets.name',
      `is the name of one coverage, but ${plan.coverages.length} are selected`,
    );
  const records: CoverageRecord[] = [];
  for (const coverage of plan.coverages) records.push(await loadRecord(x, deps, coverage, dryRun));
  return {
    version: plan.version,
    dryRun,
    applyMode,
    manifest: {
      serviceUrl: body.serviceUrl,
      serviceType: protocol === 'wcs' ? 'WCS' : 'OGC API Coverages',
      coverages: records.map(({ sourceCoverageId, targetCoverageName }) => ({
        sourceCoverageId,
        targetCoverageName,
      })),
    },
    records,
    styleDiagnostics: [],
  };
}

async function loadPlan(
  x: CoverageExchange,
  { pools }: Deps,
  protocol: CoverageProtocol,
): Promise<CoveragePlan> {
  const { version, coverageSelection, inventory } = x.body;
  const task = { ...requestFor(x.body), protocol, version, ids: coverageSelection ?? inventoried(inventory) };
  try {
    return await pools.run('ingest.coveragePlan', task, { signal: x.signal, caller: x.caller });
  } catch (error) {
    if (error instanceof TaskFailure && error.code === 'source-missing')
      throw createMemberError('coverageSelection', `cannot be applied: ${error.message}`);
    throw timelyFailure('serviceUrl', error);
  }
}

function requestFor({ serviceUrl, username, password, timeoutSeconds = 120 }: Body) {
  const url = parseSourceUrl('serviceUrl', serviceUrl);
  return buildRemoteRequest(url, { mode: 'basic', username, password }, timeoutSeconds * 1000);
}

/** Names of the coverages that an inventory lists. */
function inventoried({ resources = [] }: Body['inventory']): string[] | undefined {
  const coverages = resources.flatMap(({ kind = '', name }) =>
    /coverage/i.test(kind) && name !== undefined ? [name] : [],
  );
  return coverages.length === 0 ? undefined : coverages;
}

async function loadRecord(
  x: CoverageExchange,
  deps: Deps,
  coverage: RemoteCoverage,
  dryRun: boolean,
): Promise<CoverageRecord> {
  const { targets = {} } = x.body;
  const target: CoverageTarget = {
    layerId: targets.layerId,
    name: targets.name ?? getCoverageName(coverage),
    description: targets.description ?? coverage.description ?? null,
  };
  const record: CoverageRecord = {
    sourceCoverageId: coverage.id,
    targetCoverageName: target.name,
    targetLayerId: target.layerId ?? null,
    rasterId: null,
    action: 'import',
    classification: 'planned',
    outputFormat: GEOTIFF,
    byteCount: 0,
    declaredBands: [...coverage.bands],
    declaredCrs: coverage.crs ?? null,
    warnings: [],
  };
  if (deps.coverageImports.isTaken(target)) {
    const warnings = ['There is a collection of that name: name a layerId to join it, or another name.'];
    return { ...record, action: 'skip', classification: 'skipped', warnings };
  }
  return dryRun ? record : { ...record, ...(await loadOutcome(x, deps, coverage, target)) };
}

async function loadOutcome(
  x: CoverageExchange,
  { coverageImports }: Deps,
  { url }: RemoteCoverage,
  target: CoverageTarget,
): Promise<Partial<CoverageRecord>> {
  const failed = (message: string) => ({ classification: 'failed' as const, warnings: [message] });
  try {
    const request = { ...requestFor(x.body), url };
    const options = { ...createSubmitOptions(x), signal: x.signal };
    const { job, imported } = await coverageImports.run(request, target, options);
    if (!imported) return failed(job.failure_message ?? `The import ended: ${job.state}.`);
    const { layerId, rasterId, bytes, warnings } = imported;
    return { classification: 'imported', targetLayerId: layerId, rasterId, byteCount: bytes, warnings };
  } catch (error) {
    // An unavailable coverage must not affect the others.
    if (error instanceof TaskFailure && error.code !== 'cancelled') return failed(error.message);
    if (error instanceof ApiError && error.status < 500) return failed(error.message);
    throw error;
  }
}
