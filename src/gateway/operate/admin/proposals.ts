import Type from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { pathString } from '../../../core/http/params.js';
import { OPERATE_LIMITS } from '../../../core/operate/limits.js';
import { PROPOSAL_KINDS, PROPOSAL_STATUSES, RISK_LEVELS } from '../../../core/operate/proposals.js';
import type { ListedProposal, Proposal } from '../../../services/operate/ledger.js';
import type { ListedProposalRow } from '../../../stores/operate/proposals.js';
import { readIfMatch } from '../../admin/conditional.js';
import { tagged } from '../../admin/entity-tags.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { defineFilterParam } from '../../admin/params.js';

const SERVICES = ['ledger'] as const;
const { action, implement } = createRowBuilders(SERVICES);

const S = Type.String();
const Strings = Type.Array(S);

const members = {
  proposalId: S,
  kind: Type.Enum([...PROPOSAL_KINDS]),
  status: Type.Enum([...PROPOSAL_STATUSES]),
  riskLevel: Type.Enum([...RISK_LEVELS]),
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
export const ProposalDetail = Type.Object({
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

const id = pathString('id', 'Id of a proposal: the SHA-256 of its statement.');
const filters = {
  kind: defineFilterParam('kind', 'Only proposals of this kind.'),
  status: defineFilterParam('status', 'Only proposals of this status.'),
  requestedBy: defineFilterParam('requestedBy', 'Only proposals of this caller.'),
};
const RejectBody = Type.Object({ reason: Type.String({ maxLength: 2000 }) });

/** Actions that wait for approval, and their executions. */
export const proposals = group(
  { tag: 'Proposals', scope: 'proposals', envelope: 'raw', isForTenants: true },
  [
    ...resource(
      '/proposals/{id}',
      { list: 'List Operation Proposals', get: 'Get Operation Proposal' },
      {
        list: implement({
          description: `Lists proposed actions, newest first: at most ${OPERATE_LIMITS.proposalsListed}.`,
          params: filters,
          data: Type.Object({ proposals: Type.Array(Summary) }),
          async answer({ params, principal }, { ledger }) {
            // Unknown kinds and statuses are ignored (contract).
            const kind = PROPOSAL_KINDS.find((name) => name === params.kind);
            const status = PROPOSAL_STATUSES.find((name) => name === params.status);
            const { requestedBy } = params;
            const all = await ledger.list(principal, { kind, status, requestedBy });
            return { proposals: all.map(buildSummary) };
          },
        }),
        get: implement({
          description: 'The ETag names the content. It changes only with the status of the proposal.',
          params: { id },
          data: ProposalDetail,
          errors: [404],
          answer: async ({ params, principal }, { ledger }) =>
            buildDetail(await ledger.get(params.id, principal)),
        }),
      },
    ),
    action('POST /proposals/{id}/approve', 'Approve Operation Proposal', {
      description:
        'The approver needs the permission of the action itself, and must be another person than the proposer. A job executes the action once, if its resources are unchanged since it was proposed. With If-Match, the server approves only this content.',
      params: { id },
      data: ProposalDetail,
      errors: [403, 404, 409, 412],
      async answer(x, { ledger }) {
        const approved = await ledger.approve(x.params.id, x.principal, readIfMatch(x));
        return buildDetail(approved);
      },
    }),
    action('POST /proposals/{id}/reject', 'Reject Operation Proposal', {
      params: { id },
      body: jsonBody(RejectBody),
      data: ProposalDetail,
      errors: [400, 404, 409],
      async answer({ params, body, principal }, { ledger }) {
        const reason = body.reason.trim();
        if (reason === '') throw new ApiError('invalid-body', 'reason: must not be empty.');
        return buildDetail(await ledger.reject(params.id, reason, principal));
      },
    }),
  ],
);

function buildMembers(row: ListedProposalRow) {
  return {
    kind: row.kind,
    status: row.status,
    findingId: row.finding_id,
    autonomyRule: row.autonomy_rule,
    requestedBy: row.requested_by,
    requestedByAgent: row.requested_by_agent,
    createdAt: timestamp(row.created_at),
    updatedAt: timestamp(row.updated_at),
  };
}

function buildSummary({ row, summary, riskLevel, discriminator }: ListedProposal) {
  return {
    proposalId: row.id,
    ...buildMembers(row),
    ...{ riskLevel, summary, actionDiscriminator: discriminator },
  };
}

/** The view of a proposal, whose entity tag starts with its id: the digest of the content. */
export function buildDetail({ row, statement }: Proposal) {
  const { diff = [], dryRun = [], warnings = [] } = statement?.plan ?? {};
  const listed = { row, ...(JSON.parse(row.summary_json) as Omit<ListedProposal, 'row'>) };
  const isExpired = row.status === 'AwaitingApproval' && row.expires_at <= Date.now();
  const expired = `expired: the proposal could be approved until ${timestamp(row.expires_at)}. Propose the action again.`;
  const detail = {
    ...buildSummary(listed),
    ...{ diff, dryRun, warnings },
    blockingReasons: [
      ...(statement ? [] : ['seal: the statement cannot be read. It was changed in the database.']),
      ...(isExpired ? [expired] : (JSON.parse(row.blocking_json) as string[])),
    ],
    guardrailTier: null,
    executionOperationId: row.job_id,
    resolvedBy: row.resolved_by,
    resolvedAt: optionalTimestamp(row.resolved_at),
    resolutionReason: row.resolution_reason,
  };
  return tagged(detail, row.id);
}
