import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

const BASE = '/api/v1/admin';
let server: TestServer;
/** Keys by their permissions. */
const keys = new Map<string, string>();

beforeAll(async () => {
  server = await startServer({ sources: ['demo/data/world_map.gpkg'] });
  for (const permissions of ['admin:investigations:write', 'admin:investigations:write admin:audit:read'])
    keys.set(permissions, await makeKey(permissions.split(' ')));
});
afterAll(() => server.stop());

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
type Answer = { status: number; body: any; etag: string | null };

async function call(
  method: string,
  path: string,
  body?: unknown,
  { key = server.adminKey, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(`${server.url}${BASE}${path}`, {
    method,
    headers: {
      'x-api-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json(), etag: response.headers.get('etag') };
}

async function makeKey(permissions: string[]): Promise<string> {
  const { body } = await call('POST', '/api-keys', { name: permissions.join(), permissions });
  return body.data.key;
}

const open = async (title = 'Slow tiles') =>
  (await call('POST', '/investigations', { title })).body.investigationId;
const pin = (eventKind: string, id: string, more: object = {}) => ({
  ...{ eventKind, eventRef: `${eventKind}:${id}`, occurredAt: '2026-01-31T12:00:00.5Z', ...more },
});

it('have every member, and keep what they point to', async () => {
  const made = await call('POST', '/investigations', { title: 'Slow tiles', summary: 'since Monday' });
  expect(made.status).toBe(201);
  const { investigationId: id } = made.body;
  expect(made.body).toEqual({
    ...{ investigationId: id, title: 'Slow tiles', summary: 'since Monday', status: 'open' },
    ...{ createdAt: expect.any(String), createdBy: expect.any(String), updatedAt: expect.any(String) },
    ...{ pins: [], links: [] },
  });
  const { body: trail } = await call('GET', '/observability/audit?resourceType=investigations&pageSize=1');
  const [entry] = trail.items;
  const pinned = await call(
    'POST',
    `/investigations/${id}/pins`,
    pin('audit', entry.auditId, { note: 'start' }),
  );
  expect(pinned.status).toBe(200);
  expect(pinned.body.pins).toEqual([
    {
      ...{ pinId: expect.any(Number), eventKind: 'audit', eventRef: `audit:${entry.auditId}`, note: 'start' },
      ...{
        occurredAt: '2026-01-31T12:00:00.500Z',
        createdAt: expect.any(String),
        createdBy: made.body.createdBy,
      },
      copy: {
        title: `${entry.action}: ${entry.resourceType} ${entry.resourceId}`,
        ...{ severity: null, summary: `${entry.actor}, ${entry.outcome}` },
      },
    },
  ]);
  const linked = await call('POST', `/investigations/${id}/links`, {
    resourceKind: 'changeSet',
    resourceId: 'c-1',
  });
  expect(linked.body.links).toEqual([
    {
      ...{ linkId: expect.any(Number), resourceKind: 'changeSet', resourceId: 'c-1', note: null, copy: null },
      ...{ createdAt: expect.any(String), createdBy: made.body.createdBy },
    },
  ]);
  expect((await call('GET', `/investigations/${id}`)).body).toEqual(linked.body);
  const { pins, links, ...head } = linked.body;
  const { body: list } = await call('GET', '/investigations?titleContains=SLOW');
  expect(list.items).toContainEqual({ ...head, pinCount: 1, linkCount: 1 });
  const without = await call('DELETE', `/investigations/${id}/pins/${pins[0].pinId}`);
  expect([without.status, without.body.pins, without.body.links]).toEqual([200, [], links]);
  const empty = await call('DELETE', `/investigations/${id}/links/${links[0].linkId}`);
  expect([empty.status, empty.body.links]).toEqual([200, []]);
});

it('pins of a log keep the lines of the request', async () => {
  const id = await open();
  const wrong = await call('POST', `/investigations/${id}/pins`, pin('log', 'none-4711'));
  expect(wrong.body.pins[0].copy).toBeNull();
});

it.each([
  ['an id of another kind', { ...pin('alert', '1'), eventRef: 'audit:1' }, 400, 'eventRef'],
  ['an audit entry that does not exist', pin('audit', '999999999'), 400, 'eventRef'],
  ['an alert that does not exist', pin('alert', '999999999'), 400, 'eventRef'],
  ['an alert without a number', pin('alert', 'x'), 400, 'eventRef'],
  ['a job that does not exist', pin('job', 'x'), 400, 'eventRef'],
  ['a release that does not exist', pin('release', 'x'), 400, 'eventRef'],
  ['a conflict that does not exist', pin('syncConflict', 'a/b'), 400, 'eventRef'],
  ['another kind', pin('weather', '1'), 400, 'eventKind'],
  ['a time that is none', pin('log', '1', { occurredAt: 'Monday' }), 400, 'occurredAt'],
  ['a long note', pin('log', '1', { note: 'x'.repeat(1025) }), 400, 'note'],
  ['a long id', pin('log', 'x'.repeat(300)), 400, 'eventRef'],
  ['a member more', pin('log', '1', { other: 1 }), 400, 'other'],
])('pins of %s are refused', async (_name, body, status, member) => {
  const id = await open();
  const refused = await call('POST', `/investigations/${id}/pins`, body);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([status, expect.stringContaining(member)]);
  expect((await call('GET', `/investigations/${id}`)).body.pins).toEqual([]);
});

it('other wrong requests are refused', async () => {
  const id = await open();
  for (const title of ['', ' ', 'a\u0000b', 'a\nb', 'x'.repeat(201), 5, null])
    expect((await call('POST', '/investigations', { title })).status).toBe(400);
  expect((await call('PATCH', `/investigations/${id}`, { status: 'done' })).status).toBe(400);
  for (const wrong of ['0', '-1', 'x', '99999999999999999999', '4711'])
    expect((await call('GET', `/investigations/${wrong}`)).status).toBe(404);
  expect((await call('DELETE', `/investigations/${id}/pins/4711`)).status).toBe(404);
  expect((await call('GET', '/investigations?cursor=x')).status).toBe(400);
  expect((await call('GET', '/investigations?status=done')).status).toBe(400);
});

it('a closed one is changed by nothing but its status', async () => {
  const id = await open();
  expect((await call('PATCH', `/investigations/${id}`, { status: 'closed' })).body.status).toBe('closed');
  expect((await call('POST', `/investigations/${id}/pins`, pin('log', '1'))).status).toBe(409);
  expect((await call('PATCH', `/investigations/${id}`, { title: 'x' })).status).toBe(409);
  const again = await call('PATCH', `/investigations/${id}`, { status: 'open', title: 'x', summary: null });
  expect(again.body).toMatchObject({ status: 'open', title: 'x', summary: null });
});

it('changes can depend on the entity tag', async () => {
  const id = await open();
  const { etag } = await call('GET', `/investigations/${id}`);
  const pinned = await call('POST', `/investigations/${id}/pins`, pin('log', '1'));
  const [{ pinId }] = pinned.body.pins;
  const old = { headers: { 'if-match': etag! } };
  expect((await call('PATCH', `/investigations/${id}`, { title: 'x' }, old)).status).toBe(412);
  expect((await call('DELETE', `/investigations/${id}/pins/${pinId}`, undefined, old)).status).toBe(412);
  const { etag: now } = await call('GET', `/investigations/${id}`);
  const changed = await call(
    'PATCH',
    `/investigations/${id}`,
    { title: 'x' },
    { headers: { 'if-match': now! } },
  );
  expect(changed.status).toBe(200);
  const present = { headers: { 'if-match': changed.etag! } };
  expect((await call('DELETE', `/investigations/${id}/pins/${pinId}`, undefined, present)).status).toBe(200);
});

it('evidence needs the permission to read it', async () => {
  const id = await open();
  const path = `/investigations/${id}/pins`;
  const none = { key: keys.get('admin:investigations:write')! };
  for (const one of [
    pin('audit', '1'),
    pin('alert', '1'),
    pin('job', 'x'),
    pin('log', '1'),
    pin('release', 'x'),
  ]) {
    const refused = await call('POST', path, one, none);
    expect([refused.status, refused.body.detail ?? refused.body.message]).toEqual([
      403,
      expect.stringContaining('admin:'),
    ]);
  }
  expect((await call('POST', path, pin('temporalOp', '1'), none)).status).toBe(200);
  const some = { key: keys.get('admin:investigations:write admin:audit:read')! };
  expect((await call('POST', path, pin('audit', '1'), some)).status).toBe(200);
});
