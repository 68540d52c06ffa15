import { StyleError } from '../../../core/styles/check.js';
import type { StyleLayer } from '../../../core/styles/model.js';
import type { StyledCollection, StylePut, Styles } from '../../styles/index.js';
import { buildStyleDocument } from '../../styles/translations.js';

/** Principal of imported settings and styles. */
export const IMPORT = 'import';

/**
 * Sets the style of the source for a layer, and returns warnings about unsupported parts. A style by an operator is
 * kept.
 */
export async function putSourceStyle(
  styles: Styles,
  { layerId }: StyledCollection,
  layers: readonly StyleLayer[],
  change: Omit<StylePut, 'document' | 'changedBy'>,
): Promise<string[]> {
  if (layers.length === 0) return [];
  if (await hasOwnStyle(styles, layerId)) return [STYLE_STAYS];
  try {
    await styles.put(layerId, { ...change, document: buildStyleDocument(layers), changedBy: IMPORT });
    return [];
  } catch (error) {
    if (!(error instanceof StyleError)) throw error;
    return ['The style of the layer cannot be drawn and was omitted.'];
  }
}

/** Whether the layer has a style that was not set by an import. */
export async function hasOwnStyle(styles: Styles, layerId: number): Promise<boolean> {
  const current = await styles.current(layerId);
  return current !== undefined && current.changedBy !== IMPORT;
}

export const STYLE_STAYS = 'The layer has a style already, which stays.';
