import Type from 'typebox';
import { LIMITS } from '../../../core/kit/limits.js';
import { importDrawingInfo } from '../../../core/styles/drawing-info/import.js';
import type { StylePut, Styles } from '../../../services/styles/index.js';
import { buildStyleDocument, describeSldTarget } from '../../../services/styles/translations.js';
import type { StoredStyle } from '../../../stores/styles/styles.js';
import { bindDocument } from '../../admin/esri-documents.js';
import { createRowBuilders, group, type Implementation, setting } from '../../admin/kit.js';
import { layerIdParam, requireBounded } from '../../admin/layer-lookup.js';
import { putStyle } from '../../styles/admin/styles.js';
import { fields, filterResource, relationships, validation } from './layer-settings.js';

const SERVICES = ['styles'] as const;
const { implement } = createRowBuilders(SERVICES);

const OptionalObject = Type.Union([Type.Object({}), Type.Null()]);
const Document = Type.Object({ layerId: Type.Integer(), document: OptionalObject });

/** A document of Esri's specification that belongs to a layer: of its pop-ups, or of its drawing. */
function layerDocument(member: 'popupInfo' | 'drawingInfo'): { get: Implementation; set: Implementation } {
  const view = (id: number, stored: StoredStyle | undefined) => ({
    layerId: id,
    document: stored?.[member] ?? null,
  });
  return {
    get: implement({
      params: { layerId: layerIdParam },
      data: Document,
      errors: [400, 404, 503],
      async answer({ params }, { styles }) {
        styles.requireLayer(params.layerId);
        return view(params.layerId, await styles.current(params.layerId));
      },
    }),
    set: implement({
      description:
        member === 'drawingInfo'
          ? 'Replaces the document, and draws the layer by its renderer. Null removes both. Members bind in any case; unknown members are dropped.'
          : 'Replaces the document; null removes it. Members bind in any case; unknown members are dropped.',
      params: { layerId: layerIdParam },
      body: {
        schema: OptionalObject,
        mediaTypes: ['application/json'],
        required: true,
        maxBytes: 4 * LIMITS.styleCharacters,
      },
      data: Document,
      errors: [400, 404, 413, 503],
      async answer({ params, body, principal }, { styles }) {
        styles.requireLayer(params.layerId);
        requireBounded(body, '');
        const bound = bindDocument(member, body, '');
        const document = member === 'drawingInfo' ? await documentFor(params.layerId, bound, styles) : {};
        const about = { changedBy: principal.name, changeSummary: `${member} was set` };
        const change = { ...about, ...document, [member]: bound };
        return view(params.layerId, await putStyle(params.layerId, change, '', styles));
      },
    }),
  };
}

/** The style for a drawingInfo; nothing if the drawingInfo does not define a style. */
async function documentFor(
  layerId: number,
  drawingInfo: object | null,
  styles: Styles,
): Promise<Pick<StylePut, 'document'>> {
  if (drawingInfo === null) {
    const current = await styles.current(layerId);
    // A style that was set separately does not come from a drawingInfo, and is kept.
    return current?.drawingInfo ? { document: null } : {};
  }
  if (!('renderer' in drawingInfo)) return {};
  const { layers } = importDrawingInfo(drawingInfo, describeSldTarget(styles.styled(layerId)));
  return layers.length > 0 ? { document: buildStyleDocument(layers) } : {};
}

/** Pop-ups, drawing, relationships, fields and filters of layers. */
export const layerMetadata = group(
  { tag: 'Metadata and capabilities', scope: 'layer-metadata', envelope: 'wrapped', isForTenants: true },
  [
    ...setting(
      '/metadata/layers/{layerId}/popup-info',
      { get: 'Get Layer Popup Info', set: 'Set Layer Popup Info' },
      layerDocument('popupInfo'),
    ),
    ...setting(
      '/metadata/layers/{layerId}/drawing-info',
      { get: 'Get Layer Drawing Info', set: 'Set Layer Drawing Info' },
      layerDocument('drawingInfo'),
    ),
    ...setting(
      '/metadata/layers/{layerId}/relationships',
      { get: 'Get Layer Relationships', set: 'Set Layer Relationships' },
      relationships,
    ),
    ...setting(
      '/metadata/layers/{layerId}/fields',
      { get: 'Get Layer Field Configuration', set: 'Update Layer Field Configuration' },
      fields,
    ),
    ...setting(
      '/metadata/layers/{layerId}/filter',
      { get: 'Get Layer Permanent Filter', set: 'Update Layer Permanent Filter' },
      filterResource,
    ),
    validation,
  ],
);
