import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { sqlitePackage } from '../../src/core/kit/runtime.js';
import { sqliteExtensionPath } from '../../src/native/index.js';
import { openDatabase, WORLD_MAP } from '../native/support.js';

const ADDON = fileURLToPath(new URL('../../build/Release/graticule.node', import.meta.url));

/** Plain JavaScript, because a worker thread has no TypeScript loader. */
const SCRIPT = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require(workerData.sqlite);
  const addon = require(workerData.addon);
  const points = new Float64Array([-80, 35]);
  addon.transformPoints(points, 'EPSG:4267', 'EPSG:25832');
  const tiles = [];
  for (let i = 0; i < 4; i++) {
    const db = new Database(workerData.file, { readonly: true });
    db.loadExtension(workerData.extension);
    const sql = 'SELECT gr_mvt(?, fid, geom, name) FROM countries';
    tiles.push(db.prepare(sql).pluck().get(workerData.options).toString('base64'));
    db.close();
  }
  parentPort.postMessage({ tiles, points });
`;

describe('worker threads', () => {
  it('load addon and extension together, often, and encode the same tile', async () => {
    const bbox = [3e6, 3e6, 4e6, 4e6];
    const options = JSON.stringify({
      layer: 'c',
      fields: ['name'],
      from: 'EPSG:4326',
      to: 'EPSG:25832',
      bbox,
    });
    const expected = openDatabase(WORLD_MAP)
      .prepare<[string], Buffer>('SELECT gr_mvt(?, fid, geom, name) FROM countries')
      .pluck()
      .get(options)!
      .toString('base64');
    const workerData = {
      addon: ADDON,
      extension: sqliteExtensionPath(),
      sqlite: sqlitePackage(process.version),
      file: WORLD_MAP,
      options,
    };
    const run = () =>
      new Promise<{ tiles: string[]; points: Float64Array }>((resolve, reject) => {
        const worker = new Worker(SCRIPT, { eval: true, workerData });
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    for (let round = 0; round < 3; round++) {
      const results = await Promise.all([run(), run(), run()]);
      for (const result of results) {
        expect(result.tiles).toEqual(Array(4).fill(expected));
        expect(result.points).toEqual(results[0]!.points);
        expect(result.points.every(Number.isFinite)).toBe(true);
      }
    }
  });
});
