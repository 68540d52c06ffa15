import Type, { type Static } from 'typebox';
import type { EditMode, EditOperation, EditOutcome } from '../../../core/edits/edits.js';
import { ApiError, badMember, ERROR_TABLE } from '../../../core/errors/errors.js';
import { formatFieldError, prefixField } from '../../../core/errors/field-errors.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { json } from '../../../core/http/reply.js';
import { compileSchema } from '../../../core/http/schema-check.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { editErrorCode } from '../../../services/edits/edit-error.js';
import type { EditDeps } from '../../../services/edits/target.js';
import { requestErrors } from '../../../services/telemetry/metrics.js';
import { auditResource } from '../../../stores/audit/audit-scope.js';
import { geometryLoss } from '../../surface/editor.js';
import { contentCrs, createBatchBodySpec, type FeatureBody, FeatureSchema, readFeature } from './body.js';
import { type ItemTarget, itemTarget } from './target.js';

const BatchEntry = Type.Object({
  type: Type.String({ description: 'CREATE, UPDATE (replaces the feature) or DELETE, in any case.' }),
  id: Type.Optional(Type.String({ description: 'Comes back as operationId.' })),
  featureId: Type.Optional(Type.String()),
  feature: Type.Optional(Type.Unknown()),
});
type BatchEntry = Static<typeof BatchEntry>;

const BatchRequest = Type.Object({
  operations: Type.Array(BatchEntry),
  failFast: Type.Optional(
    Type.Boolean({ description: 'Stop at the first failure; what was done before stays.' }),
  ),
  atomic: Type.Optional(Type.Boolean({ description: 'All operations or none.' })),
});

const BatchResult = Type.Object({
  operationId: Type.Optional(Type.String()),
  isSuccess: Type.Boolean(),
  statusCode: Type.Integer(),
  featureId: Type.Optional(Type.String()),
  errorMessage: Type.Optional(Type.String()),
});

const BatchResponse = Type.Object({
  results: Type.Array(BatchResult),
  hasErrors: Type.Boolean(),
  processedCount: Type.Integer(),
  successCount: Type.Integer(),
});

const RESPONSE = { 'application/json': BatchResponse };

/** Many edits in one request and one transaction of the store. */
export function batchOperation(
  deps: EditDeps,
  common: Pick<Operation, 'surface' | 'protocol' | 'permission' | 'tag' | 'allowed'>,
  path: string,
): Operation {
  return defineOperation({
    ...common,
    formats: [],
    id: 'features.batch',
    repeatable: true,
    method: 'POST',
    path,
    summary: 'Apply a batch of edits',
    description: `At most ${LIMITS.batchOperations} operations. Each operation succeeds or fails separately, unless failFast or atomic is true.`,
    params: {
      collectionId: pathString('collectionId', 'Identifier of a collection.'),
      contentCrs,
      geometryLoss,
    },
    body: createBatchBodySpec(BatchRequest),
    responses: {
      200: { description: 'Every operation succeeded', content: RESPONSE },
      207: { description: 'Some operations failed', content: RESPONSE },
      400: { description: 'The request is wrong' },
      401: { description: 'Credentials are missing' },
      403: { description: 'The collection may not be changed' },
      404: { description: 'No such collection' },
    },
    async run(x) {
      const target = itemTarget(x, deps, x.params.collectionId, x.params.contentCrs);
      const { operations: entries, failFast = false, atomic = false } = x.body;
      if (entries.length > LIMITS.batchOperations) {
        const detail = `must have at most ${LIMITS.batchOperations} operations; received ${entries.length}`;
        throw badMember('/operations', detail);
      }
      const mode: EditMode = atomic ? 'atomic' : failFast ? 'failFast' : 'each';
      const outcomes = await runBatch(x, deps, target, entries.map(readOperation), mode);
      const ids = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.id] : []));
      const details = {
        operations: entries.length,
        succeeded: ids.length,
        features: ids.slice(0, AUDITED_IDS),
      };
      auditResource(target.collection.id, details);
      return batchReply(outcomes, entries);
    },
  });
}

/** Failed Dependency (RFC 4918, 11.4): the operation was fit, another one of its atomic batch was not. */
const UNDONE = 424;

