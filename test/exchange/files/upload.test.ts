import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { uploadQueue } from '../../../src/services/telemetry/store-metrics.js';
import { receiveUpload } from '../../../src/services/uploads/upload.js';
import { type FormPart, multipart } from '../../admin/support/multipart.js';

describe('upload', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'graticule-upload-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const rules = (maxBytes = 10_000) => ({ directory, maxBytes, extensions: new Set(['.geojson', '.csv']) });
  const file = (content: string | Buffer, filename = 'roads.geojson'): FormPart => ({
    name: 'file',
    filename,
    content,
  });
  const receive = (parts: FormPart[], maxBytes?: number) => {
    const { contentType, body } = multipart(parts);
    return receiveUpload({ contentType, bytes: chunks(body) }, rules(maxBytes));
  };
  async function* chunks(body: Buffer, size = 700): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
  }

  it('stores the file under a name of its own, and binds fields in any case', async () => {
    const content = Buffer.from('{"type":"FeatureCollection"}'.repeat(100));
    const upload = await receive([
      { name: 'TableName', content: 'roads' },
      file(content, '../../etc/roads.GEOJSON'),
      { name: 'targetsrid', content: '4326' },
    ]);
    expect(await readFile(upload.path)).toEqual(content);
    expect(upload).toMatchObject({ fileName: 'roads.GEOJSON', size: content.length });
    expect(Object.fromEntries(upload.fields)).toEqual({ tablename: 'roads', targetsrid: '4326' });
    expect(upload.path.startsWith(directory)).toBe(true);
    expect(basename(upload.path)).not.toContain('roads');
    expect(extname(upload.path)).toBe('.geojson');
  });

  it('counts in the depth of the queue for as long as it is received', async () => {
    const depth = () => uploadQueue.samples()[0]!.value;
    const before = depth();
    const { contentType, body } = multipart([file('x'.repeat(5000))]);
    const depths: number[] = [];
    async function* watched() {
      for await (const chunk of chunks(body)) {
        depths.push(depth());
        yield chunk;
      }
    }
    await receiveUpload({ contentType, bytes: watched() }, rules());
    expect(new Set(depths)).toEqual(new Set([before + 1]));
    await expect(receive([file('x', 'roads.exe')])).rejects.toMatchObject({ status: 415 });
    expect(depth()).toBe(before);
  });

  it.each<[string, FormPart[], object]>([
    ['a file over the limit', [file('x'.repeat(10_001))], { status: 413 }],
    ['a huge file', [file('x'.repeat(3_000_000))], { status: 413 }],
    ['another kind of file', [file('x', 'roads.exe')], { status: 415 }],
    ['a file without an ending', [file('x', 'roads')], { status: 415 }],
    ['an empty file', [file('')], { status: 400 }],
    ['a form without a file', [{ name: 'TableName', content: 'roads' }], { status: 400 }],
    ['two files', [file('a'), file('b')], { status: 400 }],
    [
      'too many fields',
      [...Array.from({ length: 50 }, (_, i) => ({ name: `f${i}`, content: 'x' })), file('a')],
      { status: 400 },
    ],
    ['a long field', [{ name: 'TableName', content: 'x'.repeat(70_000) }, file('a')], { status: 413 }],
  ])('refuses %s and keeps nothing', async (_name, parts, expected) => {
    await expect(receive(parts)).rejects.toMatchObject(expected);
    expect(await readdir(directory)).toEqual([]);
  });

  it.each([
    [undefined, 415],
    ['application/json', 415],
    ['multipart/form-data', 415],
    ['multipart/form-data; charset=utf-8', 400],
  ])('refuses the content type %s', async (contentType, status) => {
    await expect(
      receiveUpload({ contentType, bytes: chunks(Buffer.from('x')) }, rules()),
    ).rejects.toMatchObject({ status });
  });

  it.each([50, 300, 2000])('refuses a form cut off after %i bytes and keeps nothing', async (at) => {
    const { contentType, body } = multipart([{ name: 'a', content: 'b' }, file('x'.repeat(5000))]);
    const cut = receiveUpload({ contentType, bytes: chunks(body.subarray(0, at)) }, rules());
    await expect(cut).rejects.toMatchObject({ status: 400 });
    expect(await readdir(directory)).toEqual([]);
  });

  it('refuses a form whose sender goes away, and keeps nothing', async () => {
    const { contentType, body } = multipart([file('x'.repeat(9000))]);
    async function* gone() {
      yield* chunks(body.subarray(0, 4000));
      throw new Error('connection reset');
    }
    await expect(receiveUpload({ contentType, bytes: gone() }, rules())).rejects.toMatchObject({
      status: 400,
    });
    expect(await readdir(directory)).toEqual([]);
  });

  it('survives forms of random bytes', async () => {
    const { contentType, body } = multipart([{ name: 'a', content: 'b' }, file('x'.repeat(500))]);
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed;
    };
    for (let i = 0; i < 300; i++) {
      const mutated = Buffer.from(body);
      for (let n = 0; n < 8; n++) mutated[random() % mutated.length] = random() % 256;
      await receiveUpload({ contentType, bytes: chunks(mutated, 64) }, rules()).then(
        ({ path }) => rm(path),
        (error) => expect(error).toMatchObject({ name: 'ApiError' }),
      );
    }
    expect(await readdir(directory)).toEqual([]);
  });
});
