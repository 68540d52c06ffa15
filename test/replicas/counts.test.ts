import { afterEach, beforeEach, expect, it } from 'vitest';
import { REPLICA_LIMITS } from '../../src/stores/replicas/limits.js';
import { describeStates, type TemporaryState } from '../support/state.js';

/** Callers without a key are one owner, so their replicas are counted by address. */
describeStates('replicas without a key', (temporary) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());

  const layers = [{ layerId: 1, collection: 'c', generation: 0, scope: '' }];
  const add = (more: { owner?: string; address?: string }) =>
    t.state.replicas.add({
      ...{ name: 'r', service: 's', owner: 'anonymous', syncModel: 'perReplica', epsg: 4326, layers },
      ...more,
    });

  it('are bounded for each address, and leave other addresses and keys alone', async () => {
    const first = await add({ address: '192.0.2.1' });
    for (let i = 1; i < REPLICA_LIMITS.addressReplicas; i++)
      expect(await add({ address: '192.0.2.1' })).toBeDefined();
    expect(await add({ address: '192.0.2.1' })).toBeUndefined();
    expect(await add({ address: '192.0.2.2' })).toBeDefined();
    expect(await add({ owner: 'key' })).toBeDefined();
    await t.state.replicas.remove(first!.id);
    expect(await add({ address: '192.0.2.1' })).toBeDefined();
  });
});
