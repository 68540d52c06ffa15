import Type, { type Static } from 'typebox';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import { ApiError, fieldFailure } from '../../../core/errors/errors.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { defineIntegerParam } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { StyleError } from '../../../core/styles/check.js';
import { importDrawingInfo } from '../../../core/styles/drawing-info/import.js';
import type { UnsupportedSymbolizer } from '../../../core/styles/drawing-info/report.js';
import type { SldDiagnostic, SldVersion } from '../../../core/styles/sld/report.js';
import { type SuggestOptions, suggestStyle } from '../../../core/styles/suggest/suggest.js';
import type { StylePut, Styles } from '../../../services/styles/index.js';
import { readFieldSamples } from '../../../services/styles/sample.js';
import {
  buildStyleDocument,
  describeSldTarget,
  readCollectionSld,
  writeSld,
} from '../../../services/styles/translations.js';
import type { StoredStyle, StyleRevision } from '../../../stores/styles/styles.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  dataSchema,
  errorDocs,
  OptionalStringSchema,
  OptionalTimestampSchema,
  timestamp,
  wrap,
} from '../../admin/envelope.js';
import { bindDocument } from '../../admin/esri-documents.js';
import { createRowBuilders, group, jsonBody, setting } from '../../admin/kit.js';
import { layerIdParam, requireBounded } from '../../admin/layer-lookup.js';
import { requireWhole } from '../../admin/layer-rights.js';
import {
  diagnosticHeaders,
  ImportResultSchema,
  JsonObject,
  OptionalObject,
  requirePreferredField,
  SuggestBody,
  SuggestionSchema,
  sldBody,
  UnreadableSldSchema,
} from './style-documents.js';

const SERVICES = ['access', 'pools', 'styles'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, implement, report } = createRowBuilders(SERVICES);

const REVISION = {
  styleVersion: Type.Integer(),
  revisedAt: OptionalTimestampSchema,
  revisedBy: OptionalStringSchema,
  changeSummary: OptionalStringSchema,
};

const LayerStyle = Type.Object({
  mapLibreStyle: OptionalObject,
  drawingInfo: OptionalObject,
  ...REVISION,
  unsupportedSymbolizers: Type.Union([
    Type.Array(Type.Object({ code: Type.String(), symbolizerType: Type.String(), guidance: Type.String() })),
    Type.Null(),
  ]),
  versions: Type.Optional(Type.Array(Type.Object(REVISION))),
});

const version = defineIntegerParam(
  'version',
  { min: 1, max: 2_147_483_647, default: undefined },
  { description: 'Number of a previous version, from the versions in the response.' },
);

const PutBody = Type.Object({
  mapLibreStyle: Type.Optional(JsonObject),
  drawingInfo: Type.Optional(JsonObject),
  changeSummary: Type.Optional(Type.String({ maxLength: 1000 })),
  changedBy: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
});

type PutBody = Static<typeof PutBody>;

/** Bytes of a request: a style within its bounds, as loosely written as people do. */
const MAX_BODY = 4 * LIMITS.styleCharacters;

