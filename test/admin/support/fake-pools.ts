import { existsSync } from 'node:fs';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import type { StagedLayer, StageProblem } from '../../../src/core/exchange/ogr.js';
import type { RasterInfo } from '../../../src/core/rasters/rasters.js';
import type { Pools, TaskInput, TaskName, TaskOptions } from '../../../src/core/tasks/tasks.js';

/**
 * Pools that stand in for the workers at their seam, and keep their promises: staging files and the store are
 * real files (JSON), a load is one step, knows its token, and removes the staging file.
 */
export class FakePools implements Pools {
  readonly calls: TaskName[] = [];
  /** Milliseconds that staging takes. */
  stageMs = 0;
  /** Tables that were written to the store. */
  readonly loaded: string[] = [];
  /** Fails the task of this name with that. */
  readonly failures = new Map<TaskName, TaskFailure>();
  /** Called after a load has committed, before it answers. */
  afterLoad: () => Promise<void> = async () => {};

  async run<N extends TaskName>(name: N, input: TaskInput<N>, options: TaskOptions = {}): Promise<never> {
    this.calls.push(name);
    const failure = this.failures.get(name);
    if (failure) throw failure;
    if (name === 'ogr.stage') return (await this.#stage(input as TaskInput<'ogr.stage'>, options)) as never;
    if (name === 'vector.load') return (await this.#load(input as TaskInput<'vector.load'>)) as never;
    // Data of an unknown place.
    if (name === 'vector.inspect') return [{ takenFor: 'plane' }] as never;
    if (name === 'raster.inspect') return rasterAt(input as TaskInput<'raster.inspect'>) as never;
    throw new Error(`no fake of ${name}`);
  }

  async #stage(
    { path, output, layer = 'towns', sourceCrs, mayLackCrs = false }: TaskInput<'ogr.stage'>,
    { signal, onProgress }: TaskOptions,
  ): Promise<StagedLayer | StageProblem> {
    if (!existsSync(path)) throw new TaskFailure('source-missing', 'There is no such file.');
    if (existsSync(output)) throw new TaskFailure('invalid-input', 'The output already exists.');
    const names = ['towns', 'rivers'];
    if (!names.includes(layer)) return { problem: 'no-layer', names };
    const hasCrs = !(await readFile(path, 'utf8')).includes('nocrs');
    if (!hasCrs && sourceCrs === undefined && !mayLackCrs) return { problem: 'no-crs', namesDegrees: false };
    for (let part = 1; part <= 4; part++) {
      await sleep(this.stageMs / 4, undefined, signal ? { signal } : {}).catch(() => {
        throw new TaskFailure('cancelled', 'Cancelled.');
      });
      onProgress?.(part / 4);
    }
    await copyFile(path, output);
    await writeFile(`${output}-wal`, layer);
    return { layer, features: 3, spatialLayers: names.length };
  }

  async #load({ staging, store, table, token }: TaskInput<'vector.load'>) {
    const content: Record<string, string> = existsSync(store)
      ? JSON.parse(await readFile(store, 'utf8'))
      : {};
    if (!existsSync(staging)) {
      if (content[table] === token) return { features: 3, store };
      throw new TaskFailure('source-missing', 'The staging file no longer exists.');
    }
    if (content[table] !== token) {
      if (content[table]) throw new TaskFailure('invalid-input', `The store has a table ${table} already.`);
      content[table] = token!;
      this.loaded.push(table);
      await writeFile(store, JSON.stringify(content));
    }
    await rm(staging);
    await this.afterLoad();
    return { features: 3, store };
  }

  status() {
    return [];
  }

  async close(): Promise<void> {}
}

/** A gray raster of 60 x 40 pixels at any URL. */
function rasterAt({ source }: TaskInput<'raster.inspect'>): RasterInfo {
  const band = {
    band: 1,
    type: 'Byte',
    noData: null,
    description: '',
    colorInterpretation: 'Gray',
    unit: '',
  };
  return {
    source,
    driver: 'GTiff',
    width: 60,
    height: 40,
    geoTransform: [0, 0.1, 0, 10, 0, -0.1],
    crs: 'EPSG:4326',
    epsg: 4326,
    extent: [0, 6, 6, 10],
    extent84: [0, 6, 6, 10],
    bands: [band],
    overviewCount: 2,
    compression: 'DEFLATE',
    blockSize: [512, 512],
  };
}
