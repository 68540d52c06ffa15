import Type from 'typebox';
import { formatActor } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import {
  ACTION_KINDS,
  type FindingAction,
  type FindingSubject,
  OPS_SEVERITIES,
  type OpsFinding,
} from '../../../services/operate/findings/finding.js';
import type { Findings } from '../../../services/operate/findings/findings.js';
import { auditResource } from '../../../stores/audit/audit-scope.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';

const { action, report } = createRowBuilders(['findings', 'findingActions']);

const S = Type.String();
const NOTE_CHARACTERS = 20_000;
const SUBJECT = ['operationId', 'workloadId', 'targetId', 'channel', 'protocol', 'releaseVersion'] as const;

const SubjectSchema = Type.Object({
  operationId: OptionalStringSchema,
  workloadId: OptionalStringSchema,
  targetId: OptionalStringSchema,
  channel: OptionalStringSchema,
  protocol: OptionalStringSchema,
  releaseVersion: OptionalStringSchema,
});
const ActionSchema = Type.Object({
  kind: Type.Enum([...ACTION_KINDS]),
  summary: S,
  reason: S,
  autoSafe: Type.Boolean({ description: 'Whether a policy may take it without a person.' }),
  blastRadius: Type.Integer({ description: 'Number of things that it changes.' }),
});
const FindingSchema = Type.Object({
  id: Type.String({ description: 'The same on every server, and after each restart.' }),
  rule: S,
  severity: Type.Enum([...OPS_SEVERITIES]),
  title: S,
  explanation: S,
  detectedAt: TimestampSchema,
  evidenceRefs: Type.Array(S),
  subject: SubjectSchema,
  recommendedAction: Type.Union([ActionSchema, Type.Null()], {
    description: 'Null if the server cannot remove the cause.',
  }),
});

const findingId = pathString('findingId', 'Id of a finding.');
const Outcome = Type.Object({
  findingId: S,
  status: Type.Enum(['Executed', 'ProposalCreated', 'Blocked', 'NotSupported']),
  proposalId: OptionalStringSchema,
  executionOperationId: OptionalStringSchema,
  message: OptionalStringSchema,
});

/** Findings about the servers and their data, and the proposals that they lead to. */
export const opsFindings = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/findings', 'Get Ops Findings', {
    description:
      'Reads the state of all servers again and evaluates all rules. If a rule cannot read all data that it needs, the list contains a finding of the rule `evidence-incomplete`.',
    data: Type.Object({ generatedAt: TimestampSchema, findings: Type.Array(FindingSchema) }),
    errors: [503],
    async answer(_, { findings }) {
      const { at, findings: found } = await findings.evaluate();
      return { generatedAt: timestamp(at), findings: found.map(describeFinding) };
    },
  }),
  action('POST /observability/findings/{findingId}/propose', 'Propose Ops Finding Action', {
    description:
      'Evaluates the rule again, and proposes the action of the finding. `Executed`: the policy of the rule approved the action. `ProposalCreated`: a person must approve the action. `Blocked`: the evidence is incomplete, or the action is not possible now. `NotSupported`: the server cannot remove the cause.',
    params: { findingId },
    data: Outcome,
    errors: [404, 503],
    async answer({ params, principal }, { findingActions }) {
      const outcome = await findingActions.propose(params.findingId, principal);
      auditResource(params.findingId, { status: outcome.status, proposalId: outcome.proposalId ?? null });
      return {
        findingId: outcome.findingId,
        status: outcome.status,
        proposalId: outcome.proposalId ?? null,
        executionOperationId: outcome.operationId ?? null,
        message: outcome.message ?? null,
      };
    },
  }),
]);

const Note = Type.Object({
  at: TimestampSchema,
  author: S,
  agent: Type.Union([S, Type.Null()], { description: 'Program that wrote the text, such as a model.' }),
  text: S,
});
const FindingDetail = Type.Object({
  ...FindingSchema.properties,
  facts: Type.Record(S, Type.Unknown(), { description: 'The facts that the rule judged.' }),
  notes: Type.Array(Note, { description: 'Diagnoses, oldest first. They change nothing.' }),
});
const NoteBody = Type.Object({
  text: Type.String({ minLength: 1, maxLength: NOTE_CHARACTERS }),
  agent: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 128 }), Type.Null()])),
});

/** One finding with its facts and notes, in addition to the contract. */
export const findingDetails = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/findings/{findingId}', 'Get Ops Finding', {
    params: { findingId },
    data: FindingDetail,
    errors: [404, 503],
    answer: async ({ params }, { findings }) => describeDetail(await findings.get(params.findingId)),
  }),
  action('POST /observability/findings/{findingId}/notes', 'Add Ops Finding Note', {
    description: 'Keeps a diagnosis as text. Proposals never depend on notes.',
    params: { findingId },
    body: jsonBody(NoteBody),
    data: FindingDetail,
    errors: [400, 404, 409, 503],
    async answer({ params, body, principal }, { findings }) {
      const note = { agent: body.agent ?? null, text: body.text };
      return describeDetail(await findings.addNote(params.findingId, formatActor(principal), note));
    },
  }),
]);

function describeDetail({ finding, notes }: Awaited<ReturnType<Findings['get']>>) {
  return {
    ...describeFinding(finding),
    facts: { ...finding.facts },
    notes: notes.map(({ at, author, agent, text }) => ({ at: timestamp(at), author, agent, text })),
  };
}

function describeFinding(finding: OpsFinding) {
  const { id, rule, severity, title, explanation, detectedAt, evidenceRefs, subject, action } = finding;
  return {
    ...{ id, rule, severity, title, explanation },
    detectedAt: timestamp(detectedAt),
    evidenceRefs: [...evidenceRefs],
    subject: describeSubject(subject),
    recommendedAction: action ? describeAction(action) : null,
  };
}

function describeSubject(subject: FindingSubject) {
  return Object.fromEntries(SUBJECT.map((name) => [name, subject[name] ?? null])) as Record<
    (typeof SUBJECT)[number],
    string | null
  >;
}

function describeAction({ kind, summary, reason, isAutoSafe, blastRadius }: FindingAction) {
  return { kind, summary, reason, autoSafe: isAutoSafe, blastRadius };
}
