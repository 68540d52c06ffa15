import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, parcel } from '../edits/support.js';
import { Device, ring, sent, startTown, type Town } from './support.js';

/** Who may take what along, and what a copy may write. */

let store: EditableStore;
let town: Town;
let parcels: number;
let clerk: Record<string, string>;
let policy: string;

beforeAll(async () => {
  store = geoPackageStore();
  town = await startTown(store);
  parcels = town.layers['parcels']!;
  const rules = { service: 'default', layer: 'parcels', role: 'clerk' };
  expect((await town.admin('POST', '/roles', { name: 'clerk' })).status).toBe(201);
  const answer = await town.admin('POST', '/rls-policies', {
    ...rules,
    attribute: 'code',
    claimType: 'code',
  });
  policy = answer.body.data.policyId ?? answer.body.data.id;
  await town.admin('POST', '/field-mask-policies', { ...rules, attribute: 'note' });
  clerk = await keyOf('role:clerk', 'claim:code=mine', 'write:default/parcels', 'read:default/parcels');
});
afterAll(async () => {
  await town?.server.stop();
  await store?.release();
});

async function keyOf(...permissions: string[]): Promise<Record<string, string>> {
  const { status, body } = await town.admin('POST', '/api-keys', { name: 'replicas', permissions });
  expect(status, JSON.stringify(body)).toBe(201);
  return { 'x-api-key': body.data.key };
}

async function insert(properties: object): Promise<number> {
  await removeCoded(properties);
  const { status, body } = await town.send(
    'POST',
    'parcels/items',
    parcel(7, 46, { name: 'a', ...properties }),
  );
  expect(status, JSON.stringify(body)).toBe(201);
  return Number(body.id);
}

/** Codes are unique. */
async function removeCoded({ code }: { code?: string }): Promise<void> {
  if (code === undefined) return;
  const { body } = await town.send('GET', `parcels/items?code=${code}`);
  for (const { id } of body.features) await town.send('DELETE', `parcels/items/${id}`);
}

const create = (headers: Record<string, string>) =>
  town.post('createReplica', { layers: `${parcels}` }, headers);
const sync = (
  created: { replicaID: string; replicaServerGen: number },
  edits: object,
  headers: Record<string, string>,
) =>
  town.post(
    'synchronizeReplica',
    {
      ...{ replicaID: created.replicaID, replicaServerGen: `${created.replicaServerGen}` },
      edits: [{ id: parcels, ...edits }],
    },
    headers,
  );

