import { afterEach, beforeEach, expect, it } from 'vitest';
import { CatalogSnapshot, type VectorCollection } from '../../src/core/catalog/collection.js';
import type { LayerSettings } from '../../src/core/catalog/layer-settings.js';
import { ApiError } from '../../src/core/errors/errors.js';
import type { LayerCopy, NewCopy } from '../../src/services/catalog/copies/layer-copy.js';
import { CONNECTION_KIND, type StoredConnection } from '../../src/services/connections/connection.js';
import { LAYER_COPY } from '../../src/services/connections/connections.js';
import { type CopiesDeps, LayerCopies } from '../../src/services/exchange/copies/copies.js';
import { temporaryState } from '../support/state.js';

/** What is kept of copies, whenever a process ends, and whoever takes their names. Jobs are rows that the tests end. */

let t: Awaited<ReturnType<typeof temporaryState>>;
let copies: LayerCopies;
/** Ids of the collections that are there, and of those whose table was dropped. */
let ids: string[];
let drops: string[];
let settings: Map<string, LayerSettings>;
/** Is called in the place of the end of a job, or of its beginning. */
let finish: (id: string) => Promise<void>;
let refuse: () => void;
/** Ids whose attachments and rules were removed. */
let forgotten: string[];
/** The step of a deletion before which the process is killed. */
let killedBefore: string | undefined;
const step = (name: string) => {
  if (name === killedBefore) throw new Error('killed');
};
let connection: StoredConnection;

const copy: NewCopy = {
  ...{ schema: 'ogc-api-features', table: 'towns', layerName: 'Towns', srid: null },
  ...{ serviceName: 'coast', enabled: false, description: null, about: {} },
};
const end = (state: string) => t.run(`UPDATE jobs SET state = '${state}', result_json = '{"features":1}'`);
const documentOf = () => t.state.documents.get<LayerCopy>(LAYER_COPY, 'towns');
const ada = { by: 'ada', right: { has: () => true, require: () => {} } };
const publish = () => copies.publish(connection, copy, ada);
const settingsOf = () =>
  Object.fromEntries(Object.entries(settings.get('towns') ?? {}).filter(([, value]) => value !== undefined));

beforeEach(async () => {
  t = await temporaryState();
  [ids, drops, forgotten, settings, killedBefore] = [[], [], [], new Map(), undefined];
  refuse = () => {};
  finish = async () => {
    ids.push('towns');
    await end('Succeeded');
  };
  const body = { name: 'towns', provider: 'ogc-api-features', host: 'towns.invalid', port: 80 };
  connection = (await t.state.documents.create(
    CONNECTION_KIND,
    'c1',
    { ...body, databaseName: '', username: '', sslMode: 'Disable', isActive: true },
    'ada',
  )) as StoredConnection;
  const collection = (id: string) =>
    ({ kind: 'vector', id, layerId: 1, source: { path: 'default.gpkg', table: id } }) as VectorCollection;
  const deps = {
    documents: t.state.documents,
    collections: { idOf: async () => 1 },
    catalog: () => new CatalogSnapshot(ids.map(collection), [], 0),
    jobs: {
      store: t.state.jobs,
      async finishedForRequest(id: string) {
        await finish(id);
        return (await t.state.jobs.get(id))!;
      },
      finished(id: string) {
        return this.finishedForRequest(id);
      },
    },
    imports: {
      refuse({ table, replace }: { table: string; replace?: boolean }) {
        refuse();
        if (ids.includes(table) && !replace) throw new ApiError('conflict', 'It is there already.');
      },
      submitRemote: (kind: string, input: unknown, { owner, id }: { owner: string; id: string }) =>
        t.state.jobs.add({ kind, input, owner, id, maxAttempts: 1, resources: [] }),
      async remove({ id }: VectorCollection, follow: () => Promise<void>) {
        step('drop');
        drops.push(id);
        await follow();
        step('withdraw');
        ids = ids.filter((one) => one !== id);
      },
      async forget(id: string) {
        step('forget');
        forgotten.push(id);
      },
    },
    layers: {
      async put({ id }: { id: string }, change: LayerSettings) {
        step('settings');
        settings.set(id, { ...settings.get(id), ...change });
      },
      settingsOf: ({ id }: { id: string }) => settings.get(id) ?? {},
    },
    shownLayers: { at: async () => [] },
    derivations: { extend: async () => {}, of: () => [] },
    connections: { service: async () => ({ url: 'http://towns.invalid/', layers: [{ name: 'towns' }] }) },
  };
  copies = new LayerCopies(deps as unknown as CopiesDeps);
});
afterEach(() => t.close());

it('is a copy once its job has succeeded', async () => {
  const { stored } = await publish();
  expect(stored.body).toMatchObject({ connectionId: 'c1', jobId: expect.any(String), refreshJobId: null });
  expect(settingsOf()).toEqual({ service: 'coast', enabled: false });
  expect(await copies.list('c1')).toHaveLength(1);
  await copies.trim();
  await copies.trim('c1');
  expect(await copies.list('c1')).toHaveLength(1);
});

it('is forgotten with its settings when its job fails', async () => {
  finish = () => end('Failed');
  await expect(publish()).rejects.toThrow('failed');
  expect([await documentOf(), settingsOf()]).toEqual([undefined, {}]);
});

it('goes on when its job is not seen to end', async () => {
  finish = () => Promise.reject(new Error('the state is away'));
  await expect(publish()).rejects.toThrow('away');
  await copies.trim();
  expect((await documentOf())?.body.jobId).toEqual(expect.any(String));
  ids.push('towns');
  await end('Succeeded');
  expect(await copies.list('c1')).toHaveLength(1);
});

