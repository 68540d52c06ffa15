import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { CatalogSnapshot, type Collection } from '../../../src/core/catalog/collection.js';
import type { GeoServerCatalog, GeoServerGroup } from '../../../src/core/exchange/geoserver.js';
import { EXCHANGE_LIMITS } from '../../../src/core/exchange/limits.js';
import { planLayerGroups } from '../../../src/services/exchange/migrations/geoserver/groups.js';
import { LayerMetadataWriter } from '../../../src/services/exchange/migrations/geoserver/metadata-writer.js';
import type { MigrationState } from '../../../src/services/exchange/migrations/geoserver/progress.js';
import type { MigrationRequest } from '../../../src/services/exchange/migrations/geoserver/request.js';
import { settleGroups } from '../../../src/services/exchange/migrations/geoserver/settle-groups.js';
import { scratchDirectory } from '../../engine/support.js';
import { startServer, startServerProcess, type TestServer } from '../../support/server.js';
import { isFullRun } from '../../support/soak.js';
import { call, collections, itemsOf, type Json, leftovers, REMOTE_HOST } from '../remote/support.js';
import { type GeoServer, PASSWORD, USER } from './geoserver.js';
import type { GeoServerServices } from './geoserver-services.js';
import {
  endedMigration,
  type Layer,
  layersOf,
  type MigrationSource,
  migrationEnv,
  migrationJob,
  SECRET,
  startMigration,
  startSource,
} from './migration-source.js';

/**
 * Migrations of a GeoServer, on a server that runs one job at a time: a migration that waits must not be that one. A
 * brief run imports once, and kills once.
 */

const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);

const scratch = scratchDirectory();
let server: TestServer;
let source: GeoServer;
let services: GeoServerServices;
let origin: MigrationSource;

beforeAll(async () => {
  origin = await startSource(scratch.path);
  ({ source, services } = origin);
  server = await startServerProcess({ sources: [], env: migrationEnv });
}, 480_000);

afterEach(() => {
  services.behaviour = undefined;
  services.offersJson = true;
});

afterAll(async () => {
  await server?.stop();
  await origin?.close();
  scratch.remove();
});

const start = (body: object = {}) => startMigration(server, source, body);
const jobOf = (id: unknown) => migrationJob(server, id);
const ended = (id: unknown) => endedMigration(server, id);
const states = (job: Json) => Object.fromEntries(layersOf(job).map((one) => [one.sourceLayer, one.status]));

const groupViews = (job: Json) => job['layerGroups'] as Json[];

async function styleOf(layer: Layer | undefined): Promise<Json> {
  const { body } = await call(server, 'GET', `/metadata/layers/${layer!['publishedLayerId']}/style`);
  return body['data'] as Json;
}

const migrated = async (body: object = {}) => ended((await start(body)).body['jobId']);

/** Pages of features are not answered from the nth on. */
function stall(after = 0): void {
  let pages = after;
  services.behaviour = (query) => query.has('STARTINDEX') && query.has('COUNT') && pages-- <= 0;
}

/** Files that imports have left; folders of rasters stay. */
const files = () => leftovers(server).filter((name) => !name.startsWith('rasters') || name.endsWith('.tif'));

/** Within the heights, longitudes first. */
const OLINDA = '-34.9,-8.03,-34.85,-7.98';

const FEATURES = { layerNames: ['topp:countries', 'plane'] };

