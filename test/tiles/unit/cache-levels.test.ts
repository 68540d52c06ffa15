import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { VectorCollection } from '../../../src/core/catalog/collection.js';
import type { CollectionChange } from '../../../src/core/edits/edits.js';
import { MVT_FORMAT } from '../../../src/core/http/media.js';
import { WEB_MERCATOR_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import { tileReply } from '../../../src/gateway/surface/tile-reply.js';
import { DiskLevel } from '../../../src/services/tiles/cache/disk-level.js';
import { type TileLevel, TileLevels } from '../../../src/services/tiles/cache/levels.js';
import { RedisLevel } from '../../../src/services/tiles/cache/redis-level.js';
import { decodeTile, encodeTile, type StoredTile } from '../../../src/services/tiles/cache/stored-tile.js';
import { TileCache } from '../../../src/services/tiles/cache/tile-cache.js';
import { tileKey } from '../../../src/services/tiles/request.js';
import { newTile } from '../../../src/services/tiles/tile.js';
import { TileStore } from '../../../src/workers/tiles/store/store.js';
import { eventually } from '../../e2e/support/http.js';
import { startRedis, type TestRedis } from '../../support/redis.js';

const WORKER = pathToFileURL(resolve('dist/workers/entries/tile-store.js'));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-levels-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const collection = (members: Partial<VectorCollection> = {}) =>
  ({
    kind: 'vector',
    id: 'roads',
    layerId: 1,
    version: 'v',
    origin: 'o',
    source: { kind: 'geopackage' },
    cursor: 5,
    ...members,
  }) as VectorCollection;

function wanted(column: number, roads = collection()) {
  const request = {
    format: MVT_FORMAT,
    collections: [roads],
    at: { set: WEB_MERCATOR_QUAD, zoom: 4, row: 6, column },
  };
  return { ...request, key: tileKey(request) };
}
const tile = (text: string, dropped = 0) =>
  newTile(wanted(0), Buffer.from(text), MVT_FORMAT.mediaType, undefined, text.length === 0, {
    dropped,
    tag: 'of-content',
  });
const kept = (text: string, cursor = 5, made = Date.now()): StoredTile => ({
  began: made,
  cursors: [cursor],
  encoding: 'identity',
  dropped: 0,
  tag: 'of-content',
  body: Buffer.from(text),
});

describe('a kept tile', () => {
  it('comes back as it was', () => {
    const one: StoredTile = {
      began: 12,
      cursors: [1, 2],
      encoding: 'gzip',
      dropped: 3,
      tag: '0123456789abcdef',
      body: Buffer.from([0, 255, 7]),
    };
    expect(decodeTile(encodeTile(one))).toEqual(one);
    expect(decodeTile(encodeTile({ ...one, body: new Uint8Array() }))?.body.byteLength).toBe(0);
  });

  it('is not taken when a bit of it has changed, or it is cut', () => {
    const bytes = encodeTile(kept('some tile'));
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 4;
      expect(decodeTile(damaged)).toBeUndefined();
      expect(decodeTile(bytes.subarray(0, at))).toBeUndefined();
    }
  });
});

describe('the store on disk', () => {
  const open = (maxBytes = 10_000_000) => new TileStore(join(folder, 'tiles.db'), maxBytes);

  it('keeps tiles over a restart, replaces and drops them, and counts right', () => {
    const store = open();
    store.write([
      ['mvt/a@1', Buffer.from('one')],
      ['mvt/b@1', Buffer.from('two')],
    ]);
    store.write([['mvt/a@1', Buffer.from('three')]]);
    store.close();
    const again = open();
    expect(String(again.read('mvt/a@1'))).toBe('three');
    expect(again.count()).toEqual({ entries: 2, bytes: 7 + 5 + 64 + 7 + 3 + 64 });
    expect(again.drop('*/a@*')).toBe(1);
    expect(again.read('mvt/a@1')).toBeUndefined();
    expect(again.count().entries).toBe(1);
    again.close();
  });

  it('holds no more bytes than it may, and keeps what is used', () => {
    const store = open(2_000_000);
    const body = Buffer.alloc(1000);
    store.write([['used', body]]);
    for (let i = 0; i < 100; i++) {
      store.read('used');
      store.write(Array.from({ length: 50 }, (_, j) => [`k${i}-${j}`, body] as [string, Buffer]));
    }
    expect(store.count().bytes).toBeLessThanOrEqual(2_000_000);
    expect(store.read('used')).toBeDefined();
    expect(store.read('k0-0')).toBeUndefined();
    store.close();
    expect(statSync(join(folder, 'tiles.db')).size).toBeLessThan(4_000_000);
  });

  it('begins a file anew that is no database, or damaged', () => {
    writeFileSync(join(folder, 'tiles.db'), 'this is no database, whatever its name says '.repeat(200));
    const store = open();
    store.write(Array.from({ length: 500 }, (_, i) => [`k${i}`, Buffer.alloc(900, i)] as [string, Buffer]));
    store.close();
    const bytes = readFileSync(join(folder, 'tiles.db'));
    bytes.fill(0xaa, 4096, bytes.length);
    writeFileSync(join(folder, 'tiles.db'), bytes);
    const damaged = open();
    damaged.read('k1');
    damaged.write([['k', Buffer.from('new')]]);
    damaged.write([['k', Buffer.from('new')]]);
    expect(String(damaged.read('k'))).toBe('new');
    damaged.close();
  });
});

