import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/core/kit/limits.js';
import { type ZipEntry, zip } from '../support/zip.js';
import { suiteEngine } from './support.js';

const suite = suiteEngine();
const { scratch } = suite;
const file = (name: string) => join(scratch.path, name);
const shapefile: ZipEntry[] = [];
const geodatabase: ZipEntry[] = [];
let count = 0;

beforeAll(() => {
  const features = [1, 2, 3].map((n) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [n, 50] },
    properties: { name: `town ${n}` },
  }));
  writeFileSync(file('towns.geojson'), JSON.stringify({ type: 'FeatureCollection', features }));
  execFileSync('ogr2ogr', ['-f', 'ESRI Shapefile', file('shape'), file('towns.geojson')]);
  execFileSync('ogr2ogr', ['-f', 'OpenFileGDB', file('towns.gdb'), file('towns.geojson')]);
  for (const [folder, list] of [
    ['shape', shapefile],
    ['towns.gdb', geodatabase],
  ] as const)
    for (const name of readdirSync(file(folder)))
      list.push({ name, content: readFileSync(join(file(folder), name)) });
});

async function unpack(entries: readonly ZipEntry[], layer?: string): Promise<string> {
  const path = file(`${++count}.zip`);
  writeFileSync(path, zip(entries));
  const output = file(`unpacked-${count}`);
  const task = { path, output, ...(layer === undefined ? {} : { layer }) };
  return (await suite.pool.run('ogr.unpack', task)).path;
}

const refused = (entries: readonly ZipEntry[]) =>
  unpack(entries).then(
    () => 'unpacked',
    ({ code }) => code,
  );

/** Nothing of an archive may be anywhere: neither in its folder nor beside it. */
function leftovers(): string[] {
  return readdirSync(scratch.path).filter((name) => /^unpacked|evil|\.part-/.test(name));
}

describe('ogr.unpack', () => {
  it.each([
    ['at the top', ''],
    ['in a folder', 'data/2024/'],
  ])('unpacks a shapefile %s, without the files that are not its own', async (_where, folder) => {
    const path = await unpack([
      ...shapefile.map((entry) => ({ ...entry, name: folder + entry.name })),
      { name: 'README.txt', content: 'Read me.' },
      { name: '__MACOSX/._towns.shp', content: 'Finder' },
    ]);
    expect(readdirSync(join(path, '..')).sort()).toEqual(shapefile.map(({ name }) => name).sort());
    const [layer] = await suite.pool.run('ogr.inspect', { path });
    expect(layer).toMatchObject({ name: 'towns', featureCount: 3, crs: 'EPSG:4326' });
  });

  it('unpacks a file geodatabase', async () => {
    const path = await unpack(
      geodatabase.map((entry) => ({ ...entry, name: `export/My towns.gdb/${entry.name}` })),
    );
    expect(path).toMatch(/My towns\.gdb$/);
    const [layer] = await suite.pool.run('ogr.inspect', { path });
    expect(layer).toMatchObject({ name: 'towns', featureCount: 3 });
  });

  it('takes the data set of the name among several, and asks for one without', async () => {
    const second = shapefile.map((entry) => ({ ...entry, name: entry.name.replace('towns', 'rivers') }));
    expect(await unpack([...shapefile, ...second], 'rivers')).toMatch(/rivers\.shp$/);
    await expect(unpack([...shapefile, ...second])).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('towns.shp, rivers.shp'),
    });
  });

  describe('refuses an archive', () => {
    const zeros = (bytes: number) => Buffer.alloc(bytes);
    it.each<[string, () => ZipEntry[], string]>([
      ['with a path out of it', () => [{ name: '../evil.shp', content: 'x' }], 'source-unreadable'],
      ['with an absolute path', () => [{ name: '/tmp/evil.shp', content: 'x' }], 'source-unreadable'],
      ['with a path of Windows', () => [{ name: 'C:\\evil.shp', content: 'x' }], 'source-unreadable'],
      [
        'with a symbolic link',
        () => [...shapefile, { name: 'a.shp', content: '/etc/passwd', mode: 0o120777 }],
        'invalid-input',
      ],
      [
        'with a device',
        () => [...shapefile, { name: 'a.dbf', content: '', mode: 0o020666 }],
        'invalid-input',
      ],
      ['with an archive', () => [...shapefile, { name: 'more.zip', content: 'PK' }], 'invalid-input'],
      ['that is encrypted', () => shapefile.map((entry) => ({ ...entry, encrypted: true })), 'invalid-input'],
      ['with a file twice', () => [...shapefile, ...shapefile], 'invalid-input'],
      ['without a data set', () => [{ name: 'notes.txt', content: 'x' }], 'invalid-input'],
      ['without the main file', () => [{ name: 'a.dbf', content: 'x' }], 'invalid-input'],
      ['that grows a thousandfold', () => [{ name: 'a.shp', content: zeros(64 << 20) }], 'too-large'],
      [
        'whose entries share their bytes',
        () => {
          const noise = Buffer.from(Array.from({ length: 2 << 20 }, (_, i) => (i * i) % 251));
          const one: ZipEntry = { name: 'a.shp', content: noise, stored: true };
          return [
            one,
            ...Array.from({ length: 400 }, (_, n) => ({ ...one, name: `b${n}.dbf`, sharedWith: 0 })),
          ];
        },
        'too-large',
      ],
      [
        'that grows beyond what it claims',
        () => [{ name: 'a.shp', content: zeros(900_000), claimed: 10 }],
        'source-unreadable',
      ],
      [
        'that claims to be huge',
        () => [{ name: 'a.shp', content: 'x', claimed: LIMITS.archiveEntryBytes - 1 }],
        'too-large',
      ],
      [
        'with too many entries',
        () =>
          Array.from({ length: LIMITS.archiveEntries + 1 }, (_, n) => ({ name: `${n}.txt`, content: '' })),
        'too-large',
      ],
    ])('%s, and leaves nothing', async (_what, entries, code) => {
      const before = leftovers();
      expect(await refused(entries())).toBe(code);
      expect(leftovers()).toEqual(before);
      expect(existsSync('/tmp/evil.shp')).toBe(false);
    });
  });

  it('refuses what is no archive', async () => {
    writeFileSync(file('text.zip'), 'not an archive');
    await expect(
      suite.pool.run('ogr.unpack', { path: file('text.zip'), output: file('text') }),
    ).rejects.toMatchObject({ code: 'source-unreadable' });
  });
});
