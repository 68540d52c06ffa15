import { beforeAll, describe, expect, it } from 'vitest';
import { type Asker, createAsker } from '../operate/asker.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

let server: SharedServer;
let ask: Asker;
let layerId: number;
let count = 0;

beforeAll(async () => {
  server = await sharedServer();
  ask = createAsker(server.url, server.adminKey);
  const { body } = await ask('POST', '/forms/packages/generate', { prompt: 'countries' });
  layerId = Number(
    body.clarifications[0].choices.find(({ label }: { label: string }) => /countries/i.test(label)).id,
  );
});

const newForm = (change: object = {}) => ({
  formId: `forms_test_${++count}`,
  title: 'Visits',
  target: { layerId },
  submitPolicy: { allowedOperations: ['update'] },
  fields: [
    {
      fieldId: 'kind',
      label: 'Kind',
      type: 'select_one',
      domain: { type: 'codedValue', choices: [{ code: 'a', label: 'A' }] },
    },
    {
      fieldId: 'why',
      label: 'Why',
      type: 'text',
      visibility: { dependsOnFieldId: 'kind', operator: 'equals', value: 'a' },
    },
  ],
  ...change,
});
async function createDraft(change: object = {}) {
  const form = newForm(change);
  const made = await ask('POST', '/forms/packages', form);
  expect([made.status, made.body.detail]).toEqual([201, undefined]);
  return { ...made, path: `/forms/packages/${form.formId}`, form };
}
const publish = (path: string, version = 1) => ask('POST', `${path}/versions/${version}/publish`);

