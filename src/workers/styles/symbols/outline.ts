import type { PathCommand } from 'opentype.js';

/** Maximum distance in pixels between a straight segment and the curve that it replaces. */
const TOLERANCE = 0.01;
const MAX_STEPS = 32;

/** Straight segments as x0, y0, x1, y1, one after the other. All rings are closed. */
export type Segments = number[];

/** Returns the outline with straight segments instead of curves. */
export function flatten(commands: readonly PathCommand[]): Segments {
  const segments: Segments = [];
  let [x, y, startX, startY] = [0, 0, 0, 0];
  const lineTo = (toX: number, toY: number) => {
    if (toX !== x || toY !== y) segments.push(x, y, toX, toY);
    x = toX;
    y = toY;
  };
  for (const command of commands) {
    switch (command.type) {
      case 'M':
        lineTo(startX, startY);
        startX = x = command.x;
        startY = y = command.y;
        break;
      case 'L':
        lineTo(command.x, command.y);
        break;
      case 'Q':
        for (const [px, py] of quadratic(x, y, command)) lineTo(px, py);
        break;
      case 'C':
        for (const [px, py] of cubic(x, y, command)) lineTo(px, py);
        break;
      case 'Z':
        lineTo(startX, startY);
    }
  }
  lineTo(startX, startY);
  return segments;
}

type Position = readonly [x: number, y: number];
type Quadratic = Extract<PathCommand, { type: 'Q' }>;
type Cubic = Extract<PathCommand, { type: 'C' }>;

function* quadratic(x0: number, y0: number, { x1, y1, x, y }: Quadratic): Generator<Position> {
  const bend = Math.hypot(x0 - 2 * x1 + x, y0 - 2 * y1 + y);
  const steps = stepsFor(bend / 4);
  for (let i = 1; i < steps; i++) {
    const t = i / steps;
    const [a, b, c] = [(1 - t) ** 2, 2 * t * (1 - t), t ** 2];
    yield [a * x0 + b * x1 + c * x, a * y0 + b * y1 + c * y];
  }
  yield [x, y];
}

function* cubic(x0: number, y0: number, { x1, y1, x2, y2, x, y }: Cubic): Generator<Position> {
  const bend = Math.max(
    Math.hypot(x0 - 2 * x1 + x2, y0 - 2 * y1 + y2),
    Math.hypot(x1 - 2 * x2 + x, y1 - 2 * y2 + y),
  );
  const steps = stepsFor(0.75 * bend);
  for (let i = 1; i < steps; i++) {
    const t = i / steps;
    const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t ** 2 * (1 - t), t ** 3];
    yield [a * x0 + b * x1 + c * x2 + d * x, a * y0 + b * y1 + c * y2 + d * y];
  }
  yield [x, y];
}

/** Steps of equal parameter that keep the error, which shrinks with their square, below the tolerance. */
function stepsFor(errorOfOne: number): number {
  return Math.min(MAX_STEPS, Math.max(1, Math.ceil(Math.sqrt(errorOfOne / TOLERANCE))));
}