describe('a caller with some rows and some attributes', () => {
  it('takes those along, and no others', async () => {
    const own = await insert({ code: 'mine', note: 'secret' });
    await insert({ code: 'theirs' });
    const { layers } = await create(clerk);
    expect(
      layers[0].features.map(({ attributes }: { attributes: { fid: number } }) => attributes.fid),
    ).toEqual([own]);
    expect(JSON.stringify(layers)).not.toMatch(/secret|"note"/);
  });

  it('hears of no change of others, nor that a hidden attribute changed', async () => {
    const [own, other] = [await insert({ code: 'mine' }), await insert({ code: 'theirs' })];
    const created = await create(clerk);
    await town.send('PATCH', `parcels/items/${own}`, { type: 'Feature', properties: { note: 'new' } });
    await town.send('PATCH', `parcels/items/${other}`, { type: 'Feature', properties: { floors: 5 } });
    const { edits } = await sync(created, {}, clerk);
    expect(edits[0].features).toEqual({ adds: [], updates: [], deleteIds: [] });
    await town.send('PATCH', `parcels/items/${own}`, { type: 'Feature', properties: { code: 'gone' } });
    expect((await sync(created, {}, clerk)).edits[0].features.deleteIds).toEqual([own]);
  });

  it('changes nothing that it does not see, and is in conflict with nobody about it', async () => {
    const [own, other] = [await insert({ code: 'mine' }), await insert({ code: 'theirs', floors: 1 })];
    const created = await create(clerk);
    await town.send('PATCH', `parcels/items/${other}`, { type: 'Feature', properties: { floors: 2 } });
    const answer = await sync(
      created,
      {
        updates: [sent({ fid: other, floors: 9 }), sent({ fid: own, note: 'mine' })],
        adds: [sent({ name: 'new', code: 'foreign' }, ring(0, 0))],
      },
      clerk,
    );
    const [{ updateResults, addResults }] = answer.edits;
    expect(updateResults.map(({ success }: { success: boolean }) => success)).toEqual([false, false]);
    expect(updateResults[0].error.code).toBe(1019);
    expect(addResults[0].success).toBe(false);
    const { body } = await town.admin('GET', `/services/default/replicas/${created.replicaID}/conflicts`);
    expect(body.data.conflicts).toEqual([]);
    expect((await town.send('GET', `parcels/items/${other}`)).body.properties.floors).toBe(2);
  });

  it('sends masked values back as they were, and no others, also where others changed the feature', async () => {
    const rules = { service: 'default', layer: 'parcels', role: 'guest', attribute: 'note' };
    expect((await town.admin('POST', '/roles', { name: 'guest' })).status).toBe(201);
    const treatment = { treatment: 'truncate', length: 3 };
    expect((await town.admin('POST', '/field-mask-policies', { ...rules, ...treatment })).status).toBe(201);
    const guest = await keyOf('role:guest', 'write:default/parcels', 'read:default/parcels');
    const ids = [await insert({ note: 'secret' }), await insert({ note: 'secret' })];
    for (const changed of [false, true]) {
      const created = await create(guest);
      if (changed)
        for (const id of ids) {
          const properties = { floors: 7, note: 'other' };
          await town.send('PATCH', `parcels/items/${id}`, { type: 'Feature', properties });
        }
      const updates = ids.map((fid, i) => sent({ fid, name: `b${changed}`, note: i === 0 ? 'sec' : 'mine' }));
      const { edits } = await sync(created, { updates }, guest);
      const [first, second] = edits[0].updateResults;
      if (changed) expect(first.error.code).toBe(1003);
      else expect(first.success).toBe(true);
      expect(second).toMatchObject({ success: false, error: { code: 1009 } });
      const { body } = await town.admin('GET', `/services/default/replicas/${created.replicaID}/conflicts`);
      expect(body.data.conflicts.length).toBe(changed ? 1 : 0);
      expect(JSON.stringify(body)).not.toMatch(/"mine"|masked|"key"/);
    }
    const { properties } = (await town.send('GET', `parcels/items/${ids[1]}`)).body;
    expect(properties).toMatchObject({ name: 'a', note: 'other' });
  });

  it('is told to begin anew when the rules have changed', async () => {
    const created = await create(clerk);
    expect((await sync(created, {}, clerk)).error).toBeUndefined();
    const removed = await town.admin('DELETE', `/rls-policies/${policy}`);
    expect(removed.status).toBeLessThan(300);
    const { error } = await sync(created, {}, clerk);
    expect(error).toMatchObject({
      code: 410,
      message: 'The readable part of layer 2 has changed. Create the replica again.',
    });
  });
});

describe('other callers', () => {
  it('without credentials read what is open, and write nothing', async () => {
    const id = await insert({});
    const created = await create({});
    expect(created.replicaID).toMatch(/^[0-9a-f-]{36}$/);
    const { error } = await sync(created, { deletes: [id] }, {});
    expect(error.code).toBe(403);
    expect(await town.get('replicas', {})).toEqual([]);
  });

  it('find no replica of somebody else', async () => {
    const device = await Device.create(town);
    const reader = await keyOf('role:reader');
    expect(await town.get('replicas', reader)).toEqual([]);
    expect((await town.get(`replicas/${device.id}`, reader)).error.code).toBe(404);
    const created = { replicaID: device.id, replicaServerGen: device.generation };
    expect((await sync(created, {}, reader)).error.code).toBe(404);
    expect((await town.post('unRegisterReplica', { replicaID: device.id }, reader)).error.code).toBe(404);
  });

  it('have a hundred replicas at most', async () => {
    const reader = await keyOf('role:reader');
    const none = { [parcels]: { queryOption: 'none' } };
    const one = () => town.post('createReplica', { layers: `${parcels}`, layerQueries: none }, reader);
    for (let i = 0; i < 100; i++) expect((await one()).layers[0].features).toEqual([]);
    expect((await one()).error.code).toBe(409);
    const [{ replicaID }] = await town.get('replicas', reader);
    await town.post('unRegisterReplica', { replicaID }, reader);
    expect((await one()).replicaID).toBeDefined();
  });

  it('are asked for credentials where a layer is not open', async () => {
    const path = `/services/default/layers/${parcels}/metadata`;
    await town.admin('PUT', path, { accessPolicy: { allowAnonymous: false } });
    try {
      expect((await create({})).error.code).toBe(499);
    } finally {
      await town.admin('PUT', path, { accessPolicy: { allowAnonymous: true } });
    }
  });

  it('find no layer of a service that is switched off here', async () => {
    const path = '/services/default/protocols';
    await town.admin('PUT', path, { enabledProtocols: ['OgcFeatures'] });
    const key = { 'x-api-key': town.server.adminKey };
    try {
      expect((await create(key)).error.code).toBe(404);
    } finally {
      const { body } = await town.admin('GET', '/services/default/settings');
      await town.admin('PUT', path, { enabledProtocols: body.data.availableProtocols });
    }
    expect((await create(key)).replicaID).toBeDefined();
  });
});
