import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WholeSnapshot } from '../../../src/client/frames.js';
import type { EditOperation } from '../../../src/core/edits/edits.js';
import type { Principal } from '../../../src/core/http/operation.js';
import { jsonTexts } from '../../../src/core/values/json-text.js';
import type { AccessPolicy } from '../../../src/services/access/access.js';
import { parcel } from '../../edits/support.js';
import { LAYERS, type Streams, streams } from '../harness.js';
import type { Frame, StreamClient } from '../support.js';

const ann: Principal = { kind: 'api-key', id: 'ann', name: 'ann', permissions: [] };
const bob: Principal = { kind: 'api-key', id: 'bob', name: 'bob', permissions: [] };

/** What ann must never see: the area of a parcel, and anything of parcels in the east. */
const AREA = 424242.5;
const EAST = 'secret east';

let annReads = true;
let fields = ['name', 'floors', 'code', 'note'];
const policy: AccessPolicy = (principal) => {
  if (principal.id !== 'ann') return { allowed: true };
  if (!annReads) return { allowed: false };
  const west = { bbox: [0, 0, 50, 80] as [number, number, number, number], crs: 'OGC:CRS84' };
  return { allowed: true, fields, filter: { op: 's_intersects', args: [{ property: 'geom' }, west] } };
};

let s: Streams;
beforeAll(async () => {
  s = await streams({ policy, principals: { ann, bob } });
});
afterAll(() => s.close());

const listen = async (key: string, members: Record<string, unknown> = {}): Promise<StreamClient> => {
  const client = await s.connect('', { 'x-api-key': key });
  await client.subscribe('s', { layers: [LAYERS.parcels], ...members });
  return client;
};
const feature = (x: number, properties: Record<string, unknown>) => {
  const { geometry } = parcel(x, 46);
  return { geometry: JSON.stringify(geometry), values: jsonTexts(properties) };
};
const create = (x: number, name: string): EditOperation => ({
  type: 'create',
  feature: feature(x, { name, area: AREA, floors: 1 }),
});
const update = (id: string, properties: Record<string, unknown>): EditOperation => ({
  type: 'update',
  id,
  feature: { values: jsonTexts(properties) },
});
const move = (id: string, x: number, name: string): EditOperation => ({
  type: 'update',
  id,
  feature: feature(x, { name }),
});
/** Frames of changes up to the one that says that all before it was told. */
async function upTo(client: StreamClient): Promise<Frame[]> {
  const id = await s.edit('parcels', create(1, 'fence'));
  await client.next(({ type, featureId }) => type === 'feature-change' && featureId === id);
  return client.of('feature-change').filter(({ featureId }) => featureId !== id);
}
/** Whatever was sent before is there once the ping is answered. */
async function pinged(client: StreamClient): Promise<StreamClient> {
  const from = client.frames.length;
  client.send({ type: 'ping' });
  await client.next(({ status }) => status === 'ok', from);
  return client;
}
const text = (client: StreamClient) => JSON.stringify(client.frames);

it('never tells of hidden rows, nor of masked attributes', async () => {
  const client = await listen('ann');
  const everything = await listen('bob');
  const hidden = await s.edit('parcels', create(100, EAST));
  await s.edit('parcels', update(hidden, { note: EAST }));
  await s.edit('parcels', { type: 'delete', id: hidden });
  const seen = await s.edit('parcels', create(7, 'west'));
  await s.edit('parcels', update(seen, { area: AREA + 1 }));
  await s.edit('parcels', update(seen, { area: AREA + 2, name: 'west 2' }));
  await s.edit('parcels', { type: 'delete', id: seen });
  const frames = await upTo(client);
  expect(frames.map(({ operation, featureId }) => [operation, featureId])).toEqual([
    ['insert', seen],
    ['update', seen],
    ['delete', seen],
  ]);
  expect(frames.map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
  expect(frames[1]).toMatchObject({ changedAttributes: ['name'], attributes: { name: 'west 2', floors: 1 } });
  for (const frame of frames) {
    expect(Object.keys(frame.attributes as object).sort()).toEqual([...fields].sort());
    expect(frame.changedAttributes).not.toContain('area');
  }
  expect(text(client)).not.toMatch(/424242|42424[0-9]|secret|area/);
  // It was there to be told.
  await everything.until(() => everything.of('feature-change').length === 8);
  expect(text(everything)).toMatch(/424242.*secret|secret.*424242/);
});

it('tells a leave without content when a row is moved out of the rule, and an insert when it is moved in', async () => {
  const client = await listen('ann');
  const id = await s.edit('parcels', create(100, EAST));
  await s.edit('parcels', move(id, 7, 'now west'));
  await s.edit('parcels', update(id, { floors: 2 }));
  await s.edit('parcels', move(id, 100, EAST));
  await s.edit('parcels', update(id, { floors: 3 }));
  const frames = await upTo(client);
  expect(frames.map(({ operation }) => operation)).toEqual(['insert', 'update', 'delete']);
  expect(frames[0]).toMatchObject({ geometry: { type: 'MultiPolygon' }, attributes: { name: 'now west' } });
  const leave = frames[2]!;
  for (const member of ['geometry', 'attributes', 'changedAttributes'])
    expect(leave).not.toHaveProperty(member);
  expect(leave.geometryChanged).toBe(false);
  expect(text(client)).not.toMatch(/secret|424242/);
});

it('keeps the rules in snapshots, in replays and in filters', async () => {
  const from = s.head();
  const id = await s.edit('parcels', create(8, 'in both'));
  await s.edit('parcels', create(100, EAST));
  const replayed = await listen('ann', { cursor: from });
  const told = await replayed.next(({ type }) => type === 'feature-change');
  expect(told).toMatchObject({ featureId: id, attributes: { name: 'in both' } });

  const client = await listen('ann', { mode: 'snapshot' });
  const { featureCount, features } = (await client.next(
    ({ type }) => type === 'snapshot',
  )) as unknown as WholeSnapshot;
  expect(featureCount).toBe(features.length);
  expect(features.map((one) => one.id)).toContain(id);
  for (const { feature } of features)
    expect(Object.keys(feature.properties).sort()).toEqual([...fields].sort());
  await upTo(replayed);
  expect(text(client) + text(replayed)).not.toMatch(/secret|424242|area/);

  const asking = await s.connect('', { 'x-api-key': 'ann' });
  const answer = await asking.subscribe('f', { layers: [LAYERS.parcels], filter: `area = ${AREA}` });
  expect(answer).toMatchObject({ type: 'error', code: 'invalid-subscription' });
});

it('stops what may not be read any more after a reload', async () => {
  const client = await listen('ann');
  const filtered = await listen('ann', { filter: 'floors = 1' });
  const everything = await listen('bob');
  const changesOf = (one: StreamClient) => one.of('feature-change').length;

  // `floors` becomes a secret: a filter that asks for it would tell it.
  fields = ['name', 'code', 'note'];
  s.reload();
  await s.edit('parcels', create(9, 'masked'));
  expect((await client.next(({ type }) => type === 'feature-change')).attributes).not.toHaveProperty(
    'floors',
  );
  await everything.until(() => changesOf(everything) === 1);
  expect(changesOf(await pinged(filtered))).toBe(0);

  annReads = false;
  s.reload();
  await s.edit('parcels', create(9, EAST));
  await everything.until(() => changesOf(everything) === 2);
  expect(changesOf(await pinged(client))).toBe(1);
  annReads = true;
  s.reload();
  await upTo(client);
  expect(text(client)).not.toMatch(/secret/);
});
