import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startServer } from '../../support/server.js';
import { geoPackageStore, parcel } from '../support.js';

function graticule(args: string[]): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['dist/cli/main.js', ...args], { timeout: 90_000 }, (error, stdout, stderr) =>
      resolve({ code: (error?.code as number | undefined) ?? 0, said: stdout + stderr }),
    );
  });
}

describe('graticule import --into', () => {
  let folder: string;
  let store: ReturnType<typeof geoPackageStore>;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-into-'));
    store = geoPackageStore();
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true, force: true });
    await store.release();
  });

  const into = (rows: Record<string, unknown>[], ...options: string[]) => {
    const path = join(folder, 'rows.geojson');
    const features = rows.map((row) => parcel(7, 46, row));
    writeFileSync(path, JSON.stringify({ type: 'FeatureCollection', features }));
    const places = ['--data-dir', folder, '--source', store.file];
    return graticule(['import', path, ...places, ...options]);
  };
  const names = async () =>
    (await store.query('SELECT name FROM parcels ORDER BY fid')).map((row) => row['name']);

  it('appends, replaces and changes by key, and tells what became of the rows', async () => {
    const rows = [
      { name: 'one', code: 'a' },
      { name: 'two', code: 'b' },
    ];
    expect(await into(rows, '--into', 'parcels')).toMatchObject({
      code: 0,
      said: expect.stringContaining(
        'imported into the collection parcels: 2 inserted, 0 updated, 0 unchanged, 0 deleted, 0 rejected',
      ),
    });
    const upsert = ['--into', 'parcels', '--mode', 'upsert', '--key', 'code', '--reject-rows'];
    const changed = await into(
      [
        { name: 'first', code: 'a' },
        { name: null, code: 'c' },
      ],
      ...upsert,
    );
    expect(changed.said).toContain('row 2: properties.name: must not be null; received null.');
    expect(changed.said).toContain('0 inserted, 1 updated, 0 unchanged, 0 deleted, 1 rejected');
    expect(await names()).toEqual(['first', 'two']);
    await into([{ name: 'only' }], '--into', 'parcels', '--mode', 'replace');
    expect(await names()).toEqual(['only']);
  });

  it('says what is wrong, and changes nothing', async () => {
    expect(await into([{ name: null }], '--into', 'parcels')).toMatchObject({
      code: 1,
      said: expect.stringContaining(
        'No feature was changed. One row was rejected. Row 1: properties.name: must not be null; received null.',
      ),
    });
    expect((await into([{ name: 'a' }], '--into', 'nowhere')).said).toContain(
      "no feature collection 'nowhere'",
    );
    expect((await into([{ name: 'a' }], '--mode', 'append')).said).toContain('--into COLLECTION');
    expect((await into([{ name: 'a' }], '--into', 'parcels', '--mode', 'upsert')).said).toContain(
      '--key: is required for --mode upsert',
    );
    expect(await names()).toEqual([]);
  });

  it('is shown by the server that runs on the data folder', async () => {
    const server = await startServer({ sources: [store.file], dataDir: folder });
    try {
      await into([{ name: 'one' }, { name: 'two' }], '--into', 'parcels');
      const count = async () => {
        const page = await fetch(`${server.url}/ogc/features/collections/parcels/items?limit=1`);
        return ((await page.json()) as { numberMatched: number }).numberMatched;
      };
      await expect.poll(count, { timeout: 60_000 }).toBe(2);
    } finally {
      await server.stop();
    }
  });
});