/** Every level keeps, drops and survives the same. */
function levelSuite(open: () => Promise<TileLevel>) {
  it('reads what it wrote, and drops by pattern', async () => {
    const level = await open();
    level.write('mvt/1/roads@o', kept('one'), 60_000);
    level.write('mvt/1/rivers@o', kept('two'), 60_000);
    level.write('mvt/[1]/roads@o', kept(''), 60_000);
    await eventually(async () => {
      expect(String((await level.read('mvt/1/roads@o'))?.body)).toBe('one');
      expect((await level.read('mvt/[1]/roads@o'))?.body.byteLength).toBe(0);
    });
    expect(await level.drop('mvt/[1]*')).toBe(1);
    expect(await level.drop('*/roads@*')).toBe(1);
    expect(await level.read('mvt/1/roads@o')).toBeUndefined();
    expect(await level.read('mvt/1/rivers@o')).toBeDefined();
    expect(await level.status()).toMatchObject({ healthy: true, entries: 1 });
    await level.close();
  });
}

describe('the disk level', () => {
  levelSuite(() => DiskLevel.open(folder, 10_000_000, WORKER));

  it('has what was written when it was closed', async () => {
    const first = await DiskLevel.open(folder, 10_000_000, WORKER);
    first.write('a', kept('one'));
    await first.close();
    const second = await DiskLevel.open(folder, 10_000_000, WORKER);
    expect(String((await second.read('a'))?.body)).toBe('one');
    await second.close();
  });

  it('cannot be opened below a file', async () => {
    writeFileSync(join(folder, 'file'), '');
    await expect(DiskLevel.open(join(folder, 'file', 'tiles'), 1, WORKER)).rejects.toThrow();
  });
});

describe('the Redis level', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  const connected = async () => {
    const level = new RedisLevel(redis.url);
    await eventually(async () => expect((await level.status()).healthy).toBe(true));
    return level;
  };

  levelSuite(connected);

  it('goes without a server that stalls, soon and without an error', async () => {
    const level = await connected();
    level.write('stalled', kept('one'), 60_000);
    await eventually(async () => expect(await level.read('stalled')).toBeDefined());
    redis.stall();
    expect(await level.read('stalled')).toBeUndefined();
    // Once late, it is not asked again for a while: these answer without any wait.
    const answers = await Promise.all(Array.from({ length: 100 }, () => level.read('stalled')));
    expect(answers.every((answer) => answer === undefined)).toBe(true);
    expect((await level.status()).healthy).toBe(false);
    redis.resume();
    await eventually(async () => expect(await level.read('stalled')).toBeDefined());
    await level.close();
  });

  it('goes without a server that is not there', async () => {
    const level = new RedisLevel('redis://127.0.0.1:1');
    level.write('a', kept('one'), 60_000);
    expect(await level.read('a')).toBeUndefined();
    expect(await level.drop('*')).toBe(0);
    expect(await level.status()).toMatchObject({ name: 'redis', healthy: false });
    await level.close();
  });
});

