import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FolderNames } from '../../src/services/catalog/folder-names.js';
import { AuditScope, inAuditScope } from '../../src/stores/audit/audit-scope.js';
import { JobRuns } from '../../src/stores/jobs/job-runs.js';
import type { State } from '../../src/stores/state/state.js';
import type { DeliveryStore } from '../../src/stores/streams/deliveries.js';
import type { NewEntry } from '../../src/stores/streams/feed.js';
import { describeStates, openPlace, type TemporaryState } from '../support/state.js';

const EVENT = {
  at: 1_700_000_000_000,
  event_type: 'AdminAction',
  action: 'admin.apiKeys.create',
  actor: 'key-1',
  actor_type: 'ApiKey',
  outcome: 'Success',
  resource_type: 'api-keys',
  resource_id: null,
  correlation_id: 'c',
  remote_ip: null,
  user_agent: null,
  details: null,
};
const LEASE_MS = 60_000;
const SEARCH = { kinds: ['k'], leaseMs: LEASE_MS };
const instance = (name: string) => ({ name, server: 's', host: 'h', release: '1', applied: 0 });
/** With characters that PostgreSQL's text has not. */
const gap = (n: number): NewEntry => ({
  kind: 'gap',
  collections: ['\u0000', '\ud800'],
  time: new Date(n).toISOString(),
});
const times = <T>(n: number, work: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: n }, (_, i) => work(i)));

