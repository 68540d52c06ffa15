import type { Geometry, MultiLineString, Position } from 'geojson';
import type { Extension, GeometryServiceTask } from '../../../core/geoservices/geometry-service.js';
import { Guides } from './guides.js';
import { splitAtGuides } from './pieces.js';
import { isSame, vector } from './vectors.js';

type Task = Extract<GeometryServiceTask, { verb: 'trim-extend' }>;

/**
 * Returns lines trimmed to the part left of the guides that they cross, or extended to guides. Null for other lines.
 */
export function trimExtend({ geometries, by, extension }: Task): (Geometry | null)[] {
  const guides = new Guides((by as MultiLineString).coordinates);
  return geometries.map((geometry) => {
    const paths = (geometry as MultiLineString).coordinates;
    const results = paths.map((path) => trim(path, guides) ?? extend(path, guides, extension));
    if (results.every((result) => result === undefined)) return null;
    const coordinates = results.flatMap((result, i) => result ?? [paths[i]!]);
    return coordinates.length === 0 ? null : { type: 'MultiLineString', coordinates };
  });
}

/** The pieces left of the guides; undefined for a path that crosses none. */
function trim(path: readonly Position[], guides: Guides): Position[][] | undefined {
  const pieces = splitAtGuides(path, guides);
  if (pieces.length < 2) return undefined;
  return pieces.filter(({ side }) => side === 'left').map((piece) => piece.path);
}

/** Extends a path. Undefined if no guide is in front of or behind it. */
function extend(
  path: Position[],
  guides: Guides,
  { moves, atStart, atEnd }: Extension,
): Position[][] | undefined {
  const start = atStart ? beyond([...path].reverse(), guides) : undefined;
  const end = atEnd ? beyond(path, guides) : undefined;
  if (!start && !end) return undefined;
  const inner = path.slice(start && moves ? 1 : 0, end && moves ? -1 : undefined);
  return [[...(start ? [start] : []), ...inner, ...(end ? [end] : [])]];
}

/** Returns the position where the straight continuation of a path meets a guide. */
function beyond(path: readonly Position[], guides: Guides): Position | undefined {
  const last = path.at(-1)!;
  const before = path.findLast((position) => !isSame(position, last));
  return before && guides.firstOnRay(last, vector(before, last));
}
