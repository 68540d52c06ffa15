/** Form packages: what a person fills in for a feature of a layer. */

import Type, { type Static } from 'typebox';
import { FORM_LIMITS } from './limits.js';

const FORM_SCHEMA_VERSION = 'svc.form-package.v1';

/** Types of fields, by the names of XLSForm. */
export const FORM_FIELD_TYPES = [
  ...(['text', 'integer', 'decimal', 'date', 'time', 'dateTime', 'select_one', 'select_multiple'] as const),
  ...(['geopoint', 'geotrace', 'geoshape', 'image', 'audio', 'video', 'file', 'barcode'] as const),
  ...(['calculate', 'note'] as const),
] as const;
export type FormFieldType = (typeof FORM_FIELD_TYPES)[number];

/** Types whose values are files. */
export const FILE_TYPES: ReadonlySet<FormFieldType> = new Set(['image', 'audio', 'video', 'file']);
/** Types whose values are geometries. */
export const GEOMETRY_TYPES: ReadonlySet<FormFieldType> = new Set(['geopoint', 'geotrace', 'geoshape']);
export const CHOICE_TYPES: ReadonlySet<FormFieldType> = new Set(['select_one', 'select_multiple']);
/** Types whose values have an order, so that a range limits them. */
export const ORDERED_TYPES: ReadonlySet<FormFieldType> = new Set(['integer', 'decimal', 'date', 'dateTime']);

/** Rules for the value of a field. Their parameters are `value`, or `pattern` and `other` for two of them. */
const FORM_RULE_TYPES = ['minLength', 'maxLength', 'min', 'max', 'pattern'] as const;
type FormRuleType = (typeof FORM_RULE_TYPES)[number];

/** Comparisons with the value of another field, which decide whether a field is shown. */
const VISIBILITY_OPERATORS = [
  ...(['equals', 'notEquals', 'lessThan', 'lessThanOrEqual', 'greaterThan', 'greaterThanOrEqual'] as const),
  ...(['contains', 'answered', 'notAnswered'] as const),
] as const;
type VisibilityOperator = (typeof VISIBILITY_OPERATORS)[number];

/** Ids of forms, sections and fields are parts of addresses, and names of columns in exports. */
const Id = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z_][\\w-]{0,63}$' });
const Text = Type.String({ maxLength: 2000 });
const Label = Type.String({ minLength: 1, maxLength: 500 });
const Count = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const Bytes = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const MediaTypes = Type.Array(Type.String({ minLength: 1, maxLength: 127 }), { maxItems: 50 });
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: FORM_LIMITS.fields });
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** Clients send members that a later version adds: they are kept in the package and mean nothing. */
const SectionSchema = Type.Object({
  sectionId: Id,
  label: nullable(Text),
  description: nullable(Text),
  fieldIds: Type.Array(Id, { maxItems: FORM_LIMITS.fields }),
  repeatable: Type.Optional(Type.Boolean()),
  minInstances: nullable(Count),
  maxInstances: nullable(Count),
});

const DomainSchema = Type.Object({
  type: Type.Enum(['codedValue', 'range']),
  choices: nullable(
    Type.Array(Type.Object({ code: Type.Unknown(), label: Label }), { maxItems: FORM_LIMITS.choices }),
  ),
  min: Type.Optional(Type.Unknown()),
  max: Type.Optional(Type.Unknown()),
});

const RuleSchema = Type.Object({
  ruleId: Id,
  type: Type.Enum([...FORM_RULE_TYPES]),
  parameters: Type.Optional(Type.Unknown()),
  message: nullable(Text),
});

const VisibilitySchema = Type.Object({
  dependsOnFieldId: Id,
  operator: Type.Enum([...VISIBILITY_OPERATORS]),
  value: Type.Optional(Type.Unknown()),
});

const FieldSchema = Type.Object({
  fieldId: Id,
  label: Label,
  hint: nullable(Text),
  type: Type.Enum([...FORM_FIELD_TYPES]),
  sectionId: nullable(Id),
  targetField: nullable(Type.String({ minLength: 1, maxLength: 128 })),
  required: Type.Optional(Type.Boolean()),
  readOnly: Type.Optional(Type.Boolean()),
  private: Type.Optional(Type.Boolean()),
  defaultValue: Type.Optional(Type.Unknown()),
  domain: nullable(DomainSchema),
  validation: nullable(Type.Array(RuleSchema, { maxItems: FORM_LIMITS.rules })),
  visibility: nullable(VisibilitySchema),
});

const SubmitPolicySchema = Type.Object({
  allowedOperations: Type.Array(Type.Enum(['create', 'update', 'delete']), { minItems: 1, maxItems: 3 }),
  allowAttachments: Type.Boolean(),
  requiresGeometry: Type.Boolean(),
  maxOfflineAgeSeconds: nullable(Type.Integer({ minimum: 0, maximum: 315_360_000 })),
});

