import Type, { type Static } from 'typebox';
import { Cql2Error, parseText } from '../../../core/cql2/index.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { datetimeParam } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { tableName } from '../../../services/catalog/table-name.js';
import type { ImportResult, RemoteInput } from '../../../services/exchange/import-input.js';
import {
  type ItemsReport,
  OGC_FEATURES,
  type OgcFeaturesSource,
} from '../../../services/exchange/remote/ogc-features.js';
import { parseSourceUrl } from '../../../services/uploads/remote-file.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../admin/kit.js';
import {
  createSubmitOptions,
  EMBEDDED_SCHEMA,
  finishedOrCancelled,
  requireSchema,
  requireTable,
} from '../../connections/admin/remote-imports.js';
import { duration, timeSpan } from '../../jobs/admin/job-views.js';

const SERVICES = ['imports', 'jobs'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const OptionalInteger = Type.Union([I, Type.Null()]);
const OptionalObject = Type.Union([Type.Object({}), Type.Null()]);

const Body = Type.Object({
  serviceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  collectionId: Type.String({ minLength: 1, maxLength: 256 }),
  targetSchema: Type.String({ description: 'Only main: the embedded store has one schema.' }),
  targetTable: Type.Optional(Type.String({ description: 'Table, and id of the collection.' })),
  filter: Type.Optional(Type.String({ maxLength: LIMITS.filterCharacters, description: 'CQL2 text.' })),
  bbox: Type.Optional(Type.Array(Type.Number(), { minItems: 4, maxItems: 6 })),
  datetime: Type.Optional(Type.String({ maxLength: 100 })),
  maxFeatures: Type.Optional(Type.Integer({ minimum: 0, default: 0, description: '0: all.' })),
  maxPages: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1000 })),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 500 })),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, default: 300 })),
});
type ImportBody = Static<typeof Body>;

const Result = Type.Object({
  success: Type.Boolean(),
  collectionId: S,
  target: S,
  featuresImported: I,
  featuresSkipped: I,
  pagesFetched: I,
  sourceFeatureCountReported: OptionalInteger,
  truncated: Type.Boolean(),
  scopeDriftDetected: Type.Boolean(),
  duration: S,
  errorCode: OptionalStringSchema,
  errorMessage: OptionalStringSchema,
  manualReviewReason: OptionalStringSchema,
  warnings: Type.Array(S),
  mappingDiagnostics: Type.Array(Type.Object({})),
  featureCountParity: OptionalObject,
});

const PREFIX = 'ogc_api_features.';

const STATUSES: Readonly<Record<string, number>> = {
  invalid_service_url: 400,
  invalid_filter: 400,
  invalid_bbox: 400,
  invalid_datetime: 400,
  missing_items_endpoint: 422,
  unsupported_items_encoding: 422,
  invalid_items_document: 422,
  sink_failure: 500,
  source_unreachable: 502,
  timeout: 504,
};

export const importOgcFeatures = action(
  'POST /import/ogc-api-features/collection',
  'Import OGC API Features Collection',
  {
    description:
      'Reads the pages of a collection by their links, and publishes it once it is whole. Failures have the body of a success.',
    body: jsonBody(Body),
    responses: {
      ...Object.fromEntries(
        [200, 400, 422, 500, 502, 504].map((status) => [
          status,
          {
            description: status === 200 ? 'Imported.' : 'The import failed; no collection was published.',
            content: { 'application/json': Result },
          },
        ]),
      ),
      ...errorDocs([409, 503]),
    },
    reply: importCollection,
  },
);

type ImportExchange = Exchange<Record<never, never>, ImportBody>;

async function importCollection(x: ImportExchange, deps: Deps): Promise<Reply> {
  requireSchema('targetSchema', x.body.targetSchema);
  const table = requireTable('targetTable', x.body.targetTable ?? tableName(x.body.collectionId));
  const problem = findProblem(x.body);
  if (problem) return failed(x.body, table, problem);
  const input: RemoteInput<OgcFeaturesSource> = { table, remote: readSource(x.body) };
  const { id } = await deps.imports.submitRemote(OGC_FEATURES, input, createSubmitOptions(x));
  return buildReply(x.body, table, await finishedOrCancelled(x, deps, id));
}

function readSource(body: ImportBody): OgcFeaturesSource {
  const { serviceUrl, collectionId, filter, bbox, datetime } = body;
  const { maxFeatures = 0, maxPages = 1000, pageSize = 500, timeoutSeconds = 300 } = body;
  return {
    serviceUrl,
    collectionId,
    filter,
    bbox,
    datetime,
    maxFeatures,
    maxPages,
    pageSize,
    timeoutSeconds,
  };
}

