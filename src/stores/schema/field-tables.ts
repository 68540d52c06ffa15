/** A submission of a form, and its review. Times are milliseconds since 1970. */
export interface FieldSubmissionTable {
  id: string;
  form_id: string;
  /** Name that the client gave to the submission. */
  instance_id: string;
  /** Fingerprint of the submission, to recognise a repetition. */
  fingerprint: string;
  form_version: number;
  service_id: string;
  layer_id: number;
  /** `create`, `update` or `delete`. */
  operation: string;
  target_id: string | null;
  /** Version of the row of the target when the submission arrived. */
  target_row: string | null;
  submitted_at: number;
  device_id: string | null;
  submitter_hash: string | null;
  /** Sealed principal that applies the edit; null after the decision. */
  submitter: string | null;
  sync_status: string;
  /** Numbers 0 and 1. */
  has_conflict: number;
  has_issues: number;
  values_json: string;
  /** GeoJSON geometry. */
  geometry_json: string | null;
  issues_json: string;
  /** Cursor of the layer before the edit. Set while the edit is applied. */
  apply_cursor: number | null;
  /** Feature of the applied edit. */
  feature_id: string | null;
  review_status: string;
  assigned_to: string | null;
  decided_at: number | null;
  decided_by: string | null;
  decision_note: string | null;
  /** Number of changes of the review, from 1. */
  version: number;
  updated_at: number;
}

export interface FieldCommentTable {
  id: string;
  submission_id: string;
  author: string;
  body: string;
  /** Numbers 0 and 1. */
  correction_request: number;
  created_at: number;
}
