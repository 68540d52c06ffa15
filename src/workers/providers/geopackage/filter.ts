import type { BoxLiteral, Call, Expression, PropertyName } from '../../../core/cql2/ast.js';
import { type Box, type GeoPackageSource, TaskFailure } from '../../../core/tasks.js';
import { boxesInSource } from '../boxes.js';
import { matchingIds, type Query } from './window.js';

/** Selects `id` of every row that the filter lets through. No row comes twice; the order is undefined. */
export function idsOf(source: GeoPackageSource, filter: Expression | undefined): Query {
  if (filter === undefined || filter === true) return matchingIds(source, undefined);
  const box = windowOf(source, filter);
  if (!box) throw new TaskFailure('invalid-input', 'This filter is not supported yet.');
  const [minx, miny, maxx, maxy] = box.bbox as Box;
  return matchingIds(source, boxesInSource(source, [minx, miny, maxx, maxy], box.crs ?? 'OGC:CRS84'));
}

function windowOf(source: GeoPackageSource, filter: Expression): BoxLiteral | undefined {
  const { op, args } = filter as Call;
  const named = (args?.[0] as PropertyName | undefined)?.property === source.geometryColumn;
  const box = args?.[1] as BoxLiteral | undefined;
  return op === 's_intersects' && named && box?.bbox?.length === 4 ? box : undefined;
}