describe('a migration of a GeoServer', { timeout: 600_000 }, () => {
  it('plans without importing anything, and tells what is left', async () => {
    const job = await migrated({ dryRun: true, applyMode: false });
    expect(job).toMatchObject({
      ...{ status: 'Completed', dryRun: true, sourceVersion: '2.27.0', geoServerUrl: source.restUrl },
      progress: { status: 7, totalLayers: 3, importedLayers: 0 },
    });
    expect(
      layersOf(job).map(({ sourceLayer, collectionId, status }) => [sourceLayer, collectionId, status]),
    ).toEqual([
      ['topp:countries', 'topp_countries', 'planned'],
      ['topp:heights', 'topp_heights', 'planned'],
      ['topp:plane', 'topp_plane', 'planned'],
    ]);
    const unsupported = (job['unsupported'] as Json[]).map(({ kind, id, code }) => [kind, id, code]);
    expect(unsupported).toEqual([
      ['store', 'data:topp:schemas', 'complex-features'],
      ['layer', 'topp:names', 'no-geometry'],
      ['layer', 'topp:Geology', 'complex-features'],
      ['layer', 'topp:base map?', 'cascaded'],
    ]);
    expect(job['manualReview']).toMatchObject([
      { kind: 'style', id: 'topp:Red land', reason: expect.stringContaining('topp:countries, and is not') },
      { kind: 'style', id: 'topp:ramp', reason: expect.stringContaining('topp:heights, and is not') },
      { kind: 'style', id: 'topp:Red land', reason: expect.stringContaining('topp:heights, and is not') },
      {
        kind: 'gridset',
        id: 'Alps 25832',
        configuration: expect.stringMatching(/^tiles:\n {2}matrixSets:\n/),
      },
    ]);
    expect(job['tileGrids']).toMatchObject([
      { sourceGridset: 'EPSG:4326', tileMatrixSetId: 'WGS1984Quad', collectionIds: ['topp_countries'] },
      { sourceGridset: 'EPSG:900913', collectionIds: ['topp_countries', 'topp_heights'] },
      // That of the group, whose layer comes along.
      { tileMatrixSetId: 'EuropeanETRS89_LAEAQuad', collectionIds: ['topp_countries'] },
    ]);
    expect(job['layerGroups']).toMatchObject([
      {
        ...{ sourceGroup: 'topp:world', serviceName: 'topp_world', collectionIds: ['topp_countries'] },
        warnings: [expect.stringContaining('topp:Geology')],
      },
    ]);
    expect(job['warnings']).toEqual(expect.arrayContaining([expect.stringContaining('topp:Geology')]));
    expect(await collections(server)).toEqual([]);
  });

  it('imports feature types by jobs of their own, in the CRS that they have', async () => {
    const { status, body } = await start(FEATURES);
    expect({ status, body }).toMatchObject({
      status: 202,
      body: { statusUrl: `jobs/${body['jobId']}`, cancelUrl: `jobs/${body['jobId']}/cancel` },
    });
    const job = await ended(body['jobId']);
    expect(job).toMatchObject({
      ...{ status: 'Completed', errorMessage: null, warnings: [] },
      progress: { status: 7, totalLayers: 2, importedLayers: 2, failedLayers: 0, percentComplete: 100 },
    });
    const total = services.types['topp:countries']!.features.length;
    for (const { collectionId, publishedLayerId, jobId, featureCount } of layersOf(job)) {
      expect([featureCount, publishedLayerId]).toEqual([total, expect.any(Number)]);
      expect((await call(server, 'GET', `/jobs/${jobId}`)).body).toMatchObject({ status: 'Succeeded' });
      expect(await itemsOf(server, collectionId)).toMatchObject({ numberMatched: total });
    }
    const plane = await fetch(`${server.url}/ogc/features/collections/topp_plane?f=json`);
    expect(await plane.json()).toMatchObject({ title: 'Plane', storageCrs: expect.stringMatching(/3857$/) });
    const { jobs } = (await call(server, 'GET', '/import/platform-b/jobs')).body as { jobs: Json[] };
    expect(jobs[0]).toEqual(job);
  });

  full('leaves collections of those names alone, unless they are to be replaced', async () => {
    expect(states(await migrated(FEATURES))).toEqual({
      ...{ 'topp:countries': 'skipped', 'topp:plane': 'skipped' },
    });
    const job = await migrated({ ...FEATURES, overwriteExisting: true, targetSrid: 3395 });
    expect(states(job)).toEqual({ 'topp:countries': 'imported', 'topp:plane': 'imported' });
    const plane = await fetch(`${server.url}/ogc/features/collections/topp_plane?f=json`);
    expect(await plane.json()).toMatchObject({ storageCrs: expect.stringMatching(/3395$/) });
  });

  full('names collections by mapped workspaces, and reads GML where there is no GeoJSON', async () => {
    services.offersJson = false;
    const job = await migrated({
      workspaceNames: ['topp'],
      dataStoreNames: ['topp:pg'],
      layerNames: ['countries'],
      importOptions: { workspaceNameMappings: { topp: 'Welt' } },
    });
    expect(layersOf(job)).toMatchObject([{ collectionId: 'welt_countries', status: 'imported' }]);
    expect(await itemsOf(server, 'welt_countries')).toMatchObject({ numberMatched: 240 });
  });

  full('imports coverages, and takes over words and styles', async () => {
    const options = { workspaceNameMappings: { topp: 'styled' } };
    const job = await migrated({ importStyles: true, importOptions: options });
    expect(job).toMatchObject({ status: 'Completed', progress: { importedLayers: 3 } });
    expect(job['unsupported']).toContainEqual(expect.objectContaining({ kind: 'style', id: 'broken' }));
    expect(job['warnings']).toContainEqual(expect.stringContaining('style broken'));
    const [countries, heights, plane] = layersOf(job);
    expect([countries!['sourceStyle'], plane!['sourceStyle']]).toEqual(['topp:land', null]);
    const about = await fetch(`${server.url}/ogc/features/collections/styled_countries?f=json`);
    expect(await about.json()).toMatchObject({
      ...{ title: 'Countries', description: 'All of them', keywords: ['world', 'borders'] },
      attribution: expect.stringContaining('Natural Earth'),
    });
    expect(await styleOf(countries)).toMatchObject({
      mapLibreStyle: { layers: expect.arrayContaining([expect.objectContaining({ type: 'fill' })]) },
      ...{ styleVersion: 1, revisedBy: 'import' },
    });
    expect(await styleOf(plane)).toMatchObject({ styleVersion: 0 });
    expect(countries!['otherStyles']).toEqual(['topp:Red land']);
    expect(heights!['otherStyles']).toEqual(['topp:ramp', 'topp:Red land']);
    expect(heights!.warnings).toContain('Nothing of the style topp:Red land can be drawn.');
    expect(job['manualReview']).toMatchObject([{ kind: 'gridset' }]);
    const coverage = await fetch(`${server.url}/ogc/coverages/collections/${heights!.collectionId}?f=json`);
    expect(await coverage.json()).toMatchObject({ id: 'styled_heights', title: 'Heights' });
    expect(states(await migrated({ layerNames: ['heights'], importOptions: options }))).toEqual({
      'topp:heights': 'skipped',
    });
  });

  full('offers the other styles of a layer under their names, and draws groups as one map', async () => {
    const stylesOf = async (collection: string) => {
      const styles = await fetch(`${server.url}/ogc/maps/collections/${collection}/styles?f=json`);
      return ((await styles.json()) as { styles: Json[] }).styles.map(({ id }) => id);
    };
    expect(await stylesOf('styled_countries')).toEqual(['default', 'topp-red-land']);
    expect(await stylesOf('styled_heights')).toEqual(['default', 'topp-ramp']);
    const map = async (path: string, bbox = '-20,0,20,40') => {
      const answer = await fetch(`${server.url}/ogc/maps${path}?bbox=${bbox}&width=64&height=64&f=png`);
      expect(answer.status).toBe(200);
      const { data } = await sharp(await answer.arrayBuffer())
        .removeAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      return [...data.subarray(3 * (64 * 20 + 32), 3 * (64 * 20 + 33))];
    };
    expect(await map('/collections/styled_countries/map')).toEqual([0x22, 0x55, 0xcc]);
    const red = [0xcc, 0x22, 0x22];
    expect(await map('/collections/styled_countries/styles/topp-red-land/map')).toEqual(red);
    expect(await map('/collections/styled_heights/map', OLINDA)).not.toEqual(red);
    expect(await map('/collections/styled_heights/styles/topp-ramp/map', OLINDA)).toEqual(red);
    const { body } = await call(server, 'GET', '/services');
    const world = (body['data'] as Json[]).find(({ serviceName }) => serviceName === 'styled_world');
    expect(world).toMatchObject({ description: 'World' });
    const { jobs } = (await call(server, 'GET', '/import/platform-b/jobs')).body as { jobs: Json[] };
    const job = jobs.find((one) => groupViews(one)[0]?.['serviceName'] === 'styled_world')!;
    const [group] = groupViews(job);
    expect((await fetch(`${server.url}${group!['map']}&width=64&height=64`)).status).toBe(200);
    const layer = layersOf(job).find(({ sourceLayer }) => sourceLayer === 'topp:countries')!;
    const path = `/services/styled_world/layers/${layer['publishedLayerId']}/metadata`;
    expect(await call(server, 'PUT', path, {})).toMatchObject({ status: 200 });
  });

  full('lets words and a style stay that somebody has put', async () => {
    const collection = { layerNames: ['topp:countries'], importStyles: true };
    const options = { importOptions: { workspaceNameMappings: { topp: 'own' } } };
    const [before] = layersOf(await migrated({ ...collection, ...options }));
    const style = `/metadata/layers/${before!['publishedLayerId']}/style`;
    const { mapLibreStyle } = await styleOf(before);
    expect((await call(server, 'PUT', style, { mapLibreStyle, changedBy: 'ada' })).status).toBe(200);
    const [after] = layersOf(await migrated({ ...collection, ...options, overwriteExisting: true }));
    expect(after).toMatchObject({ status: 'imported', warnings: [expect.stringMatching(/which stays/)] });
    expect(await styleOf(before)).toMatchObject({ styleVersion: 2, revisedBy: 'ada' });
  });

  full('leaves a layer out that fails, or ends with it', async () => {
    services.behaviour = (query, response) => {
      if (query.get('TYPENAMES') !== 'topp:countries') return false;
      response.writeHead(200, { 'content-type': 'text/plain' }).end('no');
      return true;
    };
    const names = { ...FEATURES, batchSize: 1 };
    const mapping = (name: string) => ({ workspaceNameMappings: { topp: name } });
    const others = await migrated({ ...names, importOptions: mapping('b') });
    expect(states(others)).toEqual({ 'topp:countries': 'failed', 'topp:plane': 'imported' });
    expect(groupViews(others)).toMatchObject([{ collectionIds: [], map: null, style: null }]);
    expect(others).toMatchObject({ status: 'Completed', warnings: [expect.stringMatching(/1 of 2 layers/)] });
    const none = await migrated({
      ...names,
      importOptions: { ...mapping('c'), continueOnResourceFailure: false },
    });
    expect(none).toMatchObject({ status: 'Failed', errorMessage: expect.stringMatching(/topp:countries/) });
    expect(states(none)['topp:plane']).toBe('planned');
    expect(await collections(server)).not.toContain('c_plane');
  });

  full('sends a request again that was not answered well', async () => {
    let refusals = 2;
    services.behaviour = (query, response) => {
      if (!query.has('STARTINDEX') || !query.has('COUNT') || refusals-- <= 0) return false;
      response.destroy();
      return true;
    };
    const options = { importOptions: { workspaceNameMappings: { topp: 'again' } } };
    expect(states(await migrated({ layerNames: ['plane'], maxRetries: 2, ...options }))).toEqual({
      'topp:plane': 'imported',
    });
    expect(refusals).toBeLessThan(0);
  });

  full('fails before it imports anything, where what is unsupported is to fail it', async () => {
    const options = { workspaceNameMappings: { topp: 'd' } };
    for (const part of ['Layer', 'DataStore', 'Style']) {
      const policy = { [`unsupported${part}Behavior`]: 2 };
      const job = await migrated({ importStyles: true, importOptions: { ...options, ...policy } });
      expect(job).toMatchObject({
        status: 'Failed',
        errorMessage: expect.stringMatching(/cannot be imported/),
      });
    }
    expect((await collections(server)).filter((id) => id.startsWith('d_'))).toEqual([]);
  });

  it('ends with its jobs when it is cancelled', async () => {
    stall();
    const options = { importOptions: { workspaceNameMappings: { topp: 'never' } } };
    const { jobId } = (await start({ ...FEATURES, ...options })).body;
    await vi.waitFor(
      async () => expect(states(await jobOf(jobId))).toMatchObject({ 'topp:countries': 'running' }),
      {
        timeout: 60_000,
        interval: 100,
      },
    );
    expect(await jobOf(jobId)).toMatchObject({ status: 'Processing', progress: { status: 4 } });
    const { status } = await call(server, 'POST', `/import/platform-b/jobs/${jobId}/cancel`);
    expect(status).toBe(200);
    const job = await ended(jobId);
    expect(job).toMatchObject({ status: 'Cancelled', progress: { status: 9 } });
    await vi.waitFor(
      async () =>
        expect(states(await jobOf(jobId))).toEqual({
          'topp:countries': 'cancelled',
          'topp:plane': 'cancelled',
        }),
      { timeout: 60_000, interval: 100 },
    );
    expect((await call(server, 'POST', `/import/platform-b/jobs/${jobId}/cancel`)).status).toBeLessThan(500);
    expect((await collections(server)).filter((id) => id.startsWith('never'))).toEqual([]);
    await vi.waitFor(() => expect(files()).toEqual([]), { timeout: 60_000 });
  });

  it('goes on after kill -9, and imports nothing twice', async () => {
    // The page of the first layer, and none of the second.
    stall(1);
    const options = { importOptions: { workspaceNameMappings: { topp: 'killed' } } };
    const { jobId } = (await start({ ...FEATURES, ...options, batchSize: 1 })).body;
    await vi.waitFor(
      async () =>
        expect(states(await jobOf(jobId))).toEqual({ 'topp:countries': 'imported', 'topp:plane': 'running' }),
      { timeout: 60_000, interval: 100 },
    );
    const before = layersOf(await jobOf(jobId));
    const { dataDir } = server;
    await server.kill();
    services.behaviour = undefined;
    server = await startServerProcess({ sources: [], dataDir, env: migrationEnv });
    const job = await ended(jobId);
    expect(states(job)).toEqual({ 'topp:countries': 'imported', 'topp:plane': 'imported' });
    expect(layersOf(job).map((one) => one['jobId'])).toEqual(before.map((one) => one['jobId']));
    await vi.waitFor(() => expect(files()).toEqual([]), { timeout: 60_000 });
  });

  full('goes on after kill -9 in the middle of a coverage', async () => {
    let isAsked = false;
    services.behaviour = (query, response) => {
      if (query.get('REQUEST') !== 'GetCoverage') return false;
      response.writeHead(200, { 'content-type': 'image/tiff' }).write('II*\0');
      isAsked = true;
      return true;
    };
    const options = { importOptions: { workspaceNameMappings: { topp: 'cut' } } };
    const { jobId } = (await start({ layerNames: ['heights'], ...options })).body;
    await vi.waitFor(() => expect(isAsked).toBe(true), { timeout: 60_000 });
    const { dataDir } = server;
    await server.kill();
    services.behaviour = undefined;
    server = await startServer({ sources: [], dataDir, env: migrationEnv });
    expect(states(await ended(jobId))).toEqual({ 'topp:heights': 'imported' });
    expect(await collections(server)).not.toContain('cut_heights-2');
    await vi.waitFor(() => expect(files()).toEqual([]), { timeout: 60_000 });
  });

  it('fails where the source cannot be read, and tells why', async () => {
    const job = await migrated({ layerNames: ['topp:none'] });
    expect(job).toMatchObject({
      status: 'Failed',
      errorMessage: expect.stringMatching(/layerNames: 'topp:none' does not exist on the GeoServer/),
    });
    const away = await migrated({ geoServerRestUrl: `http://${REMOTE_HOST}:9/geoserver`, maxRetries: 0 });
    expect(away).toMatchObject({ status: 'Failed', progress: { status: 8 } });
    const forbidden = await migrated({ geoServerRestUrl: 'http://127.0.0.5/geoserver', maxRetries: 0 });
    expect(forbidden).toMatchObject({
      status: 'Failed',
      errorMessage: expect.stringMatching(/are not allowed/),
    });
  });

  it('holds no password, and is refused where a member is not supported', async () => {
    const { jobId } = (await start({ dryRun: true })).body;
    const pair = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
    const states = readdirSync(server.dataDir).filter((name) => name.startsWith('state.db'));
    const texts = [JSON.stringify(await ended(jobId))];
    for (const name of states) texts.push(readFileSync(join(server.dataDir, name), 'latin1'));
    expect(texts.some((text) => text.includes(String(jobId)))).toBe(true);
    for (const secret of [PASSWORD, pair]) expect(texts.some((text) => text.includes(secret))).toBe(false);
    const wrong: [Json, RegExp][] = [
      [{ geoServerRestUrl: 'file:///etc/passwd' }, /geoServerRestUrl/],
      [{ password: PASSWORD }, /password/],
      [{ passwordSecretReference: 'env:HOME' }, /passwordSecretReference/],
      [{ passwordSecretReference: null }, /passwordSecretReference/],
      [{ username: null }, /username/],
      [{ targetSvcUrl: 'https://other.example.org/' }, /targetSvcUrl/],
      [{ svcApiKeySecretReference: SECRET }, /svcApiKeySecretReference/],
      [{ applyMode: false }, /applyMode/],
      [{ autoPublishLayers: false }, /autoPublishLayers/],
      [{ targetSrid: 1 }, /targetSrid/],
      [{ batchSize: 0 }, /batchSize/],
      [{ workspaceNames: [] }, /workspaceNames/],
      [{ importOptions: { unsupportedStyleBehavior: 3 } }, /unsupportedStyleBehavior/],
    ];
    for (const [more, text] of wrong) {
      const { status, body } = await start(more);
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringMatching(text)]);
    }
    expect((await start({ targetSvcUrl: server.url, dryRun: true })).status).toBe(202);
    expect((await call(server, 'GET', '/import/platform-b/jobs/none')).status).toBe(404);
    expect((await call(server, 'POST', '/import/platform-b/jobs/none/cancel')).status).toBe(404);
  });
});

