import { badParameter } from '../../core/errors/errors.js';
import type { Crs } from '../../core/geometry/crs.js';

/** Axes as `subset`, `resolution`, `scale-axes` and `scale-size` name them, by `name(value),name(value)`. */

export type SpatialAxis = 'x' | 'y';

const X_NAMES = new Set(['x', 'e', 'easting', 'lon', 'long', 'longitude']);
const Y_NAMES = new Set(['y', 'n', 'northing', 'lat', 'latitude']);
const DEGREES = new Set(['lon', 'long', 'longitude', 'lat', 'latitude']);
const METRES = new Set(['e', 'easting', 'n', 'northing']);

/** An axis and the text in its parentheses. */
export interface AxisTerm {
  readonly name: string;
  readonly value: string;
}

const TERM = /^\s*([A-Za-z][\w-]{0,63})\(([^()]{0,120})\)\s*(,|$)/;
const MAX_TERMS = 8;

/** Reads the terms of a parameter. Throws 400 for an axis named twice, and for anything else. */
export function axisTerms(parameter: string, raw: string): AxisTerm[] {
  const terms: AxisTerm[] = [];
  for (let rest = raw; rest !== ''; ) {
    const [whole, name, value, end] = TERM.exec(rest) ?? [];
    if (whole === undefined || terms.length === MAX_TERMS)
      throw badParameter(parameter, 'must be axis(value),axis(value)');
    terms.push({ name: name!, value: value!.trim() });
    rest = rest.slice(whole.length);
    if (end === ',' && rest === '')
      throw badParameter(parameter, 'has an empty entry. Separate names by single commas');
  }
  const names = terms.map(({ name }) => name.toLowerCase());
  if (new Set(names).size < names.length) throw badParameter(parameter, 'must name each axis once');
  return terms;
}

/**
 * The side of a map that a name means in a CRS; undefined for names of other axes. Throws 400 for one of another CRS, unless
 * any will do.
 */
export function spatialAxis(parameter: string, name: string, crs?: Crs): SpatialAxis | undefined {
  const word = name.toLowerCase();
  const axis = X_NAMES.has(word) ? 'x' : Y_NAMES.has(word) ? 'y' : undefined;
  if (!axis || !crs) return axis;
  if ((crs.geographic ? METRES : DEGREES).has(word)) {
    const own = crs.geographic ? 'Lat and Lon' : 'E and N';
    throw badParameter(parameter, `'${name}' is not an axis of ${crs.uri}. Use ${own}`);
  }
  return axis;
}
