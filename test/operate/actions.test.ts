import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type Asker, createAsker } from './asker.js';

const run = promisify(execFile);
const CLI = new URL('../../dist/cli/main.js', import.meta.url).pathname;

describe('a server with actions', () => {
  let server: TestServer;
  let folder: string;
  let data: string;
  /** May propose and read, and may not act. */
  let clerk: Asker;
  let chief: Asker;
  let author: Asker;
  let admin: Asker;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-actions-'));
    data = join(folder, 'sources');
    await mkdir(data);
    await copyFile('demo/data/world_map.gpkg', join(data, 'world.gpkg'));
    await writeFile(join(data, 'broken.geojson'), '{"type": "FeatureCollection", "features": [');
    server = await startServer({ sources: [data], env: { SVC_EVENTS__WEBHOOKS: '[]' } });
    admin = createAsker(server.url, server.adminKey);
    const keyOf = async (name: string, permissions: string[]) =>
      createAsker(server.url, (await admin('POST', '/api-keys', { name, permissions })).body.data.key);
    clerk = await keyOf('clerk', ['admin:read', 'admin:proposals:write']);
    chief = await keyOf('chief', ['admin:write', 'admin:read']);
    author = await keyOf('author', ['admin:write']);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const propose = async (actuator: string, parameters: object) => {
    const { status, body } = await clerk('POST', '/proposals', { actuator, parameters });
    expect([status, body.detail ?? body.errors ?? body.status]).toEqual([201, 'AwaitingApproval']);
    return body;
  };
  const execute = async (actuator: string, parameters: object) => {
    const { proposalId } = await propose(actuator, parameters);
    const { status, body } = await chief('POST', `/proposals/${proposalId}/approve`);
    expect([status, body.detail ?? body.status]).toEqual([200, 'Submitted']);
    for (;;) {
      const now = (await clerk('GET', `/proposals/${proposalId}`)).body;
      if (!['Submitted', 'Executing', 'Reconciling'].includes(now.status)) return now;
      await pause(20);
    }
  };

  it('lists its actuators with the schemas of their parameters', async () => {
    const { body } = await clerk('GET', '/actuators');
    expect(body.actuators.map(({ actuator }: { actuator: string }) => actuator)).toEqual([
      ...['process.execute', 'source.reload', 'deploy.release'],
      ...['alert.channel.pause', 'alert.channel.redrive'],
      ...['webhook.redrive', 'job.cancel', 'job.retry', 'manifest.patch', 'tiles.seed', 'tiles.evict'],
    ]);
  });

  it('reloads a repaired source, and says why one is still refused', async () => {
    const find = async () => (await admin('GET', '/sources?q=broken')).body.data.sources[0];
    const broken = await find();
    expect(broken.state).toBe('refused');
    const { proposalId } = await propose('source.reload', { sourceId: broken.sourceId });
    await chief('POST', `/proposals/${proposalId}/reject`, { reason: 'repair it first' });
    await writeFile(
      join(data, 'broken.geojson'),
      '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"a": 1}, "geometry": {"type": "Point", "coordinates": [7, 47]}}]}',
    );
    const state = await find();
    if (state.state === 'refused') {
      const ended = await execute('source.reload', { sourceId: state.sourceId });
      expect([ended.status, ended.blockingReasons]).toEqual(['Succeeded', []]);
    }
    expect((await find()).state).not.toBe('refused');
    const missing = await clerk('POST', '/proposals', {
      ...{ actuator: 'source.reload', parameters: { sourceId: 'nowhere' } },
    });
    expect([missing.status, JSON.stringify(missing.body)]).toEqual([400, expect.stringContaining('nowhere')]);
  });

  it('pauses a channel of alerts', async () => {
    const proposed = await propose('alert.channel.pause', { channel: 'slack' });
    expect(proposed).toMatchObject({ kind: 'AdminConfigChange', diff: ['slack: sending -> paused'] });
    expect((await execute('alert.channel.pause', { channel: 'slack' })).status).toBe('Succeeded');
    const { body } = await admin('GET', '/alerts/channels');
    const paused = body.data.filter((one: { paused: boolean }) => one.paused);
    expect(paused.map((one: { channel: string }) => one.channel)).toEqual(['slack']);
    const again = await clerk('POST', '/proposals', {
      ...{ actuator: 'alert.channel.pause', parameters: { channel: 'slack' } },
    });
    expect([again.status, JSON.stringify(again.body)]).toEqual([
      400,
      expect.stringContaining('already paused'),
    ]);
  });

  it('approves only the content that If-Match names', async () => {
    const { proposalId } = await propose('alert.channel.pause', { channel: 'digest' });
    const { etag } = await clerk('GET', `/proposals/${proposalId}`);
    expect(etag).toContain(proposalId);
    const approve = (tag: string) =>
      chief('POST', `/proposals/${proposalId}/approve`, undefined, { 'if-match': tag });
    expect((await approve(`"${'0'.repeat(64)}"`)).status).toBe(412);
    expect((await clerk('GET', `/proposals/${proposalId}`)).body.status).toBe('AwaitingApproval');
    expect((await approve(etag!)).status).toBe(200);
  });

  it('refuses an approval if the channel was paused since, and rolls nothing back', async () => {
    const { proposalId } = await propose('alert.channel.pause', { channel: 'email' });
    await admin('POST', '/alerts/channels/email/pause');
    await chief('POST', `/proposals/${proposalId}/approve`);
    for (;;) {
      const { status, blockingReasons } = (await clerk('GET', `/proposals/${proposalId}`)).body;
      if (status === 'Failed') {
        expect(blockingReasons).toEqual(['stale: AlertChannel/email changed.']);
        break;
      }
      await pause(20);
    }
  });

  it('renders tiles, cancels the tile job and retries it', async () => {
    const { body } = await admin('GET', '/sources?q=world.gpkg');
    const id = body.data.sources[0].collections[0].collectionId;
    const seeded = await execute('tiles.seed', { collection: id, minZoom: 0, maxZoom: 2 });
    expect([seeded.status, seeded.kind, seeded.blockingReasons]).toEqual(['Succeeded', 'Seed', []]);
    expect((await execute('tiles.evict', {})).status).toBe('Succeeded');
    const { body: jobs } = await admin('GET', '/jobs?kind=TileCache&limit=200');
    const job = jobs.items.find(
      ({ workloadName }: { workloadName: string }) => workloadName === 'Tile cache',
    );
    expect(job).toBeDefined();
    const ended = await clerk('POST', '/proposals', {
      ...{ actuator: 'job.cancel', parameters: { jobId: job.jobId } },
    });
    expect([ended.status, JSON.stringify(ended.body)]).toEqual([
      400,
      expect.stringContaining('already ended'),
    ]);
  });

  it('patches the manifest with its diff, and keeps the other objects', async () => {
    const role = (name: string, permissions: unknown[]) => ({
      ...{ kind: 'Role', metadata: { name }, spec: { description: 'of a test', permissions } },
    });
    const asked = { actuator: 'manifest.patch', parameters: { resources: [role('surveyor', [])] } };
    expect((await clerk('POST', '/proposals', asked)).status).toBe(403);
    const wrong = await author('POST', '/proposals', {
      ...{ actuator: 'manifest.patch', parameters: { resources: [role('surveyor', ['read'])] } },
    });
    expect([wrong.status, wrong.body.detail]).toEqual([
      400,
      expect.stringContaining('parameters.resources[0].spec.permissions[0]'),
    ]);
    const owner = await author('POST', '/proposals', asked);
    expect([owner.status, owner.body.detail]).toEqual([201, undefined]);
    expect(owner.body.dryRun).toEqual(['Role surveyor would be created.']);
    expect(owner.body.diff.join('\n')).toContain('Role/surveyor: permissions: none -> []');
    const { proposalId } = owner.body;
    const approved = await chief('POST', `/proposals/${proposalId}/approve`);
    expect([approved.status, approved.body.detail]).toEqual([200, undefined]);
    for (;;) {
      const { status, blockingReasons } = (await clerk('GET', `/proposals/${proposalId}`)).body;
      if (['Succeeded', 'Failed', 'RolledBack'].includes(status)) {
        expect([status, blockingReasons]).toEqual(['Succeeded', []]);
        break;
      }
      await pause(20);
    }
    const { body } = await admin('GET', '/metadata/manifest');
    const names = body.data.resources.filter((one: { kind: string }) => one.kind === 'Role');
    expect(names.map((one: { metadata: { name: string } }) => one.metadata.name)).toEqual(['surveyor']);
  });

  it('gives seals that the command verifies without the server, and names a broken link', async () => {
    const { proposalId } = await execute('tiles.evict', {});
    const { body: seals } = await clerk('GET', `/proposals/${proposalId}/seals`);
    const jwks = await (await fetch(`${server.url}/.well-known/seal-keys.json`)).text();
    const write = (name: string, content: unknown) => {
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
      return join(folder, name);
    };
    const keys = write('jwks.json', jwks);
    const verify = (file: string, place: string) =>
      run(process.execPath, [CLI, 'proposal', 'verify', file, '--jwks', place]).then(
        ({ stdout }) => stdout,
        ({ stderr }) => String(stderr),
      );
    const whole = write('seals.json', seals);
    for (const place of [keys, `${server.url}/.well-known/seal-keys.json`])
      expect(await verify(whole, place)).toContain('Succeeded');
    const other = { ...seals, approval: (await sealsOfAnother()).approval };
    expect(await verify(write('other.json', other), keys)).toContain('broken link: approval');
    expect(await verify(write('cut.json', { ...seals, approval: null }), keys)).toContain(
      'broken link: approval',
    );
    const statement = { ...seals.statement, payload: seals.approval.payload };
    expect(await verify(write('swapped.json', { ...seals, statement }), keys)).toContain(
      'broken link: statement',
    );
  });

  const sealsOfAnother = async () => {
    const { proposalId } = await execute('tiles.evict', {});
    return (await clerk('GET', `/proposals/${proposalId}/seals`)).body;
  };
});
