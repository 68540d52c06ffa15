import { randomUUID } from 'node:crypto';
import { ApiError, badMember, fieldFailure, notFound } from '../../core/errors/errors.js';
import { evaluateForm, type FormValues } from '../../core/forms/evaluate.js';
import type { FormDocument } from '../../core/forms/form-document.js';
import type { FormIssue } from '../../core/forms/form-issues.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { formatActor, type Principal, withoutSession } from '../../core/http/operation.js';
import { canonical, computeFingerprint } from '../../core/values/fingerprint.js';
import type { FieldSubmissionRow, FieldSubmissionStore } from '../../stores/forms/submissions.js';
import type { StateCipher } from '../access/keys/state-cipher.js';
import { editTarget } from '../edits/target.js';
import { type CollectionView, findView } from '../features/view.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import type { FormPackages, StoredVersion } from './form-packages.js';
import type { SubmissionEdits } from './submission-edits.js';

/** A submission as a client sends it. */
export interface NewSubmission {
  readonly instanceId: string;
  readonly formVersion: number;
  readonly operation: 'create' | 'update' | 'delete';
  readonly targetFeatureId?: string;
  readonly values: FormValues;
  /** GeoJSON geometry in CRS84. */
  readonly geometry?: unknown;
  /** Milliseconds since 1970. Default: now. */
  readonly submittedAt?: number;
  readonly deviceId?: string;
}

export interface SubmissionDeps {
  readonly store: FieldSubmissionStore;
  readonly forms: FormPackages;
  readonly edits: SubmissionEdits;
  readonly sealing: StateCipher;
}

/** Use of the key for the hashes of submitters. */
const SUBMITTER = 'field submitters';

/** Submissions on their way from a client to a reviewer. */
export class FieldSubmissions {
  constructor(private readonly deps: SubmissionDeps) {}

  /**
   * Stores a submission for review. The same submission again returns the stored one. `isCurrent` returns whether the
   * client has read the stored row of the target.
   *
   * Throws `conflict` if another submission has its instance id, and for versions that take no submissions. Throws
   * `invalid-body` with the issues of the values. Rights are checked as for an edit of the layer.
   */
  async submit(
    x: TaskContext,
    formId: string,
    sent: NewSubmission,
    {
      principal,
      isCurrent,
    }: { principal: Principal; isCurrent?: ((shown: string, view: CollectionView) => boolean) | undefined },
  ): Promise<{ row: FieldSubmissionRow; isNew: boolean }> {
    const { store, forms, edits } = this.deps;
    const version = await forms.readVersion(formId, sent.formVersion);
    const { form } = version.body;
    const layer = edits.findLayer(form.target.layerId);
    const view = findView(edits.catalogs, principal, layer.id);
    editTarget(
      edits.catalogs,
      { principal, protocol: 'OGC-Features', requestId: '', acceptsLoss: false },
      view,
    );

    const fingerprint = computeFingerprint(canonical({ ...sent, submittedAt: undefined }));
    const earlier = await store.findInstance(formId, sent.instanceId);
    const isCorrection =
      earlier?.review_status === 'changes_requested' && earlier.fingerprint !== fingerprint;
    if (earlier && !isCorrection) return { row: requireSame(earlier, fingerprint), isNew: false };

    requireOpen(version, sent);
    const { values, issues } = checkValues(form, sent);
    const columns = listColumnIssues(form, view);
    const target = await readTarget(x, edits, view, sent);
    const isChanged = target !== undefined && isCurrent !== undefined && !isCurrent(target.shown, view);
    const { privacyPolicy } = form;
    const now = Date.now();
    const content = {
      fingerprint,
      form_version: sent.formVersion,
      service_id: form.target.serviceId ?? 'default',
      layer_id: form.target.layerId,
      operation: sent.operation,
      target_id: sent.targetFeatureId ?? null,
      target_row: isChanged ? null : (target?.row ?? null),
      submitted_at: sent.submittedAt ?? now,
      device_id: privacyPolicy.captureDeviceId ? (sent.deviceId ?? null) : null,
      submitter_hash: privacyPolicy.captureActor ? this.#hashOf(principal) : null,
      submitter: this.deps.sealing.seal(JSON.stringify(withoutSession(principal))),
      sync_status: 'pending',
      has_conflict: isChanged ? 1 : 0,
      has_issues: columns.length > 0 ? 1 : 0,
      values_json: JSON.stringify(values),
      geometry_json:
        sent.geometry === undefined || sent.geometry === null ? null : JSON.stringify(sent.geometry),
      issues_json: JSON.stringify([...issues, ...columns]),
      review_status: 'pending',
      updated_at: now,
    } as const;
    if (earlier) {
      if (earlier.submitter_hash !== null && earlier.submitter_hash !== this.#hashOf(principal))
        throw new ApiError(
          'conflict',
          'instanceId: another caller made this submission. Use another instance id.',
        );
      const { updated_at: _, ...change } = content;
      const row = await store.change(earlier.id, earlier.version, change);
      if (!row)
        throw new ApiError(
          'conflict',
          'The submission was changed at the same time. Read it again, and retry.',
        );
      return { row, isNew: false };
    }
    const added = await store.add({
      id: randomUUID(),
      form_id: formId,
      instance_id: sent.instanceId,
      ...content,
      ...{ apply_cursor: null, feature_id: null, assigned_to: null, decided_at: null },
      ...{ decided_by: null, decision_note: null, version: 1 },
    });
    return added.isNew ? added : { row: requireSame(added.row, fingerprint), isNew: false };
  }

  #hashOf(principal: Principal): string {
    return this.deps.sealing.authenticate(formatActor(principal), SUBMITTER);
  }
}

