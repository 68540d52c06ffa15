import { copyFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';
import { startReceiver, type TestReceiver, until } from '../webhooks/receiver.js';
import { type Asker, createAsker } from './asker.js';

/** Faults of a whole server, from the finding to the receipt, by the management API alone. */
describe('a fault', () => {
  let folder: string;
  let postgres: TestPostgres;
  let database: pg.Client;
  let state: pg.Client;
  let receiver: TestReceiver;
  let server: TestServer;
  let admin: Asker;
  let clerk: Asker;
  let chief: Asker;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-workflow-'));
    mkdirSync(join(folder, 'files'));
    copyFileSync('demo/data/world_map.gpkg', join(folder, 'files/world_map.gpkg'));
    postgres = await startPostgres();
    database = new pg.Client(postgres.url);
    await database.connect();
    await database.query(`CREATE TABLE cars (fid integer PRIMARY KEY, name text, geom geometry(Point, 4326));
      INSERT INTO cars SELECT i, 'car', ST_SetSRID(ST_MakePoint(i % 180, i % 90), 4326) FROM generate_series(1, 3000) i;
      ANALYZE cars`);
    const place = await makeDatabase(postgres.url);
    state = new pg.Client(place);
    await state.connect();
    receiver = await startReceiver();
    const webhooks = [{ name: 'erp', url: `${receiver.url}/in`, secret: 'a secret of the receiver' }];
    server = await startServerProcess({
      sources: [join(folder, 'files'), postgres.url],
      args: ['--processes', '2'],
      env: {
        SVC_EVENTS__WEBHOOKS: JSON.stringify(webhooks),
        SVC_REMOTE__ALLOW: '127.0.0.1',
        // A database of its own, because a test locks the catalog of the other one.
        SVC_STATE__URL: place,
        SVC_SECURITY__STATE_KEY: 'a key that is not in the database',
      },
    });
    admin = createAsker(server.url, server.adminKey);
    const keyOf = async (name: string, permissions: string[]) =>
      createAsker(server.url, (await admin('POST', '/api-keys', { name, permissions })).body.data.key);
    clerk = await keyOf('clerk', ['admin:read', 'admin:observability:write', 'admin:proposals:write']);
    chief = await keyOf('chief', ['admin:read', 'admin:write']);
    const cars = `${server.url}/ogc/features/collections/cars`;
    await until(async () => (await fetch(cars)).status === 200);
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    await receiver?.close();
    await database?.end();
    await state?.end();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const findAll = async (rule: string) => {
    const { body } = await clerk('GET', '/observability/findings');
    return body.findings.filter((one: { rule: string }) => one.rule === rule);
  };
  const find = async (rule: string) => {
    let found: Awaited<ReturnType<typeof findAll>> = [];
    await until(async () => {
      found = await findAll(rule);
      return found.length > 0;
    });
    return found[0];
  };
  const propose = (id: string, by = clerk) => by('POST', `/observability/findings/${id}/propose`);
  const settle = async (proposalId: string) => {
    for (;;) {
      const { body } = await clerk('GET', `/proposals/${proposalId}`);
      if (!['Submitted', 'Executing', 'Reconciling'].includes(body.status)) return body;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const addCar = (fid: number) =>
    fetch(`${server.url}/ogc/features/collections/cars/items`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
      body: JSON.stringify({
        ...{ type: 'Feature', id: fid, properties: { name: 'van' } },
        geometry: { type: 'Point', coordinates: [1, 1] },
      }),
    });

  /** The receiver refuses one message, which is final, and then works again. */
  const makeDeadLetter = async (fid: number) => {
    receiver.answer = (response) => response.writeHead(400).end();
    expect((await addCar(fid)).status).toBe(201);
    await find('dead-letters');
    receiver.answer = undefined;
  };

  it('of a receiver ends with all messages delivered, after another person approved', async () => {
    await makeDeadLetter(9001);
    receiver.answer = (response) => response.writeHead(500).end();
    expect((await addCar(9002)).status).toBe(201);
    await until(async () => (await find('dead-letters')).recommendedAction === null);
    const before = await find('dead-letters');
    expect(before.subject.channel).toBe('webhook erp');
    expect((await propose(before.id)).body).toMatchObject({ status: 'NotSupported', proposalId: null });
    receiver.answer = undefined;
    await until(async () => (await find('dead-letters')).recommendedAction !== null);
    const finding = await find('dead-letters');
    expect([finding.id, finding.detectedAt]).toEqual([before.id, before.detectedAt]);
    const { status, body } = await propose(finding.id);
    expect([status, body.status]).toEqual([200, 'ProposalCreated']);
    expect((await clerk('POST', `/proposals/${body.proposalId}/approve`)).status).toBe(403);
    expect((await chief('POST', `/proposals/${body.proposalId}/approve`)).status).toBe(200);
    const ended = await settle(body.proposalId);
    expect([ended.status, ended.blockingReasons]).toEqual(['Succeeded', []]);
    expect(ended).toMatchObject({ findingId: finding.id, autonomyRule: 'dead-letters' });
    expect(receiver.received.filter(({ body: text }) => text.includes('9001'))).toHaveLength(2);
    expect(await findAll('dead-letters')).toEqual([]);
    expect((await propose(finding.id)).status).toBe(404);
    const { body: policy } = await clerk('GET', '/observability/autonomy/policies/dead-letters');
    expect(policy.trackRecord).toMatchObject({
      proposalsRaised: 1,
      proposalsApproved: 1,
      autoApplied: 0,
      failed: 0,
    });
  });

  it('of a receiver is repaired by a policy, which names who set it', async () => {
    const set = { mode: 'AutoApply', maxBlastRadius: 5, reason: 'the receiver drops out at night' };
    const refused = await clerk('PUT', '/observability/autonomy/policies/dead-letters', set);
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('admin:write')]);
    const { status, body: policy } = await chief('PUT', '/observability/autonomy/policies/dead-letters', set);
    expect([status, policy.mode, policy.isPersisted]).toEqual([200, 'AutoApply', true]);
    await makeDeadLetter(9003);
    const { body } = await propose((await find('dead-letters')).id);
    expect(body).toMatchObject({ status: 'Executed', executionOperationId: expect.stringMatching(/./) });
    const ended = await settle(body.proposalId);
    expect([ended.status, ended.resolvedBy]).toEqual(['Succeeded', 'policy:dead-letters@1']);
    const { body: seals } = await clerk('GET', `/proposals/${body.proposalId}/seals`);
    const receipt = JSON.parse(Buffer.from(seals.receipt.payload, 'base64url').toString());
    expect(receipt).toMatchObject({
      outcome: 'Succeeded',
      policy: { rule: 'dead-letters', setBy: policy.updatedBy },
    });
    expect(seals.evidence).toMatchObject({ rule: 'dead-letters', facts: { dead: 1, works: true } });
  });

  it('of a source is verified when the source is published again, also if that takes a while', async () => {
    const file = join(folder, 'files/world_map.gpkg');
    truncateSync(file, 5000);
    server.reload();
    const finding = await find('source-quarantined');
    expect(finding.severity).toBe('Critical');
    expect((await propose(finding.id)).body).toMatchObject({ status: 'Blocked', proposalId: null });
    await state.query('UPDATE graticule_state.ops_findings SET detected_at = detected_at - 60000');
    const { body } = await propose(finding.id);
    expect(body.status).toBe('ProposalCreated');
    expect((await chief('POST', `/proposals/${body.proposalId}/approve`)).status).toBe(200);
    let now = body;
    await until(async () => {
      now = (await clerk('GET', `/proposals/${body.proposalId}`)).body;
      return !['Submitted', 'Executing'].includes(now.status);
    });
    expect([now.status, now.blockingReasons]).toEqual(['Reconciling', []]);
    copyFileSync('demo/data/world_map.gpkg', file);
    server.reload();
    expect(await settle(body.proposalId)).toMatchObject({ status: 'Succeeded', blockingReasons: [] });
    expect(await findAll('source-quarantined')).toEqual([]);
  });

  it('of a table without an index is advice, which ends the finding when the owner follows it', async () => {
    const finding = await find('spatial-index-missing');
    expect(finding.recommendedAction).toBeNull();
    const [statement] = /CREATE INDEX .*\)/.exec(finding.explanation)!;
    expect((await propose(finding.id)).body).toMatchObject({
      status: 'NotSupported',
      message: expect.stringContaining(statement),
    });
    await database.query(statement);
    expect(await findAll('spatial-index-missing')).toEqual([]);
  });

  it('of a cold cache ends with rendered tiles', async () => {
    const collections = (await (await fetch(`${server.url}/ogc/tiles/collections`)).json()).collections;
    const { id } = collections.find((one: { name: string }) => one.name === 'states_provinces');
    const tile = (z: number, y: number, x: number) =>
      fetch(`${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/${z}/${y}/${x}?f=png`);
    let rendered = 0;
    for (let z = 0; z <= 3; z++)
      for (let x = 0; x < 2 ** z; x++)
        for (let y = 0; y < 2 ** z; y++) if ((await tile(z, y, x)).status === 200) rendered++;
    expect(rendered).toBeGreaterThan(49);
    const finding = await find('tile-cache-cold');
    const { body } = await propose(finding.id);
    expect(body.status).toBe('ProposalCreated');
    expect((await chief('POST', `/proposals/${body.proposalId}/approve`)).status).toBe(200);
    const ended = await settle(body.proposalId);
    expect([ended.status, ended.blockingReasons]).toEqual(['Succeeded', []]);
  });

  it('of one client tells a person what to do', async () => {
    const { body: greedy } = await admin('POST', '/api-keys', { name: 'greedy', permissions: ['read:*'] });
    const { key, apiKey } = greedy.data;
    const window = { requestsPerWindow: 1, windowDurationSeconds: 600 };
    const limit = { name: 'greedy', scope: 'api-key', key: apiKey.id, ...window };
    expect((await admin('POST', '/rate-limits', limit)).status).toBe(201);
    for (let i = 0; i < 25; i++)
      await fetch(`${server.url}/ogc/features/collections/cars/items?limit=1`, {
        headers: { 'x-api-key': key, connection: 'close' },
      });
    const finding = await find('client-failing');
    expect(finding.title).toContain(apiKey.id);
    expect((await propose(finding.id)).body).toMatchObject({ status: 'NotSupported', proposalId: null });
  });

  it('of a locked table is a statement that waits, again and again', async () => {
    const isOfCars = ({ explanation }: { explanation: string }) => explanation.includes('"cars"');
    let slow: { id: string } | undefined;
    // How many requests of one table wait at the same time is a matter of the threads.
    await until(async () => {
      await database.query('BEGIN; LOCK TABLE cars IN ACCESS EXCLUSIVE MODE');
      const waiting = Array.from({ length: 20 }, (_, i) =>
        fetch(`${server.url}/ogc/features/collections/cars/items?limit=${i + 1}`, {
          headers: { connection: 'close' },
        }).then((one) => one.text()),
      );
      // Statements are slow from half a second.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await database.query('ROLLBACK');
      await Promise.all(waiting);
      slow = (await findAll('statement-slow')).find(isOfCars);
      return slow !== undefined;
    });
    expect((await propose(slow!.id)).body).toMatchObject({ status: 'NotSupported', proposalId: null });
  });

  it('of a database that does not respond makes the evidence incomplete', async () => {
    await database.query('BEGIN; LOCK TABLE pg_catalog.pg_class IN ACCESS EXCLUSIVE MODE');
    try {
      const incomplete = await findAll('evidence-incomplete');
      expect(incomplete.map((one: { subject: { targetId: string } }) => one.subject.targetId)).toEqual(
        expect.arrayContaining(['spatial-index-missing', 'statistics-stale']),
      );
    } finally {
      await database.query('ROLLBACK');
    }
    await until(async () => (await findAll('evidence-incomplete')).length === 0);
  });
});
