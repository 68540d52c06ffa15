import Type from 'typebox';
import { OptionalStringSchema, OptionalTimestampSchema, TimestampSchema } from '../../../admin/envelope.js';
import { OPEN_OBJECT } from '../../../admin/open-objects.js';

/** Schemas of migration records. */

export const RUN_STATES = ['running', 'succeeded', 'failed', 'cancelled'] as const;
const END_STATES = ['succeeded', 'failed', 'cancelled'] as const;
export const VERDICTS = ['pass', 'warn', 'fail'] as const;

/** Constraints of every run id, because it is part of paths. */
export const RUN_ID = { minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]*$' };

const word = (maxLength: number) => Type.String({ minLength: 1, maxLength });
export const defineOptionalText = (maxLength: number) =>
  Type.Optional(Type.Union([Type.String({ maxLength }), Type.Null()]));
export const optionalTime = Type.Optional(Type.Union([TimestampSchema, Type.Null()]));
const count = Type.Integer({ minimum: 0 });
const verdict = Type.Enum([...VERDICTS]);
const fingerprint = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });

export const MigrationRunBody = Type.Object({
  runId: Type.String(),
  sourceKind: Type.String(),
  sourceUrl: OptionalStringSchema,
  sourceDisplayName: OptionalStringSchema,
  status: Type.Enum([...RUN_STATES]),
  statusNote: OptionalStringSchema,
  startedAt: TimestampSchema,
  completedAt: OptionalTimestampSchema,
  hasEvidencePack: Type.Boolean(),
  evidencePackRef: OptionalStringSchema,
  evidencePackFingerprint: OptionalStringSchema,
  hasReconciliationScorecard: Type.Boolean(),
  reconciliationScorecardFingerprint: OptionalStringSchema,
});

export const RunPage = Type.Object({
  items: Type.Array(MigrationRunBody),
  totalCount: count,
  limit: count,
  offset: count,
});

export const RunStart = Type.Object({
  runId: Type.String(RUN_ID),
  sourceKind: word(64),
  sourceUrl: defineOptionalText(2048),
  sourceDisplayName: defineOptionalText(256),
  startedAt: optionalTime,
  statusNote: defineOptionalText(2000),
});

/** Characters of an evidence pack; its escapes and the other members come on top. */
export const PACK_CHARACTERS = 4 << 20;

export const RunEnd = Type.Object({
  status: Type.Enum([...END_STATES]),
  completedAt: optionalTime,
  statusNote: defineOptionalText(2000),
  evidencePackBody: defineOptionalText(PACK_CHARACTERS),
  evidencePackRef: defineOptionalText(2048),
  evidencePackFingerprint: Type.Optional(Type.Union([fingerprint, Type.Null()])),
});

export const RunCancel = Type.Object({ reason: defineOptionalText(2000) });

const SCORECARD_KIND = 'svc.migration.reconciliation-scorecard';

export const ScorecardBody = Type.Object(
  {
    artifactKind: Type.Literal(SCORECARD_KIND),
    artifactVersion: word(16),
    runId: Type.String(RUN_ID),
    sourceKind: word(64),
    generatedAt: TimestampSchema,
    verdict,
    fingerprint,
    dataReconciliation: Type.Object(
      {
        classification: verdict,
        layerCount: count,
        passCount: count,
        warnCount: count,
        failCount: count,
        skippedCount: count,
        catalogFindingCount: count,
        reasons: Type.Array(Type.String({ maxLength: 2000 }), { maxItems: 1000 }),
        layers: Type.Array(
          Type.Object(
            {
              sourceLayerId: word(512),
              sourceLayerName: defineOptionalText(512),
              targetSvcLayerId: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
              classification: Type.Enum([...VERDICTS, 'skipped']),
            },
            OPEN_OBJECT,
          ),
          { maxItems: 5000 },
        ),
      },
      OPEN_OBJECT,
    ),
    capabilityParity: Type.Object(
      {
        constructCount: count,
        automatedCount: count,
        assistedCount: count,
        manualReviewCount: count,
        unsupportedCount: count,
        parityRatio: Type.Number({ minimum: 0, maximum: 1 }),
      },
      OPEN_OBJECT,
    ),
  },
  OPEN_OBJECT,
);

const Json = Type.Object({});
export const EvidenceBody = Type.Object({
  evidenceId: Type.String(),
  fingerprint: Type.String(),
  sourceFamily: Type.String(),
  fixtureSize: Type.String(),
  status: Type.Enum(['Pass', 'Warn', 'Fail']),
  generatedAt: TimestampSchema,
  artifact: Json,
});

export const NewEvidence = Type.Object({
  sourceFamily: word(64),
  fixtureSize: word(64),
  status: Type.Enum(['Pass', 'Warn', 'Fail']),
  generatedAt: optionalTime,
  artifact: Json,
});

export const EvidencePage = Type.Object({
  items: Type.Array(EvidenceBody),
  count,
  limit: count,
  sourceFamily: OptionalStringSchema,
  fixtureSize: OptionalStringSchema,
});
