import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type PublishedLayer,
  PublishedLayers,
  type PublishedLayersDeps,
  REMOVED_LAYER,
} from '../../src/services/catalog/publish/layers.js';
import { PUBLISHED_LAYER } from '../../src/services/connections/connections.js';
import { temporaryState } from '../support/state.js';

/** Removals of published tables by a process that is killed between two steps, and what the next process makes of them. */

let t: Awaited<ReturnType<typeof temporaryState>>;
let layers: PublishedLayers;
let killedBefore: string | undefined;
/** What still belongs to a layer of the name. */
let left: Set<string>;

beforeEach(async () => {
  t = await temporaryState();
  killedBefore = undefined;
  left = new Set(['attachments', 'rules']);
  const step = (name: string) => {
    if (name === killedBefore) throw new Error('killed');
  };
  layers = new PublishedLayers({
    documents: t.state.documents,
    async forget() {
      step('attachments');
      left.delete('attachments');
    },
    async settle() {
      step('settle');
    },
    derivations: {
      async record() {
        step('rules');
        left.delete('rules');
      },
    },
  } as unknown as PublishedLayersDeps);
  await t.state.documents.create(PUBLISHED_LAYER, 'roads', { layerId: 1, connectionId: 'c1' }, 'ada');
});
afterEach(() => t.close());

const layer = async () => (await t.state.documents.get<PublishedLayer>(PUBLISHED_LAYER, 'roads'))!;
const markers = async () => (await t.state.documents.list(REMOVED_LAYER)).length;

it('leaves nothing of a layer that is removed', async () => {
  await layers.remove(await layer());
  expect([await layers.list(), [...left], await markers()]).toEqual([[], [], 0]);
  await expect(layers.remove({ id: 'roads', body: { layerId: 1 } } as never)).rejects.toMatchObject({
    code: 'not-found',
  });
  expect(await markers()).toBe(0);
});

it.each(['attachments', 'settle', 'rules'])(
  'goes through with one that ended before step %s',
  async (name) => {
    killedBefore = name;
    await expect(layers.remove(await layer())).rejects.toThrow('killed');
    killedBefore = undefined;
    expect([await layers.list(), await markers()]).toEqual([[], 1]);
    await layers.takeUp();
    expect([[...left], await markers()]).toEqual([[], 0]);
  },
);
