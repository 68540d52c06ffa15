import Type from 'typebox';
import { OptionalStringSchema, TimestampSchema } from '../../../admin/envelope.js';
import { OPEN_OBJECT } from '../../../admin/open-objects.js';
import { defineOptionalText, optionalTime, VERDICTS } from './migration-schemas.js';

/** Migration artifacts that programs upload. Unlisted members are stored unchanged. */

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const count = Type.Integer({ minimum: 0 });
const verdict = Type.Enum([...VERDICTS]);
const Open = Type.Object({});
const many = (items: ReturnType<typeof Type.Object>) =>
  Type.Optional(Type.Array(items, { maxItems: 10_000 }));

const Source = Type.Object(
  { baseUrl: text(2048), displayName: defineOptionalText(256), version: defineOptionalText(128) },
  OPEN_OBJECT,
);

export const Manifest = Type.Object(
  {
    artifactKind: Type.Literal('svc.migration.manifest'),
    artifactVersion: text(16),
    sourceKind: text(64),
    source: Source,
    summary: Type.Object(
      {
        sourceResourceCount: count,
        targetResourceCount: count,
        styleActionCount: count,
        manualReviewCount: count,
        unsupportedCount: count,
      },
      OPEN_OBJECT,
    ),
    targetResources: Type.Array(
      Type.Object(
        {
          sourceResourceId: text(512),
          action: text(64),
          targetServiceName: text(256),
          targetResourceName: text(256),
        },
        OPEN_OBJECT,
      ),
      { maxItems: 10_000 },
    ),
    styleActions: many(Open),
    manualReviewItems: many(Open),
    unsupportedItems: many(Open),
  },
  OPEN_OBJECT,
);

export const Parity = Type.Object(
  {
    artifactKind: Type.Literal('svc.migration.arcgis-parity'),
    artifactVersion: text(16),
    sourceKind: text(64),
    source: Source,
    classification: verdict,
    reasons: Type.Array(Type.String({ maxLength: 2000 }), { maxItems: 1000 }),
    resourceProbes: Type.Array(
      Type.Object(
        {
          sourceResourceId: text(512),
          targetResourceId: text(512),
          classification: verdict,
        },
        OPEN_OBJECT,
      ),
      { maxItems: 10_000 },
    ),
  },
  OPEN_OBJECT,
);

export const RECORD_STATES = ['manifest-only', ...VERDICTS] as const;

export const ManifestBody = Type.Object({
  sourceUrl: text(2048),
  manifest: Manifest,
  sourceDisplayName: defineOptionalText(256),
  sourceVersion: defineOptionalText(128),
  actor: defineOptionalText(256),
  createdAt: optionalTime,
});

export const RecordHead = {
  runId: Type.String(),
  sourceUrl: Type.String(),
  sourceDisplayName: OptionalStringSchema,
  sourceVersion: OptionalStringSchema,
  actor: OptionalStringSchema,
  createdAt: TimestampSchema,
};

export const RecordItem = Type.Object({
  ...RecordHead,
  status: Type.Enum([...RECORD_STATES]),
  hasParity: Type.Boolean(),
  targetResourceCount: count,
});

const name = text(256);
export const ToolboxBody = Type.Object({
  artifactKind: Type.Optional(Type.Literal('svc.migration.toolbox-translation')),
  artifactVersion: Type.Optional(Type.Literal('1.0')),
  toolboxName: name,
  sourceFormat: Type.Enum(['pyt', 'tbx', 'atbx']),
  sourceLabel: defineOptionalText(1024),
  tools: Type.Array(
    Type.Object({
      toolName: name,
      displayName: defineOptionalText(256),
      targetProcessId: defineOptionalText(256),
      parameterMappings: Type.Array(
        Type.Object({ sourceName: name, targetParameter: name, sourceDataType: defineOptionalText(128) }),
        { maxItems: 200 },
      ),
      unsupportedConstructs: Type.Array(text(512), { maxItems: 200 }),
    }),
    { minItems: 1, maxItems: 200 },
  ),
});

export const ToolboxReport = Type.Object({
  artifactKind: Type.String(),
  artifactVersion: Type.String(),
  toolboxName: Type.String(),
  sourceFormat: Type.String(),
  summary: Type.Object({
    toolCount: count,
    translatedCount: count,
    partiallyTranslatedCount: count,
    unsupportedCount: count,
  }),
  tools: Type.Array(
    Type.Object({
      toolName: Type.String(),
      classification: Type.Enum(['translated', 'partially-translated', 'unsupported']),
      processId: OptionalStringSchema,
      parameterBindings: Type.Array(
        Type.Object({
          sourceName: Type.String(),
          targetParameter: Type.String(),
          valueType: Type.String(),
          required: Type.Boolean(),
        }),
      ),
      issues: Type.Array(
        Type.Object({
          code: Type.String(),
          message: Type.String(),
          parameterName: Type.Optional(Type.String()),
        }),
      ),
    }),
  ),
});