/** Styles of layers. */
export const styles = group({ tag: 'Styles', scope: 'styles', envelope: 'wrapped', isForTenants: true }, [
  ...setting(
    '/metadata/layers/{layerId}/style',
    { get: 'Get Layer Style', set: 'Update Layer Style' },
    {
      get: implement({
        description:
          'Returns the current style and the stored versions. Version 0 is the default style of the layer.',
        params: { layerId: layerIdParam, version },
        data: LayerStyle,
        errors: [400, 404, 503],
        answer: ({ params }, deps) => get(params, deps),
      }),
      set: implement({
        description:
          'Replaces the style. A style that cannot be drawn is refused, with the place of each error as a JSON pointer.',
        params: { layerId: layerIdParam },
        body: { ...jsonBody(PutBody), maxBytes: MAX_BODY },
        data: LayerStyle,
        errors: [400, 404, 413, 503],
        async answer(x, deps) {
          const { stored, unsupported } = await put(x, deps);
          return { ...view(x.params.layerId, stored, deps), unsupportedSymbolizers: unsupported };
        },
      }),
    },
  ),
  action('POST /metadata/layers/{layerId}/style/import-sld', 'Import SLD Layer Style', {
    description:
      'Reads SLD 1.0 or 1.1 and makes it the style of the layer, with a diagnostic for each thing that was lost.',
    params: { layerId: layerIdParam },
    body: sldBody,
    responses: {
      200: {
        description: 'Success.',
        content: { 'application/json': dataSchema(ImportResultSchema, 'wrapped') },
      },
      ...errorDocs([400, 404, 413, 415, 503]),
      422: {
        description: 'No part of the style can be drawn. The style of the layer is unchanged.',
        content: { 'application/json': dataSchema(UnreadableSldSchema, 'wrapped') },
      },
    },
    reply: importSld,
  }),
  report('GET /metadata/layers/{layerId}/style/export-sld', 'Export Layer Style as SLD', {
    description:
      'Returns the current style as SLD 1.1. X-Sld-Diagnostic-Count is the number of losses, X-Sld-Diagnostics lists the first of them as JSON.',
    params: { layerId: layerIdParam },
    responses: {
      200: { description: 'The style.', content: { 'application/xml': null } },
      ...errorDocs([404, 422, 503]),
    },
    async reply({ params }, { styles }) {
      const collection = styles.styled(params.layerId);
      const document = styles.documentOf(collection, await styles.current(params.layerId));
      const { text, diagnostics } = writeSld(collection, document);
      return {
        status: 200,
        mediaType: 'application/xml',
        body: text,
        headers: diagnosticHeaders(diagnostics),
      };
    },
  }),
  report('POST /metadata/layers/{layerId}/suggest-style', 'Suggest Layer Style', {
    description:
      'Returns a style that is derived from a sample of the rows. The style of the layer is unchanged.',
    params: { layerId: layerIdParam },
    body: jsonBody(SuggestBody, false),
    data: SuggestionSchema,
    errors: [400, 403, 404, 503],
    answer: suggest,
  }),
]);

/** The current style, or an older version; null if that was the default style of the layer. */
async function get({ layerId, version }: { layerId: number; version: number | undefined }, deps: Deps) {
  deps.styles.styled(layerId);
  const versions = (await deps.styles.history(layerId)).map(revisionView);
  if (version === undefined) return { ...view(layerId, await deps.styles.current(layerId), deps), versions };
  const older = await deps.styles.version(layerId, version);
  return { ...view(layerId, older, deps), mapLibreStyle: older.document, versions };
}

type StyleExchange<B> = Exchange<{ layerId: typeof layerIdParam }, B>;

/** A style and, of a drawingInfo, what of it could not be drawn. */
interface Put {
  readonly stored: StoredStyle;
  readonly unsupported: readonly UnsupportedSymbolizer[];
}

/** A drawingInfo without a style is translated. With a style, it is stored unchanged. */
async function put({ params, body, principal }: StyleExchange<PutBody>, { styles }: Deps): Promise<Put> {
  const { mapLibreStyle, changedBy, changeSummary } = body;
  if (!mapLibreStyle && !body.drawingInfo)
    throw new ApiError('invalid-body', 'mapLibreStyle or drawingInfo is required.');
  if (body.drawingInfo) requireBounded(body.drawingInfo, '/drawingInfo');
  const drawingInfo = body.drawingInfo && bindDocument('drawingInfo', body.drawingInfo, '/drawingInfo');
  const collection = styles.styled(params.layerId);
  const translated = mapLibreStyle
    ? undefined
    : importDrawingInfo(drawingInfo, describeSldTarget(collection));
  const document =
    mapLibreStyle ?? (translated?.layers.length ? buildStyleDocument(translated.layers) : undefined);
  const stored = await putStyle(
    params.layerId,
    {
      ...(document ? { document } : {}),
      // Descriptions of the older style do not apply to the new one.
      drawingInfo: drawingInfo ?? null,
      changedBy: changedBy ?? principal.name,
      changeSummary: changeSummary ?? null,
    },
    mapLibreStyle ? '/mapLibreStyle' : '/drawingInfo',
    styles,
  );
  return { stored, unsupported: translated?.unsupported ?? [] };
}

