import { afterEach, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { type EditableStore, geoPackageStore, parcel } from '../edits/support.js';
import { freePort } from '../support/ports.js';
import { gateways } from '../support/processes.js';
import { startServerProcess } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { Device, ring, sent, startTown, type Town } from './support.js';

/** What is left of replicas after processes were killed, and after time has passed. A brief run kills during an upload. */

const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);

let store: EditableStore | undefined;
let town: Town | undefined;

afterEach(async () => {
  await town?.server.stop();
  await store?.release();
  town = undefined;
  store = undefined;
});

async function start(env: Record<string, string> = {}): Promise<Town> {
  store = geoPackageStore();
  town = await startTown(store, { port: await freePort(), env }, startServerProcess);
  return town;
}

/** Kills the gateway as a fault would; the supervisor starts another one. */
async function killGateway(): Promise<void> {
  const { server } = town!;
  const before = gateways(server.process.pid!);
  for (const pid of before) process.kill(pid, 'SIGKILL');
  await expect
    .poll(() => gateways(server.process.pid!).some((pid) => !before.includes(pid)), { timeout: 60_000 })
    .toBe(true);
  await expect
    .poll(
      () =>
        fetch(`${server.url}/healthz/ready`).then(
          (r) => r.status,
          () => 0,
        ),
      { timeout: 60_000 },
    )
    .toBe(200);
}

async function insert(properties: object): Promise<number> {
  const { body } = await town!.send('POST', 'parcels/items', parcel(7, 46, { name: 'a', ...properties }));
  return Number(body.id);
}

const floorsOf = async (id: number) =>
  (await town!.send('GET', `parcels/items/${id}`)).body.properties.floors as number;

/** Sets columns of replicas in the state, as if time had passed. */
function alter(sql: string): void {
  const db = new Database(`${town!.server.dataDir}/state.db`);
  try {
    db.prepare(sql).run();
  } finally {
    db.close();
  }
}

full('replicas, generations and conflicts are still there after kill -9', async () => {
  await start();
  const [mine, both] = [await insert({ floors: 1 }), await insert({ floors: 1 })];
  const device = await Device.create(town!);
  await town!.send('PATCH', `parcels/items/${both}`, { type: 'Feature', properties: { floors: 2 } });
  await killGateway();
  await device.sync({ updates: [sent({ fid: mine, floors: 7 }), sent({ fid: both, floors: 3 })] });
  await killGateway();
  expect([await floorsOf(mine), await floorsOf(both)]).toEqual([7, 2]);
  expect(device.features.get(both).attributes.floors).toBe(2);
  const path = `/services/default/replicas/${device.id}/conflicts`;
  const [conflict] = (await town!.admin('GET', path)).body.data.conflicts;
  expect(conflict).toMatchObject({ objectId: both, status: 'pending' });
  const resolved = await town!.admin('POST', `${path}/${conflict.conflictId}/resolve`, {
    action: 'acceptClient',
  });
  expect(resolved.status).toBe(200);
  await killGateway();
  expect(await floorsOf(both)).toBe(3);
  expect((await device.sync()).features.updates[0].attributes).toMatchObject({ fid: both, floors: 3 });
});

it('an upload that was cut by kill -9 can be sent again, and is in conflict with others alone', async () => {
  await start();
  const ids: number[] = [];
  for (let i = 0; i < 60; i++) ids.push(await insert({ floors: 0 }));
  const device = await Device.create(town!);
  await town!.send('PATCH', `parcels/items/${ids[0]}`, { type: 'Feature', properties: { floors: 1 } });
  const edits = {
    updates: ids.map((fid) => sent({ fid, floors: 5 })),
    adds: [sent({ name: 'added', code: 'once' }, ring(0, 0))],
  };
  for (const delay of IS_FULL ? [0, 50] : [50]) {
    const sending = device.sync(edits).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, delay));
    await killGateway();
    await sending;
  }
  await device.sync({ updates: edits.updates });
  for (const id of ids.slice(1)) expect(await floorsOf(id)).toBe(5);
  expect(await floorsOf(ids[0]!)).toBe(1);
  const { body } = await town!.admin('GET', `/services/default/replicas/${device.id}/conflicts`);
  expect(new Set(body.data.conflicts.map(({ objectId }: { objectId: number }) => objectId))).toEqual(
    new Set([ids[0]]),
  );
});

full('a repetition with an Idempotency-Key creates nothing twice', async () => {
  await start();
  const device = await Device.create(town!);
  const members = {
    ...{ replicaID: device.id, replicaServerGen: `${device.generation}` },
    edits: [{ id: device.layer, adds: [sent({ name: 'twice' }, ring(0, 0))] }],
  };
  const headers = { 'x-api-key': town!.server.adminKey, 'idempotency-key': 'upload-1' };
  const first = await town!.post('synchronizeReplica', members, headers);
  const second = await town!.post('synchronizeReplica', members, headers);
  expect(second).toEqual(first);
  const { body } = await town!.send('GET', 'parcels/items?name=twice');
  expect(body.features).toHaveLength(1);
});

full('a replica expires seven days after it was synchronised last', async () => {
  await start();
  const device = await Device.create(town!);
  const days = (count: number) => Date.now() - count * 86_400_000;
  const status = async () =>
    (await town!.admin('GET', `/services/default/replicas/${device.id}`)).body.data.status;
  alter(`UPDATE replicas SET synced_at = ${days(6.9)}`);
  expect(await status()).toBe('active');
  alter(`UPDATE replicas SET synced_at = ${days(7.1)}`);
  expect(await status()).toBe('expired');
  expect((await device.sync()).error).toMatchObject({
    code: 410,
    message: expect.stringContaining('expired'),
  });
  // Twice as long after it is gone, as soon as another one comes.
  alter(`UPDATE replicas SET synced_at = ${days(15)}`);
  await Device.create(town!);
  expect((await town!.admin('GET', `/services/default/replicas/${device.id}`)).status).toBe(404);
});

full('a replica that is older than the feed is told to be created anew', async () => {
  await start({ SVC_EVENTS__RETENTION__COUNT: '1000' });
  const device = await Device.create(town!);
  const operations = Array.from({ length: 600 }, (_, i) => ({
    type: 'CREATE',
    feature: parcel(7, 46, { name: `${i}` }),
  }));
  const json = { 'content-type': 'application/json' };
  for (let i = 0; i < 2; i++)
    expect((await town!.send('POST', 'parcels/items/batch', { operations }, json)).status).toBe(200);
  const { error } = await device.sync();
  expect(error).toMatchObject({ code: 410, message: expect.stringContaining('Create the replica again.') });
  const id = [...(await Device.create(town!)).features.keys()][0]!;
  expect(id).toBeGreaterThan(0);
});
