import {
  latest,
  normalizePropertyExpression,
  type StylePropertyExpression,
  type StylePropertySpecification,
} from '@maplibre/maplibre-gl-style-spec';
import type { StyleLayer } from './model.js';

interface Properties {
  paint?: Record<string, unknown>;
  layout?: Record<string, unknown>;
}

/** A paint or layout property of a layer, ready to be evaluated; its default when the layer does not set it. */
export function compileStyleProperty(layer: StyleLayer, name: string): StylePropertyExpression {
  const { paint, layout } = layer as Properties;
  const specification = requirePropertySpecification(layer.type, name);
  const value = paint?.[name] ?? layout?.[name] ?? specification.default;
  return normalizePropertyExpression(value as never, name, specification);
}

/** The value at a zoom of a property that does not depend on features. */
export function evaluateAtZoom<T>(layer: StyleLayer, name: string, zoom: number): T {
  return compileStyleProperty(layer, name).evaluate({ zoom }) as T;
}

/** True when the layer sets the property. */
export function sets(layer: StyleLayer, name: string): boolean {
  const { paint, layout } = layer as Properties;
  return (paint !== undefined && name in paint) || (layout !== undefined && name in layout);
}

/** Throws a TypeError for a property that layers of this type do not have. */
export function requirePropertySpecification(type: string, name: string): StylePropertySpecification {
  const groups = latest as unknown as Record<string, Record<string, StylePropertySpecification>>;
  const specification = groups[`paint_${type}`]?.[name] ?? groups[`layout_${type}`]?.[name];
  if (!specification) throw new TypeError(`${type} layers have no ${name}`);
  return specification;
}

/** True when the layer is drawn at this zoom. Maps may be coarser or finer than any zoom of MapLibre. */
export function isVisible({ minzoom = 0, maxzoom = 24, layout }: StyleLayer, zoom: number): boolean {
  if (layout?.visibility === 'none') return false;
  return (minzoom <= 0 || zoom >= minzoom) && (maxzoom >= 24 || zoom < maxzoom);
}
