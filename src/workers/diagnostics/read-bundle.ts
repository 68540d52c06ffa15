import { createHash } from 'node:crypto';
import type { TSchema } from 'typebox';
import {
  ALLOWED_HEADERS,
  type Bundle,
  type BundleEnvelope,
  BundleSchema,
  type BundleVerdict,
} from '../../core/diagnostics/bundle.js';
import { BUNDLE_LIMITS } from '../../core/diagnostics/limits.js';
import { ApiError } from '../../core/errors/errors.js';
import { type FieldError, showValue } from '../../core/errors/field-errors.js';
import { memberBinder } from '../../core/http/member-binder.js';
import { compileOnUse } from '../../core/http/schema-check.js';
import { utf8 } from '../../core/values/json.js';
import { JsonBoundsError, requireBounds } from '../../core/values/json-bounds.js';
import { removeSecrets } from './remove-secrets.js';

const MAX_ERRORS = 20;
const BOUNDS = {
  depth: BUNDLE_LIMITS.bundleDepth,
  values: BUNDLE_LIMITS.bundleValues,
  names: BUNDLE_LIMITS.bundleNames,
  string: BUNDLE_LIMITS.bundleBytes,
};
const check = compileOnUse(BundleSchema);
/** Names in any case, and null for absent members, as in all bodies of the management API. */
const bind = memberBinder(BundleSchema)!;

/** Reads a bundle, checks it by the schema and its rules, and replaces the secrets in its texts. */
export async function readBundle(parts: readonly Uint8Array[]): Promise<BundleVerdict> {
  const bytes = Buffer.concat(parts);
  const value = parse(bytes);
  if ('errors' in value) return value;
  const shape = check(value.json);
  if (shape.length > 0) return { errors: shape };
  const bundle = value.json as Bundle;
  const errors = [...listLongStrings(bundle, BundleSchema, ''), ...listBrokenRules(bundle)];
  if (errors.length > 0) return { errors: errors.slice(0, MAX_ERRORS) };
  const { removed, texts } = await removeSecrets(bundle);
  const { envelopes, consent, bundleId, contentClassification: declared } = texts;
  return {
    head: {
      clientBundleId: bundleId ?? null,
      declared,
      classification: removed.length > 0 ? 'secret-suspected' : declared,
      consent,
      digest: createHash('sha256').update(bytes).digest('hex'),
      removed,
    },
    envelopes: envelopes.map((envelope) => new TextEncoder().encode(JSON.stringify(envelope))),
    correlationIds: listCorrelationIds(envelopes),
  };
}

function parse(bytes: Uint8Array): { json: unknown } | { errors: FieldError[] } {
  try {
    requireBounds(bytes, BOUNDS);
    return { json: bind(JSON.parse(utf8(bytes))) };
  } catch (error) {
    // A name that occurs twice, in different case.
    if (error instanceof ApiError && error.errors) return { errors: [...error.errors] };
    const { message } = error as Error;
    const detail =
      error instanceof JsonBoundsError
        ? `is too complex for a diagnostic bundle: ${message}`
        : `must be JSON: ${message.slice(0, 200)}`;
    return { errors: [{ name: 'body', detail }] };
  }
}

/** The schema counts code points, and the clients count UTF-16 code units. */
function listLongStrings(value: unknown, schema: TSchema, pointer: string): FieldError[] {
  const { maxLength, items, properties } = schema as {
    maxLength?: number;
    items?: TSchema;
    properties?: Readonly<Record<string, TSchema>>;
  };
  if (typeof value === 'string')
    return maxLength !== undefined && value.length > maxLength
      ? [
          {
            ...{ name: pointer, code: 'maxLength' },
            detail: `must have at most ${maxLength} UTF-16 code units, and has ${value.length}`,
          },
        ]
      : [];
  if (Array.isArray(value))
    return value.flatMap((one, i) => (items ? listLongStrings(one, items, `${pointer}/${i}`) : []));
  if (typeof value !== 'object' || value === null || !properties) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    listLongStrings(one, properties[name]!, `${pointer}/${name}`),
  );
}

/** Errors that the schema cannot express. */
function listBrokenRules({ consent, envelopes }: Bundle): FieldError[] {
  const errors = envelopes.flatMap(listEnvelopeErrors);
  if (!consent.redactionAcknowledged)
    errors.unshift({
      name: '/consent/redactionAcknowledged',
      detail: 'must be true: remove the secrets, and acknowledge it',
      received: 'false',
    });
  return errors;
}

function listEnvelopeErrors(envelope: BundleEnvelope, index: number): FieldError[] {
  const at = `/envelopes/${index}`;
  const errors = (['requestHeaders', 'responseHeaders'] as const).flatMap((member) =>
    (envelope[member] ?? []).flatMap(({ name }, i): FieldError[] =>
      ALLOWED_HEADERS.includes(name.toLowerCase())
        ? []
        : [
            {
              name: `${at}/${member}/${i}/name`,
              detail: `must be one of ${ALLOWED_HEADERS.join(', ')}. Remove the other headers`,
              ...shown(name),
            },
          ],
    ),
  );
  const { capturedAt } = envelope;
  if (capturedAt !== undefined && !isTime(capturedAt))
    errors.push({
      name: `${at}/capturedAt`,
      detail: "must be an ISO 8601 time, for example '2026-01-31T12:00:00Z'",
      ...shown(capturedAt),
    });
  return errors;
}

function shown(value: string): { received?: string } {
  const received = showValue(value);
  return received === undefined ? {} : { received };
}

/** Whether the numbers of a text in the form of ISO 8601 are a time. `Date` reads at most milliseconds. */
function isTime(text: string): boolean {
  const [, date, time = '00:00', seconds = '00', sign = 'Z', hours = '', minutes = '00'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:(Z|z|[+-])(?:(\d\d)(?::?(\d\d))?)?)?)?$/.exec(
      text,
    ) ?? [];
  if (date === undefined) return false;
  const zone = hours === '' ? 'Z' : `${sign}${hours}:${minutes}`;
  const at = Date.parse(`${date}T${time}:${seconds}${zone}`);
  // `Date` accepts 31 February as a day of March.
  return !Number.isNaN(at) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
}

function listCorrelationIds(envelopes: readonly BundleEnvelope[]): string[] {
  return [...new Set(envelopes.flatMap(({ correlationId }) => correlationId ?? []))];
}
