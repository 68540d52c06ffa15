import Type from 'typebox';
import { ROW_COMPARISONS, TREATMENTS } from '../../core/access/access.js';
import { MAX_TRUNCATED } from '../../core/access/field-masks.js';
import { RATE_SCOPES } from '../../core/access/rate-limits.js';
import { CHANNELS } from '../../core/alerts/alerts.js';
import { FILTER_LANGUAGES, MERGE_STRATEGIES, PROTOCOLS } from '../../core/catalog/layer-settings.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { DomainCode } from '../../core/sources/vector-source.js';
import type { AnyNumber } from '../../core/values/exact-number.js';
import { LONGEST_WINDOW_S } from '../../services/access/rate-limits.js';
import { DrawingInfo, PopupInfo } from '../admin/esri-documents.js';
import { GrantSchema, NAME_SCHEMA, RULE_SCOPE } from '../admin/rule-schemas.js';
import { RuleBody, ZoneBody } from '../alerts/admin/schemas.js';
import { AccessPolicyBody, MapServer } from '../catalog/admin/service-schemas.js';

/** Schemas of all kinds of objects in manifests. Unknown members are refused, because they may be typing errors. */

const CLOSED = { additionalProperties: false };
const words = (maxLength: number) => Type.Optional(Type.String({ maxLength }));
const Description = Type.Optional(Type.Union([Type.String({ maxLength: 2000 }), Type.Null()]));
const OptionalName = Type.Union([NAME_SCHEMA, Type.Null()]);

export const RoleSpec = Type.Object(
  { description: Description, permissions: Type.Array(GrantSchema, { maxItems: 500 }) },
  CLOSED,
);

const TimeInfo = Type.Object(
  { startTimeField: OptionalName, endTimeField: OptionalName, trackIdField: OptionalName },
  CLOSED,
);

export const ServiceSpec = Type.Object(
  {
    description: words(4000),
    protocols: Type.Optional(Type.Array(Type.Enum([...PROTOCOLS]))),
    timeInfo: Type.Optional(TimeInfo),
    mapServer: Type.Optional(Type.Partial(MapServer)),
  },
  CLOSED,
);

/** Members of a manifest whose integers keep all their digits. */
export const EXACT_MANIFEST_MEMBERS = ['code', 'conditions', 'range'];

const CodedValue = Type.Object({
  code: Type.Unsafe<DomainCode>(Type.Union([Type.Number(), Type.String({ maxLength: 256 })])),
  name: Type.String({ maxLength: 256 }),
});

const Bound = Type.Unsafe<AnyNumber | null>(Type.Union([Type.Number(), Type.Null()]));

const Field = Type.Object(
  {
    name: NAME_SCHEMA,
    alias: words(256),
    hidden: Type.Optional(Type.Boolean()),
    editable: Type.Optional(Type.Boolean()),
    order: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
    domain: Type.Optional(
      Type.Union([
        Type.Object({
          type: Type.Literal('codedValue'),
          name: Type.String({ maxLength: 256 }),
          codedValues: Type.Array(CodedValue, { minItems: 1, maxItems: 512 }),
        }),
        Type.Object({
          type: Type.Literal('range'),
          name: Type.String({ maxLength: 256 }),
          range: Type.Array(Bound, { minItems: 2, maxItems: 2 }),
        }),
      ]),
    ),
  },
  CLOSED,
);

const Relationship = Type.Object(
  {
    id: NAME_SCHEMA,
    name: NAME_SCHEMA,
    description: Description,
    cardinality: Type.Enum(['one-to-one', 'one-to-many', 'many-to-many']),
    role: Type.Enum(['origin', 'destination']),
    originField: NAME_SCHEMA,
    destinationField: NAME_SCHEMA,
    relatedLayerId: Type.Integer({ minimum: 0 }),
    esriRelationshipId: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
  },
  CLOSED,
);

