import type { Static } from 'typebox';
import Type from 'typebox';
import { FORM_LIMITS } from '../../../core/forms/limits.js';
import { type Exchange, formatActor, type Reply } from '../../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../../core/http/params.js';
import { listPrivateFields } from '../../../services/forms/exports.js';
import { reviewTag } from '../../../services/forms/reviews.js';
import type { SubmissionFilter } from '../../../stores/forms/submissions.js';
import { readIfMatch } from '../../admin/conditional.js';
import type { ServicesOf } from '../../admin/deps.js';
import { tagged } from '../../admin/entity-tags.js';
import { errorDocs } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { defineFilterParam, defineTimeParam, enumeration, readPeriod } from '../../admin/params.js';
import {
  CommentSchema,
  ExportRecordSchema,
  omitPrivate,
  pageSchema,
  REVIEW_STATUSES,
  ReviewSchema,
  SubmissionDetailSchema,
  SubmissionSchema,
  SYNC_STATUSES,
  viewComment,
  viewExport,
  viewReview,
  viewSubmission,
} from './submission-schemas.js';

const SERVICES = ['forms', 'fieldReviews', 'fieldExports'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report, implement } = createRowBuilders(SERVICES);

const SUBMISSION_PATH = '/field-workflows/submissions/{submissionId}';
const byId = { submissionId: pathString('submissionId', 'Id of the submission.') };

const page = {
  limit: defineIntegerParam(
    'limit',
    { min: 1, max: 500, default: 100 },
    { description: 'Maximum number of items.' },
  ),
  offset: defineIntegerParam(
    'offset',
    { min: 0, max: 1_000_000_000, default: 0 },
    { description: 'Number of items to skip.' },
  ),
};

const filters = {
  reviewStatus: enumeration('reviewStatus', REVIEW_STATUSES, 'Status of the review.'),
  syncStatus: enumeration('syncStatus', SYNC_STATUSES, 'Whether the edit was applied.'),
  assignedTo: defineFilterParam('assignedTo', 'Reviewer.'),
  formId: defineFilterParam('formId', 'Id of the form.'),
  serviceId: defineFilterParam('serviceId', 'Service of the layer.'),
  layerId: defineIntegerParam(
    'layerId',
    { min: 0, max: Number.MAX_SAFE_INTEGER, default: undefined },
    { description: 'Number of the layer.' },
  ),
  hasConflict: enumeration('hasConflict', ['true', 'false'] as const, 'Whether the feature had changed.'),
  submittedFrom: defineTimeParam('submittedFrom', 'Earliest time.'),
  submittedTo: defineTimeParam('submittedTo', 'Latest time.'),
};

const Note = Type.Union([Type.String({ maxLength: FORM_LIMITS.commentLength }), Type.Null()]);
const AssignmentBody = Type.Object({
  assignedTo: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Null()])),
});
const DecisionBody = Type.Object({
  status: Type.Enum(['approved', 'rejected', 'changes_requested']),
  note: Type.Optional(Note),
});
const CommentBody = Type.Object({
  body: Type.String({ minLength: 1, maxLength: FORM_LIMITS.commentLength }),
  correctionRequest: Type.Optional(Type.Boolean()),
});
const Text = Type.String({ minLength: 1, maxLength: 512 });
const Time = Type.String({ format: 'date-time' });
const ExportBody = Type.Object({
  format: Type.Optional(Type.Enum(['geojson', 'csv'], { default: 'geojson' })),
  reviewStatus: Type.Optional(Type.Enum([...REVIEW_STATUSES])),
  syncStatus: Type.Optional(Type.Enum([...SYNC_STATUSES])),
  assignedTo: Type.Optional(Text),
  formId: Type.Optional(Text),
  serviceId: Type.Optional(Text),
  layerId: Type.Optional(Type.Integer({ minimum: 0 })),
  hasConflict: Type.Optional(Type.Boolean()),
  submittedFrom: Type.Optional(Time),
  submittedTo: Type.Optional(Time),
});

