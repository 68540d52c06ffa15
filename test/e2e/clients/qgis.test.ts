import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';
import { run } from '../support/http.js';

/** QGIS's own libraries, without its windows. */
let server: SharedServer;
let home: string;

beforeAll(async () => {
  server = await sharedServer();
  home = mkdtempSync(join(tmpdir(), 'graticule-qgis-'));
});
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
});

it('QGIS opens a collection, reads its features and those of a map window', async () => {
  const text = await run(
    '/usr/bin/python3',
    [
      'test/e2e/clients/read_with_qgis.py',
      `url='${server.url}/ogc/features' typename='countries'`,
      ...['OAPIF', 'NAME'],
      ...['5', '46', '11', '48'],
    ],
    { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
  );
  const read = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(read).toMatchObject({ features: 240, geometries: 240 });
  expect(read.fields).toEqual(expect.arrayContaining(['NAME', 'ISO_A3']));
  expect(read.inside).toEqual(['Austria', 'France', 'Germany', 'Italy', 'Liechtenstein', 'Switzerland']);
}, 120_000);
