import { copyFileSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { RasterImageTask } from '../../../src/core/rasters/rasters.js';
import { EnginePool } from '../../../src/workers/engine/client.js';
import {
  DEM,
  eventually,
  fileRaster,
  LANDSAT,
  type RunningEngine,
  scratchDirectory,
  startEngine,
} from '../support.js';

const image = (side: number, more: Partial<RasterImageTask> = {}): RasterImageTask => ({
  source: fileRaster(LANDSAT),
  bbox: [-3886000, -895000, -3878000, -887000],
  crs: 'EPSG:3857',
  width: side,
  height: side,
  format: 'raw',
  ...more,
});

/** Keeps GDAL busy for about a second. */
const slow = () => image(4096, { format: 'jpeg' });

let scratch: ReturnType<typeof scratchDirectory>;
let pool: EnginePool | undefined;
let engines: RunningEngine[] = [];

async function start(count: number, env: Record<string, string> = {}): Promise<EnginePool> {
  scratch = scratchDirectory();
  engines = await Promise.all(
    Array.from({ length: count }, (_, index) => startEngine(scratch.path, String(index + 1), env)),
  );
  pool = new EnginePool({ runDir: scratch.path });
  await eventually(() => pool!.status()[0]!.workers === count);
  return pool;
}

/** A pool of the one engine of the tests that leave it as it was. */
async function startCommon(): Promise<EnginePool> {
  scratch = common?.scratch ?? scratchDirectory();
  common ??= { scratch, engine: await startEngine(scratch.path) };
  engines = [common.engine];
  pool = new EnginePool({ runDir: scratch.path });
  await eventually(() => pool!.status()[0]!.workers === 1);
  return pool;
}

let common: { scratch: typeof scratch; engine: RunningEngine } | undefined;

afterEach(async () => {
  await pool?.close();
  await Promise.all(engines.filter((engine) => engine !== common?.engine).map((engine) => engine.stop()));
  if (scratch !== common?.scratch) scratch.remove();
});

afterAll(async () => {
  await common?.engine.stop();
  common?.scratch.remove();
});

describe('a lost engine', () => {
  it('loses none of 50 tasks in flight when it crashes', async () => {
    const { run } = bound(await start(2));
    const tasks = Array.from({ length: 50 }, (_, index) => run('raster.image', image(200 + index)));
    await eventually(() => pool!.status()[0]!.running > 10);
    engines[0]!.process.kill('SIGSEGV');
    expect((await engines[0]!.exited).signal).toBe('SIGSEGV');
    const results = await Promise.all(tasks);
    for (const [index, { data }] of results.entries()) expect(data.length).toBe((200 + index) ** 2 * 4);
    expect(pool!.status()[0]).toMatchObject({ workers: 1, running: 0, queued: 0 });
  });

  it('loses none when it was the only one and a new one comes', async () => {
    const { run } = bound(await start(1));
    const tasks = Array.from({ length: 50 }, () => run('raster.image', image(300)));
    await eventually(() => pool!.status()[0]!.running > 10);
    engines[0]!.process.kill('SIGSEGV');
    await engines[0]!.exited;
    // The connection may end a moment after the process.
    await eventually(() => !pool!.status()[0]!.healthy);
    engines.push(await startEngine(scratch.path, '2'));
    expect(await Promise.all(tasks)).toHaveLength(50);
  });

  it('is not given the same task a third time', async () => {
    const { run } = bound(await start(1));
    const outcome = run('raster.image', slow()).catch((error) => error);
    for (const name of ['2', '3']) {
      await eventually(() => pool!.status()[0]!.running === 1);
      const current = engines.at(-1)!;
      current.process.kill('SIGKILL');
      await current.exited;
      engines.push(await startEngine(scratch.path, name));
    }
    expect(await outcome).toMatchObject({ name: 'TaskFailure', code: 'worker-lost' });
  });

  it('fails waiting tasks when no engine comes back', async () => {
    await startCommon();
    const impatient = new EnginePool({ runDir: `${scratch.path}/nowhere`, absenceMs: 100 });
    await expect(impatient.run('raster.inspect', { source: fileRaster(DEM) })).rejects.toMatchObject({
      code: 'worker-lost',
    });
    await impatient.close();
  });

  it('does not take a pause of its own process for an absence of engines', async () => {
    await startCommon();
    const impatient = new EnginePool({ runDir: scratch.path, absenceMs: 1500 });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4000);
    const { width } = await impatient.run('raster.inspect', { source: fileRaster(DEM) });
    expect(width).toBeGreaterThan(0);
    await impatient.close();
  });
});

