import Type, { type Static } from 'typebox';
import type { BodySpec, Exchange } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import {
  FINDING_ACTIONS,
  FINDING_CATEGORIES,
  FINDING_DISPOSITIONS,
  FINDING_SEVERITIES,
} from '../../../services/packages/findings.js';
import { PACKAGE_FAMILIES } from '../../../services/packages/payloads.js';
import { REQUIREMENT_KINDS } from '../../../services/packages/requirements.js';
import {
  PACKAGE_CONTRACT,
  type PackageReview,
  type PackageReviews,
  type PreviewedOperation,
} from '../../../services/packages/reviews.js';
import { EXACT_MEMBERS, EXECUTE_BOUNDS } from '../../../services/processes/requests/inputs.js';
import { TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const { report } = createRowBuilders(['packageReviews']);

const S = Type.String();
const B = Type.Boolean();
const Text = (maxLength: number) => Type.Optional(Type.String({ maxLength }));
const Texts = Type.Record(Type.String(), Type.String({ maxLength: 2000 }));

const PackageSchema = Type.Object({
  packageFamily: Type.Optional(
    Type.String({
      maxLength: 200,
      description: `Family of the package: ${PACKAGE_FAMILIES.join(', ')}. Another family is a finding.`,
    }),
  ),
  contractVersion: Type.Optional(
    Type.String({ maxLength: 200, description: `Version of the contract: ${PACKAGE_CONTRACT}.` }),
  ),
  packageId: Text(200),
  format: Text(200),
  packagePayload: Type.Optional(Type.Any({ description: 'The package, in the form of its family.' })),
  requestedAction: Text(200),
  includePassFindings: Type.Optional(
    Type.Boolean({ description: 'Whether the findings include passed checks. Default: false.' }),
  ),
  includePreviewPlan: Type.Optional(
    Type.Boolean({ description: 'Whether the response has a plan. Default: only in previews.' }),
  ),
  estimate: Type.Optional(Type.Any()),
  resourceRefs: Type.Optional(Texts),
  requirements: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.Record(Type.String(), Type.Any()), { maxItems: 200 }), {
      description: `Requirements by kind: ${REQUIREMENT_KINDS.join(', ')}.`,
    }),
  ),
});
type PackageBody = Static<typeof PackageSchema>;

const FindingSchema = Type.Object({
  code: S,
  category: Type.Enum([...FINDING_CATEGORIES]),
  severity: Type.Enum([...FINDING_SEVERITIES]),
  disposition: Type.Enum([...FINDING_DISPOSITIONS]),
  appliesTo: Type.Enum([...FINDING_ACTIONS]),
  message: S,
  affectedArtifact: Type.Optional(
    Type.Object({
      ...{ kind: S, id: Type.Optional(S), path: S },
      ...{ sourceId: Type.Optional(S), stepId: Type.Optional(S) },
    }),
  ),
  requiredAction: Type.Optional(Type.Object({ actionKind: S, targetPath: S, title: S })),
  evidence: Type.Array(Type.Object({ kind: S, expected: Type.Optional(S), actual: Type.Optional(S) })),
});

const ReviewSchema = Type.Object({
  reviewId: S,
  contractVersion: S,
  packageFamily: S,
  packageId: Type.Optional(S),
  status: Type.Enum(['ready', 'warning', 'blocked']),
  canExecute: B,
  canPublish: B,
  requiresApproval: B,
  checkedAt: TimestampSchema,
  findings: Type.Array(FindingSchema),
  previewPlan: Type.Optional(
    Type.Object({
      planId: S,
      mayMutatePublishedState: Type.Literal(false),
      operations: Type.Array(
        Type.Object({
          operationId: S,
          operationKind: S,
          dependsOn: Type.Array(S),
          inputRefs: Type.Array(S),
          outputArtifactKinds: Type.Array(S),
          requiredCapabilities: Type.Array(S),
          mayMutatePublishedState: Type.Literal(false),
        }),
      ),
    }),
  ),
  estimate: Type.Optional(Type.Any()),
  links: Type.Record(Type.String(), Type.String()),
  resourceRefs: Type.Record(Type.String(), Type.String()),
});

const body = {
  schema: PackageSchema,
  mediaTypes: ['application/json'],
  required: true,
  maxBytes: LIMITS.processBodyBytes,
  bounds: EXECUTE_BOUNDS,
  exactMembers: EXACT_MEMBERS,
} satisfies BodySpec;

/** Reviews of packages before they run. */
export const packageOperations = group({ tag: 'Packages', scope: 'packages', envelope: 'wrapped' }, [
  report('POST /packages/validate', 'Validate Package', {
    description:
      'Checks with the rights of the caller whether the server would execute and publish a package. Problems are findings.',
    body,
    data: ReviewSchema,
    errors: [400, 413, 500, 503],
    answer: (x, { packageReviews }) => reviewPackage(x, packageReviews, false),
  }),
  report('POST /packages/preview', 'Preview Package', {
    description: 'The same checks, with the operations that the package would execute. None of them starts.',
    body,
    data: ReviewSchema,
    errors: [400, 413, 500, 503],
    answer: (x, { packageReviews }) => reviewPackage(x, packageReviews, true),
  }),
]);

async function reviewPackage(
  x: Exchange<Record<never, never>, PackageBody>,
  reviews: PackageReviews,
  isPreview: boolean,
): Promise<Static<typeof ReviewSchema>> {
  const { body: sent, principal, baseUrl, correlationId } = x;
  const { includePassFindings = false, includePreviewPlan = isPreview } = sent;
  const { packageFamily, packageId, estimate, resourceRefs = {} } = sent;
  const review = await reviews.review(sent, {
    ...{ principal, baseUrl, requestId: correlationId },
  });
  const { operations, findings, ...verdict } = review;
  return {
    ...verdict,
    contractVersion: PACKAGE_CONTRACT,
    packageFamily: packageFamily ?? '',
    ...(packageId === undefined ? {} : { packageId }),
    checkedAt: timestamp(Date.now()),
    findings: findings
      .filter(({ severity }) => includePassFindings || severity !== 'pass')
      .map((one) => ({ ...one, evidence: [...one.evidence] })),
    ...(includePreviewPlan ? { previewPlan: planView(review) } : {}),
    ...(estimate === undefined ? {} : { estimate }),
    links: { validate: '/api/v1/admin/packages/validate', preview: '/api/v1/admin/packages/preview' },
    resourceRefs,
  };
}

function planView({ reviewId, operations }: PackageReview) {
  const view = (operation: PreviewedOperation) => ({
    ...operation,
    dependsOn: [...operation.dependsOn],
    inputRefs: [...operation.inputRefs],
    outputArtifactKinds: [...operation.outputArtifactKinds],
    requiredCapabilities: [...operation.requiredCapabilities],
    mayMutatePublishedState: false as const,
  });
  return { planId: reviewId, mayMutatePublishedState: false as const, operations: operations.map(view) };
}
