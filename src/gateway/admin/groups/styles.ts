import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { StyleError } from '../../../core/style/check.js';
import type { StoredStyle } from '../../stores/styles.js';
import { anyCaseBody } from '../any-case.js';
import type { AdminDeps } from '../deps.js';
import { OptionalStringSchema, OptionalTimestampSchema, timestamp } from '../envelope.js';
import { action, group, implement, report, setting } from '../kit.js';
import { layerId, requireBounded } from '../layers.js';

const JsonObject = Type.Object({});
const OptionalObject = Type.Union([JsonObject, Type.Null()]);

const LayerStyle = Type.Object({
  mapLibreStyle: OptionalObject,
  drawingInfo: OptionalObject,
  styleVersion: Type.Integer(),
  revisedAt: OptionalTimestampSchema,
  revisedBy: OptionalStringSchema,
  changeSummary: OptionalStringSchema,
  unsupportedSymbolizers: Type.Union([
    Type.Array(Type.Object({ code: Type.String(), symbolizerType: Type.String(), guidance: Type.String() })),
    Type.Null(),
  ]),
});

const Put = Type.Object({
  mapLibreStyle: Type.Optional(JsonObject),
  drawingInfo: Type.Optional(JsonObject),
  changeSummary: Type.Optional(Type.String({ maxLength: 1000 })),
  changedBy: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
});

/** Bytes of a request: a style within its bounds, as loosely written as people do. */
const MAX_BODY = 4 * LIMITS.styleCharacters;

/** Styles of layers. */
export const styles = group({ tag: 'Styles', scope: 'styles', envelope: 'wrapped' }, [
  ...setting(
    '/metadata/layers/{layerId}/style',
    { get: 'Get Layer Style', set: 'Update Layer Style' },
    {
      get: implement({
        description: 'The style in force, in version 0 the one that the layer has by itself.',
        params: { layerId },
        data: LayerStyle,
        errors: [400, 404, 503],
        async answer({ params }, deps) {
          return view(params.layerId, await deps.styles.current(params.layerId), deps);
        },
      }),
      set: implement({
        description:
          'Replaces the style. A style that cannot be drawn is refused, with the place of each error as a JSON pointer.',
        params: { layerId },
        body: { ...anyCaseBody(Put), maxBytes: MAX_BODY },
        data: LayerStyle,
        errors: [400, 404, 413, 503],
        async answer({ params, body, principal }, deps) {
          deps.styles.styled(params.layerId);
          const stored = await put(params.layerId, body, principal.name, deps);
          return view(params.layerId, stored, deps);
        },
      }),
    },
  ),
  action('POST /metadata/layers/{layerId}/style/import-sld', 'Import SLD Layer Style'),
  report('GET /metadata/layers/{layerId}/style/export-sld', 'Export Layer Style as SLD'),
  report('POST /metadata/layers/{layerId}/suggest-style', 'Suggest Layer Style'),
]);

async function put(
  id: number,
  { mapLibreStyle, drawingInfo, changedBy, changeSummary }: Static<typeof Put>,
  name: string,
  { styles }: AdminDeps,
): Promise<StoredStyle> {
  if (!mapLibreStyle && !drawingInfo)
    throw new ApiError('invalid-body', 'One of mapLibreStyle and drawingInfo is required.');
  if (drawingInfo) requireBounded(drawingInfo, '/drawingInfo');
  try {
    return await styles.put(id, {
      ...(mapLibreStyle ? { document: mapLibreStyle } : {}),
      // What was said of an older style is not true of a new one.
      drawingInfo: drawingInfo ?? null,
      changedBy: changedBy ?? name,
      changeSummary: changeSummary ?? null,
    });
  } catch (error) {
    throw error instanceof StyleError ? refusal(error, '/mapLibreStyle') : error;
  }
}

/** A style that cannot be drawn, as the answer to a request with it as the member of that JSON pointer. */
function refusal({ problems }: StyleError, member: string): ApiError {
  const errors = problems.map(({ path, detail }) => ({ name: `${member}${path}`, detail }));
  return new ApiError('invalid-body', `${errors[0]!.name} ${errors[0]!.detail}`, { errors });
}

function view(id: number, stored: StoredStyle | undefined, { styles }: AdminDeps): Static<typeof LayerStyle> {
  return {
    mapLibreStyle: styles.documentOf(styles.styled(id), stored),
    drawingInfo: stored?.drawingInfo ?? null,
    styleVersion: stored?.version ?? 0,
    revisedAt: stored ? timestamp(stored.revisedAt) : null,
    revisedBy: stored?.changedBy ?? null,
    changeSummary: stored?.changeSummary ?? null,
    unsupportedSymbolizers: null,
  };
}
