import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';

/** Release packages: made by one environment (state in SQLite), applied to another one (state in PostgreSQL). */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const KEY = 'a key of both environments';
const PACKAGES = '/metadata/release-packages';
const LAYER = { title: 'All countries', fields: [{ name: 'NAME', alias: 'Name' }] };
const folder = mkdtempSync(join(tmpdir(), 'graticule-releases-'));
const sources = ['demo/data/world_map.gpkg'];
let postgres: TestPostgres;
let staging: TestServer;
let production: TestServer;

beforeAll(async () => {
  postgres = await startPostgres();
  const url = await makeDatabase(postgres.url);
  const env = (name: string) => ({ SVC_RELEASES__ENVIRONMENT: name, SVC_RELEASES__KEY: KEY });
  [staging, production] = await Promise.all([
    startServer({ sources, env: env('staging') }),
    startServer({ sources, args: ['--processes', '2'], env: { ...env('production'), SVC_STATE__URL: url } }),
  ]);
  const resources = [{ kind: 'Layer', metadata: { name: 'countries' }, spec: LAYER }];
  expect((await admin(staging, 'POST', '/metadata/manifest/apply', { resources })).status).toBe(200);
});
afterAll(async () => {
  await Promise.all([staging?.stop(), production?.stop()]);
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

async function admin(server: TestServer, method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, location: response.headers.get('location'), body: await response.json() };
}

const inventory = (server: TestServer, environment: string, query = '') =>
  admin(server, 'GET', `/metadata/environments/${environment}/inventory${query}`);

/** Applies a document by the command. */
async function apply(server: TestServer, document: object): Promise<{ code: number; text: string }> {
  const file = join(folder, 'release.yaml');
  writeFileSync(file, stringify(document));
  const command = ['dist/cli/main.js', 'apply', file, '--url', server.url, '--key', server.adminKey];
  return promisify(execFile)(process.execPath, command).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }) => ({ code, text: stderr }),
  );
}

async function made(body: object = {}): Promise<Json> {
  const asked = { sourceEnvironment: 'staging', targetEnvironments: ['production'], ...body };
  return (await admin(staging, 'POST', PACKAGES, asked)).body;
}

const manifestOf = async (packageId: string) =>
  (await admin(staging, 'GET', `${PACKAGES}/${packageId}/gitops-manifest`)).body;

describe('an inventory', () => {
  it('lists what is there by ids that are the same in other environments', async () => {
    const [here, there] = [await inventory(staging, 'staging'), await inventory(production, 'production')];
    const ids = ({ body }: Json) => body.entries.map(({ semanticId }: Json) => semanticId);
    const names = ['Catalog/staging', 'Collection/countries', 'Field/countries/NAME', 'Layer/countries'];
    expect(ids(here)).toEqual(expect.arrayContaining(names));
    expect(ids(there)).toEqual(expect.arrayContaining(['Collection/countries', 'Field/countries/NAME']));
    const version = ({ body }: Json) =>
      body.entries.find(({ semanticId }: Json) => semanticId === 'Field/countries/NAME').contentVersionId;
    expect(version(here)).toBe(version(there));
    const { body } = await inventory(staging, 'staging', '?artifactKind=FIELD');
    expect(new Set(body.entries.map(({ artifactKind }: Json) => artifactKind))).toEqual(new Set(['field']));
  });

  it('has a revision that changes with the content alone', async () => {
    const { body: before } = await inventory(production, 'production');
    const { body: again } = await inventory(production, 'production');
    expect([again.revision, again.etag]).toEqual([before.revision, before.etag]);
    expect((await admin(production, 'POST', '/roles', { name: 'clerk' })).status).toBeLessThan(300);
    const { body: after } = await inventory(production, 'production');
    expect(after.revision).toBe(before.revision + 1);
    expect(after.etag).not.toBe(before.etag);
  });

  it('is that of this environment alone', async () => {
    expect((await inventory(staging, 'production')).status).toBe(404);
    expect((await inventory(staging, 'staging', '?artifactKind=3')).status).toBe(400);
  });
});

