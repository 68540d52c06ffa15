import { ApiError } from '../../core/errors/errors.js';
import { formatDetail, formatFieldError } from '../../core/errors/field-errors.js';
import { problem, requireSound } from '../../core/http/body-problems.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import { permits } from '../../services/access/permissions.js';
import type { StoredDocument } from '../../stores/state/documents.js';
import type { Services } from '../admin/deps.js';
import {
  fingerprint,
  lastApplied,
  type ManifestStep,
  planChanges,
  type Resource,
} from '../manifest/apply.js';
import { type ApplyDeps, carryOut } from '../manifest/carry-out.js';
import type { Stores } from '../manifest/kind.js';
import { type InventoryDeps, readHoldings } from './inventory.js';
import { requirePackage, type StoredPackage } from './packages.js';

/** Carrying a release package out in this environment, and going back. */

const SNAPSHOT = 'release snapshot';

/** The previous state: the objects that the package changed, and those the manifest counted as applied. */
interface Snapshot {
  readonly objects: readonly { kind: string; name: string; before: object | null }[];
  readonly applied: Readonly<Record<string, string>> | null;
}

/** Members that requests for both kinds of operations share. */
export interface ReleaseRequest {
  readonly packageId: string;
  readonly targetEnvironment: string;
  readonly resourceSemanticId: string;
  readonly newFieldName: string;
  readonly newFieldType?: string | undefined;
  readonly scriptId?: string | undefined;
  readonly dataPopulateWorkloadId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Applies a package and keeps what was before, with what `record` writes, in one transaction. Throws as `planChanges` does. */
export async function applyPackage(
  { body }: StoredPackage,
  operationId: string,
  record: (stores: Stores) => Promise<unknown>,
  principal: Principal,
  deps: ApplyDeps,
): Promise<void> {
  requireApply(principal);
  const steps = await planChanges(body.resources, { prune: false, principal }, deps);
  const snapshot: Snapshot = { objects: changedBy(steps), applied: await lastApplied(deps) };
  await carryOut(steps, principal, deps, {
    async record(stores) {
      await stores.documents.create(SNAPSHOT, operationId, snapshot, formatActor(principal));
      await record(stores);
    },
  });
}

const changedBy = (steps: readonly ManifestStep[]): Snapshot['objects'] =>
  steps
    .filter(({ action }) => action !== 'skipped')
    .map(({ kind, name, before }) => ({ kind: kind.kind, name, before: before ?? null }));

/**
 * Restores the state before an operation, and does what `record` writes, in one transaction. Throws as `planChanges`
 * does.
 */
export async function restoreSnapshot(
  operationId: string,
  record: (stores: Stores) => Promise<unknown>,
  principal: Principal,
  deps: ApplyDeps,
): Promise<void> {
  requireApply(principal);
  const { objects, applied } = (await deps.state.documents.get<Snapshot>(SNAPSHOT, operationId))!.body;
  const request = objects.flatMap(({ kind, name, before }): Resource[] =>
    before ? [{ kind, metadata: { name }, spec: before }] : [],
  );
  const remove = objects.filter(({ before }) => !before).map(({ kind, name }) => `${kind}/${name}`);
  const steps = await planChanges(request, { prune: false, remove, principal }, deps);
  await carryOut(steps, principal, deps, { applied, record });
}

/** Throws `forbidden` if the caller may not apply manifests, because applying a package has the same effect. */
function requireApply(principal: Principal): void {
  if (!permits(principal, 'admin:manifest:write'))
    throw new ApiError(
      'forbidden',
      'Applying a release package requires the permission admin:manifest:write.',
    );
}

/** Problems of objects in an error of `planChanges`; undefined for other errors. */
export function refusals(
  error: unknown,
  objects: readonly Resource[],
): { id: string | undefined; detail: string }[] | undefined {
  if (!(error instanceof ApiError) || !['invalid-body', 'forbidden'].includes(error.code)) return undefined;
  const problems = error.errors ?? [{ name: '', detail: error.message }];
  return problems.map((one) => {
    const [at, n] = /^\/resources\/(\d+)/.exec(one.name) ?? [''];
    const object = objects[Number(n)];
    const name = one.name.slice(at.length);
    const detail = name === '' ? formatDetail(one) : formatFieldError({ ...one, name, path: name });
    return { id: object && `${object.kind}/${object.metadata.name}`, detail };
  });
}

/**
 * Converts an error of `planChanges` about the objects of a package, because the request does not contain those
 * objects.
 */
export function convertPlanError(
  error: unknown,
  objects: readonly Resource[],
  code: 'conflict' | 'invalid-request',
): unknown {
  if (error instanceof ApiError && error.code === 'forbidden') return error;
  const reasons = refusals(error, objects)?.map(({ id, detail }) => (id ? `${id}: ${detail}` : detail));
  return reasons ? new ApiError(code, `The package cannot be applied. ${reasons.join(' ')}`) : error;
}

/** The requested package. Throws `invalid-body` if it does not exist or has another target environment. */
export async function packageFor(
  { packageId, targetEnvironment }: ReleaseRequest,
  deps: Services<'state'>,
): Promise<StoredPackage> {
  const stored = await requirePackage(packageId, deps).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'not-found') return undefined;
    throw error;
  });
  requireSound([stored ? undefined : problem('packageId', 'must be the id of a release package')]);
  const targets = stored!.body.view.targetEnvironments;
  const leads = targets.length === 0 || targets.includes(targetEnvironment);
  requireSound([
    leads ? undefined : problem('targetEnvironment', 'must be a target environment of the package'),
  ]);
  return stored!;
}

