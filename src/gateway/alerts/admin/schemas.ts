import Type from 'typebox';
import {
  ALERT_SEVERITIES,
  CHANNELS,
  INCIDENT_STATUSES,
  LIFECYCLES,
  TRIGGER_TYPES,
} from '../../../core/alerts/alerts.js';
import { CONDITIONS_CHARACTERS } from '../../../core/alerts/conditions.js';
import { ALERT_LIMITS } from '../../../core/alerts/limits.js';
import { OptionalStringSchema, OptionalTimestampSchema, TimestampSchema } from '../../admin/envelope.js';
import { NAME_SCHEMA } from '../../admin/rule-schemas.js';

const I = Type.Integer();
const OptionalInteger = Type.Union([I, Type.Null()]);
const Severity = Type.Enum([...ALERT_SEVERITIES]);
const TriggerKind = Type.Enum([...TRIGGER_TYPES]);
const Edition = Type.Enum(['pro', 'enterprise']);
const ChannelName = Type.Enum([...CHANNELS]);
const Metadata = Type.Record(Type.String({ maxLength: 200 }), Type.String({ maxLength: 2000 }), {
  maxProperties: 100,
});
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const ZoneSchema = Type.Object({
  zoneId: I,
  zoneName: Type.String(),
  serviceId: Type.String(),
  isActive: Type.Boolean(),
  srid: OptionalInteger,
  wkt: { ...OptionalStringSchema, description: 'MULTIPOLYGON; longitude or easting first.' },
  metadata: Type.Record(Type.String(), Type.String()),
});

export const ZoneBody = Type.Object({
  zoneName: NAME_SCHEMA,
  serviceId: NAME_SCHEMA,
  wkt: Type.Optional(
    Type.Union([Type.String({ maxLength: ALERT_LIMITS.zoneCharacters }), Type.Null()], {
      description: 'POLYGON or MULTIPOLYGON as well-known text; longitude or easting first.',
    }),
  ),
  srid: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: 999_999 }), Type.Null()], {
      description: 'EPSG code of the CRS of wkt. Default: 4326.',
    }),
  ),
  isActive: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(Type.Union([Metadata, Type.Null()])),
});

export const RuleSchema = Type.Object({
  ruleId: I,
  ruleName: Type.String(),
  serviceId: Type.String(),
  layerId: I,
  zoneId: OptionalInteger,
  triggerType: TriggerKind,
  severity: Severity,
  editionRequired: Edition,
  conditionsJson: Type.String(),
  cooldownSeconds: I,
  isActive: Type.Boolean(),
  channels: Type.Array(ChannelName),
});

export const RuleBody = Type.Object({
  ruleName: NAME_SCHEMA,
  serviceId: NAME_SCHEMA,
  layerId: Type.Integer({ minimum: 0 }),
  triggerType: TriggerKind,
  zoneId: Type.Optional(
    Type.Union([Id, Type.Null()], { description: 'Required for enter, exit and dwell rules.' }),
  ),
  conditionsJson: Type.Optional(
    Type.String({
      maxLength: CONDITIONS_CHARACTERS,
      description:
        'Text of a JSON object. Dwell rules need dwellSeconds; threshold rules field, operator and value.',
    }),
  ),
  severity: Type.Optional(Severity),
  editionRequired: Type.Optional(Edition),
  cooldownSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000 })),
  isActive: Type.Optional(Type.Boolean()),
  channels: Type.Optional(Type.Union([Type.Array(ChannelName, { maxItems: 20 }), Type.Null()])),
});

export const TriggerSchema = Type.Object({
  eventId: I,
  occurredAt: TimestampSchema,
  severity: Severity,
  triggerType: TriggerKind,
  incidentStatus: Type.Enum([...INCIDENT_STATUSES]),
  lifecycleStatus: Type.Enum([...LIFECYCLES]),
  resourceRef: Type.String(),
});

const PositionSchema = Type.Union([Type.Array(Type.Number()), Type.Null()]);

export const AlertEventSchema = Type.Object({
  eventId: I,
  ruleId: OptionalInteger,
  ruleName: OptionalStringSchema,
  zoneId: OptionalInteger,
  serviceId: Type.String(),
  layerId: I,
  objectId: I,
  triggerType: TriggerKind,
  severity: Severity,
  incidentStatus: Type.Enum([...INCIDENT_STATUSES]),
  lifecycleStatus: Type.Enum([...LIFECYCLES]),
  incidentDurationMs: I,
  occurredAt: TimestampSchema,
  acknowledgedAt: OptionalTimestampSchema,
  acknowledgedBy: OptionalStringSchema,
  resolvedAt: OptionalTimestampSchema,
  resolvedBy: OptionalStringSchema,
  suppressedUntil: OptionalTimestampSchema,
  resourceRef: Type.String(),
  detectedBy: {
    ...Type.Enum(['event', 'timer', 'rescan']),
    description: 'rescan: found by a comparison of all features after a gap of the feed.',
  },
  note: OptionalStringSchema,
  featureId: Type.String(),
  position: {
    ...PositionSchema,
    description:
      'Longitude and latitude of the feature at the start of the incident. null if policies restrict the caller.',
  },
});

const ChannelStatus = ['configured', 'unconfigured', 'disabled', 'unauthorized'];
const Count = Type.Integer({ minimum: 0 });

export const RuleTestSchema = Type.Object({
  isValid: Type.Boolean(),
  errors: Type.Array(Type.String()),
  warnings: Type.Array(Type.String()),
  evaluatedAt: TimestampSchema,
  deliveryChannels: Type.Array(
    Type.Object({
      channel: ChannelName,
      status: Type.Enum(ChannelStatus),
      isAllowed: Type.Boolean(),
      isConfigured: Type.Boolean(),
      message: Type.String(),
    }),
  ),
  simulation: Type.Union(
    [
      Type.Object({
        from: TimestampSchema,
        editCount: Count,
        triggerCount: Count,
        triggers: Type.Array(
          Type.Object({ featureId: Type.String(), occurredAt: TimestampSchema, position: PositionSchema }),
        ),
        isComplete: Type.Boolean(),
      }),
      Type.Null(),
    ],
    { description: 'Triggers of a valid rule in the edits of the last hour.' },
  ),
});

export const RuleHealthSchema = Type.Object({
  ruleId: I,
  activeIncidentCount: Count,
  coolingDownFeatureCount: Count,
  recentTriggerCount: Count,
  deliveryFailureCount: Count,
  deadLetterCount: Count,
  lastEvaluatedAt: OptionalTimestampSchema,
  lastTriggeredAt: OptionalTimestampSchema,
  nextCooldownExpiresAt: OptionalTimestampSchema,
  linkedEventIds: Type.Array(I),
  recentTriggers: Type.Array(TriggerSchema),
  deliveryChannels: Type.Array(
    Type.Object({
      channel: ChannelName,
      status: Type.Enum([...ChannelStatus, 'rate_limited', 'failing']),
      pendingCount: Count,
      processingCount: Count,
      deliveredCount: Count,
      failedCount: Count,
      deadLetterCount: Count,
      lastAttemptAt: OptionalTimestampSchema,
      lastDeliveredAt: OptionalTimestampSchema,
      lastError: OptionalStringSchema,
    }),
  ),
  evaluation: {
    ...Type.Enum([
      'active',
      'disabled',
      'rescanning',
      'unauthorized',
      'layer-unpublished',
      'zone-inactive',
      'invalid',
    ]),
    description:
      'Whether the rule is evaluated. rescanning: its features are being compared with its states.',
  },
});
