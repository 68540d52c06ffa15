import Type from 'typebox';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AdminDeps } from '../../src/gateway/admin/deps.js';
import { documents } from '../../src/gateway/admin/documents.js';
import { entityTag } from '../../src/gateway/admin/entity-tags.js';
import {
  action,
  createAdminOperations,
  createRowBuilders,
  group,
  report,
  resource,
  setting,
} from '../../src/gateway/admin/kit.js';
import type { RunServices } from '../../src/gateway/admin/row-run.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { call } from './support/call.js';

const Colour = Type.Object({ name: Type.String(), shade: Type.Integer() });

const colours = documents('/colours', {
  kind: 'colour',
  param: 'colourId',
  idMember: 'colourId',
  services: [],
  create: Type.Object({ name: Type.String(), shade: Type.Optional(Type.Integer()) }),
  update: Type.Partial(Colour),
  body: Colour,
  make: ({ name, shade = 0 }) => ({ name, shade }),
  change: (before, wanted) => ({ ...before, ...wanted }),
});

const VERBS = {
  list: 'List Colours',
  create: 'Create Colour',
  get: 'Get Colour',
  update: 'Update Colour',
  remove: 'Delete Colour',
};

const sample = group({ tag: 'Colours', scope: 'colours', envelope: 'wrapped' }, [
  ...resource('/colours/{colourId}', VERBS, colours),
  ...setting('/colours/settings/default', { get: 'Get Default Colour', set: 'Set Default Colour' }),
  report('POST /colours/mix', 'Mix Colours'),
  action('POST /colours/dry', 'Dry Colours'),
  report('GET /colours/raw', 'Get Raw Colours', {
    envelope: 'raw',
    data: Type.Object({}),
    answer: () => ({ a: 1 }),
  }),
]);

describe('services of rows', () => {
  const names = (deps: object) => Object.keys(deps).sort();
  const { report: keyReport, action: keyAction } = createRowBuilders(['keys', 'rules']);
  const tables = group({ tag: 'Tables', scope: 'tables', envelope: 'raw' }, [
    keyReport('GET /tables/answer', 'Answer', {
      data: Type.Array(Type.String()),
      answer: (_x, deps) => names(deps),
    }),
    keyReport('GET /tables/reply', 'Reply', {
      responses: {},
      reply: (_x, deps) => ({
        status: 200,
        mediaType: 'application/json',
        body: JSON.stringify(names(deps)),
      }),
    }),
    keyAction('PUT /tables/current', 'Change', {
      data: Type.Array(Type.String()),
      current: (_x, deps) => names(deps),
      answer: (_x, deps) => names(deps),
    }),
    report('GET /tables/none', 'None', {
      data: Type.Array(Type.String()),
      answer: (_x, deps) => names(deps),
    }),
  ]);
  const all = { keys: {}, rules: {}, state: {}, settle: async () => {} } as unknown as AdminDeps;
  const operations = createAdminOperations(tables, all, {} as RunServices);
  const run = (id: string) => call(operations.find((o) => o.id === `admin.tables.${id}`)!);

  it.each(['answer', 'reply', 'change'])('gives an implementation what its file names: %s', async (id) => {
    expect((await run(id)).body).toEqual(['keys', 'rules']);
  });

  it('gives the view of the resource that is changed the same', async () => {
    const change = operations.find(({ id }) => id === 'admin.tables.change')!;
    const etag = entityTag(['keys', 'rules']);
    expect((await call(change, { headers: { 'if-match': `"${etag}"` } })).body).toEqual(['keys', 'rules']);
  });

  it('gives nothing where a file names nothing', async () => {
    expect((await run('none')).body).toEqual([]);
  });

  it('refuses other services when it compiles', () => {
    // @ts-expect-error: the file does not name `state`.
    keyReport('GET /tables/other', 'Other', { data: Type.Null(), answer: (_x, { state }) => state });
    // @ts-expect-error: nothing is named.
    report('GET /tables/nothing', 'Nothing', { data: Type.Null(), answer: (_x, { keys }) => keys });
  });
});

describeStates('kit', (temporary) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());

  const operations = () => createAdminOperations(sample, { state: t.state } as AdminDeps, {} as RunServices);
  const byId = (id: string) => operations().find((o) => o.id === `admin.colours.${id}`)!;

  it('derives id, path, permission and audit from the row', () => {
    const facts = operations().map((o) => [o.id, `${o.method} ${o.path}`, o.permission, o.audited, o.built]);
    expect(facts).toEqual([
      ['admin.colours.listColours', 'GET /api/v1/admin/colours', 'admin:colours:read', false, true],
      ['admin.colours.createColour', 'POST /api/v1/admin/colours', 'admin:colours:write', true, true],
      ['admin.colours.getColour', 'GET /api/v1/admin/colours/{colourId}', 'admin:colours:read', false, true],
      [
        'admin.colours.updateColour',
        'PUT /api/v1/admin/colours/{colourId}',
        'admin:colours:write',
        true,
        true,
      ],
      [
        'admin.colours.deleteColour',
        'DELETE /api/v1/admin/colours/{colourId}',
        'admin:colours:write',
        true,
        true,
      ],
      [
        'admin.colours.getDefaultColour',
        'GET /api/v1/admin/colours/settings/default',
        'admin:colours:read',
        false,
        false,
      ],
      [
        'admin.colours.setDefaultColour',
        'PUT /api/v1/admin/colours/settings/default',
        'admin:colours:write',
        true,
        false,
      ],
      ['admin.colours.mixColours', 'POST /api/v1/admin/colours/mix', 'admin:colours:read', false, false],
      ['admin.colours.dryColours', 'POST /api/v1/admin/colours/dry', 'admin:colours:write', true, false],
      ['admin.colours.getRawColours', 'GET /api/v1/admin/colours/raw', 'admin:colours:read', false, true],
    ]);
  });

  it('keeps a resource in documents: create, list, get, change, remove', async () => {
    const made = await call(byId('createColour'), { body: { name: 'red' } });
    expect(made.status).toBe(201);
    const { colourId } = made.body.data;
    expect(made.headers.location).toBe(`/api/v1/admin/colours/${colourId}`);
    const path = { colourId };
    const changed = await call(byId('updateColour'), { path, body: { shade: 3 } });
    expect(changed.body).toMatchObject({ success: true, data: { colourId, name: 'red', shade: 3 } });
    expect((await call(byId('getColour'), { path })).body.data).toEqual(changed.body.data);
    expect((await call(byId('listColours'))).body.data).toEqual([changed.body.data]);
    const removed = await call(byId('deleteColour'), { path });
    expect(removed.body).toMatchObject({ success: true, data: null, message: 'The colour is deleted.' });
    for (const id of ['getColour', 'deleteColour']) {
      await expect(call(byId(id), { path })).rejects.toMatchObject({ status: 404 });
    }
    await expect(call(byId('updateColour'), { path, body: {} })).rejects.toMatchObject({ status: 404 });
    await expect(call(byId('createColour'), { body: {} })).rejects.toMatchObject({ status: 400 });
  });

  it('documents the envelope where it wraps, and only there', async () => {
    const schema = (id: string) => byId(id).responses[200]?.content?.['application/json'];
    expect(schema('getColour')).toMatchObject({ required: ['success', 'data', 'timestamp'] });
    expect(schema('getRawColours')).toEqual(Type.Object({}));
    expect((await call(byId('getRawColours'))).body).toEqual({ a: 1 });
    expect(Object.keys(byId('updateColour').responses)).toEqual(['200', '400', '404', '412']);
    expect(Object.keys(byId('mixColours').responses)).toEqual(['501']);
  });
});