interface Problem {
  code: string;
  message: string;
}

/** Problems that can be found without contacting the other server. */
function findProblem({ serviceUrl, filter, bbox, datetime }: ImportBody): Problem | undefined {
  return (
    thrown('invalid_service_url', () => parseSourceUrl('serviceUrl', serviceUrl)) ??
    thrown('invalid_filter', () => filter !== undefined && parseText(filter)) ??
    thrown('invalid_datetime', () => datetime !== undefined && datetimeParam.parse(datetime)) ??
    boxProblem(bbox)
  );
}

function thrown(code: string, check: () => unknown): Problem | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError || error instanceof Cql2Error) return { code, message: error.message };
    throw error;
  }
}

function boxProblem(bbox: readonly number[] | undefined): Problem | undefined {
  if (!bbox) return undefined;
  const message =
    bbox.length === 5
      ? 'must be 4 or 6 numbers'
      : bbox[1]! > bbox[bbox.length / 2 + 1]!
        ? 'must have its south below its north'
        : undefined;
  return message === undefined ? undefined : { code: 'invalid_bbox', message };
}

function failed(body: ImportBody, table: string, { code, message }: Problem, job?: JobRow): Reply {
  const report = findReport(job);
  const manualReviewReason = report?.drifted
    ? 'A next link of the source has another path than the items of the collection.'
    : null;
  const result: Static<typeof Result> = {
    ...common(body, table, job),
    success: false,
    featuresImported: 0,
    errorCode: PREFIX + code,
    errorMessage: message,
    manualReviewReason,
  };
  const status = STATUSES[code] ?? 500;
  return { status, mediaType: 'application/json', body: JSON.stringify(result) };
}

function buildReply(body: ImportBody, table: string, job: JobRow): Reply {
  if (job.state !== 'Succeeded') return failed(body, table, createFailure(job), job);
  const { features } = JSON.parse(job.result_json!) as ImportResult;
  const result: Static<typeof Result> = {
    ...common(body, table, job),
    success: true,
    featuresImported: features,
    errorCode: null,
    errorMessage: null,
    manualReviewReason: null,
  };
  return { status: 200, mediaType: 'application/json', body: JSON.stringify(result) };
}

/** Failures without a code come from the store. */
function createFailure({ state, failure_code: code, failure_message: message }: JobRow): Problem {
  if (code === 'forbidden') throw new ApiError('forbidden', message ?? 'The collection cannot be replaced.');
  if (code === 'conflict') throw new ApiError('conflict', message ?? 'The name is in use.');
  if (state === 'Cancelled') throw new ApiError('conflict', 'The import was cancelled. Start it again.');
  const text = message ?? 'The import failed.';
  if (code?.startsWith(PREFIX)) return { code: code.slice(PREFIX.length), message: text };
  const isOfSource = ['source-unreadable', 'invalid-input', 'unprocessable', 'no-data'].includes(code ?? '');
  return { code: isOfSource ? 'invalid_items_document' : 'sink_failure', message: text };
}

/** The latest report of the job about its reading. */
function findReport(job: JobRow | undefined): ItemsReport | undefined {
  if (!job) return undefined;
  const checkpoint = job.checkpoint_json === null ? {} : (JSON.parse(job.checkpoint_json) as object);
  return 'report' in checkpoint
    ? (checkpoint.report as ItemsReport)
    : 'pages' in checkpoint
      ? (checkpoint as ItemsReport)
      : undefined;
}

function common({ collectionId }: ImportBody, table: string, job: JobRow | undefined) {
  const report = findReport(job);
  const { matched = null, features = 0, truncated = false } = report ?? {};
  return {
    collectionId,
    target: `${EMBEDDED_SCHEMA}.${table}`,
    featuresSkipped: 0,
    pagesFetched: report?.pages ?? 0,
    sourceFeatureCountReported: matched,
    truncated,
    scopeDriftDetected: report?.drifted ?? false,
    duration: job ? duration(job) : timeSpan(0),
    warnings: job ? (JSON.parse(job.warnings_json) as string[]) : [],
    mappingDiagnostics: [],
    featureCountParity:
      matched === null
        ? null
        : {
            sourceCount: matched,
            targetCount: features,
            delta: features - matched,
            matches: features === matched,
          },
  };
}