function requireSame(row: FieldSubmissionRow, fingerprint: string): FieldSubmissionRow {
  if (row.fingerprint === fingerprint) return row;
  throw new ApiError(
    'conflict',
    `instanceId: '${row.instance_id}' is the id of another submission. Use a new id for each submission.`,
  );
}

/** Throws `conflict` if a version of a form takes no submissions. */
function requireOpen({ body, updatedAt }: StoredVersion, { operation }: NewSubmission): void {
  const { status, form, version } = body;
  const { allowedOperations, maxOfflineAgeSeconds } = form.submitPolicy;
  if (status === 'draft')
    throw new ApiError('conflict', `formVersion: the version ${version} is a draft. Publish it first.`);
  const ageSeconds = (Date.now() - updatedAt) / 1000;
  if (status === 'archived' && maxOfflineAgeSeconds !== null && ageSeconds > maxOfflineAgeSeconds)
    throw new ApiError(
      'conflict',
      `formVersion: the version ${version} was replaced, and took submissions for ${maxOfflineAgeSeconds} s after that.`,
    );
  if (!allowedOperations.includes(operation))
    throw badMember(
      'operation',
      `must be one of ${allowedOperations.join(', ')} for this form, not '${operation}'`,
    );
}

/** Throws `invalid-body` with the issues of the values. */
function checkValues(
  form: FormDocument,
  sent: NewSubmission,
): { values: FormValues; issues: readonly FormIssue[] } {
  const { operation, values, geometry, targetFeatureId } = sent;
  const hasGeometry = geometry !== undefined && geometry !== null;
  if (operation === 'create' && form.submitPolicy.requiresGeometry && !hasGeometry)
    throw badMember('geometry', 'is required by this form');
  if (operation !== 'create' && targetFeatureId === undefined)
    throw badMember('targetFeatureId', `is required for the operation ${operation}`);
  if (operation === 'create' && targetFeatureId !== undefined)
    throw badMember('targetFeatureId', 'is not allowed for the operation create');
  const evaluated = evaluateForm(form, { operation, values, hasGeometry });
  const errors = evaluated.issues.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return evaluated;
  throw fieldFailure(
    'invalid-body',
    errors.map(({ path, message }) => ({ name: path, detail: message })),
  );
}

/** Warnings about columns that the layer does not have any more. */
function listColumnIssues(form: FormDocument, { fields }: CollectionView): FormIssue[] {
  const names = new Set(fields.map(({ name }) => name));
  return form.fields.flatMap(({ fieldId, targetField }, i) =>
    targetField === null || names.has(targetField)
      ? []
      : [
          {
            code: 'column-missing',
            severity: 'warning' as const,
            message: `The layer has no column '${targetField}'. The value remains in the submission.`,
            path: `/fields/${i}/targetField`,
            fieldId,
          },
        ],
  );
}

/** The stored row that a submission changes. Throws `not-found`. */
async function readTarget(
  x: TaskContext,
  { pools }: Pick<SubmissionEdits, 'pools'>,
  view: CollectionView,
  { targetFeatureId: id }: NewSubmission,
): Promise<{ row: string; shown: string } | undefined> {
  if (id === undefined) return undefined;
  const stored = await runTask(x, pools, 'vector.item', {
    source: view.source,
    filter: view.rows,
    crs: CRS84.proj,
    swapAxes: false,
    precision: 7,
    format: 'geojson',
    ...(view.fields === view.collection.source.fields ? {} : { fields: view.fields.map(({ name }) => name) }),
    id,
    skipGeometry: true,
  });
  if (!stored) throw notFound('feature', id.slice(0, 100));
  return stored;
}
