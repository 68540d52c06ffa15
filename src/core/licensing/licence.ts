import Type, { type Static } from 'typebox';
import { EDITIONS } from './entitlements.js';

const Name = Type.String({ minLength: 1, maxLength: 256 });
/** RFC 3339 with an offset. A date without a time ends at another hour in each time zone. */
const Instant = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?(Z|[+-]\\d{2}:\\d{2})$',
});

/** Capacity that a licence includes. */
const CapacityTermsSchema = Type.Object({
  /** Serving units that the 95th percentile of a month may reach. */
  maxSustainedServingUnits: Type.Number({ exclusiveMinimum: 0, maximum: 1e9 }),
  /** Multiple of these units that may be reached for a short time. */
  burstMultiplier: Type.Optional(Type.Number({ minimum: 1, maximum: 1000 })),
  /** Days after which too many units are reported as expired grace. */
  gracePeriodDays: Type.Optional(Type.Integer({ minimum: 0, maximum: 3650 })),
  /** Days per calendar year with surge mode; null or absent: unlimited. */
  annualSurgeDays: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 366 }), Type.Null()])),
});
export type CapacityTerms = Static<typeof CapacityTermsSchema>;

/** Payload of a licence file. Members of later releases are ignored. */
export const LicenceSchema = Type.Object({
  licenseId: Name,
  licensedTo: Name,
  edition: Type.Enum([...EDITIONS]),
  issuedAt: Instant,
  expiresAt: Instant,
  entitlements: Type.Array(Name, { maxItems: 200 }),
  terms: Type.Optional(CapacityTermsSchema),
});
export type Licence = Static<typeof LicenceSchema>;

export const VALIDATION_STATES = [
  'NoLicenseConfigured',
  'Valid',
  'MissingFile',
  'Malformed',
  'UnknownKey',
  'InvalidSignature',
  'Expired',
] as const;
export type ValidationState = (typeof VALIDATION_STATES)[number];

/** A licence file after its checks. `licence` is present only if the signature is valid. */
export interface LicenceVerdict {
  readonly state: Exclude<ValidationState, 'NoLicenseConfigured' | 'MissingFile'>;
  readonly licence?: Licence;
  /** Reason in words, without a full stop. */
  readonly problem?: string;
}

/** `typ` of the protected header of a licence file. */
export const LICENCE_TYPE = 'svc-licence+jws';
export const MAX_LICENCE_BYTES = 65_536;
