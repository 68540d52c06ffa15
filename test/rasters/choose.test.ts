import { describe, expect, it } from 'vitest';
import type { RasterCollection } from '../../src/core/catalog/collection.js';
import type { Box } from '../../src/core/geometry/box.js';
import { datetimeParam } from '../../src/core/http/params.js';
import type { MosaicMember, PositionTask, RasterInfo } from '../../src/core/rasters/rasters.js';
import type { Pools } from '../../src/core/tasks/tasks.js';
import { chooseRaster, newestBatch } from '../../src/services/rasters/choose.js';
import { valuesByTime } from '../../src/services/rasters/position.js';

const collection = (raster: Partial<RasterInfo>, id = 'scenes') =>
  ({ kind: 'raster', id, raster: { extent84: [0, 0, 10, 10], ...raster } }) as unknown as RasterCollection;

const member = (id: string, extent84: Box, acquired?: string): MosaicMember => ({
  id,
  source: { kind: 'file', path: `/data/${id}.tif` },
  extent84,
  ...(acquired === undefined ? {} : { acquired }),
});

const mosaic = (...members: MosaicMember[]) => collection({ source: { kind: 'mosaic', members } });
const during = (text: string) => datetimeParam.parse(text)!;

const OLD = '2020-05-01T10:00:00Z';
const NEW = '2021-05-01T10:00:00Z';
const scenes = mosaic(
  member('a-west', [0, 0, 5, 10], OLD),
  member('a-east', [5, 0, 10, 10], OLD),
  member('b-west', [0, 0, 5, 10], NEW),
  member('undated', [0, 0, 10, 10]),
);

describe('a mosaic', () => {
  it('is drawn as a whole without a time', () => {
    const chosen = chooseRaster(scenes, {});
    expect(chosen?.source).toBe(scenes.raster.source);
    expect(chosen?.used).toEqual(['a-west', 'a-east', 'b-west', 'undated']);
    expect(chosen?.acquired).toBeUndefined();
  });

  it('shows the newest batch within the range, and nothing else', () => {
    expect(chooseRaster(scenes, { datetime: during('../..') })).toMatchObject({
      used: ['b-west'],
      acquired: '2021-05-01T10:00:00.000Z',
    });
    expect(chooseRaster(scenes, { datetime: during('../2020-12-31') })?.used).toEqual(['a-west', 'a-east']);
    expect(chooseRaster(scenes, { datetime: during('2020-05-01') })?.used).toEqual(['a-west', 'a-east']);
    expect(chooseRaster(scenes, { datetime: during(OLD) })?.used).toEqual(['a-west', 'a-east']);
  });

  it('has nothing where no member was acquired', () => {
    expect(chooseRaster(scenes, { datetime: during('2020-06-01/2020-07-01') })).toBeUndefined();
  });

  it('picks the batch before the window: a newer batch elsewhere hides older rasters', () => {
    const chosen = chooseRaster(scenes, { datetime: during('../..'), window84: [6, 0, 9, 5] });
    expect(chosen?.used).toEqual([]);
    expect(chosen?.source).toMatchObject({ members: [{ id: 'b-west' }] });
  });

  it('keeps the members that touch the window', () => {
    expect(chooseRaster(scenes, { window84: [6, 1, 7, 2] })?.used).toEqual(['a-east', 'undated']);
    const far = mosaic(member('fiji', [177, -20, -178, -16]), member('paris', [2, 48, 3, 49]));
    expect(chooseRaster(far, { window84: [-180, -18, -179, -17] })?.used).toEqual(['fiji']);
    expect(chooseRaster(far, { window84: [170, -18, -170, -17] })?.used).toEqual(['fiji']);
  });

  it('without any instants is of every time', () => {
    const chosen = chooseRaster(mosaic(member('dem', [0, 0, 10, 10])), { datetime: during('1999-01-01') });
    expect(chosen?.used).toEqual(['dem']);
    expect(chosen?.acquired).toBeUndefined();
  });
});

describe('a time axis', () => {
  const series = collection(
    {
      source: { kind: 'gridded', path: '/data/series.nc', variables: ['pr'] },
      times: ['1999-01-31T00:00:00Z', '1999-02-28T00:00:00Z', '1999-03-31T00:00:00Z'],
    },
    'series',
  );

  it('gives its newest instant when none is asked for', () => {
    expect(chooseRaster(series, {})).toMatchObject({ at: { time: 2 }, used: ['series_19990331T000000Z'] });
  });

  it('gives the newest instant within the range', () => {
    expect(chooseRaster(series, { datetime: during('1999-01-01/1999-03-01') })).toMatchObject({
      at: { time: 1 },
      used: ['series_19990228T000000Z'],
      acquired: '1999-02-28T00:00:00.000Z',
    });
  });

  it('has only its own instants', () => {
    expect(chooseRaster(series, { datetime: during('1999-02-28T00:00:00Z') })?.at).toEqual({ time: 1 });
    expect(chooseRaster(series, { datetime: during('1999-02-28T00:00:01Z') })).toBeUndefined();
    expect(chooseRaster(series, { datetime: during('1999-02-28') })?.at).toEqual({ time: 1 });
  });
});

