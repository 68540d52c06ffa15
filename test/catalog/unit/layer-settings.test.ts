import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Collection } from '../../../src/core/catalog/collection.js';
import { LAYER_KIND, Layers, SERVICE_KIND } from '../../../src/services/catalog/layers/layers.js';
import type { Take } from '../../../src/services/cluster/announcements.js';
import { type TemporaryState, temporaryState } from '../../support/state.js';

/** Settings that change are read again, and no other collection is made again. */

let t: TemporaryState;
let layers: Layers;
let take: Take;
let settle: (collection: Collection) => Collection;
/** Documents that were read one by one. */
let read: string[];

const collectionOf = (id: string) => ({ id, kind: 'archive', title: id }) as unknown as Collection;
const [a, b] = [collectionOf('a'), collectionOf('b')];

beforeEach(async () => {
  t = await temporaryState();
  read = [];
  const { documents } = t.state;
  const get = documents.get.bind(documents);
  documents.announcing = () => documents;
  documents.get = async (kind, id) => {
    read.push(`${kind} ${id}`);
    return get(kind, id);
  };
  layers = new Layers({
    documents,
    announcements: { on: (_topic, taken) => void (take = taken) },
    catalog: { settle: (settled) => void (settle = settled) },
    pools: { run: () => Promise.reject(new Error('no task')) },
    settle: async () => {},
  });
  await layers.put({ id: 'a' }, { title: 'Former' }, 'me');
  await layers.put({ id: 'b' }, { title: 'Other' }, 'me');
  await layers.load();
  read = [];
});
afterEach(() => t.close());

it('reads the settings that changed, and leaves the other collections the same objects', async () => {
  const before = settle(b);
  expect([settle(a).title, before.title]).toEqual(['Former', 'Other']);
  await layers.put({ id: 'a' }, { title: 'New' }, 'me');
  read = [];
  await take([{ kind: LAYER_KIND, id: 'a' }]);
  expect(read).toEqual([`${LAYER_KIND} a`]);
  expect(settle(a).title).toBe('New');
  expect(settle(b)).toBe(before);
});

it('forgets settings that are gone, and reads all after announcements were missed', async () => {
  await t.state.documents.remove(LAYER_KIND, 'a');
  await take([{ kind: LAYER_KIND, id: 'a' }]);
  expect(settle(a)).toBe(a);
  await layers.put({ id: 'a' }, { title: 'Again' }, 'me');
  await layers.putService('default', { protocols: [] }, 'me');
  await take('all');
  expect(settle(a).title).toBe('Again');
  expect(layers.protocolsOf('default')).toEqual([]);
});

it('reads the settings of a service that changed', async () => {
  await layers.putService('default', { protocols: [] }, 'me');
  expect(layers.protocolsOf('default')).not.toEqual([]);
  await take([{ kind: SERVICE_KIND, id: 'default' }]);
  expect(layers.protocolsOf('default')).toEqual([]);
});
