import { expect, it } from 'vitest';
import { changedAreas, mergeChanges } from '../../../src/core/edits/edit-areas.js';
import { EDIT_LIMITS } from '../../../src/core/edits/limits.js';
import type { Box } from '../../../src/core/geometry/box.js';
import type { NewEvent } from '../../../src/workers/edits/session.js';

const event = (members: Partial<NewEvent>): NewEvent => ({
  featureId: '1',
  operation: 'update',
  geometry: '{"type":"Point","coordinates":[0,0]}',
  changedAttributes: [],
  geometryChanged: true,
  ...members,
});
const spot = (x: number, y: number): Box => [x, y, x, y];

it('tells where a feature was and where it is', () => {
  const moved = event({ envelopeBefore: spot(1, 1), envelopeAfter: spot(9, 9) });
  expect(changedAreas([moved])).toEqual([spot(1, 1), spot(9, 9)]);
  const renamed = event({ envelopeBefore: spot(2, 2), envelopeAfter: spot(2, 2), geometryChanged: false });
  expect(changedAreas([renamed])).toEqual([spot(2, 2)]);
});

it('gathers the boxes of many edits into few that hold them all, and leave the land between alone', () => {
  const places = Array.from({ length: 1000 }, (_, i) =>
    spot(i % 2 ? i / 1000 : 100 + i / 1000, (i * 7) % 11),
  );
  const areas = changedAreas(places.map((envelopeAfter) => event({ envelopeAfter })))!;
  expect(areas.length).toBeLessThanOrEqual(EDIT_LIMITS.editAreas);
  const holds = (area: Box, [x, y]: Box) => area[0] <= x && x <= area[2] && area[1] <= y && y <= area[3];
  for (const place of places) expect(areas.some((area) => holds(area, place))).toBe(true);
  expect(areas.some((area) => holds(area, spot(50, 5)))).toBe(false);
});

it('knows that a feature without a geometry is in no tile', () => {
  expect(changedAreas([event({ geometry: undefined, geometryChanged: false })])).toEqual([]);
});

it('does not know where a geometry without a position was', () => {
  expect(changedAreas([event({ geometry: '{"type":"Point","coordinates":[]}' })])).toBeUndefined();
  expect(changedAreas([event({ geometry: undefined, geometryChanged: true })])).toBeUndefined();
});

it('tells the box across 180 degrees of geometries that are cut there', () => {
  const polygon = (west: number, east: number) => [
    [
      [west, 0],
      [east, 0],
      [east, 5],
      [west, 5],
      [west, 0],
    ],
  ];
  const cut = (...parts: number[][][][]) =>
    event({
      operation: 'insert',
      geometry: JSON.stringify({ type: 'MultiPolygon', coordinates: parts }),
      envelopeAfter: [-180, 0, 180, 5],
    });
  const fiji = cut(polygon(177, 180), polygon(-180, -178));
  expect(mergeChanges([fiji], 1).extent84).toEqual([177, 0, -178, 5]);
  const near = event({ envelopeAfter: [170, -10, 171, -9] });
  expect(mergeChanges([near, fiji], 1).extent84).toEqual([170, -10, -178, 5]);
  // One part reaches from one side of the prime meridian to the other.
  expect(mergeChanges([cut(polygon(177, 180), polygon(-180, 10))], 1).extent84).toEqual([-180, 0, 180, 5]);
  expect(mergeChanges([event({ envelopeAfter: [-180, 0, 180, 5], geometry: '' })], 1).extent84).toEqual([
    -180, 0, 180, 5,
  ]);
});
