import type { Position } from 'geojson';
import type { Crossing, GuideSide, Guides } from './guides.js';
import { isSame, vector } from './vectors.js';

/** A part of a path between two crossings with guides. */
export interface Piece {
  path: Position[];
  /**
   * Side of the guides on which the piece is. If only one end is on a guide, this end decides. Undefined if the ends are
   * on different sides, or on no guide.
   */
  side: GuideSide | undefined;
}

/** Splits a path where it crosses or touches guides. Pieces have the order of the path. A path without a crossing is one piece. */
export function splitAtGuides(path: readonly Position[], guides: Guides): Piece[] {
  const crossings = removeRepetitions(guides.crossings(path));
  const last = path.length - 1;
  const inner = crossings.filter(({ at }) => at > 0 && at < last);
  // Undefined for an end of the path that is on no guide.
  const bounds = [crossings.find(({ at }) => at === 0), ...inner, crossings.find(({ at }) => at === last)];
  return bounds.slice(1).flatMap((end, i) => {
    const start = bounds[i];
    const piece = extractPath(
      path,
      start ?? { at: 0, position: path[0]! },
      end ?? { at: last, position: path[last]! },
    );
    return piece.length < 2 ? [] : [{ path: piece, side: sideBetween(piece, guides, start, end) }];
  });
}

/** Removes crossings at the position of the crossing before them. */
function removeRepetitions(crossings: readonly Crossing[]): Crossing[] {
  return crossings.filter((one, i) => {
    const before = crossings[i - 1];
    return !before || (before.at !== one.at && !isSame(before.position, one.position));
  });
}

/** The positions of a path from one position on it to another. */
export function extractPath(
  path: readonly Position[],
  start: Pick<Crossing, 'at' | 'position'>,
  end: Pick<Crossing, 'at' | 'position'>,
): Position[] {
  const between = path.slice(Math.floor(start.at) + 1, Math.ceil(end.at));
  const all = [start.position, ...between, end.position];
  return all.filter((position, i) => i === 0 || !isSame(position, all[i - 1]!));
}

function sideBetween(
  piece: readonly Position[],
  guides: Guides,
  start: Crossing | undefined,
  end: Crossing | undefined,
): GuideSide | undefined {
  const sides = [
    start && guides.sideOf(start, vector(piece[0]!, piece[1]!)),
    end && guides.sideOf(end, vector(piece.at(-1)!, piece.at(-2)!)),
  ].filter((side) => side !== undefined);
  return sides.every((side) => side === sides[0]) ? sides[0] : undefined;
}
