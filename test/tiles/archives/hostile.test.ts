import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { Directory } from '../../../src/workers/providers/archive/pmtiles-directory.js';
import { directory } from '../../../src/workers/providers/archive/write/pmtiles-directory.js';
import { withinTime } from '../../../src/workers/providers/time-limit.js';
import { describeDatabase } from '../../../src/workers/tiles/archive/package/database.js';
import { archive } from '../../../src/workers/tiles/archive.js';
import { archiveTile } from '../../support/archive-tile.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-hostile-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let n = 0;
/** A PMTiles file of these sections; root and leaves as they are stored. */
function file({
  root,
  leaves = Buffer.alloc(0),
  tiles = Buffer.from('tile'),
}: Record<string, Buffer>): string {
  const head = Buffer.alloc(127);
  head.write('PMTiles');
  head[7] = 3;
  let offset = 127;
  for (const [i, section] of [root!, Buffer.alloc(0), leaves, tiles].entries()) {
    head.writeBigUInt64LE(BigInt(offset), 8 + i * 16);
    head.writeBigUInt64LE(BigInt(section.length), 16 + i * 16);
    offset += section.length;
  }
  head.set([1, 2, 1, 2, 0, 5], 96);
  const path = join(folder, `${++n}.pmtiles`);
  writeFileSync(path, Buffer.concat([head, root!, leaves, tiles]));
  return path;
}

const read = (path: string) => archiveTile({ path, container: 'pmtiles', zoom: 0, row: 0, column: 0 });
const damaged = { code: 'source-unreadable' };
const varint = (value: bigint): number[] =>
  value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...varint(value >> 7n)];
const packed = (...numbers: (number | bigint)[]) =>
  gzipSync(Buffer.from(numbers.flatMap((v) => varint(BigInt(v)))));

describe('a hostile PMTiles directory', () => {
  it('that points in a circle ends', async () => {
    // A leaf whose only entry is a leaf at the place where it lies itself.
    const leaf = directory([{ id: 0, runLength: 0, length: 40, offset: 0 }]);
    const leaves = Buffer.concat([leaf, Buffer.alloc(64)]);
    const entry = { id: 0, runLength: 0, length: leaf.length, offset: 0 };
    let length = leaf.length;
    for (let i = 0; i < 3; i++) length = directory([{ ...entry, length }]).length;
    const self = directory([{ ...entry, length }]);
    const path = file({
      root: directory([{ ...entry, length: self.length }]),
      leaves: Buffer.concat([self, leaves]),
    });
    await expect(read(path)).rejects.toMatchObject({
      ...damaged,
      message: expect.stringMatching(/refer to each other|inflated/),
    });
  });

  it.each([
    ['counts more entries than it has bytes', packed(2n ** 45n)],
    ['counts entries that are not there', packed(3, 1, 1)],
    ['has a number without an end', gzipSync(Buffer.alloc(40, 0xff))],
    ['repeats an id', packed(2, 5, 0, 1, 1, 4, 4, 1, 0)],
    ['names ids beyond all zooms', packed(2, 2n ** 52n, 2n ** 52n, 1, 1, 4, 4, 1, 0)],
    ['has no first offset', packed(1, 0, 1, 4, 0)],
    ['is a bomb', gzipSync(Buffer.alloc(200_000_000))],
    ['is no gzip', Buffer.from('plain words')],
    ['points beyond the end', packed(1, 0, 1, 1_000_000, 1)],
    ['points to a tile of terabytes', packed(1, 0, 1, 2n ** 42n, 1)],
    ['points far beyond the end', packed(1, 0, 1, 4, 2n ** 48n)],
  ])('that %s', async (_, root) => {
    const before = process.memoryUsage().rss;
    await expect(read(file({ root }))).rejects.toMatchObject(damaged);
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  });

  it('of many entries takes little memory', () => {
    const count = 200_000;
    const bytes = Buffer.from([...varint(BigInt(count)), ...new Array<number>(count * 4).fill(1)]);
    expect(new Directory(bytes).bytes).toBe(count * 32);
  });

  it('leaves the file quarantined when it is the root', async () => {
    const path = file({ root: packed(2n ** 45n) });
    await expect(archive({ path, container: 'pmtiles' })).rejects.toMatchObject(damaged);
  });
});

describe('tile packages that are databases', () => {
  const ENDLESS = 'WITH RECURSIVE t(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM t)';
  function database(ending: string, ...statements: string[]): string {
    const path = join(folder, `${++n}${ending}`);
    const db = new Database(path);
    for (const sql of statements) db.exec(sql);
    db.close();
    return path;
  }
  const METADATA =
    "CREATE TABLE metadata (name TEXT, value TEXT); INSERT INTO metadata VALUES ('format', 'png')";

  const TILES = `CREATE TABLE stored (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
    CREATE UNIQUE INDEX tile_index ON stored (zoom_level, tile_column, tile_row);
    INSERT INTO stored VALUES (0, 0, 0, x'89504e470d0a1a0a')`;

  it('end with their time, whatever their views do', () => {
    const failure = { code: 'too-large', message: 'Reading the file takes longer than 0.3 seconds.' };
    const tiles = 'CREATE VIEW tiles AS SELECT * FROM stored';
    const view = `CREATE VIEW metadata AS ${ENDLESS} SELECT i AS name, i AS value FROM t`;
    const path = database('.mbtiles', view, TILES, tiles);
    const start = performance.now();
    expect(() => describeDatabase(path, 300)).toThrow(expect.objectContaining(failure));
    expect(performance.now() - start).toBeGreaterThan(290);
    const fine = database('.mbtiles', METADATA, TILES, tiles);
    expect(describeDatabase(fine, 60_000)).toMatchObject({ format: 'png', parts: [{ zoom: 0, tiles: 1 }] });
  });

  it('give themselves no more time, and take none from what follows', () => {
    const db = new Database(':memory:');
    db.pragma('trusted_schema = OFF');
    db.exec('CREATE VIEW longer AS SELECT gr_end_in(NULL) AS x');
    expect(() => withinTime(db, 60_000, () => db.prepare('SELECT x FROM longer').get())).toThrow(
      /unsafe use of gr_end_in/,
    );
    const endless = `${ENDLESS} SELECT count(*) FROM t`;
    expect(() => withinTime(db, 50, () => db.prepare(endless).get())).toThrow(
      /takes longer than 0.05 seconds/,
    );
    expect(db.prepare('SELECT 7 AS x').pluck().get()).toBe(7);
    expect(withinTime(db, 60_000, () => db.prepare('SELECT 8 AS x').pluck().get())).toBe(8);
    db.close();
    // A connection that is closed takes its time along.
    const closed = new Database(':memory:');
    expect(() => withinTime(closed, 50, () => closed.close())).toThrow();
  });
});
