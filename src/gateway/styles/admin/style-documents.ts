import Type, { type Static } from 'typebox';
import { badMember } from '../../../core/errors/errors.js';
import { listNames } from '../../../core/errors/near-names.js';
import type { BodySpec } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { SldDiagnostic } from '../../../core/styles/sld/report.js';
import { PALETTES } from '../../../core/styles/suggest/palettes.js';

/** Schemas of the operations on styles. */

export const JsonObject = Type.Object({});
export const OptionalObject = Type.Union([JsonObject, Type.Null()]);

const Diagnostic = Type.Object({
  severity: Type.Enum(['Warning', 'Error']),
  construct: Type.String(),
  message: Type.String(),
  ruleName: Type.Optional(Type.String()),
});

/** Result of an import. */
export const ImportResultSchema = Type.Object({
  detectedVersion: Type.Enum(['Sld10', 'Sld11']),
  layerCount: Type.Integer(),
  mapLibreStyle: JsonObject,
  diagnostics: Type.Array(Diagnostic),
});

/** Report on an SLD that has no layer to draw. */
export const UnreadableSldSchema = Type.Object({
  detectedVersion: Type.Union([Type.Enum(['Sld10', 'Sld11']), Type.Null()]),
  diagnostics: Type.Array(Diagnostic),
});

/** An SLD as bytes, because a worker parses it. */
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

export const SuggestionSchema = Type.Object({
  mapLibreStyle: JsonObject,
  drawingInfo: JsonObject,
  suggestedField: Type.Object({ name: Type.String(), type: Type.String(), reason: Type.String() }),
  classificationMethod: Type.Union([Type.String(), Type.Null()]),
  paletteName: Type.String(),
  edition: Type.String(),
  legend: Type.Object({ title: Type.String(), entries: Type.Array(Entry) }),
  observations: Type.Array(Type.String()),
});

/** Maximum characters of the diagnostics in a header. */
const MAX_HEADER_CHARACTERS = 4000;

/** Headers with the number of diagnostics, and with as many of the first as fit, as ASCII JSON. */
export function diagnosticHeaders(diagnostics: readonly SldDiagnostic[]): Record<string, string> {
  const fitting: SldDiagnostic[] = [];
  let length = '[]'.length;
  for (const one of diagnostics) {
    length += formatAscii(one).length + 1;
    if (length > MAX_HEADER_CHARACTERS) break;
    fitting.push(one);
  }
  return { 'x-sld-diagnostic-count': String(diagnostics.length), 'x-sld-diagnostics': formatAscii(fitting) };
}

function formatAscii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Throws unless the preferred field, if there is one, is an attribute that a style can classify: `names` lists them. */
export function requirePreferredField(names: readonly string[], field: string | undefined): void {
  if (field === undefined || names.includes(field)) return;
  const detail = `'${field.slice(0, 60)}' is not an attribute with plain values. Use ${listNames(names)}`;
  throw badMember('/preferredField', detail);
}