const WebAddress = Type.Optional(
  Type.String({ maxLength: 2048, pattern: '^[hH][tT][tT][pP][sS]?://[^\\s"<>]+$' }),
);

export const LayerSpec = Type.Object(
  {
    title: words(256),
    description: words(4000),
    about: Type.Optional(
      Type.Object(
        {
          keywords: Type.Optional(
            Type.Array(Type.String({ maxLength: LIMITS.layerKeyword }), { maxItems: LIMITS.layerKeywords }),
          ),
          license: words(256),
          licenseUrl: WebAddress,
          attribution: words(LIMITS.layerAttribution),
          publisher: words(256),
          sourceUrl: WebAddress,
        },
        CLOSED,
      ),
    ),
    timeInfo: Type.Optional(TimeInfo),
    fields: Type.Optional(Type.Array(Field, { maxItems: 1000 })),
    filter: Type.Optional(
      Type.Object(
        {
          expression: Type.String({ minLength: 1, maxLength: 10_000 }),
          language: Type.Enum([...FILTER_LANGUAGES]),
        },
        CLOSED,
      ),
    ),
    relationships: Type.Optional(Type.Array(Relationship, { maxItems: 64 })),
    mergeStrategy: Type.Optional(Type.Enum([...MERGE_STRATEGIES])),
    service: Type.Optional(NAME_SCHEMA),
    enabled: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);

export const StyleSpec = Type.Object(
  {
    document: Type.Object({}),
    drawingInfo: Type.Optional(DrawingInfo),
    popupInfo: Type.Optional(PopupInfo),
  },
  CLOSED,
);

export const AccessSpec = Type.Object(AccessPolicyBody.properties, CLOSED);

export const RowPolicySpec = Type.Object(
  {
    ...RULE_SCOPE,
    attribute: OptionalName,
    claimType: OptionalName,
    comparison: Type.Enum([...ROW_COMPARISONS]),
    filter: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 8000 }), Type.Null()])),
    description: Description,
  },
  CLOSED,
);

export const FieldMaskSpec = Type.Object(
  {
    ...RULE_SCOPE,
    attribute: NAME_SCHEMA,
    treatment: Type.Optional(Type.Enum([...TREATMENTS])),
    length: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: MAX_TRUNCATED }), Type.Null()])),
    description: Description,
  },
  CLOSED,
);

export const SourceCrsSpec = Type.Object(
  {
    file: Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: '^/',
      description: 'Path of the file on the server.',
    }),
    layer: Type.String({ maxLength: 1000, description: 'Layer. Empty for a file of one layer.' }),
    crs: Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'Code or definition; local for local units.',
    }),
  },
  CLOSED,
);

export const RateLimitSpec = Type.Object(
  {
    name: NAME_SCHEMA,
    scope: Type.Enum([...RATE_SCOPES]),
    key: NAME_SCHEMA,
    requestsPerWindow: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    windowDurationSeconds: Type.Number({ minimum: 0.001, maximum: LONGEST_WINDOW_S }),
    enabled: Type.Boolean(),
  },
  CLOSED,
);

export const AlertZoneSpec = Type.Object(
  {
    wkt: ZoneBody.properties.wkt,
    srid: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999 })),
    isActive: Type.Optional(Type.Boolean()),
    metadata: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 2000 }))),
  },
  CLOSED,
);

export const AlertRuleSpec = Type.Object(
  {
    layer: NAME_SCHEMA,
    trigger: RuleBody.properties.triggerType,
    zone: Type.Optional(OptionalName),
    conditions: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    severity: RuleBody.properties.severity,
    editionRequired: RuleBody.properties.editionRequired,
    cooldownSeconds: RuleBody.properties.cooldownSeconds,
    isActive: RuleBody.properties.isActive,
    channels: Type.Optional(Type.Array(Type.Enum([...CHANNELS]), { maxItems: 20 })),
  },
  CLOSED,
);
