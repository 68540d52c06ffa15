import Type, { type Static } from 'typebox';
import { badMember } from '../../../core/errors/errors.js';
import { listNames } from '../../../core/errors/near-names.js';
import type { BodySpec } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { SldDiagnostic } from '../../../core/styles/sld/report.js';
import { PALETTES } from '../../../core/styles/suggest/palettes.js';

/** Schemas of the operations on styles (contract, §38). */

export const JsonObject = Type.Object({});
export const OptionalObject = Type.Union([JsonObject, Type.Null()]);

const Diagnostic = Type.Object({
  severity: Type.Enum(['Warning', 'Error']),
  construct: Type.String(),
  message: Type.String(),
  ruleName: Type.Optional(Type.String()),
});

export const Imported = Type.Object({
  detectedVersion: Type.Enum(['Sld10', 'Sld11']),
  layerCount: Type.Integer(),
  mapLibreStyle: JsonObject,
  diagnostics: Type.Array(Diagnostic),
});

/** An SLD without anything that can be drawn. */
export const Unreadable = Type.Object({
  detectedVersion: Type.Union([Type.Enum(['Sld10', 'Sld11']), Type.Null()]),
  diagnostics: Type.Array(Diagnostic),
});

/** Bytes of XML; they are read by a worker. */
export const sldBody: BodySpec = {
  schema: Type.Unknown({ description: 'A StyledLayerDescriptor.' }),
  mediaTypes: ['application/xml', 'text/xml', 'application/vnd.ogc.sld+xml', 'application/vnd.ogc.se+xml'],
  required: true,
  maxBytes: LIMITS.sldBytes,
  form: 'bytes',
};

export const SuggestBody = Type.Object({
  preferredField: Type.Optional(Type.String()),
  preferredMethod: Type.Optional(Type.Enum(['EqualInterval', 'Quantile', 'NaturalBreaks', 'UniqueValue'])),
  preferredPalette: Type.Optional(Type.Enum([...PALETTES])),
  classCount: Type.Optional(Type.Integer({ minimum: 2, maximum: 12 })),
});
export type SuggestBody = Static<typeof SuggestBody>;

const Entry = Type.Object({
  label: Type.String(),
  color: Type.String(),
  minValue: Type.Optional(Type.Number()),
  maxValue: Type.Optional(Type.Number()),
});

export const Suggested = Type.Object({
  mapLibreStyle: JsonObject,
  drawingInfo: JsonObject,
  suggestedField: Type.Object({ name: Type.String(), type: Type.String(), reason: Type.String() }),
  classificationMethod: Type.Union([Type.String(), Type.Null()]),
  paletteName: Type.String(),
  edition: Type.String(),
  legend: Type.Object({ title: Type.String(), entries: Type.Array(Entry) }),
  observations: Type.Array(Type.String()),
});

/** Diagnostics as a header has room for: ASCII, the first of them. */
const HEADER_CHARACTERS = 4000;

export function diagnosticHeaders(diagnostics: readonly SldDiagnostic[]): Record<string, string> {
  const problems: SldDiagnostic[] = [];
  let length = 2;
  for (const one of diagnostics) {
    length += ascii(one).length + 1;
    if (length > HEADER_CHARACTERS) break;
    problems.push(one);
  }
  return { 'x-sld-diagnostic-count': String(diagnostics.length), 'x-sld-diagnostics': ascii(problems) };
}

function ascii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Throws `invalid-parameter` for an attribute that a layer does not have. */
export function requireAttribute(names: readonly string[], field: string | undefined): void {
  if (field === undefined || names.includes(field)) return;
  const detail = `'${field.slice(0, 60)}' is not an attribute with plain values. Use ${listNames(names)}`;
  throw badMember('/preferredField', detail);
}
