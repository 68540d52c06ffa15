import type { BoxLiteral, Expression, GeometryLiteral, Operand } from '../../core/cql2/ast.js';
import { and, type CheckOptions, equalsAny } from '../../core/cql2/index.js';
import { badParameter } from '../../core/errors/errors.js';
import { computeEnvelope } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { METRES_OF_UNITS } from '../../core/geometry/esri-units.js';
import { idLiteral, readObjectId } from '../../core/values/object-id.js';
import { during } from '../filters/filters.js';
import { geometryLiteral, parseLenientJson, spatialReference } from './geometry.js';
import { scalarText } from './scalar.js';
import { timeRange } from './time.js';
import { parseCondition } from './where.js';

/** The filters of GeoServices requests, by the names of their parameters. */
export interface GeoServicesFilter {
  /** A condition in SQL. */
  where?: string;
  /**
   * Value of `CURRENT_TIMESTAMP` in `where`, in milliseconds since 1970. Undefined for stored conditions, because the
   * value would never change.
   */
  now?: number;
  /** Ids, separated by commas, or as JSON. */
  objectIds?: unknown;
  geometry?: unknown;
  geometryType?: string;
  /** Spatial reference of a geometry that declares none. Default: the CRS of the data. */
  inSR?: unknown;
  spatialRel?: string;
  /** Distance from the geometry within which features also match. */
  reach?: GeoServicesReach;
  /** An instant or `start,end` in milliseconds since 1970; `null` for an open end. */
  time?: string;
  timeRelation?: string;
}

interface GeoServicesReach {
  distance?: string;
  /** Unit such as `esriSRUnit_Meter`. Default: metres, if the geometry is in a projected CRS. */
  units?: string;
}

const MAX_IDS = 10_000;

/**
 * All the filters as one checked CQL2 tree; undefined when there are none. `storageCrs` is that of the data. Throws 400
 * naming the parameter that is wrong.
 */
export function geoServicesFilter(
  filter: GeoServicesFilter,
  schema: CheckOptions,
  storageCrs: Crs,
): Expression | undefined {
  return and(
    whereFilter(filter, schema),
    idFilter(filter.objectIds, schema),
    spatialFilter(filter, schema, storageCrs),
    timeFilter(filter, schema),
  );
}

function whereFilter({ where, now }: GeoServicesFilter, schema: CheckOptions): Expression | undefined {
  if (where === undefined || where.trim() === '' || /^\s*1\s*=\s*1\s*$/.test(where)) return undefined;
  return parseCondition('where', where, schema, { now });
}

function idFilter(ids: unknown, { idColumn, idType }: CheckOptions): Expression | undefined {
  if (ids === undefined || ids === null || (typeof ids === 'string' && ids.trim() === '')) return undefined;
  const texts = idTexts(ids);
  if (texts.length > MAX_IDS) throw badParameter('objectIds', `must have at most ${MAX_IDS} ids`);
  if ((idType ?? 'integer') !== 'integer') return equalsAny(idColumn, texts);
  return equalsAny(
    idColumn,
    texts.map((text) => {
      const id = readObjectId(text);
      if (id === undefined)
        throw badParameter(
          'objectIds',
          `'${text.slice(0, 40)}' is not an integer of 64 bits. Separate ids by commas.`,
        );
      return idLiteral(id);
    }),
  );
}

function idTexts(ids: unknown): string[] {
  const list =
    typeof ids === 'string' && ids.trim().startsWith('[') ? parseLenientJson('objectIds', ids, 'all') : ids;
  if (Array.isArray(list)) return list.map((id) => scalarText('objectIds', id).trim());
  return scalarText('objectIds', list)
    .split(',')
    .map((id) => id.trim());
}

/** Spatial relations between a feature and the geometry of the request. `Contains` selects features within it. */
const RELATIONS: Readonly<Record<string, string>> = {
  esrispatialrelintersects: 's_intersects',
  esrispatialrelcontains: 's_within',
  esrispatialrelwithin: 's_contains',
  esrispatialreltouches: 's_touches',
  esrispatialreloverlaps: 's_overlaps',
  esrispatialrelcrosses: 's_crosses',
  esrispatialrelenvelopeintersects: 's_intersects',
  esrispatialrelindexintersects: 's_intersects',
};

function spatialFilter(
  filter: GeoServicesFilter,
  schema: CheckOptions,
  storageCrs: Crs,
): Expression | undefined {
  const { geometry, geometryType, inSR, spatialRel = 'esriSpatialRelIntersects' } = filter;
  const relation = RELATIONS[spatialRel.toLowerCase()];
  if (geometry === undefined || geometry === null || geometry === '') return undefined;
  if (!relation)
    throw badParameter('spatialRel', `'${spatialRel.slice(0, 60)}' is not supported with a geometry`);
  let crs = storageCrs;
  const literal = geometryLiteral(geometry, geometryType, (own) => {
    if (own !== undefined && own !== null) crs = spatialReference('geometry', own);
    else if (inSR !== undefined && inSR !== '') crs = spatialReference('inSR', inSR);
    return crs;
  });
  const metres = findMetres(filter.reach ?? {}, crs);
  if (metres !== undefined) {
    if (relation !== 's_intersects') throw badParameter('distance', 'is only for esriSpatialRelIntersects');
    return { op: 's_dwithin', args: [{ property: schema.geometryColumn }, literal, metres] as Operand[] };
  }
  const boxOnly = /envelope|index/i.test(spatialRel);
  return {
    op: relation,
    args: [{ property: schema.geometryColumn }, boxOnly ? getEnvelope(literal) : literal] as Operand[],
  };
}

/** Metres of units by their names. */
const METRES: Readonly<Record<string, number>> = { ...METRES_OF_UNITS, esrisrunit_usnauticalmile: 1853.248 };

/** Distance in metres. Undefined for none, and for 0, which is not a distance. */
function findMetres({ distance, units }: GeoServicesReach, { geographic }: Crs): number | undefined {
  if (distance === undefined || distance.trim() === '') return undefined;
  const number = Number(distance);
  if (!Number.isFinite(number) || number < 0)
    throw badParameter('distance', 'must be a number of at least 0');
  if (units === undefined && geographic && number > 0)
    throw badParameter('units', 'is required, because the geometry is in degrees');
  const metres = METRES[(units ?? 'esriSRUnit_Meter').toLowerCase()];
  if (metres === undefined) throw badParameter('units', `must be one of ${Object.keys(METRES).join(', ')}`);
  return number === 0 ? undefined : number * metres;
}

function getEnvelope(literal: GeometryLiteral | BoxLiteral): BoxLiteral {
  if ('bbox' in literal && !('type' in literal)) return literal;
  const geometry = literal as GeometryLiteral;
  // A geometry of a request has positions.
  return { bbox: computeEnvelope(geometry)!, crs: geometry.crs };
}

/** By the fields that the settings of the layer name: see `during`. */
function timeFilter(
  { time, timeRelation = 'esriTimeRelationOverlaps' }: GeoServicesFilter,
  schema: CheckOptions,
): Expression | undefined {
  if (time === undefined || time.trim() === '') return undefined;
  if (timeRelation !== '' && !/^esriTimeRelationOverlaps$/i.test(timeRelation))
    throw badParameter('timeRelation', `'${timeRelation.slice(0, 60)}' is not supported`);
  return during(schema, timeRange(time));
}