describeStates('two servers of one state', (temporary, database, empty) => {
  let t: TemporaryState;
  let servers: [State, State];
  beforeEach(async () => {
    t = await temporary();
    servers = [t.state, await t.again()];
  });
  afterEach(() => t.close());
  const server = (i: number) => servers[i % 2]!;
  const runs = (i: number, name: string) => new JobRuns(server(i).jobs.db, name);

  it('migrate an empty database once when they start together', async () => {
    const place = await empty();
    const all = await Promise.all([1, 2, 3, 4].map(() => openPlace(place)));
    for (const state of all) await state.check();
    for (const state of all) await state.close();
  });

  it('run each job once', async () => {
    const job = { kind: 'k', input: {}, owner: 'me', maxAttempts: 3, resources: ['roads'] };
    const ids = (await times(40, (i) => server(i).jobs.add(job))).map((added) => added.job.id);
    const claims = await times(50, (i) => runs(i, `i${i % 2}`).claim(SEARCH));
    const claimed = claims.flatMap((claim) => (claim ? [claim.job.id] : []));
    expect(claimed.toSorted()).toEqual(ids.toSorted());
    expect(claims.every((claim) => !claim || (claim.job.attempt === 1 && !claim.takenOver))).toBe(true);
    expect(await server(1).jobs.list({ resource: 'roads', limit: 100 })).toHaveLength(40);
    expect(await server(1).jobs.list({ resource: 'road', limit: 100 })).toEqual([]);
    expect(await runs(0, 'i0').claim({ ...SEARCH, kinds: [] })).toBeUndefined();
  });

  it('take a job over when its lease has ended, and refuse what its former owner writes', async () => {
    const job = { kind: 'k', input: {}, owner: 'me', maxAttempts: 3, resources: [] };
    const { id } = (await server(0).jobs.add(job)).job;
    const before = runs(0, 'elsewhere:1:a');
    const after = runs(1, 'elsewhere:1:b');
    await before.claim({ ...SEARCH, leaseMs: 0 });
    expect(await after.claim(SEARCH)).toMatchObject({
      takenOver: true,
      job: { id, attempt: 2 },
    });
    const progress = { phase: null, fraction: 0.5, etaMs: null };
    expect(await before.beat(id, LEASE_MS, progress)).toBeUndefined();
    expect(await before.log(id, { at: 1, level: 'info', message: 'late', phase: null })).toBe(false);
    expect(await before.warn(id, ['late'])).toBe(false);
    expect(await before.checkpoint(id, 'late')).toBe(false);
    expect(await before.beginStep(id, { attempt: 1, phase: 'late', message: '' })).toBeUndefined();
    const artifact = { label: 'late', kind: 'k', content_type: 'c', size_bytes: 1, location: '/l' };
    expect(await before.addArtifact(id, { id: 'x', created_at: 1, ...artifact })).toBe(false);
    expect(await before.finish(id, { state: 'Succeeded' })).toBeUndefined();
    expect(await after.beat(id, LEASE_MS, progress)).toEqual({ cancelRequested: false });
    const { jobs } = server(1);
    expect(await jobs.logs(id, 0, 10)).toEqual([]);
    expect(await jobs.steps(id)).toEqual([]);
    expect(await jobs.artifacts(id)).toEqual([]);
    expect(await jobs.get(id)).toMatchObject({
      warnings_json: '[]',
      checkpoint_json: null,
      state: 'Running',
    });
  });

  it('take the jobs of their own data folder, and those of none', async () => {
    const job = { kind: 'k', input: {}, owner: 'me', maxAttempts: 3, resources: [] };
    const ids: string[] = [];
    for (const folder of ['a', 'b', undefined, 'b', 'a'])
      ids.push((await server(0).jobs.add({ ...job, folder })).job.id);
    const take = async (folder?: string) =>
      ids.indexOf((await runs(1, 'i1').claim({ ...SEARCH, folder }))?.job.id ?? '');
    const taken = [await take('b'), await take('b'), await take('b')];
    expect(taken.toSorted()).toEqual([1, 2, 3]);
    expect(await take('b')).toBe(-1);
    expect([await take(), await take()].toSorted()).toEqual([0, 4]);
  });

  it('run no more jobs of a kind than may run on all together', async () => {
    const job = { kind: 'k', input: {}, owner: 'me', maxAttempts: 3, resources: [] };
    await times(20, (i) => server(i).jobs.add({ ...job, kind: i % 2 === 0 ? 'k' : 'free' }));
    const search = { ...SEARCH, kinds: ['k', 'free'], limits: { kinds: { k: 3 } } };
    const claims = await times(30, (i) => runs(i, `elsewhere:${i}:x`).claim(search));
    const kinds = claims.map((claim) => claim?.job.kind);
    expect(kinds.filter((kind) => kind === 'k')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'free')).toHaveLength(10);
    const first = claims.findIndex((claim) => claim?.job.kind === 'k');
    await runs(first, `elsewhere:${first}:x`).finish(claims[first]!.job.id, { state: 'Succeeded' });
    expect(await runs(0, 'i0').claim(search)).toMatchObject({ job: { kind: 'k' }, takenOver: false });
    expect(await runs(0, 'i0').claim(search)).toBeUndefined();
  });

  it('end a job that one cancels while the other claims it in one of two ways', async () => {
    const job = { kind: 'k', input: {}, owner: 'me', maxAttempts: 3, resources: [] };
    for (let i = 0; i < 20; i++) {
      const { id } = (await server(0).jobs.add(job)).job;
      const [claim] = await Promise.all([runs(0, 'i0').claim(SEARCH), server(1).jobs.cancel(id)]);
      const row = (await server(0).jobs.get(id))!;
      expect(row.cancel_requested_at).not.toBeNull();
      expect(row.state).toBe(claim ? 'Running' : 'Cancelled');
      if (claim) await runs(0, 'i0').finish(id, { state: 'Cancelled' });
    }
  });

  it('keep one audit chain, and write the row of a request once with its first change', async () => {
    const document = (i: number) => server(i).documents.create('d', `${i}`, {}, 'me');
    const requests = Array.from({ length: 20 }, () => new AuditScope(() => EVENT));
    await Promise.all([
      times(100, (i) => server(i).audit.append(EVENT)),
      ...requests.map((scope, i) =>
        // Two changes at once: which one commits first, takes the row along.
        inAuditScope(scope, () => Promise.all([document(2 * i), document(2 * i + 1)])),
      ),
    ]);
    expect(await server(0).audit.verify()).toEqual({ rowsChecked: 120 });
    expect(requests.every((scope) => scope.end())).toBe(true);
  });

  it('count the feed without holes, and a reader who goes on from its last entry misses none', async () => {
    const start = (await server(0).feed.bounds()).newest;
    await times(4, (i) => server(i).feed.claim(`s${i}`, `i${i}`, 0, LEASE_MS));
    let isWriting = true;
    const writers = times(4, async (i) => {
      for (let n = 1; n <= 15; n++) {
        const entries = Array.from({ length: 1 + ((n + i) % 3) }, () => gap(n));
        await server(i).feed.append(`s${i}`, `i${i}`, entries, { cursor: n, eventId: `${n}` });
      }
    }).finally(() => {
      isWriting = false;
    });
    const read: number[] = [];
    const reader = async () => {
      for (;;) {
        const isLast = !isWriting;
        const { newest } = await server(1).feed.bounds();
        const entries = await server(0).feed.after(read.at(-1) ?? start, 1000);
        // What the bounds name is there to be read.
        expect(entries.at(-1)?.cursor ?? read.at(-1) ?? start).toBeGreaterThanOrEqual(newest);
        read.push(...entries.map(({ cursor }) => cursor));
        if (isLast) return;
      }
    };
    await Promise.all([writers, reader()]);
    const { newest } = await server(0).feed.bounds();
    expect(read).toEqual(Array.from({ length: newest - start }, (_, i) => start + 1 + i));
    expect(read).toHaveLength(4 * 30);
    const { entries, more } = await server(1).feed.page({ after: start, from: 5, to: 6, limit: 10 });
    expect([entries.length, more]).toEqual([10, true]);
    expect(entries.every((entry) => entry.kind === 'gap' && /\.00[56]Z$/.test(entry.time))).toBe(true);
    const all = await server(1).feed.page({ after: start, from: undefined, to: undefined, limit: 1000 });
    expect([all.entries.length, all.more]).toEqual([read.length, false]);
  });

  it('lease an outbox and a receiver to one of them', async () => {
    const outbox = await times(6, (i) => server(i).feed.claim('s', `elsewhere:${i}:x`, 3, LEASE_MS));
    expect(outbox.filter((position) => position !== undefined)).toEqual([
      { cursor: 3, eventId: null, takenOver: false },
    ]);
    let owner = outbox.findIndex((position) => position !== undefined);
    for (let n = 0; n < 10; n++) {
      await server(n).feed.release('s', `elsewhere:${owner}:x`);
      const next = await times(6, (i) => server(i).feed.claim('s', `elsewhere:${i}:x`, 0, LEASE_MS));
      expect(next.filter((position) => position !== undefined)).toMatchObject([{ cursor: 3 }]);
      owner = next.findIndex((position) => position !== undefined);
    }
    const sinks = await times(6, (i) => server(i).deliveries.claim('r', `elsewhere:${i}:x`, 3, LEASE_MS));
    expect(sinks.filter((position) => position !== undefined)).toEqual([{ position: 3, recovered: 0 }]);
  });

  it('deliver nothing under a lease that another has taken, but note what was delivered', async () => {
    const [paused, taker] = servers.map(({ deliveries }) => deliveries) as [DeliveryStore, DeliveryStore];
    const three = { limit: 3, probesAfter: 5 };
    const failure = { error: 'x', afterMs: 50_000, isAttempt: true, failures: 1, opensAfterMs: 0 };
    await paused.claim('r', 'elsewhere:1:paused', 0, 1);
    const events = ['a', 'b', 'c'].map((eventId) => ({ eventId, body: '{}' }));
    await paused.add('r', 'elsewhere:1:paused', events, 1);
    const [a, b, c] = (await paused.take('r', 'elsewhere:1:paused', three))!.deliveries;
    await vi.waitFor(async () =>
      expect(await taker.claim('r', 'elsewhere:2:taker', 0, LEASE_MS)).toMatchObject({ recovered: 3 }),
    );
    expect(await paused.take('r', 'elsewhere:1:paused', three)).toBeUndefined();
    const late = { dispatched: [a!.id], refused: [{ id: b!.id, error: 'late' }] };
    expect(await paused.settle('r', 'elsewhere:1:paused', late)).toEqual({ isHeld: false, deadLettered: [] });
    const taken = await taker.take('r', 'elsewhere:2:taker', three);
    expect(taken!.deliveries.map(({ id, attempt }) => [id, attempt])).toEqual([
      [b!.id, 0],
      [c!.id, 0],
    ]);
    expect(await taker.counts(['r'])).toMatchObject({ pending: 2, dead: 0 });
    const failed = { dispatched: [b!.id], failed: { ...failure, id: c!.id } };

    expect(await taker.settle('r', 'elsewhere:2:taker', failed)).toMatchObject({ isHeld: true });
    const { deliveries, dueMs } = (await taker.take('r', 'elsewhere:2:taker', three))!;
    expect(deliveries).toEqual([]);
    expect(dueMs).toBeGreaterThan(40_000);
    expect(dueMs).toBeLessThanOrEqual(50_000);
  });

  it('do what a request with an idempotency key asks for once', async () => {
    const request = { principal: 'me', keyHash: '9', target: 'POST /x' };
    for (let n = 0; n < 10; n++) {
      const keyed = { ...request, keyHash: `${n}` };
      await times(8, (i) => server(i).instances.beat(instance(`elsewhere:${i}:x`)));
      const first = await times(8, (i) => server(i).replies.begin(keyed, `elsewhere:${i}:x`));
      const states = first.map(({ state }) => state).toSorted();
      expect(states).toEqual(['new', ...Array(7).fill('running')]);
    }
    const lost = { ...request, keyHash: 'lost' };
    await server(0).replies.begin(lost, 'elsewhere:1:gone');
    expect(await server(1).replies.begin(lost, 'elsewhere:2:x')).toMatchObject({ state: 'lost' });
    await server(1).replies.finish(request, { bodyHash: 'b', sealed: 's' });
    expect(await server(0).replies.begin(request, 'elsewhere:9:x')).toEqual({
      ...{ state: 'answered', target: 'POST /x' },
      ...{ bodyHash: 'b', sealed: 's' },
    });
  });

  it('give each slug, style and raster its number', async () => {
    const ids = await times(20, (i) => server(i).collections.idOf(`c${i % 10}`));
    expect(ids.slice(0, 10)).toEqual(ids.slice(10));
    expect(ids.slice(0, 10).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const taken = await times(6, (i) => server(i).collections.take(20, `t${i}`));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await server(0).collections.idOf('next')).toBe(21);

    const style = { changedBy: 'me', changeSummary: null, popupInfo: {} };
    const versions = await times(10, (i) => server(i).styles.put(7, style));
    expect(versions.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);

    const raster = { kind: 'cloud', layerId: 1, name: 'a', description: null, dataKey: 's3://a' } as const;
    const rest = { registration: {}, grids: [], acquired: null };
    const rasters = await times(6, (i) => server(i).rasters.add({ ...raster, ...rest }));
    expect(rasters.filter((one) => one !== undefined)).toHaveLength(1);
  });

  it('give a name to one data folder, until it is given back', async () => {
    const folder = (i: number, name: string | undefined) =>
      new FolderNames({ documents: server(i).documents, folder: name });
    const [a, b, alone] = [folder(0, 'a'), folder(1, 'b'), folder(1, undefined)];
    await a.take('roads', 'job');
    await folder(1, 'a').take('roads', 'another job');
    await expect(b.take('roads', 'job')).rejects.toMatchObject({ code: 'conflict' });
    await expect(b.refuse('roads')).rejects.toMatchObject({ code: 'conflict' });
    await b.keep('roads');
    await b.release('roads');
    expect([await a.isElsewhere('roads'), await b.isElsewhere('roads')]).toEqual([false, true]);
    expect([...(await b.listElsewhere())]).toEqual(['roads']);
    expect([...(await a.listElsewhere())]).toEqual([]);
    await alone.take('roads', 'job');
    const fail = () => Promise.reject(new Error('no disk'));
    // The name was there before the job that failed.
    await expect(a.during('roads', 'later', fail)).rejects.toThrow('no disk');
    expect(await b.isElsewhere('roads')).toBe(true);
    await expect(a.during('rivers', 'later', fail)).rejects.toThrow('no disk');
    await b.take('rivers', 'job');
    await a.release('roads');
    await b.take('roads', 'job');
    await a.keepAll(['roads', 'fields', 'rivers']);
    expect([await b.isElsewhere('fields'), await a.isElsewhere('rivers')]).toEqual([true, true]);
    const contested = await times(20, async (i) => {
      const one = folder(i, `f${i}`);
      return one.take('lakes', 'job').then(
        () => true,
        () => false,
      );
    });
    expect(contested.filter(Boolean)).toHaveLength(1);
  });

  it('keep an audit chain of any text, and refuse no other row for it', async () => {
    const odd = { ...EVENT, user_agent: 'a\0b', resource_id: '\ud800', details: '{"a":"\\u0000"}' };
    await Promise.all([server(0).audit.append(odd), server(0).audit.append(EVENT)]);
    expect(await server(1).audit.verify()).toEqual({ rowsChecked: 2 });
    const [, row] = await server(1).audit.list({ limit: 2 });
    expect(row).toMatchObject({ user_agent: 'a\ufffdb', resource_id: '\ufffd', details: odd.details });
  });

  it.runIf(database === 'PostgreSQL')('say whose fault a text is that cannot be stored', async () => {
    const put = server(0).collections.put({ slug: 'a\0', kind: 'k', definition: {} });
    await expect(put).rejects.toMatchObject({ code: 'invalid-request' });
    expect(await server(0).collections.list()).toEqual([]);
  });

  it('sort texts by their bytes', async () => {
    const slugs = ['b', 'A', 'ä', 'a', 'B', '_'];
    for (const slug of slugs) await server(0).collections.put({ slug, kind: 'k', definition: {} });
    expect((await server(1).collections.list()).map(({ slug }) => slug)).toEqual([
      'A',
      'B',
      '_',
      'a',
      'b',
      'ä',
    ]);
  });

  it.runIf(database === 'PostgreSQL')('have tables in a schema of their own', async () => {
    await expect(t.run('SELECT count(*) FROM public.jobs')).rejects.toThrow(/does not exist/);
    await t.run('SELECT count(*) FROM graticule_state.jobs');
  });
});