export async function putStyle(
  id: number,
  change: StylePut,
  member: string,
  styles: Styles,
): Promise<StoredStyle> {
  try {
    return await styles.put(id, change);
  } catch (error) {
    throw error instanceof StyleError ? refusal(error, member) : error;
  }
}

async function importSld(x: StyleExchange<unknown>, { styles, pools }: Deps): Promise<Reply> {
  const id = x.params.layerId;
  const collection = styles.styled(id);
  const read = await readCollectionSld(x, pools, x.body as Uint8Array, collection);
  const { detectedVersion, name, layerCount, layers, diagnostics } = read;
  if (layers.length === 0) return unreadable(detectedVersion, diagnostics);
  const change = {
    document: buildStyleDocument(layers, name),
    drawingInfo: null,
    changedBy: x.principal.name,
    changeSummary: `${detectedVersion === 'Sld10' ? 'SLD 1.0' : 'SLD 1.1'} was imported`,
  };
  try {
    const { document: mapLibreStyle } = await styles.put(id, change);
    const data = { detectedVersion, layerCount, mapLibreStyle, diagnostics };
    return { status: 200, mediaType: 'application/json', body: JSON.stringify(wrap(data, 'wrapped')) };
  } catch (error) {
    if (!(error instanceof StyleError)) throw error;
    const refused = error.problems.map(({ path, detail }) => ({
      severity: 'Error' as const,
      construct: path,
      message: detail,
    }));
    return unreadable(detectedVersion, [...diagnostics, ...refused]);
  }
}

/** Response to an SLD without anything that can be drawn: the style of the layer is unchanged. */
function unreadable(detectedVersion: SldVersion | undefined, diagnostics: readonly SldDiagnostic[]): Reply {
  const message = 'The style cannot be drawn. The diagnostics list the reasons.';
  const data = { detectedVersion: detectedVersion ?? null, diagnostics };
  const body = JSON.stringify({ success: false, data, message, timestamp: new Date().toISOString() });
  return { status: 422, mediaType: 'application/json', body };
}

async function suggest(x: StyleExchange<SuggestBody | undefined>, deps: Deps) {
  const { styles, pools } = deps;
  const collection = styles.styled(x.params.layerId);
  // Legends show values of the sampled rows.
  requireWhole([collection], 'read', x.principal, deps);
  if (!hasFeatures(collection))
    throw new ApiError(
      'invalid-request',
      'layerId: must be a feature layer, because styles are only suggested for these.',
    );
  const { classCount = 5, ...preferred } = x.body ?? {};
  const samples = await readFieldSamples(x, pools, collection, preferred.preferredField);
  requirePreferredField(
    samples.map(({ field }) => field.name),
    preferred.preferredField,
  );
  const { layers, drawingInfo, field, method, palette, legend, observations } = suggestStyle(
    samples,
    collection.source.geometryType,
    { classCount, ...preferred } as SuggestOptions,
  );
  return {
    mapLibreStyle: buildStyleDocument(layers),
    drawingInfo,
    suggestedField: field,
    classificationMethod: method ?? null,
    paletteName: palette,
    edition: 'community',
    legend,
    observations,
  };
}

/** Error response for an invalid style in the member with this JSON pointer. */
function refusal({ problems }: StyleError, member: string): ApiError {
  const errors = problems.map(({ path, detail }) => ({ name: `${member}${path}`, detail }));
  return fieldFailure('invalid-body', errors);
}

function view(id: number, stored: StoredStyle | undefined, { styles }: Deps): Static<typeof LayerStyle> {
  return {
    mapLibreStyle: styles.documentOf(styles.styled(id), stored),
    drawingInfo: stored?.drawingInfo ?? null,
    ...revisionView(stored),
    unsupportedSymbolizers: null,
  };
}

function revisionView(revision: StyleRevision | undefined) {
  return {
    styleVersion: revision?.version ?? 0,
    revisedAt: revision ? timestamp(revision.revisedAt) : null,
    revisedBy: revision?.changedBy ?? null,
    changeSummary: revision?.changeSummary ?? null,
  };
}
