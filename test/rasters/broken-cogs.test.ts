import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileRaster, LANDSAT, suiteEngine } from '../engine/support.js';

const suite = suiteEngine();
const inScratch = (name: string) => join(suite.scratch.path, name);
const LIMIT = { deadlineMs: 20_000 };
type Outcome = 'picture' | 'source-unreadable' | 'too-large';

describe('broken GeoTIFFs', () => {
  /** Tags of TIFF directories whose values fit into their entry. */
  const TAG = { width: 256, tileWidth: 322, tileLength: 323, offsets: 324, counts: 325 } as const;

  /** A little-endian classic TIFF, changed in place. */
  class Tiff {
    readonly bytes: Buffer;
    constructor(path: string) {
      this.bytes = readFileSync(path);
    }
    /** Offsets of the directories. */
    directories(): number[] {
      const all: number[] = [];
      for (let at = this.bytes.readUInt32LE(4); at !== 0; at = this.bytes.readUInt32LE(this.next(at)))
        all.push(at);
      return all;
    }
    /** Where a directory names the next one. */
    next(directory: number): number {
      return directory + 2 + 12 * this.bytes.readUInt16LE(directory);
    }
    entry(directory: number, tag: number): number {
      for (let at = directory + 2; at < this.next(directory); at += 12)
        if (this.bytes.readUInt16LE(at) === tag) return at;
      throw new Error(`no tag ${tag}`);
    }
    /** The entry holds one number. */
    set(directory: number, tag: number, value: number): void {
      const at = this.entry(directory, tag);
      this.bytes.writeUInt16LE(4, at + 2);
      this.bytes.writeUInt32LE(1, at + 4);
      this.bytes.writeUInt32LE(value, at + 8);
    }
    /** Where an entry of several numbers of 32 bits keeps them. */
    list(directory: number, tag: number): { at: number; length: number } {
      const entry = this.entry(directory, tag);
      return { at: this.bytes.readUInt32LE(entry + 8), length: this.bytes.readUInt32LE(entry + 4) };
    }
    setAll(directory: number, tag: number, value: number): void {
      const { at, length } = this.list(directory, tag);
      for (let i = 0; i < length; i++) this.bytes.writeUInt32LE(value, at + 4 * i);
    }
  }

  beforeAll(() => {
    const size = ['-outsize', '1400', '1400'];
    const cog = ['-of', 'COG', '-co', 'BLOCKSIZE=128', '-co', 'COMPRESS=DEFLATE'];
    execFileSync('gdal_translate', ['-q', ...cog, ...size, LANDSAT, inScratch('whole.tif')]);
  });

  const WINDOW = { bbox: [-3884000, -893000, -3880000, -889000] as const, crs: 'EPSG:3857' };
  /** Pictures at the full resolution and of an overview. */
  async function pictures(path: string): Promise<(Uint8Array | { code: string })[]> {
    const source = fileRaster(path);
    const outcomes: (Uint8Array | { code: string })[] = [];
    for (const side of [512, 64]) {
      const task = { source, ...WINDOW, width: side, height: side, format: 'raw' as const };
      const run = suite.pool.run('raster.image', task, LIMIT);
      outcomes.push(
        await run.then(
          ({ data }) => data,
          (error) => error,
        ),
      );
    }
    return outcomes;
  }
  let broken = 0;
  /** The most memory that the engine ever had. */
  const peakMegabytes = () =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${suite.engine.process.pid}/status`, 'utf8'))![1]) /
    1024;

  it.each<[string, Outcome, Outcome, (tiff: Tiff, directories: number[]) => void]>([
    [
      'directories that lead in a circle',
      'picture',
      'picture',
      (tiff, [first, second]) => tiff.bytes.writeUInt32LE(first!, tiff.next(second!)),
    ],
    [
      'an overview that is the next of itself',
      'picture',
      'picture',
      (tiff, [, second]) => tiff.bytes.writeUInt32LE(second!, tiff.next(second!)),
    ],
    [
      'a directory beyond the end',
      'picture',
      'picture',
      (tiff, [, second]) => tiff.bytes.writeUInt32LE(0x7fff_fff0, tiff.next(second!)),
    ],
    [
      'more entries than bytes',
      'picture',
      'picture',
      (tiff, [, second]) => tiff.bytes.writeUInt16LE(0xffff, second!),
    ],
    [
      'blocks of two gigabytes',
      'too-large',
      'too-large',
      (tiff, [first]) => {
        tiff.set(first!, TAG.tileWidth, 1 << 20);
        tiff.set(first!, TAG.tileLength, 2048);
      },
    ],
    [
      'blocks without a size',
      'source-unreadable',
      'source-unreadable',
      (tiff, [first]) => tiff.set(first!, TAG.tileWidth, 0),
    ],
    ['blocks of an odd size', 'picture', 'picture', (tiff, [first]) => tiff.set(first!, TAG.tileWidth, 100)],
    [
      'a width of two billion',
      'source-unreadable',
      'source-unreadable',
      (tiff, [first]) => tiff.set(first!, TAG.width, 0x7fff_ffff),
    ],
    [
      'an overview larger than the raster',
      'picture',
      'picture',
      (tiff, [, second]) => tiff.set(second!, TAG.width, 60_000),
    ],
    [
      'blocks of overviews of a gigabyte',
      'too-large',
      'too-large',
      (tiff, [, ...overviews]) => {
        for (const overview of overviews) {
          tiff.set(overview, TAG.tileWidth, 1 << 15);
          tiff.set(overview, TAG.tileLength, 1 << 15);
        }
      },
    ],
    [
      'blocks of overviews beyond the end',
      'picture',
      'source-unreadable',
      (tiff, [, ...overviews]) => {
        for (const overview of overviews.slice(0, 3)) tiff.setAll(overview, TAG.offsets, 0xffff_fff0);
      },
    ],
    [
      'blocks beyond the end',
      'source-unreadable',
      'picture',
      (tiff, [first]) => tiff.setAll(first!, TAG.offsets, 0xffff_fff0),
    ],
    [
      'blocks of four gigabytes',
      'source-unreadable',
      'picture',
      (tiff, [first]) => tiff.setAll(first!, TAG.counts, 0xffff_ffff),
    ],
    [
      'blocks that are its head',
      'source-unreadable',
      'picture',
      (tiff, [first]) => tiff.setAll(first!, TAG.offsets, 4),
    ],
  ])('with %s end no process: %s, of an overview %s', async (_, full, overview, change) => {
    const tiff = new Tiff(inScratch('whole.tif'));
    change(tiff, tiff.directories());
    const path = inScratch(`broken-${++broken}.tif`);
    writeFileSync(path, tiff.bytes);
    const before = Date.now();
    const outcomes = await pictures(path);
    expect(outcomes.map((outcome) => (outcome instanceof Uint8Array ? 'picture' : outcome.code))).toEqual([
      full,
      overview,
    ]);
    await suite.pool.run('raster.inspect', { source: fileRaster(path) }, LIMIT).catch((error) => {
      expect(error).toMatchObject({ name: 'TaskFailure' });
    });
    expect(Date.now() - before).toBeLessThan(20_000);
    expect(suite.engine.process.exitCode).toBeNull();
    expect(peakMegabytes()).toBeLessThan(700);
  });

  it('with blocks that are not there show nothing there', async () => {
    const tiff = new Tiff(inScratch('whole.tif'));
    const [first] = tiff.directories();
    tiff.setAll(first!, TAG.offsets, 0);
    tiff.setAll(first!, TAG.counts, 0);
    const path = inScratch('sparse.tif');
    writeFileSync(path, tiff.bytes);
    const [whole, overview] = await pictures(path);
    const theirs = await pictures(inScratch('whole.tif'));
    // Zeroes, as GDAL reads them.
    expect((whole as Uint8Array).every((value, i) => i % 4 === 3 || value === 0)).toBe(true);
    expect(Buffer.compare(overview as Buffer, theirs[1] as Buffer)).toBe(0);
  });

  it('that end early are refused where blocks are missing', async () => {
    const whole = readFileSync(inScratch('whole.tif'));
    const path = inScratch('short.tif');
    writeFileSync(path, whole.subarray(0, whole.length * 0.6));
    const [full, overview] = await pictures(path);
    expect(full).toMatchObject({ code: 'source-unreadable' });
    // Overviews come first in a COG.
    expect(overview).toBeInstanceOf(Uint8Array);
  });
});
