import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FormPart, multipart } from '../admin/support/multipart.js';
import { startServer, type TestServer } from '../support/server.js';
import { TOWNS } from './support.js';

/** Reference data over the management API. */

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ sources: [] });
}, 120_000);
afterAll(() => server?.stop());

async function send(parts: readonly FormPart[], key = server.adminKey) {
  const { contentType, body } = multipart(parts);
  const answer = await fetch(`${server.url}/api/v1/admin/geocoding/reference-data/import`, {
    method: 'POST',
    headers: { 'content-type': contentType, ...(key === '' ? {} : { 'x-api-key': key }) },
    body: new Uint8Array(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const file = (content: string, filename = 'towns.csv') => ({ name: 'referenceData', content, filename });
const name = (content: string) => ({ name: 'locatorName', content });
const uploads = () => readdirSync(join(server.dataDir, 'uploads'));

describe('import of reference data', () => {
  it('takes names of columns for no more than they say', async () => {
    const csv = 'name,x,y,constructor,__proto__\nBonn,7.1,50.7,a,b\n';
    const { status, body } = await send([file(csv), name('odd')]);
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ data: expect.objectContaining({ recordsImported: 1 }) }),
    ]);
  });

  it('answers what the contract says', async () => {
    const csv = 'town,lon,lat\nBonn,7.1,50.7\nTrier,6.6,\n';
    const { status, body } = await send([file(csv), name('towns')]);
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      data: {
        provider: 'local',
        locatorName: 'towns',
        schema: 'main',
        table: 'places',
        recordsImported: 1,
        recordsSkipped: 1,
        report: [
          { column: 'town', status: 'supported', detail: 'city' },
          { column: 'lon', status: 'supported', detail: 'x' },
          { column: 'lat', status: 'supported', detail: 'y' },
        ],
        skippedRows: [{ rowNumber: 2, reason: 'y is empty' }],
      },
      timestamp: expect.any(String),
    });
    expect(uploads()).toEqual([]);
  });

  it('takes a map of fields and a mode', async () => {
    const map = { name: 'fieldMap', content: '{"name":"city","x":"x","y":"y"}' };
    const parts = [file(TOWNS), name('towns'), map, { name: 'mode', content: 'append' }];
    const { status, body } = await send(parts);
    expect([status, body]).toMatchObject([200, { data: { recordsImported: 12 - 4, recordsSkipped: 4 } }]);
  });

  it.each([
    ['no name', [file(TOWNS)], 'locatorName'],
    ['a path as its name', [file(TOWNS), name('../towns')], 'locatorName'],
    ['another mode', [file(TOWNS), name('towns'), { name: 'mode', content: 'merge' }], 'mode'],
    ['a map that is no JSON', [file(TOWNS), name('towns'), { name: 'fieldMap', content: '{' }], 'fieldMap'],
    ['a map of numbers', [file(TOWNS), name('towns'), { name: 'fieldMap', content: '{"x":1}' }], 'fieldMap'],
    ['another kind of file', [file(TOWNS, 'towns.shp'), name('towns')], 'referenceData'],
    ['no columns of places', [file('a,b\n1,2\n'), name('towns')], 'referenceData'],
  ])('refuses %s', async (_what, parts, member) => {
    const { status, body } = await send(parts);
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(member)]);
    expect(uploads()).toEqual([]);
  });

  it('is for administrators', async () => {
    expect((await send([file(TOWNS), name('towns')], '')).status).toBe(401);
  });
});
