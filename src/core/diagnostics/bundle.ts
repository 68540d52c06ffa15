import Type, { type Static } from 'typebox';
import type { FieldError } from '../errors/field-errors.js';

/** Diagnostic bundles of clients (schema version 1.0): sanitized HTTP exchanges for support. */

export const CLASSIFICATIONS = [
  'unknown',
  'public',
  'internal',
  'customer-data',
  'secret-suspected',
] as const;
export type ContentClassification = (typeof CLASSIFICATIONS)[number];

/** Names of the headers that a bundle may contain: those of the clients, and two of responses. */
export const ALLOWED_HEADERS: readonly string[] = [
  'accept',
  'content-length',
  'content-type',
  'etag',
  'retry-after',
  'traceparent',
  'x-correlation-id',
  'x-request-id',
];

const EXACT = { additionalProperties: false };
const text = (maxLength: number) => Type.String({ maxLength });

const HeaderSchema = Type.Object({ name: text(128), value: text(2048) }, EXACT);
const PreviewSchema = Type.Object(
  {
    preview: Type.Optional(text(8192)),
    contentSha256: Type.Optional(Type.String({ maxLength: 64, pattern: '^[0-9a-f]{64}$' })),
    originalByteSize: Type.Integer({ minimum: 0, maximum: 26_214_400 }),
    redactionApplied: Type.Boolean(),
    truncated: Type.Boolean(),
  },
  EXACT,
);
const HeadersSchema = Type.Array(HeaderSchema, {
  maxItems: 32,
  description: `Allowed names: ${ALLOWED_HEADERS.join(', ')}.`,
});

/** ISO 8601: a date, or a date with a time. */
const CAPTURED =
  '^\\d{4}-\\d{2}-\\d{2}([T ]\\d{2}:\\d{2}(:\\d{2}([.,]\\d+)?)?(Z|z|[+-]\\d{2}(:?\\d{2})?)?)?$';

const EnvelopeSchema = Type.Object(
  {
    method: text(16),
    normalizedPath: text(2048),
    statusCode: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
    mediaType: Type.Optional(text(256)),
    correlationId: Type.Optional(text(200)),
    traceId: Type.Optional(text(200)),
    capturedAt: Type.Optional(Type.String({ maxLength: 40, pattern: CAPTURED })),
    requestHeaders: Type.Optional(HeadersSchema),
    responseHeaders: Type.Optional(HeadersSchema),
    requestBody: Type.Optional(PreviewSchema),
    responseBody: Type.Optional(PreviewSchema),
  },
  EXACT,
);
export type BundleEnvelope = Static<typeof EnvelopeSchema>;

const ConsentSchema = Type.Object(
  {
    redactionAcknowledged: Type.Boolean({ description: 'Must be true.' }),
    shareWithSupport: Type.Boolean(),
    grantedBy: Type.Optional(text(256)),
  },
  EXACT,
);

export const BundleSchema = Type.Object(
  {
    schemaVersion: Type.Enum(['1.0']),
    bundleId: Type.Optional(text(64)),
    contentClassification: Type.Enum([...CLASSIFICATIONS]),
    consent: ConsentSchema,
    envelopes: Type.Array(EnvelopeSchema, { minItems: 1, maxItems: 50 }),
  },
  EXACT,
);
export type Bundle = Static<typeof BundleSchema>;

/** A text of a bundle that looked like a secret and was replaced. */
export interface RemovedSecret {
  /** JSON pointer of the member. */
  readonly pointer: string;
  /** Kind of the secret, such as `github-token`. */
  readonly kind: string;
}

/** Members of a bundle without its envelopes. */
export interface BundleHead {
  readonly clientBundleId: string | null;
  readonly declared: ContentClassification;
  /** `secret-suspected` if a secret was found, otherwise as declared. */
  readonly classification: ContentClassification;
  readonly consent: Bundle['consent'];
  /** SHA-256 of the received bytes, in hexadecimal. */
  readonly digest: string;
  readonly removed: readonly RemovedSecret[];
}

export type BundleVerdict =
  | { readonly errors: readonly FieldError[] }
  | {
      readonly head: BundleHead;
      /** JSON of each envelope. */
      readonly envelopes: readonly Uint8Array<ArrayBuffer>[];
      /** Ids that link the envelopes to log lines. */
      readonly correlationIds: readonly string[];
    };

export interface DiagnosticsTasks {
  /** Reads, checks and scans a bundle outside the event loop. The memory of the parts is transferred. */
  'diagnostics.bundle': { input: { parts: readonly Uint8Array<ArrayBuffer>[] }; output: BundleVerdict };
}
