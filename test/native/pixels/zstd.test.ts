import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { compressBytes, unzstd, unzstdLater, ZstdStream } from '../../../src/native/index.js';

const TEXT = readFileSync('package-lock.json');
const zstd = (args: string[], input: Uint8Array) =>
  execFileSync('zstd', ['-q', '-c', ...args], { input, maxBuffer: 1e9 });

describe('compressBytes', () => {
  it.each([-5, 1, 3, 19])('writes frames that the zstd program reads, at level %i', async (level) => {
    const frame = await compressBytes(TEXT, 'zstd', level);
    expect(frame.length).toBeLessThan(TEXT.length / 2);
    expect(zstd(['-d'], frame).equals(TEXT)).toBe(true);
  });

  it('writes gzip, and the same twice', async () => {
    const members = await Promise.all([1, 6, 6].map((level) => compressBytes(TEXT, 'gzip', level)));
    for (const member of members) expect(gunzipSync(member).equals(TEXT)).toBe(true);
    expect(members[1]!.equals(members[2]!)).toBe(true);
    expect(members[1]!.length).toBeLessThan(members[0]!.length);
  });

  it('takes nothing', async () => {
    for (const coding of ['gzip', 'zstd'] as const)
      expect((await compressBytes(new Uint8Array(), coding, 3)).length).toBeGreaterThan(0);
    expect(unzstd(await compressBytes(new Uint8Array(), 'zstd', 3), 0)).toHaveLength(0);
  });

  it('refuses levels and windows that there are not', () => {
    expect(() => compressBytes(TEXT, 'gzip', 13)).toThrow('level');
    expect(() => compressBytes(TEXT, 'zstd', 20)).toThrow('level');
    expect(() => compressBytes(TEXT, 'zstd', 3, 24)).toThrow('windowLog');
    expect(() => compressBytes(TEXT, 'deflate' as never, 3)).toThrow('coding');
  });
});

describe('unzstd', () => {
  it('reads what the zstd program writes, several frames too', async () => {
    const frame = zstd(['-9'], TEXT);
    expect(unzstd(frame, TEXT.length).equals(TEXT)).toBe(true);
    const two = Buffer.concat([frame, zstd(['-1'], TEXT)]);
    expect((await unzstdLater(two, 2 * TEXT.length)).equals(Buffer.concat([TEXT, TEXT]))).toBe(true);
  });

  it('stops at the bound, also of a bomb', async () => {
    const frame = zstd([], TEXT);
    expect(() => unzstd(frame, TEXT.length - 1)).toThrow('too much zstd data');
    const bomb = zstd(['-19'], Buffer.alloc(100_000_000));
    expect(bomb.length).toBeLessThan(20_000);
    await expect(unzstdLater(bomb, 1_000_000)).rejects.toThrow('too much zstd data');
  });

  it('refuses damaged frames, ends that are missing, and windows that browsers do not read', async () => {
    const frame = zstd(['--check'], TEXT);
    const damaged = Buffer.from(frame);
    damaged[damaged.length >> 1]! ^= 0xff;
    const random = randomBytes(9_000_000);
    const wide = zstd(['--ultra', '--long=24', '-1'], Buffer.concat([random, random]));
    for (const bytes of [
      damaged,
      frame.subarray(0, -1),
      frame.subarray(0, 3),
      Buffer.alloc(0),
      Buffer.from('{"type":1}'),
    ])
      expect(() => unzstd(bytes, 10 * TEXT.length)).toThrow('damaged zstd data');
    await expect(unzstdLater(wide, 20_000_000)).rejects.toThrow('damaged zstd data');
  });
});

describe('ZstdStream', () => {
  it('gives all that was written when it is flushed', async () => {
    const stream = new ZstdStream(3, 20);
    const parts = [await stream.write(TEXT, 'continue'), await stream.write(Buffer.from('tail'), 'flush')];
    // One empty last block instead of the end: all else must have come out.
    const whole = Buffer.concat([...parts, Buffer.from([1, 0, 0])]);
    expect(zstd(['-d'], whole).equals(Buffer.concat([TEXT, Buffer.from('tail')]))).toBe(true);
    parts.push(await stream.write(new Uint8Array(), 'end'));
    expect(zstd(['-d'], Buffer.concat(parts)).equals(Buffer.concat([TEXT, Buffer.from('tail')]))).toBe(true);
  });

  it('takes one part at a time', async () => {
    const stream = new ZstdStream(3, 20);
    const first = stream.write(TEXT, 'continue');
    expect(() => stream.write(TEXT, 'continue')).toThrow('busy');
    await first;
    await stream.write(TEXT, 'end');
    expect(() => stream.write(TEXT, 'end')).toThrow('ended');
  });
});
