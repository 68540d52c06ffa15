import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { multipart } from '../../admin/support/multipart.js';
import { gateways } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { geoPackageStore, parcel } from '../support.js';

/** Rows, bytes of text in each, and bytes that a gateway may need to write them, once the file has arrived. */
const ROWS = 30_000;
const TEXT = 3400;
const MOST = 100_000_000;

const store = geoPackageStore();
let server: TestServer;

beforeAll(async () => {
  server = await startServerProcess({ sources: [store.file] });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await store.release();
});

it(`takes ${ROWS} rows over with bounded memory`, async () => {
  const gateway = gateways(server.process.pid!)[0]!;
  expect(await ended(await send(10))).toMatchObject({ merge: { inserted: 10 } });
  const statusUrl = await send(ROWS);
  // Forgets the peak so far (proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${gateway}/clear_refs`, '5');
  const before = peakOf(gateway);
  expect(await ended(statusUrl)).toMatchObject({ status: 'Completed', merge: { inserted: ROWS } });
  const growth = peakOf(gateway) - before;
  expect(growth).toBeLessThan(MOST);
  expect((await store.query('SELECT count(*) AS n FROM parcels'))[0]).toEqual({ n: ROWS + 10 });
}, 300_000);

function peakOf(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) * 1024;
}

/** Sends rows; where their job is told. */
async function send(rows: number): Promise<string> {
  const note = 'x'.repeat(TEXT);
  const lines = Array.from({ length: rows }, (_, i) =>
    JSON.stringify(parcel(7, 46, { name: `row ${i}`, note })),
  );
  const { contentType, body } = multipart([
    { name: 'TableName', content: 'parcels' },
    { name: 'Mode', content: 'append' },
    { name: 'ForceBackground', content: 'true' },
    { name: 'file', filename: 'rows.geojsonl', content: lines.join('\n') },
  ]);
  const answer = await fetch(`${server.url}/api/v1/admin/import/upload`, {
    method: 'POST',
    headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
    body: new Uint8Array(body),
  });
  const { statusUrl } = (await answer.json()) as { statusUrl: string };
  return statusUrl;
}

async function ended(statusUrl: string): Promise<Record<string, unknown>> {
  let job: Record<string, unknown> = {};
  const status = async () => {
    const answer = await fetch(server.url + statusUrl, { headers: { 'x-api-key': server.adminKey } });
    job = (await answer.json()) as Record<string, unknown>;
    return job['status'];
  };
  await expect.poll(status, { timeout: 240_000, interval: 200 }).toMatch(/Completed|Failed/);
  return job;
}