/**
 * Throws `invalid-body` for a resource or field that is neither on this server nor in the package, and `conflict` for
 * a field of another type. Returns remarks on the field.
 */
export async function requireResourceField(
  { resourceSemanticId, newFieldName, newFieldType }: ReleaseRequest,
  { body }: StoredPackage,
  deps: InventoryDeps,
): Promise<string[]> {
  const { artifacts } = await readHoldings(deps);
  const { entries } = body.view;
  const isThere = (id: string) => [...artifacts, ...entries].some(({ semanticId }) => semanticId === id);
  const fieldId = `Field/${resourceSemanticId.slice(resourceSemanticId.indexOf('/') + 1)}/${newFieldName}`;
  const neither = 'is neither here nor in the package';
  requireSound([isThere(resourceSemanticId) ? undefined : problem('resourceSemanticId', neither)]);
  requireSound([isThere(fieldId) ? undefined : problem('newFieldName', neither)]);
  const here = artifacts.find(({ semanticId }) => semanticId === fieldId)?.field?.type;
  const declared = entries.find(({ semanticId }) => semanticId === fieldId)?.sourceField;
  const type = here ?? (declared as { fieldType?: string } | null | undefined)?.fieldType;
  if (newFieldType !== undefined && newFieldType.toLowerCase() !== type?.toLowerCase())
    throw new ApiError(
      'conflict',
      `${fieldId}: has the type ${type} on this server. Change the schema first.`,
    );
  return here === undefined
    ? [`${fieldId}: is only in the package. This server does not have its data.`]
    : [];
}

/** Parts of a request that this server does not execute. */
export function notRun({ scriptId, dataPopulateWorkloadId }: ReleaseRequest): string[] {
  return [
    ...(scriptId === undefined ? [] : [`This server runs no scripts: run ${scriptId}.`]),
    ...(dataPopulateWorkloadId === undefined
      ? []
      : [`This server runs no workloads: run ${dataPopulateWorkloadId}.`]),
  ];
}

export const waitsThere = ({ packageId, targetEnvironment }: ReleaseRequest) =>
  `${targetEnvironment} is another server: apply the manifest of the package ${packageId} there.`;

/** Id of an operation: the same for the same key. */
export function createOperationId({ idempotencyKey }: ReleaseRequest, random: string): string {
  return idempotencyKey === undefined ? random : `key-${fingerprint(idempotencyKey).slice(0, 32)}`;
}

/** The operation created with this key. Throws `conflict` if it was for a different request. */
export async function findKeyedOperation<T extends { readonly request: ReleaseRequest }>(
  kind: string,
  id: string,
  request: ReleaseRequest,
  { state }: Services<'state'>,
): Promise<StoredDocument<T> | undefined> {
  const before = await state.documents.get<T>(kind, id);
  if (before && fingerprint(before.body.request) !== fingerprint(request))
    throw new ApiError('conflict', 'idempotencyKey: was used for another operation. Use another key.');
  return before;
}

/** The newest operation of a package. */
export async function latest<T extends { readonly request: ReleaseRequest }>(
  kind: string,
  packageId: string,
  { state }: Services<'state'>,
): Promise<StoredDocument<T> | undefined> {
  return (await state.documents.list<T>(kind)).findLast(({ body }) => body.request.packageId === packageId);
}