it('leaves a collection alone that took its name', async () => {
  finish = () => Promise.reject(new Error('killed'));
  await expect(publish()).rejects.toThrow();
  await end('Failed');
  ids.push('towns');
  expect(await copies.list()).toEqual([]);
  await expect(copies.get('c1', 1)).rejects.toMatchObject({ code: 'not-found' });
  settings.set('towns', { ...settings.get('towns'), service: 'others' });
  await copies.trim();
  expect([await documentOf(), settingsOf(), drops]).toEqual([undefined, { service: 'others' }, []]);
});

it('leaves a collection alone whose import was quicker', async () => {
  finish = async () => {
    ids.push('towns');
    await end('Failed');
  };
  await expect(publish()).rejects.toThrow('failed');
  expect([await documentOf(), settingsOf(), ids]).toEqual([undefined, {}, ['towns']]);
});

it('is a copy when its job fails behind its loading, as its settings did', async () => {
  finish = async (id) => {
    ids.push('towns');
    await end('Failed');
    await t.run(`INSERT INTO job_steps (job_id, ordinal, attempt, phase, status, message, started_at)
      VALUES ('${id}', 1, 1, 'load', 'Succeeded', '', 0)`);
  };
  await expect(publish()).rejects.toThrow('failed');
  expect(await copies.list('c1')).toHaveLength(1);
  expect(settingsOf()).toEqual({ service: 'coast', enabled: false });
});

it('goes through with a deletion that a process did not end', async () => {
  await publish();
  const mark = (body: LayerCopy): LayerCopy => ({ ...body, isGone: true });
  await t.state.documents.update(LAYER_COPY, 'towns', 'ada', mark);
  await copies.trim();
  expect([await documentOf(), settingsOf(), drops, ids]).toEqual([undefined, {}, ['towns'], []]);
});

it('forgets a deletion whose table was dropped, and not what took the name since', async () => {
  const publication = await publish();
  const follow = t.state.documents.remove.bind(t.state.documents);
  t.state.documents.remove = () => Promise.reject(new Error('killed'));
  await expect(copies.remove(publication, 'ada')).rejects.toThrow('killed');
  t.state.documents.remove = follow;
  expect((await documentOf())?.body.isGone).toBe(true);
  [ids, drops] = [[], []];
  await copies.trim();
  expect([await documentOf(), drops]).toEqual([undefined, []]);
});

it.each(['drop', 'forget', 'settings', 'document', 'withdraw'])(
  'leaves nothing when a process is killed before step %s of a deletion',
  async (name) => {
    const publication = await publish();
    // Settings that were changed since are settings of the layer that is deleted.
    settings.set('towns', { ...settings.get('towns'), description: 'Changed since.' });
    killedBefore = name;
    const { remove } = t.state.documents;
    if (name === 'document') t.state.documents.remove = () => Promise.reject(new Error('killed'));
    await expect(copies.remove(publication, 'ada')).rejects.toThrow('killed');
    t.state.documents.remove = remove;
    killedBefore = undefined;
    // The next process reads the tables that are there.
    ids = ids.filter((id) => !drops.includes(id));
    await copies.takeUp(new AbortController().signal);
    expect([await documentOf(), settingsOf(), ids]).toEqual([undefined, {}, []]);
    expect(new Set(forgotten)).toEqual(new Set(['towns']));
  },
);

it('is not made anew and deleted at once', async () => {
  const publication = await publish();
  finish = async () => {
    await expect(copies.remove(await copies.get('c1', 1), 'ada')).rejects.toThrow('is being copied');
    await end('Succeeded');
  };
  expect(await copies.refresh(connection, publication, 'ada')).toBe(1);
  await expect(copies.remove(publication, 'ada')).rejects.toMatchObject({ code: 'conflict' });
  await copies.remove(await copies.get('c1', 1), 'ada');
  expect(drops).toEqual(['towns']);
});

it('stays a copy when its refresh fails', async () => {
  const publication = await publish();
  finish = (id) => t.run(`UPDATE jobs SET state = 'Failed' WHERE id = '${id}'`);
  await expect(copies.refresh(connection, publication, 'ada')).rejects.toThrow('failed');
  await copies.trim('c1');
  expect(await copies.list('c1')).toHaveLength(1);
});

it('is forgotten by its connection when its collection is gone', async () => {
  await publish();
  ids = [];
  await copies.trim();
  expect(await documentOf()).toBeDefined();
  await copies.trim('c1');
  expect(await documentOf()).toBeUndefined();
});

it('loses its settings when a job fails that a process which ended has begun', async () => {
  finish = () => Promise.reject(new Error('killed'));
  await expect(publish()).rejects.toThrow('killed');
  expect(settingsOf()).toEqual({ service: 'coast', enabled: false });
  finish = () => end('Failed');
  await copies.takeUp(new AbortController().signal);
  expect([await documentOf(), settingsOf()]).toEqual([undefined, {}]);
});

it("is nobody's as a draft until it is switched on", async () => {
  const { stored } = await copies.publish(connection, { ...copy, isDraft: true }, ada);
  expect(copies.isDraft(stored)).toBe(true);
  settings.set('towns', {});
  expect(copies.isDraft(stored)).toBe(false);
});

it('is told beforehand what keeps it from being made', async () => {
  const severities = async () =>
    (await copies.validate(connection, copy, 'Towns')).map(({ severity }) => severity);
  expect(await severities()).toEqual(['pass', 'pass']);
  ids.push('towns');
  expect(await severities()).toEqual(['error', 'pass']);
  ids = [];
  refuse = () => {
    throw new ApiError('invalid-request', 'The name is reserved.');
  };
  expect(await severities()).toEqual(['error', 'pass']);
});