describe('a form package', () => {
  it('starts as a draft with all members, and is listed', async () => {
    const { body, form, etag, path } = await createDraft();
    expect(body).toMatchObject({
      formId: form.formId,
      version: 1,
      status: 'draft',
      reopenedFromVersion: null,
    });
    expect(body.package).toMatchObject({
      schemaVersion: 'svc.form-package.v1',
      sections: [{ sectionId: 'main', fieldIds: ['kind', 'why'], repeatable: false }],
      submitPolicy: { allowedOperations: ['update'], allowAttachments: false, maxOfflineAgeSeconds: null },
      offlinePolicy: { conflictReviewMode: 'defer' },
    });
    expect(body.package.fields[0]).toMatchObject({ required: false, hint: null, validation: [] });
    expect(etag).toContain(body.etag);
    const { body: list } = await ask('GET', '/forms/packages');
    expect(list.find((one: { formId: string }) => one.formId === form.formId)).toEqual({
      ...{ formId: form.formId, title: 'Visits', serviceId: null, layerId, updatedAt: expect.any(String) },
      ...{ currentDraftVersion: 1, currentPublishedVersion: null },
    });
    expect((await ask('POST', '/forms/packages', form)).status).toBe(409);
    expect((await ask('GET', `${path}/versions/2`)).status).toBe(404);
    expect((await ask('GET', '/forms/packages/none')).status).toBe(404);
  });

  it('is changed only by who knows its state', async () => {
    const { form, path, etag, body } = await createDraft();
    const put = (title: string, ifMatch?: string) =>
      ask(
        'PUT',
        `${path}/versions/1`,
        { ...form, title },
        ifMatch === undefined ? {} : { 'if-match': ifMatch },
      );
    expect((await put('without')).status).toBe(428);
    const changed = await put('first', etag!);
    expect([changed.status, changed.body.package.title]).toEqual([200, 'first']);
    expect((await put('second', etag!)).status).toBe(409);
    expect(changed.body.contentHash).not.toBe(body.contentHash);
    expect(changed.body.policyHash).toBe(body.policyHash);
    const other = await ask('PUT', `${path}/versions/1`, { ...form, formId: 'other' }, { 'if-match': '*' });
    expect([other.status, other.body.errors[0].name]).toEqual([400, 'formId']);
  });

  it('is published once, whoever else changes or publishes it', async () => {
    const { form, path } = await createDraft();
    const headers = { 'if-match': '*' };
    const race = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        i % 2 === 0 ? publish(path) : ask('PUT', `${path}/versions/1`, { ...form, title: `t${i}` }, headers),
      ),
    );
    const published = race.filter(({ status, body }) => status === 200 && body.status === 'published');
    expect(published).toHaveLength(1);
    for (const { status } of race) expect([200, 409]).toContain(status);
    const { body: now } = await ask('GET', path);
    expect([now.status, now.contentHash]).toEqual(['published', published[0]!.body.contentHash]);
    expect((await ask('PUT', `${path}/versions/1`, form, headers)).status).toBe(409);
  });

  it('is reopened as a new draft, and its versions have no gaps', async () => {
    const { path } = await createDraft();
    expect((await ask('POST', `${path}/versions/1/reopen`)).status).toBe(409);
    expect((await publish(path)).status).toBe(200);
    const [one, other] = await Promise.all([1, 2].map(() => ask('POST', `${path}/versions/1/reopen`)));
    expect([one!.status, other!.status].sort()).toEqual([200, 409]);
    expect((await ask('GET', path)).body.version).toBe(1);
    expect((await publish(path, 2)).body).toMatchObject({ status: 'published', reopenedFromVersion: 1 });
    const { body: versions } = await ask('GET', `${path}/versions`);
    expect(
      versions.map(({ version, status }: { version: number; status: string }) => [version, status]),
    ).toEqual([
      [1, 'archived'],
      [2, 'published'],
    ]);
    expect(versions[0].contentHash).toBe(versions[1].contentHash);
  });

  it('with errors is a draft, which cannot be published', async () => {
    const fields = [{ fieldId: 'a', label: 'A', type: 'text', targetField: 'no_such_column' }];
    const { path, body } = await createDraft({ fields, attachmentPolicy: { requireFaceBlur: true } });
    const codes = ({ issues }: { issues: { code: string }[] }) => issues.map(({ code }) => code);
    expect(body.validation.isValid).toBe(false);
    const refused = await publish(path);
    expect([refused.status, refused.body.isValid]).toEqual([400, false]);
    expect(codes(refused.body)).toEqual(['column-missing', 'policy-unmet']);
    expect((await ask('POST', `${path}/versions/1/validate`)).body).toEqual(refused.body);
    expect((await ask('GET', `${path}/versions/1`)).body.status).toBe('draft');
  });

  it.each([
    [{ target: { layerId: -1 } }, 'target.layerId'],
    [{ fields: [{ fieldId: 'a b', label: 'A', type: 'text' }] }, 'fields[0].fieldId'],
    [{ fields: [{ fieldId: 'a', label: 'A', type: 'colour' }] }, 'fields[0].type'],
    [{ submitPolicy: { allowedOperations: ['destroy'] } }, 'submitPolicy.allowedOperations[0]'],
    [{ formId: '../x' }, 'formId'],
  ])('is refused with the member that is wrong: %j', async (change, name) => {
    const { status, body } = await ask('POST', '/forms/packages', newForm(change));
    expect([status, body.detail]).toEqual([400, expect.stringContaining(name)]);
  });
});

describe('a generated form', () => {
  it('has the columns of the layer, and says that the prompt was not read', async () => {
    const { body } = await ask('POST', '/forms/packages/generate', {
      prompt: 'a form about visits with photos',
      answers: [{ questionId: 'layer', optionId: String(layerId) }],
    });
    expect(body).toMatchObject({
      ...{ status: 'generated', unmappedRequests: ['a form about visits with photos'] },
      capabilityState: { name: 'prompt', state: 'unavailable' },
    });
    const schema = await (await fetch(`${server.url}/ogc/features/collections/countries/schema`)).json();
    const answered = body.package.fields.map(
      ({ targetField }: { targetField: string | null }) => targetField,
    );
    expect(answered[0]).toBeNull();
    expect(body.package.fields[0].type).toBe('geoshape');
    for (const name of answered.slice(1)) expect(Object.keys(schema.properties)).toContain(name);
    expect(answered.length).toBeGreaterThan(5);
    expect(body.validation).toEqual({ isValid: true, issues: [] });
    // It can be sent as it is.
    expect((await ask('POST', '/forms/packages', body.package)).status).toBe(201);
  });

  it('refuses a layer that is not there', async () => {
    const answers = [{ questionId: 'layer', optionId: '987654' }];
    expect((await ask('POST', '/forms/packages/generate', { prompt: 'x', answers })).status).toBe(400);
  });
});