/** Features of a batch that its audit row names. */
const AUDITED_IDS = 100;

const featureErrors = compileSchema(FeatureSchema);

/** The operation of an entry, or the reason why it cannot be executed. */
function readOperation(entry: BatchEntry): EditOperation | EditOutcome {
  try {
    return readEntry(entry);
  } catch (error) {
    if (error instanceof ApiError) return refused(error.message);
    throw error;
  }
}

function readEntry({ type, featureId, feature }: BatchEntry): EditOperation | EditOutcome {
  const verb = type.toUpperCase();
  if (verb === 'DELETE')
    return featureId ? { type: 'delete', id: featureId } : refused('featureId: is required.');
  if (verb !== 'CREATE' && verb !== 'UPDATE') return refused('type: must be CREATE, UPDATE or DELETE.');
  if (feature === undefined) return refused('feature: is required.');
  const [wrong] = featureErrors(feature);
  if (wrong) return refused(formatFieldError(prefixField('/feature', wrong)));
  const body = feature as FeatureBody;
  const input = readFeature(body);
  const id = featureId ?? (body.id === undefined ? undefined : String(body.id));
  if (verb === 'CREATE') return { type: 'create', id, feature: input };
  return id === undefined ? refused('featureId: is required.') : { type: 'replace', id, feature: input };
}

function refused(message: string): EditOutcome {
  return { ok: false, reason: 'invalid', message };
}

const isOutcome = (entry: EditOperation | EditOutcome): entry is EditOutcome => 'ok' in entry;

/** Inserts the results of invalid entries at their index. */
async function runBatch(
  x: Exchange,
  deps: EditDeps,
  target: ItemTarget,
  entries: readonly (EditOperation | EditOutcome)[],
  mode: EditMode,
): Promise<EditOutcome[]> {
  const unread = entries.findIndex(isOutcome);
  if (unread >= 0 && mode === 'atomic') {
    const message = `No feature was changed: operation ${unread + 1} failed.`;
    return entries.map((entry) => (isOutcome(entry) ? entry : { ok: false, reason: 'undone', message }));
  }
  const tried = mode === 'failFast' && unread >= 0 ? entries.slice(0, unread) : entries;
  const operations = tried.filter((entry): entry is EditOperation => !isOutcome(entry));
  const done =
    operations.length > 0
      ? (await deps.edits.run(x, target.collection, { ...target.task, operations, mode })).outcomes
      : [];
  if (mode === 'failFast') {
    const stopped = done.length < operations.length || done.some((outcome) => !outcome.ok);
    return unread >= 0 && !stopped ? [...done, entries[unread] as EditOutcome] : done;
  }
  const rest = done.values();
  return entries.map((entry) => (isOutcome(entry) ? entry : rest.next().value!));
}

function batchReply(outcomes: readonly EditOutcome[], entries: readonly BatchEntry[]) {
  const results = outcomes.map((outcome, i) => buildResult(outcome, entries[i]!));
  const successCount = results.filter((result) => result.isSuccess).length;
  const hasErrors = successCount < results.length;
  for (const { isSuccess, statusCode } of results)
    if (!isSuccess) requestErrors.cell('OGC', 'features.batch', String(statusCode), 'true').inc();
  const document: Static<typeof BatchResponse> = {
    results,
    hasErrors,
    processedCount: results.length,
    successCount,
  };
  return json(document, 'application/json', hasErrors ? 207 : 200);
}

const SUCCESS: Record<string, number> = { CREATE: 201, UPDATE: 200, DELETE: 204 };

function buildResult(outcome: EditOutcome, { id, type, featureId }: BatchEntry): Static<typeof BatchResult> {
  const operationId = id === undefined ? {} : { operationId: id };
  if (!outcome.ok) {
    return {
      ...operationId,
      isSuccess: false,
      statusCode: outcome.reason === 'undone' ? UNDONE : ERROR_TABLE[editErrorCode(outcome.reason)][0],
      ...(featureId === undefined ? {} : { featureId }),
      errorMessage: outcome.message,
    };
  }
  const verb = type.toUpperCase();
  const named = verb === 'DELETE' ? {} : { featureId: outcome.id };
  return { ...operationId, isSuccess: true, statusCode: SUCCESS[verb]!, ...named };
}
