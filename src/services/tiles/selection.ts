import { createHash } from 'node:crypto';
import { plainFields } from '../../core/access/field-masks.js';
import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection, VectorCollection } from '../../core/catalog/collection.js';
import { and, type Expression, rangeFilter } from '../../core/cql2/index.js';
import { badParameter } from '../../core/errors/errors.js';
import { CRS84, type Crs, requireReachable } from '../../core/geometry/crs.js';
import type { AxisRange, TimeRange } from '../../core/http/params.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { TileSize } from '../../core/rasters/rasters.js';
import type { Field } from '../../core/sources/vector-source.js';
import { checkFilter, during, parseFilter } from '../filters/filters.js';
import { findLevelIndex } from '../rasters/choose.js';
import type { TileSelection } from './request.js';

/** The parameters that narrow what a tile shows. */
export interface SelectionChoice {
  datetime: TimeRange | undefined;
  subset: AxisRange | undefined;
  filter: string | undefined;
  filterLang: 'cql2-text' | 'cql2-json';
  filterCrs: Crs | undefined;
  properties: string[] | undefined;
}

/** Parameters of images that do not concern features. */
export interface ImageChoice {
  readonly look: RasterLook | undefined;
  readonly size: TileSize | undefined;
}

/**
 * The restriction of the collections by these parameters, and the rendering. Undefined if there is no restriction and
 * the default rendering. A filter must fit each vector collection, a property at least one. Throws 400 with the name
 * of the wrong parameter.
 */
export function tileSelection(
  collections: readonly Collection[],
  params: SelectionChoice,
  { look, size }: ImageChoice,
): TileSelection | undefined {
  const { datetime, subset, properties } = params;
  // A form that was left empty sends an empty filter.
  const tree = params.filter
    ? parseFilter('filter', { text: params.filter, language: params.filterLang })
    : undefined;
  if (tree === undefined && !datetime && !subset && !properties && !look && !size) return undefined;
  const vectors = collections.filter(hasFeatures);
  if (vectors.length === 0 && tree !== undefined) throw badParameter('filter', 'is only for features');
  requireProperties(vectors, properties);
  for (const collection of vectors) requireReachable({ 'filter-crs': params.filterCrs }, collection);
  const filters = new Map<string, Expression>();
  for (const { id, source } of vectors) {
    const checked = tree && checkFilter('filter', tree, { ...source, filterCrs: params.filterCrs ?? CRS84 });
    const filter = and(during(source, datetime), above(source, subset), checked);
    if (filter !== undefined) filters.set(id, filter);
  }
  const heights = findHeights(collections, subset);
  if (filters.size === 0 && !properties && !look && !heights && !size) return undefined;
  return {
    key: selectionKey([[...filters], sorted(properties), look, heights, size]),
    filters,
    properties,
    look,
    heights,
    size,
  };
}

function requireProperties(vectors: readonly VectorCollection[], names: readonly string[] | undefined): void {
  for (const name of names ?? []) {
    if (!vectors.some(({ source }) => source.fields.some((field) => field.name === name)))
      throw badParameter('properties', `there is no property '${name.slice(0, 60)}'`);
  }
}

/** Filter on the attribute with the name of the axis. A collection without such an attribute matches every height. */
function above(
  { fields }: { fields: readonly Field[] },
  subset: AxisRange | undefined,
): Expression | undefined {
  const numbers = plainFields(fields).filter(({ type }) => type === 'number' || type === 'integer');
  const field = subset && numbers.find(({ name }) => name.toLowerCase() === subset.axis);
  return field && rangeFilter(field.name, subset);
}

/** Vertical range for rasters. Undefined if none of them has a vertical axis. */
function findHeights(
  collections: readonly Collection[],
  subset: AxisRange | undefined,
): AxisRange | undefined {
  const layered = collections.filter(hasCoverage).filter(({ raster }) => raster.levels !== undefined);
  for (const collection of subset ? layered : []) {
    if (findLevelIndex(collection, subset) === undefined)
      throw badParameter(
        'subset',
        `selects no level of ${collection.id}. The domain of its coverage lists the levels`,
      );
  }
  return layered.length > 0 ? subset : undefined;
}

function sorted(names: readonly string[] | undefined): string[] | undefined {
  return names && [...names].sort();
}

function selectionKey(parts: unknown[]): string {
  return createHash('sha1').update(JSON.stringify(parts)).digest('base64url');
}
