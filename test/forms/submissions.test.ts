import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminOf, makeBuildings } from '../scenes/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';

/** Submissions of forms, from the client to the feature and the export. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-submissions-'));
let server: TestServer;
let admin: ReturnType<typeof adminOf>;
let layerId: number;
let collector: string;
let count = 0;

const POLYGON = {
  type: 'Polygon',
  coordinates: [
    [
      [9, 48],
      [9.001, 48],
      [9.001, 48.001],
      [9, 48.001],
      [9, 48],
    ],
  ],
};
const FIELDS = [
  { fieldId: 'title', label: 'Title', type: 'text', targetField: 'name', required: true },
  { fieldId: 'metres', label: 'Metres', type: 'decimal', targetField: 'height' },
  {
    fieldId: 'kinds',
    label: 'Kinds',
    type: 'select_multiple',
    targetField: 'zone',
    domain: { type: 'codedValue', choices: ['a', 'b', 'x'].map((code) => ({ code, label: code })) },
  },
  { fieldId: 'phone', label: 'Phone', type: 'text', private: true },
  { fieldId: 'remark', label: 'Remark', type: 'text' },
];
const ALL = { allowedOperations: ['create', 'update', 'delete'], requiresGeometry: false };

beforeAll(async () => {
  makeBuildings(folder);
  server = await startServer({ sources: [folder] });
  admin = adminOf(server);
  layerId = (await layerNumbers(server))['buildings']!;
  collector = await keyOf('read:default/buildings', 'write:default/buildings');
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const keyOf = async (...permissions: string[]) =>
  (await admin('POST', '/api-keys', { name: `key ${++count}`, permissions })).body.data.key as string;

async function newForm(change: object = {}): Promise<string> {
  const formId = `visits_${++count}`;
  const form = { formId, target: { layerId }, submitPolicy: ALL, fields: FIELDS, ...change };
  expect((await admin('POST', '/forms/packages', form)).status).toBe(201);
  const published = await admin('POST', `/forms/packages/${formId}/versions/1/publish`);
  expect([published.status, JSON.stringify(published.body.issues)]).toEqual([200, undefined]);
  return formId;
}

async function submit(formId: string, body: object, key = collector) {
  const response = await fetch(`${server.url}/forms/${formId}/submissions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === '' ? {} : { 'x-api-key': key }) },
    body: JSON.stringify({ instanceId: `uuid:${++count}`, formVersion: 1, values: {}, ...body }),
  });
  return { status: response.status, body: await response.json() };
}
const path = (id: string) => `/field-workflows/submissions/${id}`;
const decide = (id: string, status: string, headers: Record<string, string> = {}) =>
  admin('POST', `${path(id)}/decision`, { status }, headers);
const items = `/ogc/features/collections/buildings/items`;
const readItem = async (id: number | string) => {
  const response = await fetch(`${server.url}${items}/${id}?f=json`);
  return {
    status: response.status,
    etag: response.headers.get('etag')!,
    body: response.status === 200 ? await response.json() : undefined,
  };
};
const patchItem = (id: number | string, properties: object) =>
  fetch(`${server.url}${items}/${id}`, {
    method: 'PATCH',
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ properties }),
  });

describe('a submission', () => {
  it('is stored for review, and becomes a feature with its approval', async () => {
    const formId = await newForm();
    const values = { title: 'Mill', metres: 7.25, kinds: ['a', 'b'], phone: '112', remark: 'old' };
    const { status, body } = await submit(formId, { values, geometry: POLYGON });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{
        formId,
        formVersion: 1,
        serviceId: 'default',
        layerId,
        operation: 'create',
        targetFeatureId: null,
      },
      ...{ syncStatus: 'pending', hasConflict: false, hasValidationIssues: false, attachmentCount: 0 },
      ...{
        geometry: POLYGON,
        deviceId: null,
        review: { status: 'pending', assignedTo: null, decidedAt: null },
      },
    });
    expect(body.submitterHash).toMatch(/./);
    const detail = await admin('GET', path(body.submissionId));
    expect(detail.body.values).toEqual({ title: 'Mill', metres: 7.25, kinds: ['a', 'b'], remark: 'old' });
    const decided = await decide(body.submissionId, 'approved', { 'if-match': detail.headers.get('etag')! });
    expect([decided.status, decided.body.status]).toEqual([200, 'approved']);
    expect(decided.headers.get('etag')).toContain(decided.body.etag);
    const { record } = (await admin('GET', path(body.submissionId))).body;
    expect(record).toMatchObject({ syncStatus: 'synced', targetFeatureId: expect.any(Number) });
    const item = await readItem(record.targetFeatureId);
    expect(item.body.properties).toMatchObject({ name: 'Mill', height: 7.25, zone: 'a b', owner: null });
    expect(item.body.geometry.coordinates).toEqual(POLYGON.coordinates);
    expect((await decide(body.submissionId, 'rejected')).status).toBe(409);
  });

  it('is stored once, however often and by however many requests it is sent', async () => {
    const formId = await newForm();
    const sent = { instanceId: 'uuid:same', values: { title: 'One' }, geometry: POLYGON };
    const answers = await Promise.all(Array.from({ length: 16 }, () => submit(formId, sent)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(15).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => body.submissionId)).size).toBe(1);
    const other = await submit(formId, { ...sent, values: { title: 'Two' } });
    expect([other.status, other.body.detail]).toEqual([409, expect.stringContaining('uuid:same')]);
    expect((await admin('GET', `/field-workflows/submissions?formId=${formId}`)).body.total).toBe(1);
  });

  it.each<[string, object, object, number, string]>([
    ['a missing value', {}, { values: {} }, 400, '/values/title'],
    ['an unknown field', {}, { values: { title: 'x', nope: 1 } }, 400, '/values/nope'],
    ['a wrong type', {}, { values: { title: 'x', metres: '7' } }, 400, '/values/metres'],
    ['a number that would be rounded', {}, { values: { title: 'x' }, formVersion: 1.5 }, 400, 'formVersion'],
    ['an unknown version', {}, { formVersion: 2, values: { title: 'x' } }, 404, '2'],
    [
      'an operation that is not allowed',
      { submitPolicy: { allowedOperations: ['create'], requiresGeometry: false } },
      { operation: 'delete', targetFeatureId: 5 },
      400,
      'operation',
    ],
    [
      'no geometry',
      { submitPolicy: { allowedOperations: ['create'], requiresGeometry: true } },
      { values: { title: 'x' } },
      400,
      'geometry',
    ],
    ['no feature', {}, { operation: 'update', values: { title: 'x' } }, 400, 'targetFeatureId'],
    [
      'a feature that does not exist',
      {},
      { operation: 'update', targetFeatureId: 999_999, values: { title: 'x' } },
      404,
      '999999',
    ],
  ])('with %s is refused with the name of the member', async (_, change, body, status, name) => {
    const formId = await newForm(change);
    const answer = await submit(formId, body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([status, expect.stringContaining(name)]);
    expect((await admin('GET', `/field-workflows/submissions?formId=${formId}`)).body.total).toBe(0);
  });

  it('needs the rights of an edit of the layer', async () => {
    const formId = await newForm();
    const reader = await keyOf('read:default/buildings');
    expect((await submit(formId, { values: { title: 'x' } }, '')).status).toBe(401);
    expect((await submit(formId, { values: { title: 'x' } }, reader)).status).toBe(403);
    expect((await submit('none', { values: { title: 'x' } })).status).toBe(404);
  });

  it('is not taken for a draft, and for a replaced version only for a while', async () => {
    const formId = await newForm({ submitPolicy: { ...ALL, maxOfflineAgeSeconds: 0 } });
    expect((await admin('POST', `/forms/packages/${formId}/versions/1/reopen`)).status).toBe(200);
    expect((await submit(formId, { formVersion: 2, values: { title: 'x' } })).status).toBe(409);
    expect((await admin('POST', `/forms/packages/${formId}/versions/2/publish`)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await submit(formId, { formVersion: 1, values: { title: 'x' } })).status).toBe(409);
    expect((await submit(formId, { formVersion: 2, values: { title: 'x' } })).status).toBe(201);
  });
});

describe('an approval', () => {
  it('updates and deletes features', async () => {
    const formId = await newForm();
    const update = await submit(formId, { operation: 'update', targetFeatureId: 20, values: { metres: 33 } });
    expect((await decide(update.body.submissionId, 'approved')).status).toBe(200);
    expect((await readItem(20)).body.properties).toMatchObject({ name: 'house 20', height: 33 });
    const removal = await submit(formId, { operation: 'delete', targetFeatureId: 21 });
    expect((await decide(removal.body.submissionId, 'approved')).status).toBe(200);
    expect((await readItem(21)).status).toBe(404);
  });

  it('of a feature that was changed meanwhile is a conflict, and overwrites nothing', async () => {
    const formId = await newForm();
    const { body } = await submit(formId, {
      operation: 'update',
      targetFeatureId: 30,
      values: { metres: 1 },
    });
    expect((await patchItem(30, { height: 77 })).status).toBeLessThan(300);
    const refused = await decide(body.submissionId, 'approved');
    expect([refused.status, refused.body.message]).toEqual([
      409,
      expect.stringContaining('the feature is unchanged'),
    ]);
    expect((await readItem(30)).body.properties.height).toBe(77);
    const { record } = (await admin('GET', path(body.submissionId))).body;
    expect(record).toMatchObject({ hasConflict: true, syncStatus: 'pending', review: { status: 'pending' } });
    expect(
      (await admin('GET', `/field-workflows/submissions?formId=${formId}&hasConflict=true`)).body.total,
    ).toBe(1);
    expect((await decide(body.submissionId, 'rejected')).status).toBe(200);
  });

  it('of a feature that the client had not seen in its present state is a conflict', async () => {
    const formId = await newForm();
    const { etag } = await readItem(31);
    const current = await submit(formId, {
      operation: 'update',
      targetFeatureId: 31,
      featureVersion: etag,
      values: { metres: 2 },
    });
    expect(current.body.hasConflict).toBe(false);
    await patchItem(31, { height: 78 });
    const stale = await submit(formId, {
      operation: 'update',
      targetFeatureId: 31,
      featureVersion: etag,
      values: { metres: 3 },
    });
    expect([stale.status, stale.body.hasConflict]).toEqual([201, true]);
    expect((await decide(stale.body.submissionId, 'approved')).status).toBe(409);
    expect((await readItem(31)).body.properties.height).toBe(78);
  });

  it('is made by one of two reviewers, and creates one feature', async () => {
    const formId = await newForm();
    const { body } = await submit(formId, { values: { title: `pair ${formId}` }, geometry: POLYGON });
    const { headers } = await admin('GET', path(body.submissionId));
    const tag = { 'if-match': headers.get('etag')! };
    const answers = await Promise.all([
      decide(body.submissionId, 'approved', tag),
      decide(body.submissionId, 'approved', tag),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const found = await (
      await fetch(`${server.url}${items}?f=json&filter=${encodeURIComponent(`name='pair ${formId}'`)}`)
    ).json();
    expect(found.features).toHaveLength(1);
    expect((await decide(body.submissionId, 'rejected', tag)).status).toBe(409);
  });

  it('needs the present rights of the submitter', async () => {
    const formId = await newForm();
    const made = await admin('POST', '/api-keys', {
      name: 'leaver',
      permissions: ['read:default/buildings', 'write:default/buildings'],
    });
    const { body } = await submit(
      formId,
      { operation: 'update', targetFeatureId: 40, values: { metres: 4 } },
      made.body.data.key,
    );
    expect((await admin('POST', `/api-keys/${made.body.data.apiKey.id}/revoke`)).status).toBeLessThan(300);
    expect((await decide(body.submissionId, 'approved')).status).toBe(409);
    expect((await readItem(40)).body.properties.height).not.toBe(4);
    expect((await admin('GET', path(body.submissionId))).body.record.syncStatus).toBe('failed');
  });
});

describe('a review', () => {
  it('has an assignee, comments and corrections', async () => {
    const formId = await newForm();
    const sent = { instanceId: 'uuid:corrected', values: { title: 'First' }, geometry: POLYGON };
    const { body } = await submit(formId, sent);
    const assigned = await admin('POST', `${path(body.submissionId)}/assignment`, { assignedTo: 'ann' });
    expect([assigned.status, assigned.body.status, assigned.body.assignedTo]).toEqual([
      200,
      'in_review',
      'ann',
    ]);
    const note = await admin('POST', `${path(body.submissionId)}/comments`, { body: 'Looks good' });
    expect([note.status, note.body.correctionRequest]).toEqual([201, false]);
    const request = await admin('POST', `${path(body.submissionId)}/comments`, {
      body: 'Which street?',
      correctionRequest: true,
    });
    expect(request.status).toBe(201);
    const detail = (await admin('GET', path(body.submissionId))).body;
    expect(detail.record.review.status).toBe('changes_requested');
    expect(detail.comments.map((one: { body: string }) => one.body)).toEqual(['Looks good', 'Which street?']);
    const again = await submit(formId, { ...sent, values: { title: 'Second' } });
    expect([again.status, again.body.submissionId, again.body.review.status]).toEqual([
      200,
      body.submissionId,
      'pending',
    ]);
    expect((await decide(body.submissionId, 'approved')).status).toBe(200);
    const { record } = (await admin('GET', path(body.submissionId))).body;
    expect((await readItem(record.targetFeatureId)).body.properties.name).toBe('Second');
    expect((await admin('POST', `${path('none')}/assignment`, {})).status).toBe(404);
    expect((await admin('POST', `${path('none')}/comments`, { body: 'x' })).status).toBe(404);
  });

  it('is found by each condition, in pages', async () => {
    const formId = await newForm();
    const times = ['2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z', '2024-01-03T00:00:00Z'];
    for (const submittedAt of times)
      await submit(formId, { submittedAt, values: { title: submittedAt }, geometry: POLYGON });
    const list = async (query: string) =>
      (await admin('GET', `/field-workflows/submissions?formId=${formId}${query}`)).body;
    const all = await list('');
    expect(all.items.map((one: { submittedAt: string }) => Date.parse(one.submittedAt))).toEqual(
      times.toReversed().map((time) => Date.parse(time)),
    );
    expect([all.total, all.limit, all.offset]).toEqual([3, 100, 0]);
    expect((await list('&limit=1&offset=1')).items[0].submittedAt).toContain('2024-01-02');
    expect((await list('&submittedFrom=2024-01-02T00:00:00Z&submittedTo=2024-01-02T00:00:00Z')).total).toBe(
      1,
    );
    expect((await list('&reviewStatus=PENDING&syncStatus=pending&serviceId=default')).total).toBe(3);
    expect((await list(`&layerId=${layerId}`)).total).toBe(3);
    expect((await list('&layerId=424242')).total).toBe(0);
    expect((await list('&assignedTo=nobody')).total).toBe(0);
    for (const query of [
      'limit=0',
      'limit=501',
      'reviewStatus=1',
      'submittedFrom=yesterday',
      'hasConflict=maybe',
    ])
      expect((await admin('GET', `/field-workflows/submissions?${query}`)).status).toBe(400);
  });
});

describe('an export', () => {
  it('has the values of all versions in the column of their field, and no private value', async () => {
    const formId = await newForm();
    await submit(formId, {
      submittedAt: '2024-01-01T00:00:00Z',
      geometry: POLYGON,
      values: { title: '=1+1', metres: -7.5, phone: 'secret-1', remark: 'a,"b"\nc' },
    });
    await admin('POST', `/forms/packages/${formId}/versions/1/reopen`);
    const { headers, body } = await admin('GET', `/forms/packages/${formId}/versions/2`);
    const renamed = FIELDS.filter(({ fieldId }) => fieldId !== 'remark' && fieldId !== 'phone').concat({
      fieldId: 'note',
      label: 'Note',
      type: 'text',
    });
    const put = await admin(
      'PUT',
      `/forms/packages/${formId}/versions/2`,
      { ...body.package, sections: undefined, fields: renamed },
      { 'if-match': headers.get('etag')! },
    );
    expect([put.status, put.body.detail]).toEqual([200, undefined]);
    expect((await admin('POST', `/forms/packages/${formId}/versions/2/publish`)).status).toBe(200);
    await submit(formId, {
      formVersion: 2,
      submittedAt: '2024-01-02T00:00:00Z',
      values: { title: 'Two', note: 'new', kinds: ['x'] },
    });

    const exportAs = (format: string) =>
      fetch(`${server.url}/api/v1/admin/field-workflows/exports`, {
        method: 'POST',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({ format, formId }),
      });
    const csv = await exportAs('csv');
    expect([csv.status, csv.headers.get('content-type'), csv.headers.get('x-svc-export-count')]).toEqual([
      200,
      'text/csv; charset=utf-8',
      '2',
    ]);
    const text = await csv.text();
    const [head, ...rows] = text.split('\r\n');
    expect(head).toBe(
      'submissionId,formId,formVersion,operation,featureId,submittedAt,reviewStatus,syncStatus,geometry,title,metres,kinds,remark,note',
    );
    expect(rows[0]!.endsWith(`,'=1+1,-7.5,,"a,""b""\nc",`)).toBe(true);
    expect(rows[1]!.endsWith(',,Two,,"[""x""]",,new')).toBe(true);
    const geojson = await (await exportAs('geojson')).json();
    expect(geojson.features.map((one: { properties: object }) => one.properties)).toMatchObject([
      { title: '=1+1', metres: -7.5, kinds: null, remark: 'a,"b"\nc', note: null },
      { title: 'Two', metres: null, kinds: ['x'], remark: null, note: 'new' },
    ]);
    expect(geojson.features[0].geometry).toEqual(POLYGON);
    const list = (await admin('GET', '/field-workflows/exports?limit=500')).body;
    const record = list.items.find(
      (one: { exportId: string }) => one.exportId === csv.headers.get('x-svc-export-id'),
    );
    expect(record).toMatchObject({ format: 'csv', recordCount: 2, filter: JSON.stringify({ formId }) });
    const listed = await admin('GET', `/field-workflows/submissions?formId=${formId}`);
    const details = await Promise.all(
      listed.body.items.map((one: { submissionId: string }) => admin('GET', path(one.submissionId))),
    );
    const shown = [
      text,
      JSON.stringify(geojson),
      JSON.stringify(listed.body),
      JSON.stringify(details.map((one) => one.body)),
      server.log(),
    ].join();
    expect(shown).not.toContain('secret-1');
  });
});
