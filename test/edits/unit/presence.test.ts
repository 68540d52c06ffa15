import { expect, it } from 'vitest';
import type { EditTask } from '../../../src/core/edits/edits.js';
import { isPresent, monotonicMs, Presence } from '../../../src/core/values/presence.js';
import { runEdits } from '../../../src/workers/edits/run.js';
import type { EditSession } from '../../../src/workers/edits/session.js';

it('is not known to end where nobody looks', () => {
  expect(isPresent(new Presence().mark())).toBe(true);
});

it('holds from one heartbeat to the next, and not over a break', () => {
  const presence = new Presence();
  presence.prolong(monotonicMs() + 60_000);
  const mark = presence.mark();
  presence.prolong(monotonicMs() + 60_000);
  expect(isPresent(mark)).toBe(true);
  presence.prolong(monotonicMs() - 1);
  expect(isPresent(mark)).toBe(false);
  presence.prolong(monotonicMs() + 60_000);
  expect(isPresent(mark)).toBe(false);
  expect(isPresent(presence.mark())).toBe(true);
});

it('is what an edit is committed under', async () => {
  const done: string[] = [];
  const session = {
    insert: async () => '1',
    read: async () => ({ id: '1', row: '', geometry: 'null', geometry84: 'null', properties: '{}' }),
    commit: async () => done.push('commit'),
    rollback: async () => void done.push('rollback'),
  } as unknown as EditSession;
  const presence = new Presence();
  const task = {
    source: { kind: 'postgis', fields: [], geometryType: 'Geometry', idType: 'integer' },
    operations: [{ type: 'create', feature: { geometry: 'null', values: {} } }],
    mode: 'each',
    crs: 'OGC:CRS84',
    swapAxes: false,
    presence: presence.mark(),
  } as unknown as EditTask;
  presence.prolong(monotonicMs() - 1);
  await expect(runEdits(task, async () => session)).rejects.toMatchObject({ code: 'absent' });
  expect(done).toEqual(['rollback']);
});
