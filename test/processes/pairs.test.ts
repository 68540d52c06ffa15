import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROCESS_LIMITS } from '../../src/core/processes/limits.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../src/native/index.js';
import { FeatureTable } from '../../src/workers/processes/table.js';
import { Reference, underLimits } from './reference.js';

/** Pairs of two layers: how many there may be, and features that none can be made of. */

let reference: Reference;
beforeAll(async () => {
  reference = await Reference.start();
});
afterAll(() => reference?.stop());

const PLANE = { from: 'OGC:CRS84', to: 'OGC:CRS84' };
type Positions = readonly (readonly [x: number, y: number])[];
const square = (x: number, y: number): Positions => [
  [x, y],
  [x + 0.3, y],
  [x + 0.3, y + 0.3],
  [x, y + 0.3],
  [x, y],
];
/** GEOS makes nothing valid of it. */
const BEYOND_REPAIR: Positions = [
  [-1e308, -1e308],
  [0, 1e308],
  [-1e308, 0],
  [1e308, 0],
  [-1e308, -1e308],
];

it.each(['geometry.intersect', 'analytics.spatial-join'])(
  '%s is the same by many small parts',
  async (id) => {
    const values = id === 'geometry.intersect' ? {} : { mode: 'each' };
    const { rows } = await reference.run(id, values);
    expect(rows.length).toBeGreaterThan(30);
    await underLimits({ processPieces: 2 }, async () => {
      expect((await reference.run(id, values)).rows).toEqual(rows);
    });
    if (id === 'geometry.intersect')
      await underLimits({ processHeldBytes: 1000 }, async () => {
        expect((await reference.run(id, values)).rows).toHaveLength(rows.length);
      });
  },
);

it.each([
  ['geometry.intersect', {}],
  ['geometry.union-overlay', {}],
  ['analytics.spatial-join', { mode: 'each' }],
])('%s of too many pairs is refused', (id, values) =>
  underLimits({ processPairs: 20, processPieces: 5 }, async () => {
    await expect(reference.run(id, values)).rejects.toMatchObject({ code: 'too-large' });
  }),
);

it.each([
  ['geometry.difference', 0],
  ['geometry.clip', PROCESS_LIMITS.processHeldBytes],
  ['geometry.intersect', 0],
  ['geometry.intersect', PROCESS_LIMITS.processHeldBytes],
])('%s tells once of a feature that cannot be repaired, on either side', (id, processHeldBytes) =>
  underLimits({ processHeldBytes }, async () => {
    const blobs = [square(8, 47), square(14, 47.5), BEYOND_REPAIR].map((ring) =>
      geojsonToWkb({ type: 'Polygon', coordinates: [ring] }, PLANE),
    );
    const table = FeatureTable.create(reference.file(id), 'EPSG:4326', []);
    for (let i = 0; i < 1100; i++) table.add(wkbToGeoPackage(blobs[i % 2]!, table.srsId), []);
    table.add(wkbToGeoPackage(blobs[2]!, table.srsId), []);
    table.finish();
    const { result } = await reference.run(id, {}, reference.file(id), reference.file('provinces'));
    expect(result).toMatchObject({
      faults: 1,
      faultList: [{ reason: expect.stringContaining('TopologyException') }],
    });
    const { result: turned } = await reference.run(id, {}, reference.file('provinces'), reference.file(id));
    // In a file it meets nothing.
    expect(turned.faults).toBe(processHeldBytes === 0 ? 0 : 1);
  }),
);