/** Methods of a pool that can be passed around. */
function bound(of: EnginePool): Pick<EnginePool, 'run'> {
  return { run: of.run.bind(of) };
}

/** Paths of the files that an engine has open. */
function filesOf({ process: { pid } }: RunningEngine): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(`${folder}/${fd}`)];
    } catch {
      // It was closed since.
      return [];
    }
  });
}

describe('cancelling and deadlines', () => {
  it('drops a queued task at once and never runs it', async () => {
    const { run } = bound(await start(1, { GRATICULE_ENGINE_RASTER_TASKS: '1' }));
    const copy = `${scratch.path}/dropped.tif`;
    copyFileSync(LANDSAT, copy);
    const order: string[] = [];
    const first = run('raster.image', slow()).then(() => order.push('ran'));
    const abort = new AbortController();
    const second = run(
      'raster.image',
      { ...slow(), source: fileRaster(copy) },
      { signal: abort.signal },
    ).finally(() => order.push('dropped'));
    await eventually(() => pool!.status()[0]!.running === 2);
    abort.abort();
    await expect(second).rejects.toMatchObject({ code: 'cancelled' });
    await first;
    expect(order).toEqual(['dropped', 'ran']);
    // With one place, it would have come before this task; files that were read stay open.
    await run('raster.inspect', { source: fileRaster(DEM) });
    const opened = filesOf(engines[0]!);
    expect(opened).toContain(LANDSAT);
    expect(opened).toContain(DEM);
    expect(opened).not.toContain(copy);
  });

  it('answers at the deadline while the task still runs', async () => {
    const { run } = bound(await startCommon());
    const order: string[] = [];
    // Begins with it and has half of its work to do.
    const other = run('raster.image', image(2900, { format: 'jpeg' })).then(() => order.push('other'));
    const late = run('raster.image', slow(), { deadlineMs: 100 }).finally(() => order.push('late'));
    await expect(late).rejects.toMatchObject({ code: 'deadline-exceeded' });
    await other;
    expect(order).toEqual(['late', 'other']);
    expect(await run('raster.inspect', { source: fileRaster(DEM) })).toMatchObject({
      width: 111,
    });
  });

  it('leaves no abort listener behind', async () => {
    const { run } = bound(await startCommon());
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, 'addEventListener');
    const remove = vi.spyOn(signal, 'removeEventListener');
    await Promise.all(
      Array.from({ length: 10 }, () => run('raster.inspect', { source: fileRaster(DEM) }, { signal })),
    );
    await run('raster.inspect', { source: fileRaster('/nonexistent') }, { signal }).catch(() => {});
    expect(add).toHaveBeenCalledTimes(11);
    expect(remove).toHaveBeenCalledTimes(11);
  });

  it('refuses more than the queue holds', async () => {
    await startCommon();
    const small = new EnginePool({ runDir: scratch.path, maxInFlight: 1, maxQueue: 2 });
    await small.whenReady(5000);
    const caller = { class: 'anonymous', id: 'a' } as const;
    const runs = [1, 2, 3].map(() => small.run('raster.image', image(512), { caller }));
    const one = () => small.run('raster.inspect', { source: fileRaster(DEM) }, { caller });
    await expect(one()).rejects.toMatchObject({ code: 'queue-full' });
    const work = Array.from({ length: 5 }, () => small.run('raster.inspect', { source: fileRaster(DEM) }));
    await Promise.all([...runs, ...work]);
    await small.close();
  });
});