/** Review of data collected in the field. */
export const fieldWorkflows = group({ tag: 'Field workflows', scope: 'field-workflows', envelope: 'raw' }, [
  ...resource(
    SUBMISSION_PATH,
    { list: 'List Field Submissions', get: 'Get Field Submission' },
    {
      list: implement({
        description: 'The newest first.',
        params: { ...filters, ...page },
        data: pageSchema(SubmissionSchema),
        errors: [400],
        async answer(
          { params: { limit, offset, layerId, hasConflict, submittedFrom, submittedTo, ...words } },
          deps,
        ) {
          const { from, to } = readPeriod({ from: submittedFrom, to: submittedTo });
          const { rows, total } = await deps.fieldReviews.list(
            omitUndefined({
              ...words,
              layerId,
              hasConflict: hasConflict === undefined ? undefined : hasConflict === 'true',
              submittedFrom: from,
              submittedTo: to,
            }),
            { limit, offset },
          );
          return { items: rows.map(viewSubmission), limit, offset, total };
        },
      }),
      get: implement({
        params: byId,
        data: SubmissionDetailSchema,
        errors: [404],
        async answer({ params }, { fieldReviews, forms }) {
          const row = await fieldReviews.read(params.submissionId);
          const { body } = await forms.readVersion(row.form_id, row.form_version);
          const comments = await fieldReviews.listComments(row.id);
          return tagged(
            {
              record: viewSubmission(row),
              values: omitPrivate(row, listPrivateFields(body.form)),
              comments: comments.map(viewComment),
              attachments: [],
            },
            reviewTag(row),
          );
        },
      }),
    },
  ),
  action(`POST ${SUBMISSION_PATH}/assignment`, 'Assign Field Submission', {
    description: 'Without assignedTo, the submission is not assigned any more.',
    params: byId,
    body: jsonBody(AssignmentBody),
    data: ReviewSchema,
    errors: [400, 404],
    shownBy: SUBMISSION_PATH,
    answer: async ({ params, body }, { fieldReviews }) =>
      viewReview(await fieldReviews.assign(params.submissionId, body.assignedTo ?? null)),
  }),
  action(`POST ${SUBMISSION_PATH}/decision`, 'Decide Field Submission', {
    description:
      'An approval applies the edit with the rights of the submitter. If the feature has changed since the submission, the response is 409, and the feature is unchanged.',
    params: byId,
    body: jsonBody(DecisionBody),
    data: ReviewSchema,
    errors: [400, 404, 409],
    shownBy: SUBMISSION_PATH,
    async answer(x, { fieldReviews }) {
      const row = await fieldReviews.decide(x, x.params.submissionId, {
        decision: x.body.status,
        note: x.body.note ?? null,
        by: formatActor(x.principal),
        ifMatch: readIfMatch(x),
      });
      return tagged(viewReview(row), reviewTag(row));
    },
  }),
  action(`POST ${SUBMISSION_PATH}/comments`, 'Comment On Field Submission', {
    description: 'A correction request gives the submission the status changes_requested.',
    params: byId,
    body: jsonBody(CommentBody),
    data: CommentSchema,
    status: 201,
    errors: [400, 404, 409],
    shownBy: SUBMISSION_PATH,
    answer: async ({ params, body, principal }, { fieldReviews }) =>
      viewComment(
        await fieldReviews.comment(params.submissionId, {
          body: body.body,
          isCorrection: body.correctionRequest ?? false,
          author: formatActor(principal),
        }),
      ),
  }),
  report('GET /field-workflows/exports', 'List Field Exports', {
    description: 'The oldest first.',
    params: page,
    data: pageSchema(ExportRecordSchema),
    errors: [400],
    async answer({ params: { limit, offset } }, { fieldExports }) {
      const all = await fieldExports.list();
      return { items: all.slice(offset, offset + limit).map(viewExport), limit, offset, total: all.length };
    },
  }),
  action('POST /field-workflows/exports', 'Create Field Export', {
    description:
      'Writes the submissions that match as GeoJSON or CSV. Values of all versions of a form are in one column for each field id. Private fields are omitted.',
    body: jsonBody(ExportBody),
    responses: {
      200: {
        description:
          'The file. X-Svc-Export-Id and X-Svc-Export-Count name the record and the number of submissions.',
        content: { 'application/geo+json': Type.Object({}), 'text/csv': null },
      },
      ...errorDocs([400]),
    },
    exports: true,
    reply: createExport,
  }),
]);

async function createExport(
  { body, principal }: Exchange<Record<never, never>, Static<typeof ExportBody>>,
  { fieldExports }: Deps,
): Promise<Reply> {
  const { format = 'geojson', submittedFrom, submittedTo, ...filter } = body;
  const { from, to } = readPeriod({
    from: submittedFrom === undefined ? undefined : Date.parse(submittedFrom),
    to: submittedTo === undefined ? undefined : Date.parse(submittedTo),
  });
  const {
    id,
    count,
    body: file,
  } = await fieldExports.create(omitUndefined({ ...filter, submittedFrom: from, submittedTo: to }), {
    format,
    by: formatActor(principal),
  });
  return {
    status: 200,
    mediaType: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/geo+json',
    body: file,
    headers: {
      'content-disposition': `attachment; filename="submissions.${format === 'csv' ? 'csv' : 'geojson'}"`,
      'x-svc-export-id': id,
      'x-svc-export-count': String(count),
    },
  };
}

/** Conditions of a list; absent ones have no member. */
const omitUndefined = (
  filter: { [K in keyof SubmissionFilter]: SubmissionFilter[K] | undefined },
): SubmissionFilter => Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
