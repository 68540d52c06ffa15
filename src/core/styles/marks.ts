/**
 * Simple shapes for points, 16 pixels high, as SVG path data in a box of 16 x 16. Their icon names start with
 * `mark-`.
 */

export const MARK_SIDE = 16;

const HALF = MARK_SIDE / 2;

/** Polygon through points on the circle around the box's middle, the first at the top. */
function around(radii: readonly number[]): string {
  const points = radii.map((radius, i) => {
    const angle = (2 * Math.PI * i) / radii.length;
    return `${round(HALF + radius * Math.sin(angle))} ${round(HALF - radius * Math.cos(angle))}`;
  });
  return `M${points.join('L')}Z`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function regular(corners: number): string {
  return around(Array.from({ length: corners }, () => HALF));
}

/** Radius of the inner corners of a star whose arms are on straight lines. */
const STAR_INNER = HALF * 0.382;

export const MARKS: Readonly<Record<string, string>> = {
  'mark-circle': 'M8 0A8 8 0 0 1 8 16A8 8 0 0 1 8 0Z',
  'mark-dot': 'M8 5A3 3 0 0 1 8 11A3 3 0 0 1 8 5Z',
  'mark-square': 'M0 0H16V16H0Z',
  'mark-triangle': 'M8 0L16 16H0Z',
  'mark-star': around(Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? HALF : STAR_INNER))),
  'mark-cross': 'M5.5 0H10.5V5.5H16V10.5H10.5V16H5.5V10.5H0V5.5H5.5Z',
  'mark-x': 'M3 0L8 5L13 0L16 3L11 8L16 13L13 16L8 11L3 16L0 13L5 8L0 3Z',
  'mark-diamond': 'M8 0L16 8L8 16L0 8Z',
  'mark-pentagon': regular(5),
  'mark-hexagon': regular(6),
  'mark-octagon': regular(8),
  'mark-arrow': 'M8 0L16 9H11V16H5V9H0Z',
  'mark-arrowhead': 'M8 0L15 16L8 12L1 16Z',
  'mark-line': 'M7 0H9V16H7Z',
  'mark-dash': 'M0 7H16V9H0Z',
  'mark-slash': 'M14.6 0L16 1.4L1.4 16L0 14.6Z',
  'mark-backslash': 'M1.4 0L16 14.6L14.6 16L0 1.4Z',
  'mark-plus': 'M7 0H9V7H16V9H9V16H7V9H0V7H7Z',
  'mark-times': 'M1.4 0L8 6.6L14.6 0L16 1.4L9.4 8L16 14.6L14.6 16L8 9.4L1.4 16L0 14.6L6.6 8L0 1.4Z',
};
