import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';
import yauzl from 'yauzl';
import { writeZip, type ZipEntry } from '../../../src/services/uploads/zip-writer.js';
import { scratchDirectory } from '../../engine/support.js';

/** ZIP archives that the server writes. */

const scratch = scratchDirectory();
afterAll(() => scratch.remove());

const LARGE = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i * 7919));
const FILES: ZipEntry[] = [
  { name: 'räume/größe.json', content: Buffer.from('{}') },
  { name: 'empty', content: new Uint8Array(0) },
  { name: 'large', content: LARGE },
];

async function* entries(): AsyncGenerator<ZipEntry> {
  yield* FILES;
}

const computeDigest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

it('other programs read every entry, and equal content gives equal archives', async () => {
  const paths = ['a.zip', 'b.zip'].map((name) => join(scratch.path, name));
  for (const path of paths) await writeZip(path, entries());
  const archive = await yauzl.openPromise(paths[0]!, { autoClose: false, lazyEntries: true });
  const read: ZipEntry[] = [];
  for await (const entry of archive.eachEntry()) {
    const stream = await archive.openReadStreamPromise(entry);
    read.push({ name: entry.fileName, content: await buffer(stream) });
  }
  archive.close();
  expect(read.map(({ name }) => name)).toEqual(FILES.map(({ name }) => name));
  for (const [i, { content }] of read.entries()) expect(Buffer.compare(content, FILES[i]!.content)).toBe(0);
  expect(computeDigest(paths[0]!)).toBe(computeDigest(paths[1]!));
});

it('fails with what an entry failed with, and with what the disk refuses', async () => {
  async function* failing(): AsyncGenerator<ZipEntry> {
    yield FILES[2]!;
    throw new Error('the file is gone');
  }
  await expect(writeZip(join(scratch.path, 'c.zip'), failing())).rejects.toThrow('the file is gone');
  await expect(writeZip('/dev/full', entries())).rejects.toThrow('ENOSPC');
  await expect(writeZip(join(scratch.path, 'no/d.zip'), entries())).rejects.toThrow('ENOENT');
});