describe('bindings', () => {
  it('tell what is bound, what is missing, and what this server cannot know', async () => {
    const semanticIds = ['Collection/countries', 'Collection/none'];
    const asked = { Environments: ['staging', 'production'], semanticIds };
    const { body } = await admin(staging, 'POST', '/metadata/environment-bindings/query', asked);
    expect(body.bindings.map(({ state }: Json) => state)).toEqual([
      ...['bound', 'missing', 'environment-unavailable', 'environment-unavailable'],
    ]);
    expect(body.bindings[0].resource).toMatchObject({ collectionId: 'countries', kind: 'vector' });
  });

  it.each([{}, { environments: [], semanticIds: ['x'] }, { environments: ['a'], semanticIds: [7] }])(
    'refuse %j',
    async (body) => {
      expect((await admin(staging, 'POST', '/metadata/environment-bindings/query', body)).status).toBe(400);
    },
  );
});

describe('a release package', () => {
  it('takes what is there, and is found again', async () => {
    const answer = await admin(staging, 'POST', PACKAGES, {
      ...{ sourceEnvironment: 'staging', targetEnvironments: ['production'], packageKey: 'november' },
      ...{ semanticIds: ['Layer/countries', 'Field/countries/NAME'], title: 'November' },
      changeClasses: { 'Layer/countries': 'metadata' },
    });
    expect(answer.status).toBe(201);
    expect(answer.location).toBe(`/api/v1/admin${PACKAGES}/${answer.body.packageId}`);
    const [layer, field] = answer.body.entries;
    expect(layer).toMatchObject({ semanticId: 'Layer/countries', changeClass: 'metadata', status: 'ready' });
    expect(field.sourceField).toMatchObject({
      ...{ fieldName: 'NAME', parentResourceId: 'Collection/countries' },
    });
    const { packageId } = answer.body;
    expect((await admin(staging, 'GET', `${PACKAGES}/${packageId}`)).body).toEqual(answer.body);
    const page = async (query: string) => (await admin(staging, 'GET', PACKAGES + query)).body;
    expect((await page('?limit=1&status=READY')).items).toMatchObject([{ packageId, entryCount: 2 }]);
    expect((await page('?targetEnvironment=elsewhere')).items).toEqual([]);
  });

  it.each([
    [404, { sourceEnvironment: 'production' }],
    [400, { semanticIds: ['Layer/none'] }],
    [400, { semanticIds: ['Layer/countries'], changeClasses: { 'Role/x': 'policy' } }],
    [400, { changeClasses: { 'Layer/countries': 'other' } }],
    [409, { desiredRevision: 999_999 }],
    [409, { packageKey: 'november' }],
  ])('answers %d to %j', async (status, body) => {
    const asked = { sourceEnvironment: 'staging', ...body };
    expect((await admin(staging, 'POST', PACKAGES, asked)).status).toBe(status);
  });

  it('is not there under an id of nothing', async () => {
    expect((await admin(staging, 'GET', `${PACKAGES}/none`)).status).toBe(404);
    expect((await admin(staging, 'GET', `${PACKAGES}/none/gitops-manifest`)).status).toBe(404);
  });
});

