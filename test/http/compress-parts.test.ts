import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { COMPRESSIONS } from '../../src/core/http/content-coding.js';
import { HTTP_LIMITS } from '../../src/core/http/limits.js';
import { canCompressStream, compressParts } from '../../src/gateway/http/replies/compress-parts.js';
import { unzstd } from '../../src/native/index.js';

const INFLATE = {
  gzip: (data: Uint8Array) => gunzipSync(data, { finishFlush: constants.Z_SYNC_FLUSH }),
  br: (data: Uint8Array) => brotliDecompressSync(data, { finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  // One empty last block stands in for the end.
  zstd: (data: Uint8Array) => {
    try {
      return unzstd(data, 1e8);
    } catch {
      return unzstd(Buffer.concat([data, Buffer.from([1, 0, 0])]), 1e8);
    }
  },
};
const text = (i: number) => Buffer.from(`{"id":${i},"name":"${'Straße '.repeat(i % 50)}"}`);

async function collect(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}

it.each(COMPRESSIONS)('%s of parts of all sizes holds all of them', async (coding) => {
  const sizes = [0, 1, 1023, 1024, 3_000_000, 0, 70_000, 5];
  const parts = sizes.map((size, i) => Buffer.concat([text(i), Buffer.alloc(size, `${i},`)]));
  async function* source() {
    yield* parts;
  }
  const whole = Buffer.concat(parts);
  const bytes = await collect(compressParts(source(), coding));
  expect(bytes.length).toBeLessThan(whole.length / 50);
  expect(INFLATE[coding](bytes).equals(whole)).toBe(true);
  async function* nothing() {}
  expect(INFLATE[coding](await collect(compressParts(nothing(), coding)))).toHaveLength(0);
});

it.each(COMPRESSIONS)('%s of a part is out before the next one is there', async (coding) => {
  let release = () => {};
  const next = new Promise<void>((resolve) => {
    release = resolve;
  });
  const head = Buffer.from('[');
  const first = Buffer.alloc(5000, '"first",');
  async function* source() {
    yield head;
    yield first;
    await next;
    yield Buffer.from('"last"]');
  }
  const parts: Uint8Array[] = [];
  const whole = Buffer.concat([head, first]);
  for await (const part of compressParts(source(), coding)) {
    parts.push(part);
    const text = INFLATE[coding](Buffer.concat(parts));
    if (text.length === whole.length) expect(text.equals(whole)).toBe(true);
    if (text.length === whole.length) release();
  }
  expect(INFLATE[coding](Buffer.concat(parts)).toString().endsWith('"last"]')).toBe(true);
});

it.each(COMPRESSIONS)(
  '%s asks for no more parts than are read, and ends them when it is left',
  async (coding) => {
    let count = 0;
    let ended = false;
    async function* source() {
      try {
        // Not compressible: nothing piles up in the compressor.
        for (; count < 1000; count++)
          yield Buffer.from(Array.from({ length: 100_000 }, () => 256 * Math.random()));
      } finally {
        ended = true;
      }
    }
    for await (const _ of compressParts(source(), coding)) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(count).toBeLessThan(6);
    expect(ended).toBe(true);
  },
);

it.each(COMPRESSIONS)('%s fails as its parts do', async (coding) => {
  async function* source() {
    yield Buffer.alloc(2000, 'a');
    throw new Error('the source is gone');
  }
  await expect(collect(compressParts(source(), coding))).rejects.toThrow('the source is gone');
});

it('has room for as many as are allowed', async () => {
  async function* endless() {
    for (;;) yield Buffer.alloc(2000, 'a');
  }
  const open = Array.from({ length: HTTP_LIMITS.compressedStreams }, () => compressParts(endless(), 'gzip'));
  await Promise.all(open.map((one) => one.next()));
  expect(canCompressStream()).toBe(false);
  await Promise.all(open.map((one) => one.return(undefined)));
  expect(canCompressStream()).toBe(true);
});
