import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dataset } from 'gdal-async';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heldResources, isPotentialLeak } from '../../src/core/observability/held.js';
import { StatementRecorder } from '../../src/core/observability/statements.js';
import { inTaskScope, TaskScope } from '../../src/core/observability/task-scope.js';
import type { RasterSource } from '../../src/core/rasters/rasters.js';
import { Peers } from '../../src/services/cluster/peers.js';
import { ProcessReports } from '../../src/services/observability/process-reports.js';
import { gdal } from '../../src/workers/gdal/gdal.js';
import { closeAll, connect, reader } from '../../src/workers/providers/geopackage/connection.js';
import { closeIdleRasters, withRaster } from '../../src/workers/rasters/handles.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-held-'));
const raster = join(folder, 'raster.tif');
const geopackage = join(folder, 'world.gpkg');

/** Objects that earlier test files of this thread left open. */
const earlier = new Set<string>();

beforeAll(async () => {
  copyFileSync('demo/data/L7_ETMs.tif', raster);
  copyFileSync('demo/data/world_map.gpkg', geopackage);
  closeIdleRasters();
  for (const { id } of (await reports.resources()).held) earlier.add(id);
});
afterAll(() => {
  closeIdleRasters();
  closeAll();
  rmSync(folder, { recursive: true });
});

/** The service that the management API asks. This thread does all the work. */
const reports = new ProcessReports({
  instance: 'test',
  peers: new Peers(
    'test',
    () => [],
    () => {},
  ),
  pools: { look: async () => [] },
  state: new StatementRecorder(),
});

const scanDatasets = async () =>
  (await reports.resources()).held.filter(({ id, kind }) => kind === 'gdal-dataset' && !earlier.has(id));

const scan = async () => {
  const { held, leaks, disposed } = await reports.resources();
  const here = <T extends { label: string }>(all: readonly T[]) =>
    all.filter(({ label }) => label.startsWith(folder));
  return { held: here(held), leaks: here(leaks), disposed };
};

describe('a task that keeps a dataset open', () => {
  it('shows as a potential leak after its end, until the dataset is closed', async () => {
    let kept: Dataset | undefined;
    const task = new TaskScope('test.keep', 'request-1');
    await inTaskScope(task, async () => {
      kept = await gdal.openAsync(raster, 'r', ['GTiff']);
      const { held, leaks } = await scan();
      expect(held).toHaveLength(1);
      // The task still runs.
      expect(leaks).toEqual([]);
    });
    const { leaks, disposed } = await scan();
    expect(leaks).toEqual([
      {
        id: expect.stringMatching(/^[\da-f]{8}-\d+$/),
        kind: 'gdal-dataset',
        label: raster,
        since: expect.any(Number),
        isAlive: true,
        owner: { task: 'test.keep', request: 'request-1', startedAt: task.startedAt, endedAt: task.endedAt },
        instance: 'test',
      },
    ]);
    expect((await scan()).leaks).toEqual(leaks);
    kept!.close();
    const after = await scan();
    expect(after.leaks).toEqual([]);
    expect(after.held).toEqual([]);
    expect(after.disposed).toBe(disposed + 1);
  });

  it('is the same for a SQLite file', async () => {
    const db = await inTaskScope(new TaskScope('test.file'), () => connect(geopackage, true));
    expect((await scan()).leaks.map(({ kind, label }) => [kind, label])).toEqual([
      ['sqlite-file', geopackage],
    ]);
    db.close();
    expect((await scan()).leaks).toEqual([]);
  });
});

describe('what a cache keeps on purpose', () => {
  const source = { kind: 'file', path: raster } as unknown as RasterSource;

  it('is no leak: idle handles of rasters with their views', async () => {
    await inTaskScope(new TaskScope('raster.image'), () =>
      withRaster(source, async (handle) => {
        await handle.bands([1]);
      }),
    );
    const all = await scanDatasets();
    expect(all.length).toBeGreaterThanOrEqual(2);
    expect(all.filter(({ keptBy }) => keptBy !== 'raster handles')).toEqual([]);
    expect(all.filter(isPotentialLeak)).toEqual([]);
    closeIdleRasters();
    expect(await scanDatasets()).toEqual([]);
  });

  it('is no leak: files of the readers of a thread', async () => {
    await inTaskScope(new TaskScope('vector.items'), () => reader(geopackage).prepare('SELECT 1').get());
    const { held, leaks } = await scan();
    expect(held.map(({ kind, keptBy }) => [kind, keptBy])).toEqual([['sqlite-file', 'open files']]);
    expect(leaks).toEqual([]);
    closeAll();
    expect((await scan()).held).toEqual([]);
  });

  it('is a leak once a task takes it and ends', async () => {
    let forgotten: (() => void) | undefined;
    await inTaskScope(new TaskScope('test.forget'), () => {
      void withRaster(source, () => new Promise<void>((resolve) => (forgotten = resolve)));
      return expect.poll(() => forgotten).toBeDefined();
    });
    expect((await reports.resources()).leaks.map(({ owner }) => owner?.task)).toContain('test.forget');
    forgotten!();
    await expect
      .poll(async () => (await reports.resources()).leaks.map(({ owner }) => owner?.task))
      .not.toContain('test.forget');
    closeIdleRasters();
  });
});

it('an object is tracked once, and disposed once', async () => {
  const token = {};
  const { disposed } = await scan();
  const group = heldResources.opened('temporary-folder', join(folder, 'x'), token);
  expect(heldResources.opened('temporary-folder', join(folder, 'x'), token)).toBe(group);
  expect((await scan()).held).toHaveLength(1);
  heldResources.closed(token);
  heldResources.closed(token);
  expect(await scan()).toEqual({ held: [], leaks: [], disposed: disposed + 1 });
});
