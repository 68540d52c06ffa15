import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnalyticsResult } from '../../../src/core/features/analytics.js';
import { FEATURE_LIMITS } from '../../../src/core/features/limits.js';
import { LIMITS } from '../../../src/core/kit/limits.js';
import type { VectorSource } from '../../../src/core/sources/vector-source.js';
import { computeClusters } from '../../../src/workers/features/analytics/clusters.js';
import { computeDensityCells } from '../../../src/workers/features/analytics/density.js';
import { computeH3Cells } from '../../../src/workers/features/analytics/h3.js';
import { computeSpatialJoin } from '../../../src/workers/features/analytics/spatial-join.js';
import { closeAll, connect } from '../../../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { geoPackageBlob, wkb } from '../../native/support.js';

/** The limits of the contract: what goes beyond them is cut off, and said to be. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
const MANY = LIMITS.analyticsInput + 10;
const ROW = 400;
let many: VectorSource;
let one: VectorSource;

/** `count` points in rows of 400, a hundredth of a degree apart; all at one place with `step` 0. */
function store(name: string, count: number, step: number): VectorSource {
  const path = join(folder, `${name}.gpkg`);
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE points (fid INTEGER PRIMARY KEY, geom POINT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('points', 'features', 'points', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('points', 'geom', 'POINT', 4326, 0, 0)`);
  const insert = db.prepare('INSERT INTO points VALUES (?, ?)');
  db.transaction(() => {
    for (let i = 0; i < count; i++) {
      const coordinates = [10 + (i % ROW) * step, 40 + Math.floor(i / ROW) * step];
      insert.run(i + 1, geoPackageBlob(wkb({ type: 'Point', coordinates })));
    }
  })();
  db.close();
  return inspectGeoPackage(path)[0]!.source;
}

beforeAll(() => {
  many = store('many', MANY, 0.01);
  one = store('one', 1100, 0);
});

afterAll(() => {
  closeAll();
  rmSync(folder, { recursive: true, force: true });
});

const featuresOf = ({ features }: AnalyticsResult) =>
  JSON.parse(`[${Buffer.from(features).toString()}]`) as { properties: Record<string, number> }[];

describe('limits of the analytics', () => {
  it('read the first features by id', async () => {
    const found = await computeClusters({
      filter: undefined,
      source: many,
      algorithm: { name: 'dbscan', eps: 1, minPoints: 2 },
      fields: [],
      hulls: false,
      statistics: [],
    });
    expect(found).toMatchObject({
      returned: LIMITS.analyticsInput,
      inputTruncated: true,
      resultTruncated: false,
    });
    expect(featuresOf(found).at(-1)!.properties).toMatchObject({
      objectId: LIMITS.analyticsInput,
      clusterId: -1,
    });
  });

  it('keep the largest clusters', async () => {
    const algorithm = { name: 'dbscan', eps: 1, minPoints: 1 } as const;
    const found = await computeClusters({
      filter: undefined,
      source: many,
      algorithm,
      fields: [],
      hulls: true,
      statistics: [],
    });
    expect(found).toMatchObject({
      returned: FEATURE_LIMITS.clusters,
      inputTruncated: true,
      resultTruncated: true,
    });
  });

  it('keep the fullest cells', async () => {
    const found = await computeDensityCells({
      filter: undefined,
      source: many,
      mode: 'square',
      cellSize: 1000,
    });
    expect(found).toMatchObject({ returned: FEATURE_LIMITS.densityCells, resultTruncated: true });
    const counts = featuresOf(found).map(({ properties }) => properties['featureCount']!);
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
  });

  it('refuse more H3 cells, and count beyond the input of the others', async () => {
    const few = await computeH3Cells({ filter: undefined, source: many, resolution: 2, statistics: [] });
    expect(featuresOf(few).reduce((sum, { properties }) => sum + properties['count']!, 0)).toBe(MANY);
    await expect(
      computeH3Cells({ filter: undefined, source: many, resolution: 15, statistics: [] }),
    ).rejects.toMatchObject({
      code: 'too-large',
    });
  });

  it('end a join of too many pairs', async () => {
    const right = { source: { ...one }, filter: undefined, carry: [], statistics: [] };
    const found = await computeSpatialJoin({
      source: one,
      filter: undefined,
      fields: [],
      predicate: 'intersects',
      distance: 0,
      right,
    });
    expect(found).toMatchObject({ returned: 1100, resultTruncated: true });
    const counts = featuresOf(found).map(({ properties }) => properties['matchCount']!);
    expect(counts[0]).toBe(1100);
    expect(counts.at(-1)).toBe(0);
  });
});