describe('the levels behind memory', () => {
  /** A level in memory that many caches share, as Redis is. */
  function sharedLevel() {
    const tiles = new Map<string, StoredTile>();
    const level: TileLevel = {
      reach: 'all',
      read: async (key) => tiles.get(key),
      write: (key, one) => void tiles.set(key, one),
      drop: async () => 0,
      status: async () => ({ name: 'redis', healthy: true, lookUps: { hits: 0, misses: 0 } }),
      close: async () => {},
    };
    return { tiles, level };
  }
  const change = (cursor: number, x?: number): CollectionChange => ({
    cursor,
    features: 0,
    ...(x === undefined ? {} : { areas: [[x, 30, x + 1, 31]] }),
  });
  const never = () => Promise.reject(new Error('made'));
  /** What another process finds when it asks for a tile. */
  async function found(
    level: TileLevel,
    one: ReturnType<typeof wanted>,
    prepare?: (levels: TileLevels) => void,
  ) {
    const levels = new TileLevels([level]);
    levels.replaced([{ before: undefined, after: one.collections[0]! }]);
    prepare?.(levels);
    const made = await new TileCache(1e6, levels).load(one, async () => tile('made anew'));
    return String(made.body ?? 'empty');
  }

  it('give a tile to who did not make it, with its entity tag', async () => {
    const { level } = sharedLevel();
    const levels = new TileLevels([level]);
    await new TileCache(1e6, levels).load(wanted(8), async () => tile('a tile', 7));
    levels.replaced([{ before: undefined, after: collection() }]);
    const second = new TileCache(1e6, levels);
    const again = await second.load(wanted(8), never);
    expect(again).toMatchObject({ tag: 'of-content', dropped: 7 });
    expect(tileReply(again)).toMatchObject({
      status: 200,
      etag: 'of-content',
      headers: { 'graticule-dropped-features': '7' },
    });
    expect(second.find(wanted(8).key)?.tile).toBe(again);
    await new TileCache(1e6, levels).load(wanted(9), async () => tile(''));
    const none = await new TileCache(1e6, levels).load(wanted(9), never);
    expect(tileReply(none).status).toBe(204);
  });

  it('keep a tile from who knows of an edit in it, and from no other', async () => {
    const { level } = sharedLevel();
    new TileLevels([level]).write(wanted(8), tile('old'), Date.now(), 1e9);
    expect(await found(level, wanted(8))).toBe('old');
    // 10 east is in column 8, 40 east is not.
    expect(await found(level, wanted(8), (levels) => levels.edited('roads', change(6, 40)))).toBe('old');
    expect(await found(level, wanted(8), (levels) => levels.edited('roads', change(6, 10)))).toBe(
      'made anew',
    );
  });

  it('keep a tile from who does not know where the edits since were', async () => {
    const { level } = sharedLevel();
    const write = () => new TileLevels([level]).write(wanted(8), tile('old'), Date.now(), 1e9);
    write();
    expect(await found(level, wanted(8), (levels) => levels.edited('roads', change(6)))).toBe('made anew');
    write();
    expect(await found(level, wanted(8, collection({ cursor: 9 })))).toBe('made anew');
    write();
    const forgetful = (levels: TileLevels) => {
      for (let i = 0; i < 2000; i++) levels.edited('roads', change(6 + i, 100));
    };
    expect(await found(level, wanted(8), forgetful)).toBe('made anew');
  });

  it('do not take what was made of another file, or before a database was read', async () => {
    const { level } = sharedLevel();
    new TileLevels([level]).write(wanted(8), tile('old'), Date.now() - 5000, 1e9);
    expect(await found(level, wanted(8, collection({ origin: 'other' })))).toBe('made anew');
    expect(await found(level, wanted(8, collection({ readAt: Date.now() - 1000 })))).toBe('made anew');
  });

  it('take the tile of a database for a minute after it was made', async () => {
    const { level } = sharedLevel();
    const readAt = Date.now() - 3_600_000;
    const source = { kind: 'postgis', database: 'postgresql://h/d' } as VectorCollection['source'];
    const write = (age: number) =>
      new TileLevels([level]).write(wanted(8), tile('old'), Date.now() - age, 1e9);
    write(30_000);
    expect(await found(level, wanted(8, collection({ readAt, source })))).toBe('old');
    write(61_000);
    expect(await found(level, wanted(8, collection({ readAt, source })))).toBe('made anew');
  });

  it('do not get a tile whose making an edit overtook', async () => {
    const { level, tiles } = sharedLevel();
    const cache = new TileCache(1e6, new TileLevels([level]));
    let finish = () => {};
    const making = cache.load(
      wanted(8),
      () =>
        new Promise((done) => {
          finish = () => done(tile('old'));
        }),
    );
    await new Promise(setImmediate);
    cache.dropCollection(1, [[10, 30, 11, 31]]);
    finish();
    await making;
    expect(tiles.size).toBe(0);
  });
});
