import { Untranslatable } from '../export/untranslatable.js';
import { parameter } from '../expression.js';
import { type Expr, isConstant, type TargetKind } from '../values.js';
import type { SldContext } from './context.js';
import { elements, type XmlElement } from './xml.js';

/** A layer in the making: what a symbolizer says, without the rule's conditions. */
export interface SldLayerDraft {
  readonly type: 'fill' | 'line' | 'circle' | 'symbol' | 'raster' | 'hillshade';
  readonly paint: Readonly<Record<string, Expr>>;
  readonly layout?: Readonly<Record<string, Expr>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Members that are set; those without a value keep the default of MapLibre. */
export function members(of: Readonly<Record<string, Expr | undefined>>): Record<string, Expr> {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as Record<
    string,
    Expr
  >;
}

/** A symbolizer's unit: ground units grow with the zoom. */
export interface Unit {
  /** Pixels at zoom 0 for one unit; undefined for pixels. */
  readonly atZoom0?: number;
}

/** Metres per pixel of tiles of 512 pixels at zoom 0, at the equator. */
const GROUND_PIXEL = 78_271.516964;
const GROUND_UNITS: Readonly<Record<string, number>> = { metre: 1, meter: 1, foot: 0.3048 };
const ZOOMS = 24;

export function readSymbolizerUnit(symbolizer: XmlElement, context: SldContext): Unit {
  const uom = symbolizer.attributes['uom'];
  if (uom === undefined) return {};
  const word = uom.slice(uom.lastIndexOf('/') + 1).toLowerCase();
  const metres = Object.hasOwn(GROUND_UNITS, word) ? GROUND_UNITS[word] : undefined;
  if (metres === undefined) {
    if (word !== 'pixel') context.report.warn('uom', `The unit ${word.slice(0, 40)} was read as pixels.`);
    return {};
  }
  context.report.warn('uom', 'Lengths on the ground grow with the zoom, and are true at the equator.');
  return { atZoom0: metres / GROUND_PIXEL };
}

/** A length in pixels, times a factor. */
export function length(value: Expr | undefined, unit: Unit, factor = 1): Expr | undefined {
  if (value === undefined) return undefined;
  if (unit.atZoom0 === undefined) return times(value, factor);
  const [low, high] = [unit.atZoom0 * factor, unit.atZoom0 * factor * 2 ** ZOOMS];
  return ['interpolate', ['exponential', 2], ['zoom'], 0, times(value, low), ZOOMS, times(value, high)];
}

export function times(value: Expr, factor: number): Expr {
  if (factor === 1) return value;
  return typeof value === 'number' ? rounded(value * factor) : ['*', value, factor];
}

/** The product of opacities, of which some may be absent. */
export function product(a: Expr | undefined, b: Expr | undefined): Expr | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (typeof a === 'number') return times(b, a);
  return typeof b === 'number' ? times(a, b) : ['*', a, b];
}

/** Without the noise of binary fractions. */
export function rounded(value: number): number {
  return Number(value.toPrecision(10));
}

/** Parameters by name: SvgParameter of SE, CssParameter of SLD 1.0. */
export class Parameters {
  readonly #byName: ReadonlyMap<string, XmlElement>;

  constructor(
    of: XmlElement | undefined,
    readonly context: SldContext,
  ) {
    const parameters = (of ? elements(of) : []).filter(
      ({ name }) => name === 'SvgParameter' || name === 'CssParameter',
    );
    this.#byName = new Map(parameters.map((one) => [one.attributes['name'] ?? '', one]));
  }

  /** Undefined when it is absent, or cannot be translated: then a diagnostic says so. */
  get(name: string, target: TargetKind): Expr | undefined {
    return readParameterValue(this.#byName.get(name), this.context, target);
  }

  /** A word or number that must not depend on anything. */
  constant(name: string, target: TargetKind): string | number | undefined {
    return readConstant(this.#byName.get(name), this.context, target, name);
  }
}

/** The value of a parameter; a diagnostic and undefined when it cannot be translated. */
export function readParameterValue(
  of: XmlElement | undefined,
  context: SldContext,
  target: TargetKind,
): Expr | undefined {
  return of && context.attempt('warn', () => parameter(of, context, target));
}

export function readConstant(
  of: XmlElement | undefined,
  context: SldContext,
  target: TargetKind,
  name = of?.name ?? '',
): string | number | undefined {
  return context.attempt('warn', () => {
    const value = of && parameter(of, context, target);
    if (isConstant(value)) return value as string | number | undefined;
    throw new Untranslatable(name, `${name} must be constant.`);
  });
}