describe('an engine', () => {
  it('closes a connection that sends garbage and serves the others on', async () => {
    const { run } = bound(await startCommon());
    for (const garbage of [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(1 << 20, 0xff),
      Buffer.from([4, 0, 0, 0, 2, 1, 2, 3, 4]),
    ]) {
      const socket = connect(engines[0]!.socket);
      socket.on('error', () => {});
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.resume();
      socket.write(garbage);
      await closed;
    }
    expect(await run('raster.inspect', { source: fileRaster(DEM) })).toMatchObject({
      width: 111,
    });
  });

  it('answers small tasks while a large result is on its way', async () => {
    const { run } = bound(await startCommon());
    const order: string[] = [];
    const large = run('raster.image', image(4096)).then(({ data }) => {
      order.push('large');
      return data;
    });
    await run('raster.inspect', { source: fileRaster(DEM) }).then(() => order.push('small'));
    expect((await large).length).toBe(4096 * 4096 * 4);
    expect(order).toEqual(['small', 'large']);
  });

  it('ends by itself when its memory grows over the limit, finishing what runs', async () => {
    const { run } = bound(
      await start(1, { GRATICULE_ENGINE_RSS_MB: '230', GRATICULE_ENGINE_RSS_CHECK_MS: '20' }),
    );
    const { data } = await run('raster.image', slow());
    expect(data.length).toBeGreaterThan(0);
    expect(await engines[0]!.exited).toEqual({ code: 0, signal: null });
  });

  it('is replaced when a task does not end after its deadline', async () => {
    const { run } = bound(
      await start(1, { GRATICULE_ENGINE_GRACE_MS: '100', GRATICULE_ENGINE_DRAIN_MS: '200' }),
    );
    // Opens the file and loads what GDAL loads once: the deadline shall pass while pixels are computed.
    await run('raster.image', image(16));
    let isGone = false;
    void engines[0]!.exited.then(() => (isGone = true));
    // On a busy machine an early deadline may pass before they are: a task that has not begun ends at once.
    for (let deadlineMs = 100; !isGone; deadlineMs *= 2) {
      await expect(run('raster.image', slow(), { deadlineMs })).rejects.toMatchObject({
        code: 'deadline-exceeded',
      });
      await eventually(() => isGone, 2000).catch(() => {});
    }
    // Exit handlers would crash under the thread that still works.
    expect((await engines[0]!.exited).signal).toBe('SIGKILL');
  });

  it('finishes running tasks on SIGTERM', async () => {
    const { run } = bound(await start(1));
    const running = run('raster.image', slow());
    // The task reached the engine once its file is open.
    await eventually(() => filesOf(engines[0]!).includes(LANDSAT));
    engines[0]!.process.kill('SIGTERM');
    expect((await running).data.length).toBeGreaterThan(0);
    expect(await engines[0]!.exited).toEqual({ code: 0, signal: null });
  });

  it('loads the library that its tasks need, when the first of them comes', async () => {
    const { run } = bound(await start(1));
    const libraries = () => {
      const maps = readFileSync(`/proc/${engines[0]!.process.pid}/maps`, 'utf8');
      return [/\/libgdal\.so/, /mapnik[^\n]*\.node/].map((name) => name.test(maps));
    };
    expect(libraries()).toEqual([false, false]);
    await run('raster.image', image(16));
    expect(libraries()).toEqual([true, false]);
  });

  it('has its name', async () => {
    await startCommon();
    expect(readFileSync(`/proc/${engines[0]!.process.pid}/cmdline`, 'utf8')).toContain('graticule: engine');
  });
});
