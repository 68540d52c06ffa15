import type { LayerValues, StyledFeature } from '../layer-values.js';

const TOKEN = /\{([^{}]+)\}/g;

/** For a text such as `{name} m`: what makes the text of a feature. Undefined when the property holds no tokens. */
export function withTokens(
  values: LayerValues,
  name: string,
): ((feature: StyledFeature) => string) | undefined {
  if (!values.isConstant(name)) return undefined;
  const text = String(values.constant(name) ?? '');
  if (text.search(TOKEN) < 0) return undefined;
  return ({ properties }) => text.replaceAll(TOKEN, (_, field: string) => String(properties[field] ?? ''));
}
