import type { BoxLiteral, Call, Expression, PropertyName } from '../../../core/cql2/ast.js';
import { type Box, type PostgisSource, TaskFailure } from '../../../core/tasks.js';
import { boxesInSource } from '../boxes.js';
import { geometryOf } from './names.js';
import type { SqlParams } from './params.js';

/**
 * The condition on a row `t` that a filter states, as SQL; `TRUE` without one. Its values are added to `params`.
 * Throws `invalid-input` for what the database cannot evaluate.
 */
export function whereOf(source: PostgisSource, filter: Expression | undefined, params: SqlParams): string {
  if (filter === undefined || filter === true) return 'TRUE';
  const box = windowOf(source, filter);
  if (!box) throw new TaskFailure('invalid-input', 'This filter is not supported yet.');
  const [minx, miny, maxx, maxy] = box.bbox as Box;
  const boxes = boxesInSource(source, [minx, miny, maxx, maxy], box.crs ?? 'OGC:CRS84');
  return boxes
    .map((part) => `ST_Intersects(${geometryOf(source)}, ${envelope(part, source, params)})`)
    .join(' OR ');
}

/** A box in the source's CRS as a PostGIS polygon. */
export function envelope(box: Box, source: PostgisSource, params: SqlParams): string {
  const sides = box.map((side) => params.add(side, 'float8'));
  return `ST_MakeEnvelope(${sides.join(', ')}, ${source.srid})`;
}

function windowOf(source: PostgisSource, filter: Expression): BoxLiteral | undefined {
  const { op, args } = filter as Call;
  const named = (args?.[0] as PropertyName | undefined)?.property === source.geometryColumn;
  const box = args?.[1] as BoxLiteral | undefined;
  return op === 's_intersects' && named && box?.bbox?.length === 4 ? box : undefined;
}
