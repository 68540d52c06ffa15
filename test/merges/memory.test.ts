import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { multipart } from '../admin/support/multipart.js';
import { gateways } from '../e2e/support/processes.js';
import { geoPackageStore, parcel } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';

/** Rows, bytes of text in each, and bytes that a gateway may need for them beside what it needs at rest. */
const ROWS = 40_000;
const TEXT = 2000;
const MOST = 150_000_000;

const store = geoPackageStore();
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ sources: [store.file] });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await store.release();
});

it(`takes ${ROWS} rows over with bounded memory`, async () => {
  await merge(10);
  const gateway = gateways(server.process.pid!)[0]!;
  // Forgets the peak so far (proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${gateway}/clear_refs`, '5');
  const before = peakOf(gateway);
  const job = await merge(ROWS);
  expect(job).toMatchObject({ status: 'Completed', merge: { inserted: ROWS } });
  const growth = peakOf(gateway) - before;
  console.log("growth", growth, job["startedAt"], job["completedAt"]);
  expect(growth).toBeLessThan(MOST);
  expect((await store.query('SELECT count(*) AS n FROM parcels'))[0]).toEqual({ n: ROWS + 10 });
}, 300_000);

function peakOf(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) * 1024;
}

async function merge(rows: number): Promise<Record<string, unknown>> {
  const note = 'x'.repeat(TEXT);
  const lines = Array.from({ length: rows }, (_, i) => JSON.stringify(parcel(7, 46, { name: `row ${i}`, note })));
  const { contentType, body } = multipart([
    { name: 'TableName', content: 'parcels' },
    { name: 'Mode', content: 'append' },
    { name: 'ForceBackground', content: 'true' },
    { name: 'file', filename: 'rows.geojsonl', content: lines.join('\n') },
  ]);
  const headers = { 'x-api-key': server.adminKey };
  const sent = await fetch(`${server.url}/api/v1/admin/import/upload`, {
    method: 'POST',
    headers: { ...headers, 'content-type': contentType },
    body: new Uint8Array(body),
  });
  if (sent.status !== 202) throw new Error(await sent.text());
  const { statusUrl } = (await sent.json()) as { statusUrl: string };
  let job: Record<string, unknown> = {};
  const ended = async () => {
    job = (await (await fetch(server.url + statusUrl, { headers })).json()) as Record<string, unknown>;
    return job['status'];
  };
  await expect.poll(ended, { timeout: 240_000, interval: 200 }).toMatch(/Completed|Failed/);
  return job;
}
