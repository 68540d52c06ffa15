import Type from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { formatActor } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { Proposal, ProposalDraft } from '../../../services/processes/proposals.js';
import type { SourceValue } from '../../../services/processes/source-input.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { defineFilterParam } from '../../admin/params.js';

const SERVICES = ['proposals'] as const;
const { action, report } = createRowBuilders(SERVICES);

const S = Type.String();
const Strings = Type.Array(S);
const STATUSES = [
  ...['Planned', 'AwaitingApproval', 'Executing', 'Submitted', 'Reconciling'],
  ...['Succeeded', 'Failed', 'Rejected', 'RolledBack'],
];

/** Kind of the executions of processes. */
const KIND = 'Geoprocess';
const KINDS = ['AdminConfigChange', 'Deploy', 'MetadataRelease', 'Seed', KIND];

const members = {
  proposalId: S,
  kind: Type.Enum(KINDS),
  status: Type.Enum(STATUSES),
  riskLevel: Type.Enum(['Low', 'Medium', 'High']),
  summary: S,
  actionDiscriminator: OptionalStringSchema,
  findingId: OptionalStringSchema,
  autonomyRule: OptionalStringSchema,
  requestedBy: OptionalStringSchema,
  requestedByAgent: OptionalStringSchema,
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
};
const Summary = Type.Object(members);
const Detail = Type.Object({
  ...members,
  diff: Strings,
  dryRun: Strings,
  warnings: Strings,
  blockingReasons: Strings,
  guardrailTier: OptionalStringSchema,
  executionOperationId: OptionalStringSchema,
  resolvedBy: OptionalStringSchema,
  resolvedAt: OptionalTimestampSchema,
  resolutionReason: OptionalStringSchema,
});

const id = pathString('id', 'Id of a proposal.');
const filters = {
  kind: defineFilterParam('kind', 'Only proposals of this kind.'),
  status: defineFilterParam('status', 'Only proposals of this status.'),
  requestedBy: defineFilterParam('requestedBy', 'Only proposals of this caller.'),
};
const RejectBody = Type.Object({ reason: Type.String({ maxLength: 2000 }) });

/** Executions that wait for approval. */
export const proposals = group(
  { tag: 'Proposals', scope: 'proposals', envelope: 'raw', isForTenants: true },
  [
    report('GET /proposals', 'List Operation Proposals', {
      description: `Lists process executions that require approval (processes.approval), newest first: at most ${PROCESS_LIMITS.proposalsListed} of the newest ${PROCESS_LIMITS.proposalsRead}.`,
      params: filters,
      data: Type.Object({ proposals: Type.Array(Summary) }),
      async answer({ params, principal }, deps) {
        // Unknown kinds and statuses are ignored; other known kinds have no proposals.
        const { kind = KIND, requestedBy } = params;
        if (kind !== KIND && KINDS.includes(kind)) return { proposals: [] };
        const status = STATUSES.find((name) => name === params.status);
        const all = await deps.proposals.list(principal, { status, requestedBy });
        return { proposals: all.map(buildSummary) };
      },
    }),
    report('GET /proposals/{id}', 'Get Operation Proposal', {
      params: { id },
      data: Detail,
      errors: [404],
      answer: async ({ params, principal }, deps) =>
        buildDetail(await deps.proposals.get(params.id, principal)),
    }),
    action('POST /proposals/{id}/approve', 'Approve Operation Proposal', {
      description:
        'The process is executed with the present rights of the caller who proposed it. That caller cannot approve it.',
      params: { id },
      data: Detail,
      errors: [403, 404, 409],
      answer: async ({ params, principal }, deps) =>
        buildDetail(await deps.proposals.approve(params.id, principal)),
    }),
    action('POST /proposals/{id}/reject', 'Reject Operation Proposal', {
      params: { id },
      body: jsonBody(RejectBody),
      data: Detail,
      errors: [400, 404, 409],
      async answer({ params, body, principal }, deps) {
        const reason = body.reason.trim();
        if (reason === '') throw new ApiError('invalid-body', 'reason: must not be empty.');
        return buildDetail(await deps.proposals.reject(params.id, reason, principal));
      },
    }),
  ],
);

function buildSummary(proposal: Proposal) {
  const { id: proposalId, process, proposer, collections, status, createdAt, updatedAt } = proposal;
  return {
    proposalId,
    kind: KIND,
    status,
    riskLevel: collections.length > 0 ? 'Medium' : 'Low',
    summary: `Execute ${process} for ${proposer.name}`,
    actionDiscriminator: process,
    findingId: null,
    autonomyRule: null,
    requestedBy: formatActor(proposer),
    requestedByAgent: null,
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
  };
}

function buildDetail(proposal: Proposal & { readonly draft: ProposalDraft }) {
  const { draft, collections, jobId, resolution, blockingReasons } = proposal;
  return {
    ...buildSummary(proposal),
    diff: collections.map((collection) => `The collection ${collection} is made.`),
    dryRun: listReads(draft),
    warnings: [],
    blockingReasons,
    guardrailTier: null,
    executionOperationId: jobId ?? null,
    resolvedBy: resolution?.by ?? null,
    resolvedAt: optionalTimestamp(resolution?.at ?? null),
    resolutionReason: resolution?.reason ?? null,
  };
}

/** Collections that the execution would read, and its values. */
function listReads({ process, execution: { plan, sources, values } }: ProposalDraft): string[] {
  const calls = plan ? plan.steps : [{ process, sources, values }];
  return calls.flatMap((call) => [
    ...Object.entries(call.sources).map(([name, source]) => `${call.process}: ${name} is ${about(source)}`),
    ...Object.entries(call.values).map(
      ([name, value]) => `${call.process}: ${name} is ${JSON.stringify(value).slice(0, 200)}`,
    ),
  ]);
}

function about(input: SourceValue): string {
  switch (input.kind) {
    case 'collection':
      return `the collection ${input.id}${input.filter === undefined ? '' : ', filtered'}`;
    case 'result':
      return `${input.output} of the job ${input.jobId}`;
    case 'remote':
      return input.url;
    case 'step':
      return `${input.output} of the step ${input.step}`;
    default:
      return 'sent by value';
  }
}
