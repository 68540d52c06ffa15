import { readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  encodeLayer,
  gunzip,
  gunzippedSize,
  gzip,
  LayerEncoder,
  type LayerOptions,
  type LayerRow,
  releaseBytes,
  watchLoop,
} from '../../src/native/index.js';
import { decode, HALF_WORLD, openDatabase, WORLD_MAP, wkb } from './support.js';

const OPTIONS: LayerOptions = {
  layer: 'countries',
  fields: ['name', 'fid'],
  from: 'EPSG:4326',
  to: 'EPSG:3857',
  bbox: [-HALF_WORLD, 0, 0, HALF_WORLD],
};
const POINT = wkb({ type: 'Point', coordinates: [-10, 10] });

describe('LayerEncoder', () => {
  it('writes the very bytes of gr_mvt', () => {
    const db = openDatabase(WORLD_MAP);
    const inSql = db
      .prepare<[string], Buffer>('SELECT gr_mvt(?, fid, geom, name, fid) FROM countries')
      .pluck()
      .get(JSON.stringify(OPTIONS))!;
    const rows = db
      .prepare('SELECT fid, geom, name, fid FROM countries')
      .raw()
      .all() as unknown as LayerRow[];
    expect(encodeLayer(OPTIONS, rows).equals(inSql)).toBe(true);
    const batches = new LayerEncoder(OPTIONS);
    let added = 0;
    for (let i = 0; i < rows.length; i += 37) added += batches.add(rows.slice(i, i + 37));
    expect(added).toBe(batches.features);
    expect(batches.finish().equals(inSql)).toBe(true);
  });

  it('takes each kind of JavaScript value', () => {
    const values = [
      1,
      -2,
      0.5,
      true,
      'ä',
      12n,
      new Date(0),
      null,
      undefined,
      Number.NaN,
      2n ** 70n,
      {},
    ] as never[];
    const fields = values.map((_, i) => `v${i}`);
    const tile = encodeLayer({ ...OPTIONS, fields }, [[5n, POINT, ...values]]);
    const feature = decode(tile).countries!.feature(0);
    expect(feature.id).toBe(5);
    expect(feature.properties).toEqual({
      v0: 1,
      v1: -2,
      v2: 0.5,
      v3: true,
      v4: 'ä',
      v5: 12,
      v6: '1970-01-01T00:00:00.000Z',
    });
  });

  it('skips rows without a readable geometry', () => {
    const encoder = new LayerEncoder({ ...OPTIONS, fields: [] });
    expect(
      encoder.add([
        [1, null],
        [2, Buffer.from('bad')],
        [3, POINT],
      ]),
    ).toBe(1);
    expect(encodeLayer(OPTIONS, [])).toHaveLength(0);
  });

  it('refuses wrong rows and options', () => {
    const encoder = new LayerEncoder(OPTIONS);
    expect(() => encoder.add([[1, POINT]])).toThrow(TypeError);
    expect(() => encoder.add('rows' as never)).toThrow(/rows must be an array/);
    expect(() => encoder.add([7 as never])).toThrow(/a row must be an array/);
    expect(() => new LayerEncoder({ ...OPTIONS, layer: '' })).toThrow(/lack 'layer'/);
    expect(() => new LayerEncoder({ ...OPTIONS, to: 'EPSG:1' })).toThrow(
      /unknown coordinate reference system/,
    );
    expect(() => encodeLayer({ ...OPTIONS, bbox: [0, 0, Number.NaN, 1] }, [])).toThrow(/bbox/);
  });
});

