import Type from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import type { Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { PROPOSAL_KINDS } from '../../../core/operate/proposals.js';
import { permits } from '../../../services/access/permissions.js';
import type { Actuator } from '../../../services/actions/actuator.js';
import { OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { OPEN_OBJECT } from '../../admin/open-objects.js';
import { buildDetail, ProposalDetail } from './proposals.js';

const { action, report } = createRowBuilders(['ledger']);

const S = Type.String();
const Json = Type.Object({}, OPEN_OBJECT);
const Seal = Type.Object({ payload: S, protected: S, signature: S });
const OptionalSeal = Type.Union([Seal, Type.Null()]);

const ProposeBody = Type.Object({
  actuator: Type.String({ maxLength: 100 }),
  parameters: Type.Object({}, OPEN_OBJECT),
  reason: Type.Optional(Type.String({ maxLength: 2000 })),
  requestedByAgent: Type.Optional(Type.String({ maxLength: 200 })),
});

const id = pathString('id', 'Id of a proposal.');
/** Kinds of proposals that other operations create. */
const ELSEWHERE: readonly string[] = ['Geoprocess'];

/** Actions that callers propose directly, in addition to the contract. */
export const proposedActions = group({ tag: 'Proposals', scope: 'proposals', envelope: 'raw' }, [
  report('GET /actuators', 'List Actuators', {
    description: 'The actions that proposals can contain, with the schemas of their parameters.',
    data: Type.Object({
      actuators: Type.Array(
        Type.Object({
          actuator: S,
          version: Type.Integer(),
          kind: Type.Enum([...PROPOSAL_KINDS]),
          description: S,
          permission: { ...S, description: 'Permission that the approver needs.' },
          proposePermission: { ...OptionalStringSchema, description: 'Permission of the proposer.' },
          canRollBack: Type.Boolean(),
          verifySeconds: Type.Integer({ description: 'Time within which the effect must come.' }),
          parameters: Json,
        }),
      ),
    }),
    answer: (_x, { ledger }) => ({
      actuators: ledger.actuators.map((one) => ({
        ...{ actuator: one.name, version: one.version, kind: one.kind, description: one.description },
        ...{ permission: one.permission, canRollBack: one.undo !== undefined },
        proposePermission: ELSEWHERE.includes(one.kind) ? null : getProposePermission(one),
        verifySeconds: Math.ceil(one.verifyMs / 1000),
        parameters: one.parameters,
      })),
    }),
  }),
  action('POST /proposals', 'Propose Action', {
    description:
      'Computes the effects of an action, and stores it as a sealed proposal. An equal proposal of the same caller that waits is returned again. The server executes nothing before another person approves.',
    body: jsonBody(ProposeBody),
    status: 201,
    data: ProposalDetail,
    location: (detail: { proposalId: string }) => `/proposals/${detail.proposalId}`,
    errors: [400, 403, 409, 413],
    async answer({ body, principal }, { ledger }) {
      const { actuator, parameters, reason, requestedByAgent } = body;
      const found = ledger.requireActuator(actuator);
      if (ELSEWHERE.includes(found.kind))
        throw new ApiError(
          'invalid-body',
          `actuator: '${actuator}' is proposed by an execution of a process that requires approval.`,
        );
      requireProposer(principal, getProposePermission(found));
      return buildDetail(
        await ledger.propose({ actuator, parameters, reason, requestedByAgent, requester: principal }),
      );
    },
  }),
]);

/** Seals of proposals, in addition to the contract. */
export const proposalSeals = group(
  { tag: 'Proposals', scope: 'proposals', envelope: 'raw', isForTenants: true },
  [
    report('GET /proposals/{id}/seals', 'Get Proposal Seals', {
      description:
        'The proposal, the approval and the receipt as flattened JWS, and the evidence. `graticule proposal verify` reads the response as a file.',
      params: { id },
      data: Type.Object({
        statement: Seal,
        approval: OptionalSeal,
        receipt: OptionalSeal,
        evidence: Type.Union([Json, Type.Null()]),
      }),
      errors: [404],
      async answer({ params, principal }, { ledger }) {
        const { row } = await ledger.get(params.id, principal);
        const parse = (text: string | null) => (text === null ? null : (JSON.parse(text) as object));
        return {
          ...{ statement: parse(row.statement), approval: parse(row.approval) },
          ...{ receipt: parse(row.receipt), evidence: parse(row.evidence_json) },
        };
      },
    }),
  ],
);

/** The permission of a caller who proposes an action: to read the objects that it changes. */
function getProposePermission({ permission, proposePermission }: Actuator): string {
  return proposePermission ?? permission.replace(/:\w+$/, ':read');
}

function requireProposer(principal: Principal, permission: string): void {
  if (permits(principal, permission)) return;
  throw new ApiError('forbidden', `The proposer lacks the permission ${permission}.`);
}
