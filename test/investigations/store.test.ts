import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Investigation } from '../../src/stores/investigations/investigations.js';
import type { State } from '../../src/stores/state/state.js';
import { describeStates, type TemporaryState } from '../support/state.js';

const MOST = 100;
const about = (title: string, by = 'ann') => ({ title, summary: null, created_by: by });
const pin = (ref: string) => ({
  ...{ event_kind: 'log', event_ref: ref, occurred_at: 1, note: null, copy_json: null, created_by: 'ann' },
});
const link = (id: string) => ({
  ...{ resource_kind: 'job', resource_id: id, note: null, copy_json: null, created_by: 'ann' },
});

describeStates('investigations', (open) => {
  let temporary: TemporaryState;
  let other: State;
  beforeEach(async () => {
    temporary = await open();
    other = await temporary.again();
  });
  afterEach(() => temporary.close());

  const make = async (title = 'case', by?: string) =>
    (await temporary.state.investigations.add(about(title, by), 1e6))!.row.id;

  it('lose no change of two servers at once', async () => {
    const id = await make();
    const stores = [temporary.state.investigations, other.investigations];
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const store = stores[i % 2]!;
        if (i % 4 === 0) return store.link(id, link(`${i}`), MOST);
        return i % 4 === 1
          ? store.change(id, { title: `case ${i}` })
          : store.pin(id, pin(`log:${i % 20}`), MOST);
      }),
    );
    for (const one of results) expect(one).toMatchObject({ row: { id } });
    const { pins, links, row } = (await other.investigations.get(id))!;
    expect(links.map(({ resource_id }) => Number(resource_id)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, i) => 4 * i),
    );
    // Each event was pinned twice, and stays one pin.
    expect(pins.map(({ event_ref }) => event_ref).sort()).toEqual(
      [2, 3, 6, 7, 10, 11, 14, 15, 18, 19].map((i) => `log:${i}`).sort(),
    );
    expect(row.title).toMatch(/^case \d+$/);
    await Promise.all(pins.map(({ id: one }, i) => stores[i % 2]!.unpin(id, one)));
    expect((await other.investigations.get(id))!.pins).toEqual([]);
  });

  it('that are closed take nothing but their status', async () => {
    const store = temporary.state.investigations;
    const id = await make();
    const before = (await store.pin(id, pin('log:1'), MOST)) as Investigation;
    expect(await store.change(id, { status: 'closed' })).toMatchObject({ row: { status: 'closed' } });
    expect(await store.change(id, { title: 'other' })).toBe('closed');
    expect(await store.pin(id, pin('log:2'), MOST)).toBe('closed');
    expect(await store.link(id, link('1'), MOST)).toBe('closed');
    expect(await store.unpin(id, before.pins[0]!.id)).toBe('closed');
    expect(await store.change(id, { status: 'open', title: 'other' })).toMatchObject({
      row: { title: 'other' },
    });
    expect(await store.unpin(id, before.pins[0]!.id)).toMatchObject({ pins: [] });
    expect(await store.unpin(id, before.pins[0]!.id)).toBe('missing');
    expect(await store.unlink(id + 1, 1)).toBeUndefined();
  });

  it('have limits', async () => {
    const store = temporary.state.investigations;
    const id = await make();
    for (let i = 0; i < 3; i++)
      expect(await store.pin(id, pin(`log:${i}`), 3)).toMatchObject({ row: { id } });
    expect(await store.pin(id, pin('log:4'), 3)).toBe('full');
    expect(await store.add(about('more'), 1)).toBeUndefined();
  });

  it('are listed once each, newest first, while others are added', async () => {
    const store = temporary.state.investigations;
    const wanted: number[] = [];
    for (let i = 0; i < 23; i++) {
      const id = await make(`${i % 3 ? '100% Rain' : '1005 rain'} ${i}`, i % 2 ? 'ann' : 'bob');
      if (i % 3 && i % 2) wanted.push(id);
    }
    const [first] = wanted;
    await store.pin(first!, pin('log:1'), MOST);
    await store.link(first!, link('1'), MOST);
    const seen: number[] = [];
    const query = { titleContains: '100% rAIN', createdBy: 'ann', limit: 3 };
    for (let before: number | undefined; ; ) {
      const page = await store.list({ ...query, before });
      seen.push(...page.map(({ id }) => id));
      if (page.length < 3) break;
      before = page.at(-1)!.id;
      await make('100% rain, later', 'ann');
    }
    expect(seen).toEqual(wanted.reverse());
    const [summary] = await store.list({ before: first! + 1, limit: 1 });
    expect([summary!.pin_count, summary!.link_count].map(Number)).toEqual([1, 1]);
    expect(await store.list({ status: 'closed', limit: 5 })).toEqual([]);
  });
});