describe('gunzip', () => {
  const texts = ['', 'a', 'graticule '.repeat(50_000)].map((text) => Buffer.from(text));

  it('reads what zlib writes, of one member or several, and nothing behind them', () => {
    for (const data of texts) {
      const written = gzipSync(data);
      expect(gunzip(written, 1_000_000).equals(data)).toBe(true);
      expect(gunzippedSize(written, data.length)).toBe(data.length);
      for (const rest of ['rest', '\0'])
        expect(() => gunzip(Buffer.concat([written, Buffer.from(rest)]), 1_000_000)).toThrow(/damaged/);
      const several = Buffer.concat([gzipSync(Buffer.alloc(100_000, 7)), written, gzipSync('end')]);
      expect(gunzip(several, 1_000_000).equals(gunzipSync(several))).toBe(true);
    }
  });

  it('refuses more than is allowed, whatever the data say of their size', () => {
    const written = gzipSync(texts[2]!);
    expect(() => gunzip(written, texts[2]!.length - 1)).toThrow(/too much/);
    const lying = Buffer.from(written);
    lying.writeUInt32LE(10, lying.length - 4);
    expect(() => gunzip(lying, 1000)).toThrow(/too much/);
    expect(() =>
      gunzippedSize(Buffer.concat([gzipSync(Buffer.alloc(600)), gzipSync(Buffer.alloc(600))]), 1000),
    ).toThrow(/too much/);
  });

  it('refuses damaged data', () => {
    const written = gzipSync(texts[2]!);
    for (const at of [0, 2, 12, 40, written.length - 6, written.length - 1]) {
      const broken = Buffer.from(written);
      broken[at]! ^= 0x55;
      expect(() => gunzip(broken, 1_000_000), `byte ${at}`).toThrow(/damaged|too much/);
    }
    for (const size of [0, 1, 17, written.length - 1])
      expect(() => gunzip(written.subarray(0, size), 1_000_000)).toThrow(/damaged/);
    expect(() => gunzip('text' as never, 10)).toThrow(TypeError);
    expect(() => gunzip(written, Number.NaN)).toThrow(/range/);
  });
});

describe('gzip', () => {
  it('writes gzip members that zlib reads', () => {
    const data = Buffer.from('graticule '.repeat(5000));
    for (const level of [0, 1, 6, 12]) expect(gunzipSync(gzip(data, level)).equals(data)).toBe(true);
    expect(gunzipSync(gzip(new Uint8Array(0)))).toHaveLength(0);
    expect(gzip(data).length).toBeLessThan(data.length / 50);
    expect(() => gzip(data, 13)).toThrow(/0 to 12/);
    expect(() => gzip('text' as never)).toThrow(TypeError);
  });
});

/** CPU time of this thread alone: others of the process run other tests meanwhile. */
function threadMillis(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
}

describe('watchLoop', () => {
  it('counts the CPU time of a turn, and not the time slept', async () => {
    const turns = watchLoop([5, 20]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    const before = turns();
    const busyUntil = threadMillis() + 40;
    while (threadMillis() < busyUntil) Math.sqrt(Math.random());
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    const after = turns();
    expect(after.largest).toBeGreaterThan(20);
    expect(after.counts[2]).toBe(before.counts[2]! + 1);
    expect(after.count).toBeGreaterThan(before.count);
    expect(after.counts.reduce((a, b) => a + b)).toBe(after.count);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(turns().counts[2]).toBe(after.counts[2]);
  });
});

describe('releaseBytes', () => {
  it('frees bytes that have their memory for themselves, at once', () => {
    const bytes = new Uint8Array(1 << 20).fill(1);
    const before = process.memoryUsage().arrayBuffers;
    releaseBytes(bytes);
    expect(bytes.byteLength).toBe(0);
    expect(process.memoryUsage().arrayBuffers).toBeLessThanOrEqual(before - (1 << 20));
    releaseBytes(bytes);
  });

  it('leaves bytes alone that share their memory', () => {
    const all = new Uint8Array(8).fill(7);
    for (const bytes of [all.subarray(1), Buffer.from('pooled'), new Uint8Array(new SharedArrayBuffer(4))]) {
      const text = bytes.join();
      releaseBytes(bytes);
      expect(bytes.join()).toBe(text);
    }
  });
});
