import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Principal } from '../../../src/core/http/operation.js';
import { endHeld, type Held, watchHeldKeys } from '../../../src/services/access/keys/held-keys.js';
import type { StoredApiKey } from '../../../src/stores/access/api-keys.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');

function key(id: string, values: Partial<StoredApiKey> = {}): StoredApiKey {
  return {
    id,
    name: id,
    prefix: 'p',
    hash: '0'.repeat(64),
    permissions: ['*'],
    createdAt: NOW - 1000,
    createdBy: null,
    updatedAt: NOW - 1000,
    expiresAt: null,
    lastUsedAt: null,
    rotatedAt: null,
    revokedAt: null,
    ...values,
  };
}

function connection(
  id: string,
  kind: Principal['kind'] = 'api-key',
  connectedAt = NOW,
): Held & { ended: number } {
  const held = {
    principal: { kind, id, permissions: [] } as unknown as Principal,
    connectedAt,
    ended: 0,
    end: () => {
      held.ended++;
    },
  };
  return held;
}

it('the connections of one key are ended at once, also while the list of them shrinks', () => {
  const open = new Set<Held>();
  const all = ['a', 'b', 'a'].map((id) => {
    const one = connection(id);
    const held: Held = {
      ...one,
      end: () => {
        one.end();
        open.delete(held);
      },
    };
    open.add(held);
    return one;
  });
  endHeld(open, 'a');
  expect(all.map(({ ended }) => ended)).toEqual([1, 0, 1]);
});

describe('keys of open connections', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Which of the connections end when their keys are looked at once. */
  async function ended(connections: (Held & { ended: number })[], keys: StoredApiKey[]): Promise<number[]> {
    const get = vi.fn(async (id: string) => keys.find((one) => one.id === id));
    const held = watchHeldKeys(() => connections, get);
    await vi.advanceTimersByTimeAsync(4999);
    expect(get).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    held.close();
    return connections.map((one) => one.ended);
  }

  it.each<[string, Partial<StoredApiKey>, number]>([
    ['is active', {}, 0],
    ['expires later', { expiresAt: NOW + 60_000 }, 0],
    ['was rotated before', { rotatedAt: NOW - 1 }, 0],
    ['was rotated in the same millisecond', { rotatedAt: NOW }, 0],
    ['was rotated since', { rotatedAt: NOW + 1 }, 1],
    ['has expired', { expiresAt: NOW + 5000 }, 1],
    ['was revoked', { revokedAt: NOW + 1 }, 1],
  ])('a connection whose key %s', async (_name, values, ends) => {
    expect(await ended([connection('a')], [key('a', values)])).toEqual([ends]);
  });

  it('end those whose certificate has ended', async () => {
    const until = (expiresAt: number) => {
      const one = connection('ann', 'certificate');
      return Object.assign(one, { principal: { ...one.principal, expiresAt } });
    };
    expect(await ended([until(NOW - 1), until(NOW + 3_600_000)], [])).toEqual([1, 0]);
  });

  it('end in the moment in which a token expires', async () => {
    const one = connection('ann', 'user');
    Object.assign(one, { principal: { ...one.principal, expiresAt: NOW + 7000 } });
    const held = watchHeldKeys(
      () => [one],
      async () => undefined,
    );
    await vi.advanceTimersByTimeAsync(6999);
    expect(one.ended).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    held.close();
    expect(one.ended).toBe(1);
  });

  it('a connection whose key is gone ends, and one without a key stays', async () => {
    expect(await ended([connection('a'), connection('a', 'anonymous')], [])).toEqual([1, 0]);
  });

  it('a key of many connections is read once a minute, and after it was announced', async () => {
    const get = vi.fn(async (id: string) => key(id));
    const held = watchHeldKeys(() => [connection('a'), connection('a'), connection('b')], get, 100);
    await vi.advanceTimersByTimeAsync(59_900);
    expect(get.mock.calls).toEqual([['a'], ['b']]);
    await vi.advanceTimersByTimeAsync(200);
    expect(get.mock.calls).toEqual([['a'], ['b'], ['a'], ['b']]);
    held.forget();
    await vi.advanceTimersByTimeAsync(100);
    held.close();
    expect(get).toHaveBeenCalledTimes(6);
  });

  it('a key that was read before a change, and came after it, is not kept', async () => {
    const one = connection('a');
    const answers: ((key: StoredApiKey | undefined) => void)[] = [];
    const get = () => new Promise<StoredApiKey | undefined>((resolve) => answers.push(resolve));
    const held = watchHeldKeys(() => [one], get, 100);
    await vi.advanceTimersByTimeAsync(100);
    // Keys are revoked while the first reading is on its way.
    held.forget();
    answers[0]!(key('a'));
    await vi.advanceTimersByTimeAsync(100);
    expect([one.ended, answers.length]).toEqual([0, 2]);
    answers[1]!(undefined);
    await vi.advanceTimersByTimeAsync(0);
    held.close();
    expect(one.ended).toBe(1);
  });

  it('a key that was read before ends its connections when it expires', async () => {
    const one = connection('a');
    const get = vi.fn(async () => key('a', { expiresAt: NOW + 12_000 }));
    const held = watchHeldKeys(() => [one], get);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(one.ended).toBe(0);
    await vi.advanceTimersByTimeAsync(5000);
    held.close();
    expect([one.ended, get.mock.calls.length]).toEqual([1, 1]);
  });

  it('while keys cannot be read, connections stay open; afterwards they are looked at again', async () => {
    const one = connection('a');
    const get = vi.fn<(id: string) => Promise<StoredApiKey | undefined>>();
    get.mockRejectedValueOnce(new Error('no connection')).mockResolvedValue(undefined);
    const held = watchHeldKeys(() => [one], get, 100);
    await vi.advanceTimersByTimeAsync(100);
    expect(one.ended).toBe(0);
    await vi.advanceTimersByTimeAsync(100);
    expect(one.ended).toBe(1);
    held.close();
    await vi.advanceTimersByTimeAsync(1000);
    expect(get).toHaveBeenCalledTimes(2);
  });

  it('a reading that is late is not begun a second time', async () => {
    let answer = (_: StoredApiKey | undefined) => {};
    const get = vi.fn(
      () =>
        new Promise<StoredApiKey | undefined>((resolve) => {
          answer = resolve;
        }),
    );
    const held = watchHeldKeys(() => [connection('a')], get, 100, 50);
    await vi.advanceTimersByTimeAsync(500);
    expect(get).toHaveBeenCalledTimes(1);
    answer(key('a'));
    await vi.advanceTimersByTimeAsync(100);
    expect(get).toHaveBeenCalledTimes(2);
    held.close();
  });
});
