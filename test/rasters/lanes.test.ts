import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { getQueueLength, oneAtATime } from '../../src/workers/gdal/lock.js';
import { Cancellation } from '../../src/workers/threads/cancellation.js';
import { fileRaster, suiteEngine } from '../engine/support.js';

const suite = suiteEngine();

/** Something that runs until it is told to end. */
function gate() {
  let open = () => {};
  const passage = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passage, open: () => open() };
}

describe('what goes one after the other', () => {
  it('goes in the order it came, whatever fails', async () => {
    const [order, first] = [[] as number[], gate()];
    const runs = [1, 2, 3].map((number) =>
      oneAtATime('order', async () => {
        if (number === 1) await first.passage;
        order.push(number);
        if (number === 2) throw new Error('two');
      }).catch(String),
    );
    expect(getQueueLength('order')).toBe(3);
    first.open();
    expect(await Promise.all(runs)).toEqual([undefined, 'Error: two', undefined]);
    expect(order).toEqual([1, 2, 3]);
    expect(getQueueLength('order')).toBe(0);
  });

  it('is left while it waits, as soon as it is cancelled', async () => {
    const [first, cancellation] = [gate(), new Cancellation()];
    const slow = oneAtATime('cancel', () => first.passage);
    let hasRun = false;
    const run = async () => {
      hasRun = true;
    };
    const waiter = oneAtATime('cancel', run, cancellation);
    const last = oneAtATime('cancel', async () => 'last');
    cancellation.request();
    await expect(waiter).rejects.toMatchObject({ code: 'cancelled' });
    expect(getQueueLength('cancel')).toBe(2);
    first.open();
    await slow;
    expect(await last).toBe('last');
    expect(hasRun).toBe(false);
  });

  it('lets others pass when it takes long', async () => {
    const first = gate();
    const slow = oneAtATime('long', async (leave) => {
      leave();
      await first.passage;
    });
    expect(await oneAtATime('long', async () => 'next')).toBe('next');
    first.open();
    await slow;
    expect(getQueueLength('long')).toBe(0);
  });
});

it('small windows of a raster do not wait for one of many pixels', async () => {
  const path = join(suite.scratch.path, 'wide.tif');
  const place = ['-a_srs', 'EPSG:4326', '-a_ullr', '0', '40', '40', '0', '-outsize', '20000', '20000'];
  const sparse = ['-co', 'SPARSE_OK=TRUE', '-co', 'TILED=YES', '-co', 'COMPRESS=DEFLATE'];
  execFileSync('gdal_create', ['-q', '-of', 'GTiff', '-bands', '1', ...sparse, ...place, path]);
  const order: string[] = [];
  const window = async (name: string, bbox: [number, number, number, number]) => {
    const grid = { bbox, crs: 'EPSG:3857', width: 256, height: 256 };
    await suite.pool.run('raster.image', { source: fileRaster(path), ...grid, format: 'raw' });
    order.push(name);
  };
  await window('first', [1_000_000, 1_000_000, 1_050_000, 1_050_000]);
  const slow = window('slow', [0, 0, 4_400_000, 4_400_000]);
  const quick = Array.from({ length: 12 }, (_, i) => {
    const west = 50_000 + i * 300_000;
    return window('quick', [west, 1_000_000, west + 50_000, 1_050_000]);
  });
  await Promise.all([slow, ...quick]);
  expect(order.at(-1)).toBe('slow');
}, 60_000);
