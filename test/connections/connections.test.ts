import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../catalog/support/admin-client.js';
import { type SecurePostgres, startSecurePostgres } from '../catalog/support/secure-postgres.js';
import { run } from '../providers/postgis/support.js';
import { freePort } from '../support/ports.js';
import { startServer, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';

const PASSWORD = 'pass/w?rd@#:%x';
const UUID = /^[0-9a-f-]{36}$/;
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

let postgres: SecurePostgres;
let plain: SecurePostgres;
let server: TestServer;
let secrets: string;
/** A database of the configuration. */
let source: string;
const admin = adminClient(() => server);

beforeAll(async () => {
  [postgres, plain] = await Promise.all([startSecurePostgres(), startSecurePostgres(false)]);
  const users = `CREATE ROLE reader LOGIN PASSWORD '${PASSWORD}';
     CREATE ROLE only_tls LOGIN PASSWORD '${PASSWORD}';
     CREATE ROLE nobody LOGIN PASSWORD '${PASSWORD}';`;
  await run(plain.url, users);
  await run(
    postgres.url,
    `${users}
     CREATE TABLE places (id int PRIMARY KEY, name varchar(40) NOT NULL, geom geometry(Point, 4326));
     INSERT INTO places SELECT i, 'p' || i, ST_SetSRID(ST_MakePoint(i, i / 2.0), 4326) FROM generate_series(1, 80) i;
     CREATE INDEX ON places USING gist (geom);
     CREATE VIEW far AS SELECT * FROM places WHERE id > 40;
     CREATE TABLE plain (a int, b text);
     CREATE TABLE hidden (id int PRIMARY KEY, geom geometry);
     GRANT SELECT ON places, far, plain TO reader;
     ANALYZE places;
     CREATE SCHEMA many;
     DO $$ BEGIN FOR i IN 1..1000 LOOP
       EXECUTE format('CREATE TABLE many.t%s (id int PRIMARY KEY, name text, geom geometry(Point, 3857))', i);
     END LOOP; END $$;`,
  );
  await makeDatabase(postgres.url).then((url) => run(url, 'SELECT 1'));
  await run(postgres.url, `CREATE DATABASE bare TEMPLATE template0`);
  await run(postgres.url, `CREATE DATABASE closed TEMPLATE template0; `);
  await run(postgres.url, `REVOKE CONNECT ON DATABASE closed FROM PUBLIC`);
  secrets = mkdtempSync(join(tmpdir(), 'graticule-secrets-'));
  mkdirSync(join(secrets, 'db'));
  writeFileSync(join(secrets, 'db', 'reader'), `${PASSWORD}\n`);
  writeFileSync(join(secrets, 'other'), 'of nobody');
  symlinkSync(join(secrets, 'other'), join(secrets, 'db', 'link'));
  source = postgres.url.replace('/postgres', '/town');
  await run(postgres.url, 'CREATE DATABASE town');
  await run(
    source,
    `CREATE EXTENSION postgis; CREATE TABLE trees (id int PRIMARY KEY, kind text, geom geometry(Point, 4326));
     INSERT INTO trees VALUES (1, 'oak', ST_SetSRID(ST_MakePoint(1, 2), 4326)), (2, NULL, NULL)`,
  );
  server = await startServer({
    sources: ['demo/data/world_map.gpkg', source],
    env: {
      SVC_SECURITY__STATE_KEY: 'the key of the state',
      SVC_CONNECTIONS__CERTIFICATES: postgres.ca,
      SVC_CONNECTIONS__SECRETS: `env:CONNECTION_*,file:${secrets}/db/*`,
      SVC_CONNECTIONS__ALLOW: '127.0.0.1,localhost,*.invalid',
      CONNECTION_READER: PASSWORD,
    },
  });
});
afterAll(async () => {
  await server?.stop();
  await Promise.all([postgres?.stop(), plain?.stop()]);
  rmSync(secrets, { recursive: true, force: true });
});

const draft = (change: object = {}) => ({
  ...{ name: 'draft', host: '127.0.0.1', port: postgres.port, databaseName: 'postgres' },
  ...{ username: 'reader', password: PASSWORD },
  ...change,
});
const made = async (change: object) => {
  const answer = await admin('POST', '/connections', draft(change));
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data;
};

describe('databases of the configuration', () => {
  const find = async () => {
    const { data } = (await admin('GET', '/connections')).body;
    return data.find(({ name }: { name: string }) => name.startsWith('town@'));
  };

  it('are connections that are looked through and tried', async () => {
    const connection = await find();
    expect(connection).toMatchObject({
      ...{ connectionId: expect.stringMatching(UUID), port: postgres.port, databaseName: 'town' },
      ...{ isActive: true, createdBy: 'configuration' },
    });
    const path = `/connections/${connection.connectionId}`;
    expect((await admin('GET', path)).text).not.toContain(new URL(source).password || PASSWORD);
    expect((await admin('POST', `${path}/test`)).body.data).toMatchObject({ isHealthy: true, reason: 'ok' });
    expect((await find()).healthStatus).toBe('healthy');
    const { tables } = (await admin('GET', `${path}/tables`)).body;
    expect(tables.map(({ table }: { table: string }) => table)).toContain('trees');
  });

  it('are changed in the configuration alone', async () => {
    const { connectionId, name } = await find();
    const path = `/connections/${connectionId}`;
    expect((await admin('PUT', path, { description: 'other' })).status).toBe(409);
    expect((await admin('DELETE', path)).status).toBe(409);
    expect((await admin('POST', '/connections', draft({ name }))).status).toBe(409);
    const manifest = (await admin('GET', '/metadata/manifest')).body.data;
    expect(manifest.resources).toEqual(expect.any(Array));
    expect(JSON.stringify(manifest.resources)).not.toContain(name);
    const { body } = await admin('POST', '/connections/encryption/validate');
    expect(body.data.isValid).toBe(true);
  });

  it('have tables that are published under other names', async () => {
    const { name } = await find();
    const answer = await admin('POST', `/connections/${encodeURIComponent(name)}/layers`, {
      ...{ schema: 'public', table: 'trees', layerName: 'Trees of the town', fields: ['kind'] },
    });
    expect(answer.status, answer.text).toBe(201);
    const items = async (id: string) =>
      (await (await fetch(`${server.url}/ogc/features/collections/${id}/items?f=json`)).json()).numberMatched;
    expect(await items('trees')).toBe(2);
    expect(await items('trees-of-the-town')).toBe(2);
    const { layerId } = answer.body.data;
    expect((await admin('DELETE', `/connections/${encodeURIComponent(name)}/layers/${layerId}`)).status).toBe(
      200,
    );
    expect(await items('trees')).toBe(2);
  });
});

describe('connections', () => {
  it('are made, shown, changed and deleted; the password is never shown', async () => {
    const created = await admin('POST', '/connections', draft({ name: 'Main', sslRequired: false }));
    expect(created.status).toBe(201);
    const { connectionId } = created.body.data;
    expect(created.headers.get('location')).toBe(`/api/v1/admin/connections/${connectionId}`);
    expect(created.body.data).toEqual({
      ...{ connectionId: expect.stringMatching(UUID), name: 'Main', description: null, host: '127.0.0.1' },
      ...{ port: postgres.port, databaseName: 'postgres', username: 'reader', sslRequired: false },
      ...{ sslMode: 'Prefer', storageType: 'external', isActive: true, healthStatus: 'unknown' },
      ...{ lastHealthCheck: null, createdAt: ISO, createdBy: expect.any(String) },
      ...{ provider: 'PostGIS', owner: 'api' },
    });
    expect((await admin('POST', '/connections', draft({ name: 'main' }))).status).toBe(409);
    const detail = await admin('GET', `/connections/${connectionId}`);
    expect(detail.body.data).toMatchObject({
      credentialReference: null,
      encryptionVersion: 1,
      updatedAt: ISO,
    });
    const changed = await admin('PUT', '/connections/Main', {
      Description: 'The main one',
      sslmode: 'require',
    });
    expect(changed.body.data).toMatchObject({
      description: 'The main one',
      sslMode: 'Require',
      sslRequired: true,
    });
    const all = await admin('GET', '/connections');
    for (const { text } of [created, detail, changed, all]) expect(text).not.toContain('pass');
    expect(await admin('DELETE', `/connections/${connectionId}`)).toMatchObject({
      status: 200,
      body: { success: true, data: null },
    });
    expect((await admin('GET', '/connections/Main')).status).toBe(404);
    expect((await admin('DELETE', `/connections/${connectionId}`)).status).toBe(404);
    expect((await admin('GET', '/connections/tables')).status).toBe(400);
  });

  it.each([
    ['host', { host: '/var/run/postgresql' }],
    ['host', { host: 'a,b' }],
    ['host', { host: 'localhost?x=1' }],
    ['host', { host: '10.0.0.1' }],
    ['host', { host: 'fe80::1%eth0' }],
    ['port', { port: 0 }],
    ['sslMode', { sslMode: 'Sometimes' }],
    ['sslMode', { sslMode: 'Prefer', sslRequired: true }],
    ['secretReference', { secretReference: 'env:CONNECTION_READER' }],
    ['secretReference', { password: undefined, secretReference: 'env:SVC_ADMIN_KEY' }],
    ['secretReference', { password: undefined, secretReference: 'file:/etc/passwd' }],
    ['secretReference', { password: undefined, secretReference: 'vault:x' }],
    ['secretType', { password: undefined, secretReference: 'env:CONNECTION_READER', secretType: 'file' }],
    ['name', { name: undefined }],
  ])('refuse a wrong %s: %j', async (member, change) => {
    const sent = draft(change);
    if ('secretReference' in change && !('password' in change)) Object.assign(sent, { password: PASSWORD });
    for (const path of ['/connections', '/connections/test']) {
      const answer = await admin('POST', path, sent);
      expect(answer.status).toBe(400);
      expect(answer.text).toContain(
        member === 'secretReference' && 'password' in sent && sent.password ? 'password' : member,
      );
      expect(answer.text).not.toContain(PASSWORD);
    }
  });

  it.each([
    ['ok', {}],
    ['ok', { sslMode: 'VerifyCA' }],
    ['ok', { host: 'localhost', sslMode: 'VerifyFull' }],
    ['ok', { sslMode: 'Disable' }],
    // With TLS in the second attempt: then the database is looked at.
    ['rights', { username: 'only_tls', sslMode: 'Allow' }],
    ['certificate', { sslMode: 'VerifyFull' }],
    ['tls-required', { username: 'only_tls', sslMode: 'Disable' }],
    ['password', { password: 'wrong' }],
    ['password', { username: 'stranger' }],
    ['password', { password: undefined }],
    ['database-missing', { databaseName: 'elsewhere' }],
    ['rights', { username: 'nobody' }],
    ['rights', { databaseName: 'closed' }],
    ['no-postgis', { databaseName: 'bare' }],
    ['name-not-found', { host: 'nowhere.invalid' }],
    ['ok', { password: undefined, secretReference: 'env:CONNECTION_READER' }],
    ['secret', { password: undefined, secretReference: 'env:CONNECTION_NONE' }],
  ])('tell apart %s: %j', async (reason, change) => {
    const { status, body, text } = await admin('POST', '/connections/test', draft(change));
    expect(status, text).toBe(200);
    expect(body.data.reason, text).toBe(reason);
    expect(body.data).toMatchObject({
      connectionId: null,
      connectionName: 'draft',
      isHealthy: body.data.reason === 'ok',
      testedAt: ISO,
    });
    expect(text).not.toContain(PASSWORD);
  });

  it('tell apart a server without TLS, and none at all', async () => {
    const test = async (change: object) =>
      (await admin('POST', '/connections/test', draft(change))).body.data;
    expect(await test({ port: plain.port })).toMatchObject({ isHealthy: false, reason: 'tls-unavailable' });
    // Without TLS it is connected to, and the database is looked at.
    const open = await test({ port: plain.port, sslMode: 'Prefer' });
    expect(open).toMatchObject({ reason: 'ok' });
    expect(await test({ port: await freePort() })).toMatchObject({ reason: 'refused' });
  });

  it('read a password from a file, and follow no link out of its folder', async () => {
    const test = async (name: string) => {
      const change = { password: undefined, secretReference: `file:${secrets}/db/${name}` };
      return (await admin('POST', '/connections/test', draft(change))).body.data;
    };
    expect(await test('reader')).toMatchObject({ reason: 'ok' });
    expect(await test('link')).toMatchObject({ reason: 'secret' });
    expect(await test('none')).toMatchObject({ reason: 'secret' });
    const up = await admin(
      'POST',
      '/connections',
      draft({ password: undefined, secretReference: `file:${secrets}/db/../other` }),
    );
    expect(up.status).toBe(400);
  });

  it('show their health after a test', async () => {
    const { connectionId } = await made({ name: 'tested', password: 'wrong' });
    expect((await admin('POST', `/connections/${connectionId}/test`)).body.data).toMatchObject({
      ...{ connectionId, connectionName: 'tested', isHealthy: false, reason: 'password' },
    });
    expect((await admin('GET', '/connections/tested')).body.data).toMatchObject({
      ...{ healthStatus: 'unhealthy', lastHealthCheck: ISO },
    });
    await admin('PUT', `/connections/${connectionId}`, { password: PASSWORD });
    expect((await admin('POST', `/connections/${connectionId}/test`)).body.data.isHealthy).toBe(true);
    expect((await admin('GET', '/connections/tested')).body.data.healthStatus).toBe('healthy');
  });

  it('list tables and views with what there is to know of them', async () => {
    await made({ name: 'tables' });
    const { status, body } = await admin('GET', '/connections/tables/tables');
    expect(status).toBe(200);
    expect(body.tables.map(({ table }: { table: string }) => table)).toEqual(['far', 'places', 'plain']);
    expect(body.tables[1]).toEqual({
      ...{ schema: 'public', table: 'places', kind: 'table', geometryColumn: 'geom', geometryType: 'Point' },
      ...{ srid: 4326, geometryColumns: ['geom'], hasSpatialIndex: true, estimatedRows: 80, comment: null },
      columns: [
        { name: 'id', dataType: 'integer', isNullable: false, isPrimaryKey: true, maxLength: null },
        {
          ...{ name: 'name', dataType: 'character varying(40)', isNullable: false, isPrimaryKey: false },
          maxLength: 40,
        },
        {
          ...{ name: 'geom', dataType: 'geometry(Point,4326)', isNullable: true, isPrimaryKey: false },
          maxLength: null,
        },
      ],
    });
    expect(body.tables[2]).toMatchObject({ geometryColumn: null, geometryType: null, srid: null });
  });

  it('list a thousand tables', async () => {
    await run(
      postgres.url,
      `GRANT USAGE ON SCHEMA many TO nobody; GRANT SELECT ON ALL TABLES IN SCHEMA many TO nobody`,
    );
    await made({ name: 'thousand', username: 'nobody' });
    const { body } = await admin('GET', '/connections/thousand/tables');
    expect(body.tables).toHaveLength(1000);
    expect(body.tables.every((one: { columns: object[] }) => one.columns.length === 3)).toBe(true);
    await run(postgres.url, 'REVOKE SELECT ON ALL TABLES IN SCHEMA many FROM nobody');
  });

  it('list tables of a database without PostGIS, and answer 503 when none answers', async () => {
    await made({ name: 'bare', databaseName: 'bare' });
    expect(await admin('GET', '/connections/bare/tables')).toMatchObject({
      status: 200,
      body: { tables: [] },
    });
    await made({ name: 'away', port: await freePort() });
    const away = await admin('GET', '/connections/away/tables');
    expect(away.status).toBe(503);
    expect(away.text).not.toContain(PASSWORD);
    expect((await admin('GET', '/connections/nothing/tables')).status).toBe(404);
  });
});

describe('the key of passwords', () => {
  it('rotates while connections are used and changed', async () => {
    const { connectionId } = await made({ name: 'rotated' });
    const before = (await admin('POST', '/connections/encryption/validate')).body.data;
    expect(before).toEqual({
      isValid: true,
      currentKeyVersion: expect.any(Number),
      validatedAt: ISO,
      message: expect.any(String),
    });
    let running = true;
    const use = (async () => {
      const results: boolean[] = [];
      while (running)
        results.push((await admin('GET', `/connections/${connectionId}/tables`)).status === 200);
      return results;
    })();
    const change = Promise.all(
      Array.from({ length: 5 }, () => admin('PUT', `/connections/${connectionId}`, { password: PASSWORD })),
    );
    const rotations = await Promise.all(
      [1, 2, 3].map(() => admin('POST', '/connections/encryption/rotate-key')),
    );
    expect((await change).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    running = false;
    const used = await use;
    expect(used.length).toBeGreaterThan(0);
    expect(used).not.toContain(false);
    for (const { status, body } of rotations) {
      expect(status).toBe(200);
      expect(body.data.newKeyVersion).toBe(body.data.previousKeyVersion + 1);
    }
    const last = await admin('POST', '/connections/encryption/rotate-key');
    const after = (await admin('POST', '/connections/encryption/validate')).body.data;
    expect(after).toMatchObject({ isValid: true, currentKeyVersion: last.body.data.newKeyVersion });
    expect(after.currentKeyVersion).toBeGreaterThan(before.currentKeyVersion);
    expect((await admin('GET', `/connections/${connectionId}`)).body.data.encryptionVersion).toBe(
      after.currentKeyVersion,
    );
    expect((await admin('POST', `/connections/${connectionId}/test`)).body.data.isHealthy).toBe(true);
  });

  it('says so when there is none, and leaves what it cannot encrypt as it is', async () => {
    const open = await startServer({ sources: ['demo/data/world_map.gpkg'] });
    try {
      const ask = adminClient(() => open);
      await ask('POST', '/connections', draft({ name: 'plain' }));
      expect((await ask('POST', '/connections/encryption/validate')).body.data).toMatchObject({
        isValid: false,
        message: expect.stringContaining('security.stateKey'),
      });
      const rotated = await ask('POST', '/connections/encryption/rotate-key');
      expect(rotated.status).toBe(400);
      expect(rotated.text).toContain('security.stateKey');
      expect((await ask('GET', '/connections/plain')).body.data.encryptionVersion).toBeNull();
      expect((await ask('POST', '/connections/plain/test')).body.data.isHealthy).toBe(true);
    } finally {
      await open.stop();
    }
  });
});

it('nothing of the password is in the log, the audit trail or the state', async () => {
  const audit = await admin('GET', '/observability/audit?pageSize=500');
  expect(audit.status, audit.text).toBe(200);
  const state = ['state.db', 'state.db-wal']
    .map((name) => readFileSync(join(server.dataDir, name), 'latin1'))
    .join('');
  expect(state).toContain('rotated');
  for (const text of [server.log(), audit.text, state]) {
    expect(text).not.toContain(PASSWORD);
    expect(text).not.toContain(encodeURIComponent(PASSWORD));
  }
});
