import {
  type FeatureFilter,
  featureFilter,
  normalizePropertyExpression,
  type StylePropertyExpression,
} from '@maplibre/maplibre-gl-style-spec';
import type { StyleLayer } from '../../core/styles/model.js';
import { compileStyleProperty, requirePropertySpecification, sets } from '../../core/styles/values.js';
import type { AttributeValue, FeatureType } from '../../core/tiles/tile-layers.js';

/** A feature as expressions see it. */
export interface StyledFeature {
  type: FeatureType;
  id: number | undefined;
  properties: Record<string, AttributeValue>;
}

type FromFeature = (feature: StyledFeature) => AttributeValue | undefined;

/** Map settings for which a style is evaluated. */
export interface StylePlace {
  readonly zoom: number;
  /** Pixels of the canvas per pixel of the style. */
  readonly scale: number;
  /** Whether the canvas is a part of a larger map: symbols across its edge are omitted. */
  readonly tiled: boolean;
}

/**
 * Paint and layout properties of one style layer at one zoom, for Mapnik. Values that do not depend on the feature
 * are constants. Other values are evaluated per feature by the style specification's own library and passed as
 * attributes, so both renderers evaluate every expression alike.
 */
export class LayerValues {
  readonly layer: StyleLayer;
  readonly place: StylePlace;
  /** Names of the feature attributes with the values of `attributes`, in the same order. */
  readonly names: string[] = [];
  readonly #attributes: FromFeature[] = [];
  readonly #expressions = new Map<string, StylePropertyExpression>();

  constructor(layer: StyleLayer, place: StylePlace) {
    this.layer = layer;
    this.place = place;
  }

  /** Returns the value of the property without a feature. Returns the default if it depends on the feature. */
  constant<T>(name: string): T {
    return this.#expression(name).evaluate({ zoom: this.place.zoom }) as T;
  }

  /** True when the property has a value of the author's own. */
  has(name: string): boolean {
    return sets(this.layer, name);
  }

  isConstant(name: string): boolean {
    const { kind } = this.#expression(name);
    return kind === 'constant' || kind === 'camera';
  }

  /**
   * Returns the text for the map definition of a value that is derived from properties. This is the value itself if
   * no property depends on the feature, otherwise the name of an attribute in brackets.
   */
  derive<T extends unknown[]>(names: string[], make: (...values: T) => AttributeValue | undefined): string {
    if (names.every((name) => this.isConstant(name))) {
      return String(make(...(names.map((name) => this.constant(name)) as T)) ?? '');
    }
    const evaluators = names.map((name) => this.evaluator(name));
    const evaluate: FromFeature = (feature) => make(...(evaluators.map((each) => each(feature)) as T));
    return `[${this.attribute(evaluate)}]`;
  }

  /** Adds an attribute that each feature gets; returns its name. */
  attribute(evaluate: FromFeature): string {
    this.#attributes.push(evaluate);
    const name = `_${this.names.length}`;
    this.names.push(name);
    return name;
  }

  number(name: string, scale = 1): string {
    return this.derive<[number]>([name], (value) => value * scale);
  }

  color(name: string): string {
    return this.derive<[{ toString(): string } | undefined]>([name], (value) => value?.toString());
  }

  attributesOf(feature: StyledFeature): (AttributeValue | undefined)[] {
    return this.#attributes.map((evaluate) => evaluate(feature));
  }

  /** Returns the filter of the style layer. Undefined if the layer has no filter. */
  filter(): ((feature: StyledFeature) => boolean) | undefined {
    const { filter } = this.layer as { filter?: Parameters<typeof featureFilter>[0] };
    if (filter === undefined) return undefined;
    const compiled: FeatureFilter = featureFilter(filter, 'filter');
    const globals = { zoom: this.place.zoom };
    return (feature) => compiled.filter(globals, feature as never);
  }

  /** Features are drawn in the order of this value, ties as they come. */
  sortKey(): FromFeature | undefined {
    const name = `${this.layer.type}-sort-key`;
    if (!this.has(name)) return undefined;
    return this.evaluator(name) as FromFeature;
  }

  /** The property's value for a feature: its default where the expression fails, as with a null where a number has to be. */
  evaluator(name: string): (feature: StyledFeature) => unknown {
    const expression = this.#expression(name);
    const globals = { zoom: this.place.zoom };
    if (!('evaluateWithoutErrorHandling' in expression)) return () => this.constant(name);
    const { evaluateWithoutErrorHandling } = expression as unknown as Fallible;
    const fallback = this.#default(name);
    return (feature) => {
      try {
        return evaluateWithoutErrorHandling.call(expression, globals, feature) ?? fallback;
      } catch {
        return fallback;
      }
    };
  }

  #default(name: string): unknown {
    const specification = requirePropertySpecification(this.layer.type, name);
    return normalizePropertyExpression(specification.default as never, name, specification).evaluate({
      zoom: this.place.zoom,
    });
  }

  #expression(name: string): StylePropertyExpression {
    let expression = this.#expressions.get(name);
    if (!expression) {
      expression = compileStyleProperty(this.layer, name);
      this.#expressions.set(name, expression);
    }
    return expression;
  }
}

/** An expression that throws instead of writing a warning. */
interface Fallible {
  evaluateWithoutErrorHandling(globals: { zoom: number }, feature: StyledFeature): unknown;
}
