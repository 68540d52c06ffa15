import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Lease } from '../../../src/services/cluster/lease.js';

const LEASE_MS = 9000;

describe('a lease', () => {
  let lease: Lease | undefined;
  const lost = vi.fn();
  const onError = vi.fn();
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] });
    lost.mockReset();
    onError.mockReset();
  });
  afterEach(async () => {
    await lease?.close();
    vi.useRealTimers();
  });

  function hold(prolong: () => Promise<boolean>) {
    const spy = vi.fn(prolong);
    lease = new Lease({ leaseMs: LEASE_MS, prolong: spy, lost, onError });
    return spy;
  }

  it('is prolonged three times in its length, and kept as long as that succeeds', async () => {
    const prolong = hold(async () => true);
    await vi.advanceTimersByTimeAsync(10 * LEASE_MS);
    expect(prolong).toHaveBeenCalledTimes(30);
    expect(lost).not.toHaveBeenCalled();
  });

  it('is lost when somebody else has it', async () => {
    hold(async () => false);
    await vi.advanceTimersByTimeAsync(LEASE_MS / 3);
    expect(lost).toHaveBeenCalledOnce();
  });

  it('is lost when it could not be prolonged for its length, and not before', async () => {
    hold(() => Promise.reject(new Error('no connection')));
    await vi.advanceTimersByTimeAsync(LEASE_MS - 1);
    expect(lost).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(LEASE_MS / 3 + 1);
    expect(lost).toHaveBeenCalled();
    expect(onError).toHaveBeenCalled();
  });

  it('outlives failures that are shorter than it', async () => {
    let fails = 2;
    hold(async () => {
      if (fails-- > 0) throw new Error('no connection');
      return true;
    });
    await vi.advanceTimersByTimeAsync(5 * LEASE_MS);
    expect(lost).not.toHaveBeenCalled();
  });

  it('is lost when the database does not answer for its length', async () => {
    let answer = (_: boolean) => {};
    hold(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    await vi.advanceTimersByTimeAsync((LEASE_MS * 4) / 3 + 1);
    expect(lost).toHaveBeenCalled();
    answer(true);
  });

  it('of a process that could not run for longer than it is asked for first', async () => {
    const prolong = hold(async () => true);
    // All of this time passes before the timer is called once.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3 * LEASE_MS);
    await vi.advanceTimersByTimeAsync(LEASE_MS / 3);
    expect(prolong).toHaveBeenCalledOnce();
    expect(lost).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it('tells at most twice a second, one write at a time', async () => {
    let answer = (_: boolean) => {};
    const prolong = hold(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    for (let i = 0; i < 20; i++) {
      lease!.tell();
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(prolong).toHaveBeenCalledTimes(1);
    answer(true);
    await vi.advanceTimersByTimeAsync(0);
    for (let i = 0; i < 10; i++) {
      lease!.tell();
      answer(true);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(prolong.mock.calls.length).toBeGreaterThanOrEqual(2);
    expect(prolong.mock.calls.length).toBeLessThanOrEqual(4);
    answer(true);
  });
});
