import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Announcements, type Take } from '../../src/services/cluster/announcements.js';
import { AnnouncementStore } from '../../src/stores/database/announcements.js';
import type { State } from '../../src/stores/state/state.js';
import { describeStates, type TemporaryState } from '../support/state.js';

describeStates('announcements', (temporary) => {
  let t: TemporaryState;
  let other: State;
  const open: Announcements[] = [];
  beforeEach(async () => {
    t = await temporary();
    other = await t.again();
  });
  afterEach(async () => {
    for (const one of open.splice(0)) one.close();
    await t.close();
  });

  async function follower(takes: Partial<Record<'style' | 'catalog', Take>>, store = t.state.announcements) {
    const applied: number[] = [];
    const errors: unknown[] = [];
    const announcements = new Announcements({
      store,
      start: await store.newest(),
      applied: (version) => void applied.push(version),
      onError: (error) => void errors.push(error),
    });
    open.push(announcements);
    for (const [topic, take] of Object.entries(takes)) announcements.on(topic as 'style', take);
    return { announcements, applied, errors };
  }

  it('are numbered without a hole, whoever makes them, and told in that order once', async () => {
    const told: unknown[] = [];
    const { announcements, applied } = await follower({ style: (ids) => void told.push(...ids) });
    const stores = [t.state.announcements, other.announcements];
    const versions = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        announcements.look();
        return stores[i % 2]!.add('style', i);
      }),
    );
    expect([...versions].sort((a, b) => a - b)).toEqual(versions.map((_, i) => i + 1));
    await announcements.reached(20);
    announcements.look();
    await announcements.reached(20);
    expect(told).toEqual(versions.map((_, i) => versions.indexOf(i + 1)));
    expect(applied.at(-1)).toBe(20);
    expect([...applied].sort((a, b) => a - b)).toEqual(applied);
  });

  it('are told to all followers of a topic, in their order', async () => {
    const told: unknown[] = [];
    const { announcements } = await follower({ style: async (ids) => void told.push(['first', ...ids]) });
    announcements.on('style', (ids) => void told.push(['second', ...ids]));
    await announcements.reached(await t.state.announcements.add('style', 7));
    expect(told).toEqual([
      ['first', 7],
      ['second', 7],
    ]);
  });

  it('of before the start of a process are not told', async () => {
    await t.state.announcements.add('style', 'before');
    const told: unknown[] = [];
    const { announcements } = await follower({ style: (ids) => void told.push(...ids) });
    await announcements.reached(1);
    expect(told).toEqual([]);
  });

  it('that nobody here follows hold up nothing', async () => {
    const { announcements } = await follower({ style: () => {} });
    await other.announcements.add('catalog', 'why');
    await announcements.reached(1);
    expect(announcements.applied).toBe(1);
  });

  it('come together when they come while the ones before are taken over', async () => {
    const told: unknown[] = [];
    let release = () => {};
    const busy = new Promise<void>((resolve) => {
      release = resolve;
    });
    const take: Take = async (reasons) => {
      told.push(reasons);
      if (told.length === 1) await busy;
    };
    const { announcements } = await follower({ catalog: take });
    await other.announcements.add('catalog', 'a');
    announcements.look();
    await vi.waitFor(() => expect(told).toEqual([['a']]));
    for (const why of ['b', 'c']) await other.announcements.add('catalog', why);
    const reached = announcements.reached(3);
    await vi.waitFor(async () => {
      announcements.look();
      expect(announcements.applied).toBe(0);
    });
    release();
    await reached;
    expect(told.flat()).toEqual(['a', 'b', 'c']);
  });

  it('of one topic do not wait for those of another', async () => {
    const told: unknown[] = [];
    let release = () => {};
    const busy = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { announcements } = await follower({ catalog: () => busy, style: (ids) => void told.push(...ids) });
    await other.announcements.add('catalog', 'slow');
    await other.announcements.add('style', 7);
    announcements.look();
    await vi.waitFor(() => expect(told).toEqual([7]));
    // Who waits for all waits for the slow one too.
    expect(announcements.applied).toBe(0);
    release();
    await announcements.reached(2);
  });

  it('are tried again, and who waits hears what failed', async () => {
    let attempts = 0;
    const take: Take = (ids) => {
      attempts += 1;
      if (attempts === 1) throw new Error('not now');
      expect(ids).toEqual([5]);
    };
    const { announcements, errors } = await follower({ style: take });
    await other.announcements.add('style', 5);
    await expect(announcements.reached(1)).rejects.toThrow('not now');
    expect(errors).toHaveLength(1);
    await announcements.reached(1);
    expect(attempts).toBe(2);
  });

  it('of which some are not kept any more are told as all', async () => {
    const few = new AnnouncementStore(await rawDb(), 3);
    const told: unknown[] = [];
    const { announcements } = await follower({ style: (ids) => void told.push(ids) });
    for (let i = 1; i <= 5; i++) await few.add('style', i);
    await announcements.reached(5);
    expect(told).toEqual(['all']);
    await few.add('style', 6);
    await announcements.reached(6);
    expect(told).toEqual(['all', [6]]);
  });

  it('are not taken over while a topic reads all again, also if none of those that are kept is of it', async () => {
    const few = new AnnouncementStore(await rawDb(), 2);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = false;
    const { announcements } = await follower({
      style() {},
      catalog() {
        begun = true;
        return held;
      },
    });
    for (const topic of ['catalog', 'style', 'style', 'style'] as const) await few.add(topic, 1);
    let isReached = false;
    const reached = announcements.reached(4).then(() => {
      isReached = true;
    });
    await vi.waitFor(() => expect(begun).toBe(true));
    await few.add('style', 2);
    announcements.look();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([isReached, announcements.applied]).toEqual([false, 0]);
    release();
    await reached;
    await announcements.reached(5);
  });

  const rawDb = async () =>
    (t.state.styles as unknown as { db: ConstructorParameters<typeof AnnouncementStore>[0] }).db;
});
