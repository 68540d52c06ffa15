import Type, { type Static } from 'typebox';
import { FORM_FIELD_TYPES, type FormDocument } from '../../../core/forms/form-document.js';
import type { FormIssue } from '../../../core/forms/form-issues.js';
import type { StoredHead, StoredVersion } from '../../../services/forms/form-packages.js';
import { tagged } from '../../admin/entity-tags.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const OptionalInteger = Type.Union([I, Type.Null()]);
const Any = Type.Unknown();
const Names = Type.Array(S);

const IssueSchema = Type.Object({
  code: S,
  severity: Type.Enum(['error', 'warning']),
  message: S,
  path: OptionalStringSchema,
  fieldId: OptionalStringSchema,
});
export const FormValidationSchema = Type.Object({ isValid: B, issues: Type.Array(IssueSchema) });

/** Form in responses: all members are present. */
export const FormSchema = Type.Object({
  schemaVersion: S,
  formId: S,
  title: S,
  description: OptionalStringSchema,
  target: Type.Object({ serviceId: OptionalStringSchema, layerId: I }),
  sections: Type.Array(
    Type.Object({
      sectionId: S,
      label: OptionalStringSchema,
      description: OptionalStringSchema,
      fieldIds: Names,
      repeatable: B,
      minInstances: OptionalInteger,
      maxInstances: OptionalInteger,
    }),
  ),
  fields: Type.Array(
    Type.Object({
      fieldId: S,
      label: S,
      hint: OptionalStringSchema,
      type: Type.Enum([...FORM_FIELD_TYPES]),
      sectionId: OptionalStringSchema,
      targetField: OptionalStringSchema,
      required: B,
      readOnly: B,
      private: B,
      defaultValue: Any,
      domain: Any,
      validation: Type.Array(Any),
      visibility: Any,
    }),
  ),
  submitPolicy: Any,
  attachmentPolicy: Any,
  privacyPolicy: Any,
  offlinePolicy: Any,
  provenance: Any,
  metadata: Any,
});

export const FormVersionSchema = Type.Object({
  formId: S,
  version: I,
  status: Type.Enum(['draft', 'published', 'archived']),
  package: FormSchema,
  etag: S,
  contentHash: S,
  policyHash: S,
  createdAt: TimestampSchema,
  createdBy: OptionalStringSchema,
  publishedAt: OptionalTimestampSchema,
  publishedBy: OptionalStringSchema,
  reopenedFromVersion: OptionalInteger,
  validation: FormValidationSchema,
});
export type VersionView = Static<typeof FormVersionSchema>;

export const FormSummarySchema = Type.Object({
  formId: S,
  title: S,
  serviceId: OptionalStringSchema,
  layerId: I,
  currentDraftVersion: OptionalInteger,
  currentPublishedVersion: OptionalInteger,
  updatedAt: TimestampSchema,
});

export const viewValidation = (issues: readonly FormIssue[]) => ({
  isValid: !issues.some(({ severity }) => severity === 'error'),
  issues: [...issues],
});

export function viewVersion(
  { body, etag, createdAt, createdBy }: StoredVersion,
  findIssues: (form: FormDocument) => FormIssue[],
): VersionView {
  return tagged(
    {
      formId: body.formId,
      version: body.version,
      status: body.status,
      package: body.form as unknown as VersionView['package'],
      etag,
      contentHash: body.contentHash,
      policyHash: body.policyHash,
      createdAt: timestamp(createdAt),
      createdBy,
      publishedAt: optionalTimestamp(body.publishedAt),
      publishedBy: body.publishedBy,
      reopenedFromVersion: body.reopenedFrom,
      validation: viewValidation(findIssues(body.form)),
    },
    etag,
  );
}

export const viewHead = ({ id, body, updatedAt }: StoredHead) => ({
  formId: id,
  title: body.title,
  serviceId: body.serviceId,
  layerId: body.layerId,
  currentDraftVersion: body.draft,
  currentPublishedVersion: body.published,
  updatedAt: timestamp(updatedAt),
});