const AttachmentPolicySchema = Type.Object({
  enabled: Type.Boolean(),
  allowedContentTypes: MediaTypes,
  maxAttachmentBytes: nullable(Bytes),
  maxAttachmentsPerSubmission: nullable(Count),
  maxTotalBytes: nullable(Bytes),
  requireExifStripping: Type.Boolean(),
  requireFaceBlur: Type.Boolean(),
  requireRedaction: Type.Boolean(),
  fields: Type.Array(
    Type.Object({
      fieldId: Id,
      required: Type.Boolean(),
      maxCount: nullable(Count),
      allowedContentTypes: MediaTypes,
    }),
    { maxItems: FORM_LIMITS.fields },
  ),
});

const PrivacyPolicySchema = Type.Object({
  captureActor: Type.Boolean(),
  captureDeviceId: Type.Boolean(),
  privateFieldIds: Names,
  requiredTransformations: Names,
  retentionDays: nullable(Type.Integer({ minimum: 1, maximum: 36_500 })),
});

const OfflinePolicySchema = Type.Object({
  enabled: Type.Boolean(),
  conflictReviewMode: Type.String({ minLength: 1, maxLength: 64 }),
  preferredTransports: Names,
  replicaTransportEnabled: Type.Boolean(),
  fieldCollectionTransportEnabled: Type.Boolean(),
});

/** A form as clients send it. Absent policies have their defaults. */
export const FormDraftSchema = Type.Object({
  schemaVersion: Type.Optional(Type.Enum([FORM_SCHEMA_VERSION])),
  formId: nullable(Id),
  title: nullable(Type.String({ minLength: 1, maxLength: 200 })),
  description: nullable(Text),
  target: Type.Object({
    serviceId: nullable(Type.String({ minLength: 1, maxLength: 128 })),
    layerId: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  }),
  sections: Type.Optional(Type.Array(SectionSchema, { maxItems: FORM_LIMITS.sections })),
  fields: Type.Array(FieldSchema, { maxItems: FORM_LIMITS.fields }),
  submitPolicy: Type.Optional(Type.Partial(SubmitPolicySchema)),
  attachmentPolicy: Type.Optional(Type.Partial(AttachmentPolicySchema)),
  privacyPolicy: Type.Optional(Type.Partial(PrivacyPolicySchema)),
  offlinePolicy: Type.Optional(Type.Partial(OfflinePolicySchema)),
  provenance: Type.Optional(
    Type.Object({
      source: nullable(Type.String({ maxLength: 200 })),
      sourceVersion: nullable(Type.String({ maxLength: 200 })),
    }),
  ),
  metadata: Type.Optional(
    Type.Union([
      Type.Record(
        Type.String({ maxLength: 128 }),
        Type.Union([Type.String({ maxLength: 2000 }), Type.Null()]),
      ),
      Type.Null(),
    ]),
  ),
});

export type FormDraft = Static<typeof FormDraftSchema>;

interface FormSection {
  readonly sectionId: string;
  readonly label: string | null;
  readonly description: string | null;
  readonly fieldIds: readonly string[];
  readonly repeatable: boolean;
  readonly minInstances: number | null;
  readonly maxInstances: number | null;
}

interface FormChoice {
  readonly code: unknown;
  readonly label: string;
}

interface FormDomain {
  readonly type: 'codedValue' | 'range';
  readonly choices: readonly FormChoice[] | null;
  readonly min: unknown;
  readonly max: unknown;
}

export interface FormRule {
  readonly ruleId: string;
  readonly type: FormRuleType;
  readonly parameters: unknown;
  readonly message: string | null;
}

interface FormVisibility {
  readonly dependsOnFieldId: string;
  readonly operator: VisibilityOperator;
  readonly value: unknown;
}

export interface FormField {
  readonly fieldId: string;
  readonly label: string;
  readonly hint: string | null;
  readonly type: FormFieldType;
  readonly sectionId: string | null;
  /** Column of the layer that stores the value. */
  readonly targetField: string | null;
  readonly required: boolean;
  readonly readOnly: boolean;
  readonly private: boolean;
  readonly defaultValue: unknown;
  readonly domain: FormDomain | null;
  readonly validation: readonly FormRule[];
  readonly visibility: FormVisibility | null;
}

type FormOperation = 'create' | 'update' | 'delete';

interface SubmitPolicy {
  readonly allowedOperations: readonly FormOperation[];
  readonly allowAttachments: boolean;
  readonly requiresGeometry: boolean;
  readonly maxOfflineAgeSeconds: number | null;
}

interface AttachmentPolicy {
  readonly enabled: boolean;
  readonly allowedContentTypes: readonly string[];
  readonly maxAttachmentBytes: number | null;
  readonly maxAttachmentsPerSubmission: number | null;
  readonly maxTotalBytes: number | null;
  readonly requireExifStripping: boolean;
  readonly requireFaceBlur: boolean;
  readonly requireRedaction: boolean;
  readonly fields: readonly {
    readonly fieldId: string;
    readonly required: boolean;
    readonly maxCount: number | null;
    readonly allowedContentTypes: readonly string[];
  }[];
}

