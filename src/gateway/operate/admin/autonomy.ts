import Type from 'typebox';
import { ApiError, badParameter, notFound } from '../../../core/errors/errors.js';
import { formatActor, type Param, type Principal } from '../../../core/http/operation.js';
import { permits } from '../../../services/access/permissions.js';
import {
  AUTONOMY_LIMITS,
  AUTONOMY_MODES,
  type AutonomyPolicy,
} from '../../../services/operate/autonomy/autonomy.js';
import { auditResource } from '../../../stores/audit/audit-scope.js';
import type { AutonomySettingRow } from '../../../stores/operate/autonomy.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource, setting } from '../../admin/kit.js';

const { implement } = createRowBuilders(['autonomy']);

const I = Type.Integer();
const MODE = Type.Enum([...AUTONOMY_MODES]);
const REASON_CHARACTERS = 2000;
const APPROVER = 'admin:write';

const TrackRecord = Type.Object({
  proposalsRaised: I,
  proposalsApproved: I,
  proposalsRejected: I,
  autoApplied: I,
  failed: I,
  rolledBack: I,
  firstActivityAt: OptionalTimestampSchema,
  lastActivityAt: OptionalTimestampSchema,
});
const Policy = Type.Object({
  rule: Type.String(),
  mode: MODE,
  maxBlastRadius: Type.Integer({
    description: 'Maximum number of things that one automatic action changes.',
  }),
  maxAutoActionsPerWindow: I,
  windowSeconds: I,
  isPersisted: Type.Boolean({ description: 'False for the default policy.' }),
  updatedAt: OptionalTimestampSchema,
  updatedBy: OptionalStringSchema,
  trackRecord: TrackRecord,
});
const Settings = Type.Object({
  killSwitchEnabled: Type.Boolean({ description: 'While it is on, no policy acts.' }),
  updatedAt: OptionalTimestampSchema,
  updatedBy: OptionalStringSchema,
});

const optional = <S extends Type.TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));
const Reason = optional(Type.String({ maxLength: REASON_CHARACTERS }));
const PolicyBody = Type.Object({
  mode: optional(MODE),
  maxBlastRadius: optional(Type.Integer({ minimum: 0, maximum: AUTONOMY_LIMITS.blastRadius })),
  maxAutoActionsPerWindow: optional(Type.Integer({ minimum: 0, maximum: AUTONOMY_LIMITS.actions })),
  windowSeconds: optional(Type.Integer({ minimum: 1, maximum: AUTONOMY_LIMITS.windowSeconds })),
  reason: Reason,
});
const SettingsBody = Type.Object({ killSwitchEnabled: Type.Boolean(), reason: Reason });

const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const rule: Param<string> = {
  name: 'rule',
  in: 'path',
  description: 'Name of a rule, in kebab case.',
  required: true,
  schema: Type.String({ pattern: KEBAB.source, maxLength: AUTONOMY_LIMITS.ruleCharacters }),
  parse(raw = '') {
    if (raw.length > AUTONOMY_LIMITS.ruleCharacters || !KEBAB.test(raw))
      throw badParameter(
        'rule',
        `must be a name in kebab case, of at most ${AUTONOMY_LIMITS.ruleCharacters} characters`,
      );
    return raw;
  },
};

/** Automatic actions of rules. */
export const autonomy = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  ...resource(
    '/observability/autonomy/policies/{rule}',
    {
      list: 'List Ops Autonomy Policies',
      get: 'Get Ops Autonomy Policy',
      update: 'Set Ops Autonomy Policy',
    },
    {
      list: implement({
        description:
          'A policy for each rule. Rules without a stored policy have the default: they propose only.',
        data: Type.Object({ generatedAt: TimestampSchema, policies: Type.Array(Policy) }),
        errors: [503],
        async answer(_, { autonomy }) {
          const policies = await autonomy.list();
          return { generatedAt: timestamp(Date.now()), policies: policies.map(describePolicy) };
        },
      }),
      get: implement({
        params: { rule },
        data: Policy,
        errors: [400, 404, 503],
        async answer({ params }, { autonomy }) {
          const found = await autonomy.find(params.rule);
          if (!found) throw notFound('rule', params.rule);
          return describePolicy(found);
        },
      }),
      update: implement({
        description:
          'Absent members stay. `AutoApply` needs the permission admin:write and the setting security.stateKey. A change starts a new count of failed verifications.',
        params: { rule },
        body: jsonBody(PolicyBody),
        data: Policy,
        errors: [400, 403, 503],
        async answer({ params, body, principal }, { autonomy }) {
          if (body.mode === 'AutoApply') requireApprover(principal);
          auditResource(params.rule, { reason: body.reason ?? null });
          const changed = await autonomy.change(params.rule, formatActor(principal), {
            mode: body.mode ?? undefined,
            maxBlastRadius: body.maxBlastRadius ?? undefined,
            maxActions: body.maxAutoActionsPerWindow ?? undefined,
            windowSeconds: body.windowSeconds ?? undefined,
          });
          return describePolicy(changed);
        },
      }),
    },
  ),
  ...setting(
    '/observability/autonomy/settings',
    { get: 'Get Ops Autonomy Settings', set: 'Set Ops Autonomy Settings' },
    {
      get: implement({
        data: Settings,
        errors: [503],
        answer: async (_, { autonomy }) => describeSettings(await autonomy.settings()),
      }),
      set: implement({
        description:
          'The switch stops policies on all servers, also before an approved action starts. People can still approve.',
        body: jsonBody(SettingsBody),
        data: Settings,
        errors: [400, 503],
        async answer({ body, principal }, { autonomy }) {
          auditResource('settings', {
            killSwitchEnabled: body.killSwitchEnabled,
            reason: body.reason ?? null,
          });
          return describeSettings(
            await autonomy.setKillSwitch(body.killSwitchEnabled, formatActor(principal)),
          );
        },
      }),
    },
  ),
]);

/** A policy approves in the name of a caller, who must have the right to all actions. */
function requireApprover(principal: Principal): void {
  if (permits(principal, APPROVER)) return;
  throw new ApiError(
    'forbidden',
    `mode: AutoApply requires the permission ${APPROVER}, because the policy approves actions of all kinds.`,
  );
}

function describeSettings(row: AutonomySettingRow | undefined) {
  return {
    killSwitchEnabled: row?.kill_switch === 1,
    updatedAt: optionalTimestamp(row?.updated_at ?? null),
    updatedBy: row?.updated_by ?? null,
  };
}

function describePolicy({
  rule,
  mode,
  maxBlastRadius,
  maxActions,
  windowSeconds,
  stored,
  record,
}: AutonomyPolicy) {
  return {
    ...{ rule, mode, maxBlastRadius, maxAutoActionsPerWindow: maxActions, windowSeconds },
    isPersisted: stored !== undefined,
    updatedAt: optionalTimestamp(stored?.updated_at ?? null),
    updatedBy: stored?.updated_by ?? null,
    trackRecord: {
      proposalsRaised: record.raised,
      proposalsApproved: record.approved,
      proposalsRejected: record.rejected,
      autoApplied: record.autoApplied,
      failed: record.failed,
      rolledBack: record.rolledBack,
      firstActivityAt: optionalTimestamp(record.firstAt),
      lastActivityAt: optionalTimestamp(record.lastAt),
    },
  };
}
