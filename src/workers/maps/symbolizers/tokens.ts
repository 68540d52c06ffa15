import type { LayerValues, StyledFeature } from '../layer-values.js';

const TOKEN = /\{([^{}]+)\}/g;

/**
 * Returns the function that replaces the tokens of a text such as `{name} m` for a feature. Undefined if the property
 * does not contain tokens.
 */
export function withTokens(
  values: LayerValues,
  name: string,
): ((feature: StyledFeature) => string) | undefined {
  if (!values.isConstant(name)) return undefined;
  const text = String(values.constant(name) ?? '');
  if (text.search(TOKEN) < 0) return undefined;
  return ({ properties }) => text.replaceAll(TOKEN, (_, field: string) => String(properties[field] ?? ''));
}
