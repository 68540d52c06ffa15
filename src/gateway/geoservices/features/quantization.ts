import { badParameter } from '../../../core/errors/errors.js';
import type { Quantisation } from '../../../core/features/features.js';
import { type Crs, coordinatePrecision } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { spatialReference } from '../../../services/geoservices/geometry.js';
import { boxIn } from '../layer-documents.js';
import { type Members, readChoiceMember, readObjectMember } from '../members.js';

/** Converts coordinates to integers for GeoServices, and describes the conversion in the response. */

const PARAMETER = 'quantizationParameters';

/** Heights have a precision of a tenth of a millimetre. */
const Z_SCALE = 1e-4;
/**
 * Allowed lengths of a step: at the shortest, every place on Earth is still an integer that a double represents
 * exactly.
 */
const STEPS = { degrees: [1e-9, 360], metres: [1e-7, 1e8] } as const;
/** Default number of steps along each side of an extent. */
const GRID = 10_000;

/**
 * The quantisation in `quantizationParameters`; undefined if the parameter is absent. `decimals` is the full
 * resolution, which the mode `edit` keeps. Throws 400 with the name of the parameter.
 */
export function readQuantization(members: Members, crs: Crs, decimals: number): Quantisation | undefined {
  const parameters = readObjectMember(members, PARAMETER);
  if (parameters === undefined) return undefined;
  const mode = readChoiceMember(parameters, 'mode', { values: ['view', 'edit'], fallback: 'view' });
  const corner = readChoiceMember(parameters, 'originPosition', {
    values: ['upperLeft', 'lowerLeft'],
    fallback: 'upperLeft',
  });
  const extent = readExtent(parameters, crs);
  const upperLeft = corner === 'upperLeft';
  const scale = mode === 'edit' ? computeStep(crs, decimals) : readTolerance(parameters, extent, crs);
  return {
    x: extent?.[0] ?? 0,
    y: extent?.[upperLeft ? 3 : 1] ?? 0,
    scale,
    zScale: Z_SCALE,
    upperLeft,
    view: mode === 'view',
  };
}

/** Quantisation for a format that has only integers: the coordinates of JSON in steps of their last decimal place. */
export function fullQuantization(crs: Crs, decimals: number): Quantisation {
  return { x: 0, y: 0, scale: computeStep(crs, decimals), zScale: Z_SCALE, upperLeft: true, view: false };
}

/** The member `transform` of a JSON response. */
export function createTransformMember({ x, y, scale, zScale, upperLeft }: Quantisation, hasZ: boolean) {
  return {
    originPosition: upperLeft ? 'upperLeft' : 'lowerLeft',
    scale: [scale, scale, ...(hasZ ? [zScale] : [])],
    translate: [x, y, ...(hasZ ? [0] : [])],
  };
}

const buildSteps = (crs: Crs) => (crs.geographic ? STEPS.degrees : STEPS.metres);

function computeStep(crs: Crs, decimals: number): number {
  const step = Number(`1e-${decimals}`);
  return Math.max(step, buildSteps(crs)[0]);
}

function readTolerance({ tolerance }: Members, extent: readonly number[] | undefined, crs: Crs): number {
  const [least, most] = buildSteps(crs);
  const isAbsent = tolerance === undefined || tolerance === null;
  const whole = 10 ** -coordinatePrecision(crs);
  const grid = extent ? Math.max(extent[2]! - extent[0]!, extent[3]! - extent[1]!) / GRID : whole;
  const step = isAbsent ? Math.max(grid, least) : readNumber(tolerance);
  if (!(step >= least && step <= most))
    throw badParameter(PARAMETER, `must have a tolerance from ${least} to ${most}`);
  return step;
}

function readExtent({ extent }: Members, crs: Crs): readonly number[] | undefined {
  if (extent === undefined || extent === null) return undefined;
  const {
    xmin,
    ymin,
    xmax,
    ymax,
    spatialReference: reference,
  } = (typeof extent === 'object' ? extent : {}) as Members;
  const [west, south, east, north] = [xmin, ymin, xmax, ymax].map(readNumber) as [
    number,
    number,
    number,
    number,
  ];
  const isPlace = [west, south, east, north].every((one) => Math.abs(one) <= LIMITS.mapReach);
  if (!isPlace || west > east || south > north)
    throw badParameter(PARAMETER, 'must have an extent of xmin, ymin, xmax and ymax');
  const from = reference === undefined || reference === null ? crs : spatialReference(PARAMETER, reference);
  const box = boxIn([west, south, east, north], from, crs);
  if (box.every(Number.isFinite)) return box;
  throw badParameter(PARAMETER, 'has an extent outside the spatial reference of the response');
}

function readNumber(value: unknown): number {
  return typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
    ? Number(value)
    : Number.NaN;
}