interface PrivacyPolicy {
  readonly captureActor: boolean;
  readonly captureDeviceId: boolean;
  readonly privateFieldIds: readonly string[];
  readonly requiredTransformations: readonly string[];
  readonly retentionDays: number | null;
}

interface OfflinePolicy {
  readonly enabled: boolean;
  readonly conflictReviewMode: string;
  readonly preferredTransports: readonly string[];
  readonly replicaTransportEnabled: boolean;
  readonly fieldCollectionTransportEnabled: boolean;
}

/** A form with all members. */
export interface FormDocument {
  readonly schemaVersion: typeof FORM_SCHEMA_VERSION;
  readonly formId: string;
  readonly title: string;
  readonly description: string | null;
  readonly target: { readonly serviceId: string | null; readonly layerId: number };
  readonly sections: readonly FormSection[];
  readonly fields: readonly FormField[];
  readonly submitPolicy: SubmitPolicy;
  readonly attachmentPolicy: AttachmentPolicy;
  readonly privacyPolicy: PrivacyPolicy;
  readonly offlinePolicy: OfflinePolicy;
  readonly provenance: Provenance;
  readonly metadata: Readonly<Record<string, string | null>> | null;
}

interface Provenance {
  readonly source: string | null;
  readonly sourceVersion: string | null;
}

const DEFAULT_SUBMIT: SubmitPolicy = {
  allowedOperations: ['create'],
  allowAttachments: false,
  requiresGeometry: true,
  maxOfflineAgeSeconds: null,
};
const DEFAULT_ATTACHMENTS: AttachmentPolicy = {
  enabled: false,
  allowedContentTypes: [],
  maxAttachmentBytes: null,
  maxAttachmentsPerSubmission: null,
  maxTotalBytes: null,
  requireExifStripping: false,
  requireFaceBlur: false,
  requireRedaction: false,
  fields: [],
};
const DEFAULT_PRIVACY: PrivacyPolicy = {
  captureActor: true,
  captureDeviceId: false,
  privateFieldIds: [],
  requiredTransformations: [],
  retentionDays: null,
};
const DEFAULT_OFFLINE: OfflinePolicy = {
  enabled: false,
  conflictReviewMode: 'defer',
  preferredTransports: [],
  replicaTransportEnabled: false,
  fieldCollectionTransportEnabled: false,
};

/** The form with the defaults of absent members. Without sections, all fields are in one. */
export function completeForm(draft: FormDraft, formId: string): FormDocument {
  const fields = draft.fields.map(completeField);
  const sections = draft.sections?.map((section) => ({
    ...{ label: null, description: null, repeatable: false, minInstances: null, maxInstances: null },
    ...section,
  }));
  const attachmentPolicy = { ...DEFAULT_ATTACHMENTS, ...draft.attachmentPolicy };
  return {
    schemaVersion: FORM_SCHEMA_VERSION,
    formId,
    title: draft.title ?? formId,
    description: draft.description ?? null,
    target: { serviceId: draft.target.serviceId ?? null, layerId: draft.target.layerId },
    sections: sections ?? [singleSection(fields)],
    fields,
    submitPolicy: { ...DEFAULT_SUBMIT, ...draft.submitPolicy },
    attachmentPolicy: {
      ...attachmentPolicy,
      fields: attachmentPolicy.fields.map(({ maxCount = null, ...one }) => ({ ...one, maxCount })),
    },
    privacyPolicy: { ...DEFAULT_PRIVACY, ...draft.privacyPolicy },
    offlinePolicy: { ...DEFAULT_OFFLINE, ...draft.offlinePolicy },
    provenance: { source: null, sourceVersion: null, ...draft.provenance },
    metadata: draft.metadata ?? null,
  };
}

type DraftField = FormDraft['fields'][number];

function completeField(draft: DraftField): FormField {
  const { domain, visibility, validation } = draft;
  return {
    fieldId: draft.fieldId,
    label: draft.label,
    hint: draft.hint ?? null,
    type: draft.type,
    sectionId: draft.sectionId ?? null,
    targetField: draft.targetField ?? null,
    required: draft.required ?? false,
    readOnly: draft.readOnly ?? false,
    private: draft.private ?? false,
    defaultValue: draft.defaultValue ?? null,
    domain: domain ? { choices: null, min: null, max: null, ...domain } : null,
    validation: (validation ?? []).map((rule) => ({ parameters: null, message: null, ...rule })),
    visibility: visibility ? { value: null, ...visibility } : null,
  };
}

const singleSection = (fields: readonly FormField[]): FormSection => ({
  ...{ sectionId: 'main', label: null, description: null, repeatable: false },
  ...{ minInstances: null, maxInstances: null, fieldIds: fields.map(({ fieldId }) => fieldId) },
});

/** The policies of a form, which are hashed on their own: a change of a question does not change them. */
export const listPolicies = ({
  submitPolicy,
  attachmentPolicy,
  privacyPolicy,
  offlinePolicy,
}: FormDocument) => ({ submitPolicy, attachmentPolicy, privacyPolicy, offlinePolicy });
