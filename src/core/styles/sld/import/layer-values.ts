import type { StyleLayer } from '../../model.js';
import { content } from '../export/export-expression.js';
import { Untranslatable } from '../export/untranslatable.js';
import { xml } from '../export/xml-writer.js';
import { interpolateAtZoom } from '../export/zoom-bands.js';
import type { SldReport } from '../report.js';
import type { Expr } from '../values.js';
import { times } from './layer-draft.js';

/** Properties of one layer at one zoom level, as written to SLD. */
export class SldLayerValues {
  readonly #values: Map<string, Expr>;

  constructor(
    readonly layer: StyleLayer,
    zoom: number | undefined,
    readonly report: SldReport,
    /** A ShadedRelief that is drawn over a raster. */
    readonly relief?: string,
  ) {
    const all = { ...layer.layout, ...layer.paint } as Record<string, Expr>;
    const at = (value: Expr) => (zoom === undefined ? value : interpolateAtZoom(value, zoom));
    this.#values = new Map(Object.entries(all).map(([name, value]) => [name, at(value)]));
  }

  raw(name: string): Expr | undefined {
    return this.#values.get(name);
  }

  replace(name: string, value: Expr): void {
    this.#values.set(name, value);
  }

  warn(construct: string, message: string): void {
    this.report.warn(construct, message);
  }

  /** Tells that a property is not written. */
  lost(name: string): void {
    if (this.#values.has(name)) this.warn(name, `${name} has no counterpart.`);
  }

  /** An SvgParameter; undefined when the property is absent and has no default. */
  parameter(parameter: string, name: string, usual?: Expr): string | undefined {
    const value = this.#values.get(name) ?? usual;
    return value === undefined
      ? undefined
      : this.element('se:SvgParameter', value, { name: parameter }, name);
  }

  parameterElement(element: string, name: string): string | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : this.element(element, value, {}, name);
  }

  /** A number times a factor: its text, or an element around it. */
  scaled(name: string, factor: number, element?: string, usual?: number): string | undefined {
    const value = this.#values.get(name) ?? usual;
    if (value === undefined || (element === undefined && value === 0)) return undefined;
    const of = times(unscaled(value, factor), factor === 1 ? 1 : scaledBy(value, factor));
    if (element !== undefined) return this.element(element, of, {}, name);
    return this.#written(of, name);
  }

  element(
    element: string,
    value: Expr,
    attributes: Readonly<Record<string, string>> = {},
    name = element,
  ): string | undefined {
    const text = this.#written(value, name);
    return text === undefined ? undefined : xml(element, [text], attributes);
  }

  word(name: string): string | undefined {
    const value = this.#values.get(name);
    if (value === undefined || value === 'point') return undefined;
    if (typeof value === 'string') return value;
    this.warn(name, `${name} depends on the feature: it is not written.`);
    return undefined;
  }

  words(name: string): string[] | undefined {
    const list = this.#list(name);
    return list?.every((one) => typeof one === 'string') ? (list as string[]) : undefined;
  }

  /** An array of numbers. */
  constants(name: string): number[] | undefined {
    const list = this.#list(name);
    if (!list) return undefined;
    if (list.every((one) => typeof one === 'number')) return list as number[];
    this.warn(name, `${name} depends on the feature: it is not written.`);
    return undefined;
  }

  metadata(name: string): unknown {
    return (this.layer.metadata as Record<string, unknown> | undefined)?.[name];
  }

  /** The `data:` URI of an image in the style. */
  image(name: string): string | undefined {
    const images = this.metadata('graticule:images') as Record<string, unknown> | undefined;
    const image = images && Object.hasOwn(images, name) ? images[name] : undefined;
    return typeof image === 'string' ? image : undefined;
  }

  #list(name: string): readonly unknown[] | undefined {
    const value = this.#values.get(name);
    if (!Array.isArray(value)) return undefined;
    return value[0] === 'literal' && Array.isArray(value[1]) ? value[1] : value;
  }

  #written(value: Expr, name: string): string | undefined {
    try {
      return content(value);
    } catch (error) {
      if (!(error instanceof Untranslatable)) throw error;
      this.warn(name, error.message);
      return undefined;
    }
  }
}

/** Importing multiplies what is not constant by the inverse of a factor: that is taken back. */
function unscaled(value: Expr, factor: number): Expr {
  return isScaled(value, factor) ? (value as readonly Expr[])[1]! : value;
}

function scaledBy(value: Expr, factor: number): number {
  return isScaled(value, factor) ? 1 : factor;
}

function isScaled(value: Expr, factor: number): boolean {
  return Array.isArray(value) && value[0] === '*' && value.length === 3 && value[2] === 1 / factor;
}
