/** Twice the area of the triangle of three points of `xy`; positive when it turns left. */
function turn(xy: Float64Array, a: number, b: number, c: number): number {
  const [ax, ay] = [xy[2 * a]!, xy[2 * a + 1]!];
  return (xy[2 * b]! - ax) * (xy[2 * c + 1]! - ay) - (xy[2 * b + 1]! - ay) * (xy[2 * c]! - ax);
}

/** The points on one side of the hull, of points in ascending order: each turns left. */
function chain(xy: Float64Array, sorted: readonly number[]): number[] {
  const corners: number[] = [];
  for (const point of sorted) {
    while (corners.length >= 2 && turn(xy, corners.at(-2)!, corners.at(-1)!, point) <= 0) corners.pop();
    corners.push(point);
  }
  corners.pop();
  return corners;
}

/**
 * Returns the corners of the convex hull of some points in `xy` (x,y pairs), counterclockwise, as indices. One index
 * if the points coincide, two if they are collinear. Andrew's monotone chain.
 */
export function convexHull(xy: Float64Array, points: readonly number[]): number[] {
  const sorted = [...points].sort((a, b) => xy[2 * a]! - xy[2 * b]! || xy[2 * a + 1]! - xy[2 * b + 1]!);
  const distinct = sorted.filter((point, i) => {
    const before = sorted[i - 1];
    return (
      before === undefined || xy[2 * point] !== xy[2 * before] || xy[2 * point + 1] !== xy[2 * before + 1]
    );
  });
  if (distinct.length < 3) return distinct;
  return [...chain(xy, distinct), ...chain(xy, distinct.toReversed())];
}