describe('the manifest of a package', () => {
  const changes: [string, (document: Json) => void, RegExp][] = [
    [
      'whose objects were changed',
      (document) => void (document.resources[0].spec.title = 'Other'),
      /digest.*was changed/,
    ],
    [
      'without its signature',
      (document) => void delete document.signature,
      /signature: (?:was not signed with releases\.key|is required)/,
    ],
    [
      'that is signed with another key',
      (document) => void (document.signature = document.signature.replace(/.{4}$/, 'zzzz')),
      /signature: (?:was not signed with releases\.key|is required)/,
    ],
  ];

  it.each(changes)('is refused %s', async (_name, change, reason) => {
    const document = await manifestOf((await made()).packageId);
    change(document);
    const { code, text } = await apply(production, document);
    expect(code).not.toBe(0);
    expect(text).toMatch(reason);
    const { body } = await inventory(production, 'production');
    expect(body.entries.map(({ semanticId }: Json) => semanticId)).not.toContain('Layer/countries');
  });

  it('is refused where it does not lead', async () => {
    const document = await manifestOf((await made({ targetEnvironments: ['elsewhere'] })).packageId);
    expect((await apply(production, document)).text).toMatch(
      /targets: must name the environment of this server, production;/,
    );
  });

  it('is looked at beforehand, and all that is wrong is told', async () => {
    const semanticIds = ['Layer/countries', 'Field/countries/NAME'];
    const document = await manifestOf((await made({ semanticIds })).packageId);
    const look = async (releasePackage: Json, more: object = {}) =>
      admin(production, 'POST', '/metadata/prevalidate', {
        ...{ targetEnvironment: 'production', releasePackage, ...more },
      });
    expect((await look(document)).body.data).toMatchObject({
      ...{ status: 'ready', canPromote: true, findings: [], sourceEnvironment: 'staging' },
      rollbackReadiness: { classification: 'metadata-only' },
    });

    const [layer, field] = structuredClone(document.spec.entries);
    const lost = { ...field.sourceField, semanticId: 'Field/countries/LOST', fieldName: 'LOST' };
    field.sourceField.fieldType = 'other';
    const entries = [layer, field, { ...field, semanticId: lost.semanticId, sourceField: lost }];
    const resources = [...document.resources, { kind: 'Layer', metadata: { name: 'none' }, spec: {} }];
    const wrong = { ...document, spec: { ...document.spec, entries }, resources };
    const { data } = (await look(wrong)).body;
    expect(data).toMatchObject({ status: 'blocked', canPromote: false });
    expect(data.findings.map(({ code }: Json) => code.replace('metadata.compat.', ''))).toEqual([
      ...['package-refused', 'field-type', 'field-missing', 'object-refused'],
    ]);
    const after = { resources: [{ semanticId: 'Collection/countries', exists: true, fields: ['LOST'] }] };
    const script = { scriptId: 'add-lost', reversible: false, afterContract: after };
    const covered = (await look(wrong, { dataScripts: [script] })).body.data;
    expect(covered).toMatchObject({ coveredErrorCount: 1, uncoveredErrorCount: 3, warningCount: 1 });
    expect(covered.rollbackReadiness).toMatchObject({ classification: 'snapshot-required' });
    const { body } = await inventory(production, 'production');
    expect(body.entries.map(({ semanticId }: Json) => semanticId)).not.toContain('Layer/countries');
  });

  it('is looked at by id where it was made, and for one environment at a time', async () => {
    const { packageId } = await made({ targetEnvironments: [] });
    const look = (body: object) => admin(staging, 'POST', '/metadata/prevalidate', body);
    const here = { targetEnvironment: 'staging', releasePackageId: packageId };
    expect((await look(here)).body.data).toMatchObject({ status: 'ready', targetEtag: expect.any(String) });
    const elsewhere = await look({ ...here, targetEnvironment: 'production' });
    expect(elsewhere.body.data).toMatchObject({ status: 'unknown', canPromote: false });
    const { data: record } = (await admin(staging, 'GET', `/metadata/release-packages/${packageId}`)).body;
    const shown = record ?? (await admin(staging, 'GET', `/metadata/release-packages/${packageId}`)).body;
    const asShown = { targetEnvironment: 'staging', releasePackage: shown };
    expect((await look(asShown)).body.data).toMatchObject({ status: 'ready', findings: [] });
    const there = await admin(production, 'POST', '/metadata/prevalidate', {
      ...{ targetEnvironment: 'production', releasePackage: shown },
    });
    expect(there.body.data).toMatchObject({
      releasePackageId: packageId,
      canPromote: true,
      status: 'warning',
    });
    expect(there.body.data.findings.map(({ kind }: Json) => kind)).toEqual(['record-only']);
    expect((await look({ targetEnvironment: 'staging' })).status).toBe(400);
    expect((await look({ ...here, releasePackageId: 'none' })).status).toBe(404);
    expect((await look({ ...here, releasePackage: await manifestOf(packageId) })).status).toBe(400);
  });

  it('makes the other environment answer the same', async () => {
    const { packageId } = await made();
    // What comes after the package is no part of it.
    const later = [{ kind: 'Layer', metadata: { name: 'countries' }, spec: { ...LAYER, title: 'Later' } }];
    await admin(staging, 'POST', '/metadata/manifest/apply', { resources: later });
    expect(await apply(production, await manifestOf(packageId))).toMatchObject({ code: 0 });
    const collection = await fetch(`${production.url}/ogc/features/collections/countries?f=json`);
    expect(((await collection.json()) as Json).title).toBe(LAYER.title);
    const settings = (document: Json) => document.resources.find(({ kind }: Json) => kind === 'Layer').spec;
    const { body } = await admin(production, 'GET', '/metadata/manifest');
    expect(settings(body.data)).toEqual(settings(await manifestOf(packageId)));
  });
});
