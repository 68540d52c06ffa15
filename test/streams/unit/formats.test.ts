import { afterEach, beforeEach, expect, it } from 'vitest';
import { jsonTexts } from '../../../src/core/values/json-text.js';
import { parcel } from '../../edits/support.js';
import { LAYERS, type Streams, streams } from '../harness.js';
import type { Frame, StreamClient } from '../support.js';

let s: Streams;
beforeEach(async () => {
  s = await streams();
});
afterEach(() => s.close());

const subscriptions = {
  a: { layers: [LAYERS.parcels] },
  ü: { layers: [LAYERS.parcels], filter: "name <> 'x'" },
};

/** What differs from session to session. */
const common = ({ timestamp: _, sessionId: __, snapshotId: ___, ...rest }: Frame) => rest;

it.each(['?format=msgpack', '?format=msgpack&compress=true', '?compress=true&format=json'])(
  'tells the same with %s as in plain JSON',
  async (query) => {
    const clients: StreamClient[] = [await s.connect(), await s.connect(query)];
    for (const client of clients)
      for (const [id, wish] of Object.entries(subscriptions)) await client.subscribe(id, wish);
    const { geometry } = parcel(7, 46);
    const properties = {
      name: 'Größe',
      floors: 4294967297,
      area: 0.1,
      active: true,
      note: null,
      tags: { a: [1, {}] },
    };
    const id = await s.edit('parcels', {
      type: 'create',
      feature: { geometry: JSON.stringify(geometry), values: jsonTexts(properties) },
    });
    await s.edit('parcels', {
      type: 'update',
      id,
      feature: { values: jsonTexts({ name: 'y'.repeat(20), floors: -1 }) },
    });
    await s.edit('parcels', { type: 'update', id, feature: { values: jsonTexts({ name: 'x' }) } });
    await s.edit('parcels', { type: 'delete', id });
    for (const client of clients) {
      await client.until(() => client.of('feature-change').length === 7);
      await client.subscribe('snap', { layers: [LAYERS.parcels], mode: 'snapshot' });
      await client.next(({ type }) => type === 'snapshot');
      client.send({ type: 'nonsense' });
      await client.next(({ type }) => type === 'error');
    }
    const [plain, other] = clients.map(({ frames }) => frames.map(common));
    expect(other).toEqual(plain);
    expect(other!.filter(({ type }) => type === 'feature-change')[0]).toMatchObject({
      attributes: properties,
      objectId: 1,
    });
  },
);

it('takes control frames as MessagePack', async () => {
  const client = await s.connect('?format=msgpack');
  client.sendBinary({ type: 'subscribe', subscriptionId: 'p', layers: [LAYERS.spots] });
  await client.next(({ status }) => status === 'subscribed');
  s.publish([s.event('1', 'one')]);
  expect(await client.next(({ type }) => type === 'feature-change')).toMatchObject({
    sequence: 0,
    layerId: 2,
  });
});