describe('layer groups of a GeoServer', () => {
  const group = (name: string, members: GeoServerGroup['members'], workspace?: string): GeoServerGroup => ({
    ...{ id: workspace === undefined ? name : `${workspace}:${name}`, workspace, name, members },
    ...{ title: undefined, abstract: undefined, mode: undefined },
  });
  const layer = (id: string) => ({ kind: 'layer' as const, id, style: undefined });
  const inner = (id: string) => ({ kind: 'layerGroup' as const, id, style: undefined });
  const plan = (groups: GeoServerGroup[], ...ids: string[]) => {
    const members = ids.map((id) => ({ id, collection: id, styleId: null }));
    const request = { workspaceNames: {}, defaultWorkspace: '' } as unknown as MigrationRequest;
    return planLayerGroups(members, { groups } as unknown as GeoServerCatalog, request);
  };

  it('are looked through once each, whatever they hold', () => {
    const names = Array.from({ length: 40 }, (_, i) => `g${i}`);
    const all = names.map((name) => group(name, [layer(`of ${name}`), ...names.map(inner)]));
    const plans = plan(all, ...names.map((name) => `of ${name}`));
    expect(plans[1]!.collections.slice(0, 3)).toEqual(['of g1', 'of g0', 'of g2']);
    expect(plans.map(({ collections }) => collections.length)).toEqual(names.map(() => names.length));
    expect(plans[0]!.warnings).toEqual([expect.stringContaining(`${EXCHANGE_LIMITS.geoServerGroupMembers}`)]);
  });

  it('whose names are one here become two services', () => {
    const groups = [
      group('base', [layer('a')], 'x'),
      group('x_base', [layer('a')]),
      group('é', [inner('x:base')]),
    ];
    expect(plan(groups, 'a').map(({ service }) => service)).toEqual(['x_base', 'x_base_2', 'e']);
  });

  it('are told to have a service in common with other layers', async () => {
    const collection = (id: string) => ({ id, layerId: id.length, service: 'world' }) as Collection;
    const snapshot = new CatalogSnapshot([collection('a'), collection('before')], [], 0);
    const parts = [{ settingsOf: () => ({ service: 'world' }) }, {}, {}, () => snapshot, {}] as unknown;
    const words = new LayerMetadataWriter(...(parts as ConstructorParameters<typeof LayerMetadataWriter>));
    const [world] = plan([group('world', [layer('a')])], 'a');
    const layers = [{ id: 'a', collection: 'a' }];
    const progress = { state: 'imported', notes: [] };
    const state = { plan: { groups: [world], layers }, layers: [{ ordinal: 0, layer: layers[0], progress }] };
    const settle = () =>
      settleGroups(words, state as unknown as MigrationState, new AbortController().signal);
    expect(await settle()).toEqual([expect.stringContaining('has other layers')]);
    layers.push({ id: 'b', collection: 'before' });
    expect(await settle()).toEqual([]);
  });
});