describe('several collections', () => {
  const landsat = collection({ source: { kind: 'file', path: 'a' }, acquired: OLD }, 'landsat');
  const sentinel = collection({ source: { kind: 'file', path: 'b' }, acquired: NEW }, 'sentinel');
  const dem = collection({ source: { kind: 'file', path: 'c' } }, 'dem');

  it('show their newest batch together', () => {
    const all = [landsat, sentinel, dem];
    const newest = Date.parse(NEW);
    expect(newestBatch(all, during('../..'))).toEqual({
      collections: [sentinel],
      batch: { start: newest, end: newest },
    });
    expect(newestBatch(all, during('../2020-12-31'))).toMatchObject({ collections: [landsat] });
  });

  it('show no raster when none was acquired in the range', () => {
    const roads = { kind: 'vector', id: 'roads' } as unknown as RasterCollection;
    const chosen = newestBatch([landsat, sentinel, dem, roads], during('2022-01-01/..'));
    expect(chosen).toEqual({ collections: [roads], batch: undefined });
  });

  it('that are searched by range are shown with their range beside any other', () => {
    const searched = collection({ source: { kind: 'mosaic', members: [], byRange: true } }, 'searched');
    const range = during('2020-01-01/2020-12-31');
    expect(newestBatch([dem, searched], range)).toEqual({ collections: [dem, searched], batch: range });
    const instant = Date.parse(OLD);
    const batch = { start: instant, end: instant, range };
    expect(newestBatch([landsat, dem, searched], range)).toEqual({ collections: [landsat, searched], batch });
    expect(newestBatch([sentinel, searched], range)).toEqual({ collections: [searched], batch: range });
    const scene = member('june', [0, 0, 5, 10], '2020-06-01T10:00:00Z');
    const scenes = collection({ source: { kind: 'mosaic', members: [scene], byRange: true } });
    expect(chooseRaster(scenes, { datetime: batch })?.used).toEqual(['june']);
  });

  it('are all shown when none of them has an instant, or no time is asked for', () => {
    expect(newestBatch([dem], during('2022-01-01/..'))).toEqual({ collections: [dem], batch: undefined });
    expect(newestBatch([landsat, dem], undefined).collections).toEqual([landsat, dem]);
  });
});

describe('the values at a position of a mosaic', () => {
  /** As many values as rasters that would be read, in one task. */
  const read = (of: RasterCollection, place: [number, number], text?: string) => {
    const tasks: PositionTask[] = [];
    const pools = {
      run: async (_: string, task: PositionTask) => {
        tasks.push(task);
        return {
          values: task.slices.map(({ source }) => [source.kind === 'mosaic' ? source.members.length : 0]),
        };
      },
    } as unknown as Pools;
    const datetime = text === undefined ? undefined : during(text);
    return valuesByTime({ timing() {} }, pools, of, { place, datetime }).then((found) => ({ found, tasks }));
  };

  it('are those of each batch that holds the place, oldest first', async () => {
    const { found, tasks } = await read(scenes, [1, 1]);
    expect(found).toEqual({
      matched: 2,
      steps: [
        { time: '2020-05-01T10:00:00.000Z', values: [1] },
        { time: '2021-05-01T10:00:00.000Z', values: [1] },
      ],
    });
    expect(tasks).toHaveLength(1);
    expect((await read(scenes, [5, 1], '../2020-12-31')).found).toMatchObject({
      matched: 1,
      steps: [{ values: [2] }],
    });
  });

  it('are of no time where no raster has one, and of nothing elsewhere', async () => {
    const undated = mosaic(member('a', [0, 0, 5, 5]), member('b', [0, 0, 5, 5]));
    expect((await read(undated, [1, 1])).found).toEqual({
      matched: 1,
      steps: [{ time: undefined, values: [2] }],
    });
    expect(await read(undated, [9, 9])).toEqual({ found: undefined, tasks: [] });
    expect((await read(scenes, [1, 1], '1990-01-01')).found).toBeUndefined();
  });

  it('are of at most 1,000 times, the newest', async () => {
    const day = (i: number) => new Date(Date.UTC(2000, 0, 1 + i)).toISOString();
    const daily = mosaic(...Array.from({ length: 1100 }, (_, i) => member(`d${i}`, [0, 0, 5, 5], day(i))));
    const { found } = await read(daily, [1, 1]);
    expect([found!.matched, found!.steps.length, found!.steps[0]!.time]).toEqual([1100, 1000, day(100)]);
  });
});
