import Type, { type Static } from 'typebox';
import type { FormValues } from '../../../core/forms/evaluate.js';
import type { ExportRecord } from '../../../services/forms/exports.js';
import { reviewTag } from '../../../services/forms/reviews.js';
import type { FieldCommentRow, FieldSubmissionRow } from '../../../stores/forms/submissions.js';
import type { StoredDocument } from '../../../stores/state/documents.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';

export const REVIEW_STATUSES = ['pending', 'in_review', 'changes_requested', 'approved', 'rejected'] as const;
export const SYNC_STATUSES = ['synced', 'rejected', 'failed', 'pending'] as const;

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const Any = Type.Unknown();

export const ReviewSchema = Type.Object({
  status: Type.Enum([...REVIEW_STATUSES]),
  assignedTo: OptionalStringSchema,
  decidedAt: OptionalTimestampSchema,
  decidedBy: OptionalStringSchema,
  decisionNote: OptionalStringSchema,
  etag: S,
  updatedAt: TimestampSchema,
});

export const SubmissionSchema = Type.Object({
  submissionId: S,
  formId: S,
  formVersion: I,
  serviceId: S,
  layerId: I,
  operation: Type.Enum(['create', 'update', 'delete']),
  targetFeatureId: Any,
  submittedAt: TimestampSchema,
  submitterHash: OptionalStringSchema,
  deviceId: OptionalStringSchema,
  syncStatus: Type.Enum([...SYNC_STATUSES]),
  hasConflict: B,
  hasValidationIssues: B,
  attachmentCount: I,
  geometry: Any,
  validation: Any,
  review: ReviewSchema,
});

export const CommentSchema = Type.Object({
  commentId: S,
  submissionId: S,
  author: S,
  body: S,
  correctionRequest: B,
  createdAt: TimestampSchema,
});

export const SubmissionDetailSchema = Type.Object({
  record: SubmissionSchema,
  values: Type.Record(S, Any, { description: 'Values by field id, without private fields.' }),
  comments: Type.Array(CommentSchema),
  attachments: Type.Array(Any),
});

export const pageSchema = (item: Parameters<typeof Type.Array>[0]) =>
  Type.Object({ items: Type.Array(item), limit: I, offset: I, total: I });

export const ExportRecordSchema = Type.Object({
  exportId: S,
  format: Type.Enum(['geojson', 'csv']),
  recordCount: I,
  requestedBy: S,
  createdAt: TimestampSchema,
  filter: S,
});

export const viewReview = (row: FieldSubmissionRow): Static<typeof ReviewSchema> => ({
  status: row.review_status as (typeof REVIEW_STATUSES)[number],
  assignedTo: row.assigned_to,
  decidedAt: optionalTimestamp(row.decided_at),
  decidedBy: row.decided_by,
  decisionNote: row.decision_note,
  etag: reviewTag(row),
  updatedAt: timestamp(row.updated_at),
});

export function viewSubmission(row: FieldSubmissionRow): Static<typeof SubmissionSchema> {
  const issues = JSON.parse(row.issues_json) as unknown[];
  const target = row.feature_id ?? row.target_id;
  return {
    submissionId: row.id,
    formId: row.form_id,
    formVersion: row.form_version,
    serviceId: row.service_id,
    layerId: row.layer_id,
    operation: row.operation as 'create',
    targetFeatureId: target !== null && /^\d{1,15}$/.test(target) ? Number(target) : target,
    submittedAt: timestamp(row.submitted_at),
    submitterHash: row.submitter_hash,
    deviceId: row.device_id,
    syncStatus: row.sync_status as 'pending',
    hasConflict: row.has_conflict === 1,
    hasValidationIssues: row.has_issues === 1,
    attachmentCount: 0,
    geometry: row.geometry_json === null ? null : (JSON.parse(row.geometry_json) as unknown),
    validation: { isValid: true, issues },
    review: viewReview(row),
  };
}

export const viewComment = (row: FieldCommentRow): Static<typeof CommentSchema> => ({
  commentId: row.id,
  submissionId: row.submission_id,
  author: row.author,
  body: row.body,
  correctionRequest: row.correction_request === 1,
  createdAt: timestamp(row.created_at),
});

export const viewExport = ({
  id,
  body,
  createdAt,
}: StoredDocument<ExportRecord>): Static<typeof ExportRecordSchema> => ({
  exportId: id,
  format: body.format,
  recordCount: body.recordCount,
  requestedBy: body.requestedBy,
  createdAt: timestamp(createdAt),
  filter: body.filter,
});

/** Values of a submission without those of private fields. */
export function omitPrivate(row: FieldSubmissionRow, hidden: readonly string[]): FormValues {
  const values = JSON.parse(row.values_json) as FormValues;
  return Object.fromEntries(Object.entries(values).filter(([name]) => !hidden.includes(name)));
}
