import type { Segments } from './outline.js';

/**
 * Distance in pixels that the 256 values of a field cover, and the share of it inside the outline (TinySDF's names).
 */
const RADIUS = 8;
const CUTOFF = 0.25;

/** Value of a signed distance in pixels, negative inside: 191 on the outline. */
export function fieldValue(distance: number): number {
  const value = 255 - 256 * (distance / RADIUS + CUTOFF);
  return Math.max(0, Math.min(255, Math.round(value)));
}

/**
 * Returns the signed distance field of an outline, exact at the centre of each pixel. The inside is defined by the
 * nonzero rule. Positions are in pixels, with y pointing down.
 */
export function distanceField(segments: Segments, width: number, height: number): Uint8Array {
  const squares = squaredDistances(segments, width, height);
  const inside = findInside(segments, width, height);
  const field = new Uint8Array(width * height);
  for (let i = 0; i < field.length; i++) {
    const distance = Math.sqrt(squares[i]!);
    field[i] = fieldValue(inside[i] ? -distance : distance);
  }
  return field;
}

/** Squares of the distance to the nearest segment; those beyond the radius are all alike. */
function squaredDistances(segments: Segments, width: number, height: number): Float64Array {
  const squares = new Float64Array(width * height).fill(RADIUS * RADIUS);
  for (let at = 0; at < segments.length; at += 4) {
    const [x0, y0, x1, y1] = [segments[at]!, segments[at + 1]!, segments[at + 2]!, segments[at + 3]!];
    const [dx, dy] = [x1 - x0, y1 - y0];
    const scale = 1 / (dx * dx + dy * dy);
    const right = Math.min(width - 1, Math.floor(Math.max(x0, x1) + RADIUS));
    const bottom = Math.min(height - 1, Math.floor(Math.max(y0, y1) + RADIUS));
    const left = Math.max(0, Math.floor(Math.min(x0, x1) - RADIUS));
    for (let y = Math.max(0, Math.floor(Math.min(y0, y1) - RADIUS)); y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const [px, py] = [x + 0.5 - x0, y + 0.5 - y0];
        const along = Math.max(0, Math.min(1, (px * dx + py * dy) * scale));
        const [ex, ey] = [px - along * dx, py - along * dy];
        const square = ex * ex + ey * ey;
        const i = y * width + x;
        if (square < squares[i]!) squares[i] = square;
      }
    }
  }
  return squares;
}

/** 1 for each pixel whose centre is inside. */
function findInside(segments: Segments, width: number, height: number): Uint8Array {
  const inside = new Uint8Array(width * height);
  for (let row = 0; row < height; row++) {
    const crossings = crossingsAt(segments, row + 0.5).sort((a, b) => a[0] - b[0]);
    let winding = 0;
    let next = 0;
    for (let x = 0; x < width; x++) {
      while (next < crossings.length && crossings[next]![0] <= x + 0.5) winding += crossings[next++]![1];
      if (winding !== 0) inside[row * width + x] = 1;
    }
  }
  return inside;
}

/** Returns the intersections of a horizontal line with the outline, and whether each goes down (1) or up (-1). */
function crossingsAt(segments: Segments, y: number): [x: number, direction: number][] {
  const crossings: [number, number][] = [];
  for (let at = 0; at < segments.length; at += 4) {
    const [x0, y0, x1, y1] = [segments[at]!, segments[at + 1]!, segments[at + 2]!, segments[at + 3]!];
    if (y0 <= y === y1 <= y) continue;
    crossings.push([x0 + ((y - y0) / (y1 - y0)) * (x1 - x0), y1 > y0 ? 1 : -1]);
  }
  return crossings;
}
