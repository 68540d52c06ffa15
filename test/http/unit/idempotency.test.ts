import { expect, it, vi } from 'vitest';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import type { Reply } from '../../../src/core/http/operation.js';
import { Presence } from '../../../src/core/values/presence.js';
import { Idempotency } from '../../../src/gateway/http/requests/idempotency.js';
import type { Log } from '../../../src/services/telemetry/log.js';
import { instanceName } from '../../../src/stores/database/instance.js';
import { describeStates, type TemporaryState } from '../../support/state.js';

const QUIET = { write() {} } as unknown as Log;

describeStates('a request with an idempotency key', (open) => {
  const request = {
    key: 'k',
    principal: 'p',
    credential: 'c',
    target: 'POST /things',
    bodyHash: async () => 'hash',
  };
  const reply = (status: number) => async (): Promise<Reply> => ({ status });

  async function tried(work: (idempotency: Idempotency, temporary: TemporaryState) => Promise<void>) {
    const temporary = await open();
    const { replies, instances } = temporary.state;
    const name = instanceName();
    const cluster = {
      presence: new Presence(),
      appear: () => instances.beat({ name, server: 's', host: 'h', release: '1', applied: 0 }),
    };
    await cluster.appear();
    const idempotency = new Idempotency(replies, name, QUIET, cluster);
    await work(idempotency, temporary).finally(() => {
      idempotency.close();
      return temporary.close();
    });
  }

  it('that failed is carried out anew', () =>
    tried(async (idempotency) => {
      const failure = new TaskFailure('store-unavailable', 'away');
      await expect(idempotency.once(request, () => Promise.reject(failure))).rejects.toBe(failure);
      expect(await idempotency.once(request, reply(201))).toMatchObject({ status: 201 });
    }));

  it('of which nobody knows whether it was carried out is not carried out anew', () =>
    tried(async (idempotency) => {
      const failure = new TaskFailure('outcome-unknown', 'broken off');
      await expect(idempotency.once(request, () => Promise.reject(failure))).rejects.toBe(failure);
      await expect(idempotency.once(request, reply(201))).rejects.toThrow(
        'Idempotency-Key: the server or its database failed during the request with this key.',
      );
    }));

  it('of a process that was away is held still, unless somebody was told that it is lost', () =>
    tried(async (idempotency, { state }) => {
      const renewed = await idempotency.once(request, async (hold) => {
        expect(await hold.renew()).toBeDefined();
        return { status: 201 };
      });
      expect(renewed).toMatchObject({ status: 201 });
      const other = { ...request, key: 'other' };
      const away = new TaskFailure('absent', 'away');
      const work = idempotency.once(other, async (hold) => {
        await state.instances.remove(idempotency.instance);
        await expect(idempotency.once(other, reply(201))).rejects.toThrow(
          'Idempotency-Key: the server or its database failed during the request with this key.',
        );
        expect(await hold.renew()).toBeUndefined();
        throw away;
      });
      await expect(work).rejects.toBe(away);
      await expect(idempotency.once(other, reply(201))).rejects.toThrow(
        'Idempotency-Key: the server or its database failed during the request with this key.',
      );
    }));

  it('whose claim was committed though it failed does not keep its key, but that of another request stays', () =>
    tried(async (idempotency, { state }) => {
      const { replies } = state;
      const begin = replies.begin.bind(replies);
      vi.spyOn(replies, 'begin').mockImplementationOnce(async (...claim) => {
        await begin(...claim);
        throw new Error('Query read timeout');
      });
      await expect(idempotency.once(request, reply(201))).rejects.toThrow('read timeout');
      await vi.waitFor(
        async () => expect(await idempotency.once(request, reply(201))).toMatchObject({ status: 201 }),
        60_000,
      );
      const other = { ...request, key: 'other' };
      await idempotency.once(other, async () => {
        vi.spyOn(replies, 'begin').mockRejectedValueOnce(new Error('Query read timeout'));
        await expect(idempotency.once(other, reply(201))).rejects.toThrow('read timeout');
        await new Promise((resolve) => setTimeout(resolve, 100));
        await expect(idempotency.once(other, reply(201))).rejects.toThrow(
          'Idempotency-Key: a request with this key is in progress.',
        );
        return { status: 201 };
      });
    }));

  it('whose answer cannot be kept at once is kept later', () =>
    tried(async (idempotency, { state }) => {
      const finish = vi.spyOn(state.replies, 'finish').mockRejectedValueOnce(new Error('away'));
      expect(await idempotency.once(request, reply(201))).toMatchObject({ status: 201 });
      await expect(idempotency.once(request, reply(500))).rejects.toThrow(
        'Idempotency-Key: a request with this key is in progress.',
      );
      await vi.waitFor(() => expect(finish).toHaveBeenCalledTimes(2), 60_000);
      await vi.waitFor(
        async () =>
          expect(await idempotency.once(request, reply(500))).toMatchObject({
            status: 201,
            headers: { 'idempotency-replayed': 'true' },
          }),
        60_000,
      );
    }));
});
