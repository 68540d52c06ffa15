import Type from 'typebox';
import { FORM_LIMITS } from '../../core/forms/limits.js';
import { JSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import { json } from '../../core/http/reply.js';
import type { FieldSubmissions } from '../../services/forms/submissions.js';
import { ITEM_FORMATS } from '../features/formats.js';
import { namesRow } from '../features/item-tag.js';
import { ifMatchTags } from '../http/replies/entity-tag.js';
import { viewSubmission } from './admin/submission-schemas.js';

export interface SubmissionOperationDeps {
  readonly submissions: FieldSubmissions;
}

const SubmissionBody = Type.Object({
  instanceId: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Name of the submission. The same submission with the same name is stored once.',
  }),
  formVersion: Type.Integer({ minimum: 1 }),
  operation: Type.Optional(Type.Enum(['create', 'update', 'delete'], { default: 'create' })),
  targetFeatureId: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Integer()], {
      description: 'Feature to update or delete.',
    }),
  ),
  featureVersion: Type.Optional(
    Type.String({ maxLength: 200, description: 'ETag of the feature when it was read.' }),
  ),
  values: Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
    description: 'Values by field id. A repeatable section has a list of such objects.',
  }),
  geometry: Type.Optional(
    Type.Union([Type.Object({ type: Type.String() }), Type.Null()], { description: 'GeoJSON geometry.' }),
  ),
  submittedAt: Type.Optional(Type.String({ format: 'date-time' })),
  deviceId: Type.Optional(Type.String({ maxLength: 200 })),
});

/** The way in for submissions of forms. */
export function submissionOperations({ submissions }: SubmissionOperationDeps): Operation[] {
  return [
    defineOperation({
      surface: 'features',
      protocol: 'OGC-Features',
      permission: 'authenticated',
      audited: true,
      method: 'POST',
      tag: 'Forms',
      id: 'forms.submit',
      path: '/forms/{formId}/submissions',
      summary: 'Submit a form',
      description:
        'Stores a submission for review. The edit is applied with the rights of the caller when a reviewer approves it. Repeat a submission that got no response: it is stored once.',
      params: { formId: pathString('formId', 'Id of the form.', 64) },
      body: {
        schema: SubmissionBody,
        mediaTypes: ['application/json'],
        required: true,
        maxBytes: FORM_LIMITS.submissionBytes,
        refusesRounding: true,
      },
      formats: [JSON_FORMAT],
      responses: {
        200: {
          description: 'The submission was stored before',
          content: { 'application/json': Type.Object({}) },
        },
        201: { description: 'The submission is stored', content: { 'application/json': Type.Object({}) } },
        400: { description: 'The values do not fit the form' },
        401: { description: 'Credentials are missing' },
        403: { description: 'The caller may not edit the layer' },
        404: { description: 'The form, its version, its layer or the feature does not exist' },
        409: { description: 'Another submission has the instance id, or the version takes no submissions' },
        413: { description: 'The submission is too large' },
      },
      async run(x) {
        const { featureVersion, targetFeatureId, submittedAt, operation = 'create', ...body } = x.body;
        const tags = featureVersion === undefined ? '*' : ifMatchTags(quoteTag(featureVersion));
        const { row, isNew } = await submissions.submit(
          x,
          x.params.formId,
          {
            ...body,
            operation,
            ...(targetFeatureId === undefined ? {} : { targetFeatureId: String(targetFeatureId) }),
            ...(submittedAt === undefined ? {} : { submittedAt: Date.parse(submittedAt) }),
          },
          {
            principal: x.principal,
            isCurrent:
              tags === '*'
                ? undefined
                : (shown, { collection }) => namesRow(tags, shown, collection, ITEM_FORMATS),
          },
        );
        const { submissionId, ...record } = viewSubmission(row);
        return json(
          { submissionId, instanceId: row.instance_id, ...record },
          'application/json',
          isNew ? 201 : 200,
        );
      },
    }),
  ];
}

/** Clients send a tag with its quotes or without. */
const quoteTag = (tag: string) => (/^(W\/)?"/.test(tag) ? tag : `"${tag}"`);
