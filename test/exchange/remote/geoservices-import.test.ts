import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Files, png } from '../../attachments/support.js';
import { townOf } from '../../replicas/support.js';
import { type GeoServicesRemote, LAYER_PATH, startGeoServices } from '../../support/geoservices.js';
import { startServer, startServerProcess, type TestServer } from '../../support/server.js';
import { call, collections, itemsOf, type Json, leftovers, REMOTE_HOST, sendJson } from './support.js';

/** Imports of a layer of GeoServices: from a server of our own that speaks the protocol, and may lie. */

const env = { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]`, CONNECTION_TOKEN: 'a secret token' };
let server: TestServer;
let remote: GeoServicesRemote;

beforeAll(async () => {
  remote = await startGeoServices();
  server = await startServerProcess({ sources: [], env });
}, 180_000);

afterEach(() => {
  remote.behaviour = undefined;
  remote.change = (page) => page;
  remote.layer = {};
  remote.most = 30;
  remote.attachments.clear();
});

afterAll(async () => {
  await server?.stop();
  await remote?.close();
});

const start = (body: object) =>
  call(server, 'POST', '/import/geoservices/start', {
    serviceUrl: remote.url + LAYER_PATH,
    layerId: 0,
    maxRetries: 0,
    ...body,
  });

async function ended(jobId: unknown): Promise<Json> {
  let job: Json = {};
  await vi.waitFor(
    async () => {
      job = (await call(server, 'GET', `/import/geoservices/jobs/${jobId}`)).body;
      expect(job['status']).toBeGreaterThanOrEqual(8);
    },
    { timeout: 120_000, interval: 100 },
  );
  return job;
}

async function imported(body: object): Promise<Json> {
  const { status, body: queued } = await start(body);
  expect({ status, queued }).toEqual({
    status: 202,
    queued: {
      jobId: expect.any(String),
      message: expect.any(String),
      statusUrl: `jobs/${queued['jobId']}`,
      cancelUrl: `jobs/${queued['jobId']}/cancel`,
    },
  });
  return ended(queued['jobId']);
}

const layerId = async (table: string) =>
  ((await itemsOf(server, table, 'limit=1')) && (await jobsOf()).find((job) => job['tableName'] === table))![
    'layerId'
  ];
const jobsOf = async () => (await call(server, 'GET', '/import/geoservices/jobs')).body['jobs'] as Json[];

describe('a layer', () => {
  it('comes with its types, fields, domains, description and style, in batches that the server can give', async () => {
    // It says 30, and gives 20.
    remote.most = 20;
    const job = await imported({ tableName: 'countries' });
    expect(job).toMatchObject({
      status: 8,
      warnings: [],
      sourceLayerName: 'Countries',
      sourceUrl: `${remote.url}${LAYER_PATH}/0`,
      featuresProcessed: remote.total,
      estimatedTotalFeatures: remote.total,
      batchesCompleted: Math.ceil(remote.total / 30),
      percentComplete: 100,
      errorMessage: null,
      reconciliationArtifact: { featureCount: { delta: 0 } },
    });
    const items = (await itemsOf(server, 'countries', 'limit=1000&sortby=OBJECTID')) as {
      numberMatched: number;
      features: { properties: Json; geometry: { type: string; coordinates: number[][][][] } }[];
    };
    expect(items.numberMatched).toBe(remote.total);
    const [first, second] = items.features;
    expect(first!.properties).toMatchObject({ OBJECTID: 7, KIND: 'A', FOUNDED: null, NOTE: null });
    expect(second!.properties).toMatchObject({ CODE: '2001-02-03', FOUNDED: '1701-01-02T00:00:00.000Z' });
    expect(first!.geometry.type).toBe('MultiPolygon');
    const id = await layerId('countries');
    const { body: fields } = await call(server, 'GET', `/metadata/layers/${id}/fields`);
    const byName = new Map(
      (fields['data'] as { fields: { name: string }[] }).fields.map((one) => [one.name, one]),
    );
    expect(byName.get('NOTE')).toMatchObject({ type: 'integer' });
    expect(byName.get('CODE')).toMatchObject({ type: 'string' });
    expect(byName.get('FOUNDED')).toMatchObject({ type: 'date-time' });
    expect(byName.get('NAME')).toMatchObject({ alias: 'Name of the country' });
    expect(byName.get('KIND')).toMatchObject({
      domain: {
        codedValues: [
          { code: 'A', name: 'Kind A' },
          { code: 'B', name: 'Kind B' },
        ],
      },
    });
    expect(byName.get('PEOPLE')).toMatchObject({
      domain: { type: 'range', name: 'people', range: [0, 1000] },
    });
    // Codes beyond 2^53 keep their digits.
    const note = '"codedValues":[{"code":1152921504606846977,"name":"first"},{"code":1152921504606846979,';
    for (const path of [
      `api/v1/admin/metadata/layers/${id}/fields`,
      `rest/services/default/FeatureServer/${id}`,
    ]) {
      const shown = await fetch(`${server.url}/${path}`, {
        headers: { 'x-api-key': server.adminKey, accept: 'application/json' },
      });
      expect(await shown.text()).toContain(note);
    }
    for (const [people, status] of [
      [1001, 400],
      [999, 200],
    ]) {
      const response = await fetch(`${server.url}/ogc/features/collections/countries/items/1`, {
        method: 'PATCH',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ properties: { PEOPLE: people } }),
      });
      await response.arrayBuffer();
      expect(response.status).toBe(status);
    }
    const { body: style } = await call(server, 'GET', `/metadata/layers/${id}/style`);
    expect(style['data']).toMatchObject({
      styleVersion: 1,
      drawingInfo: { renderer: { type: 'uniqueValue' } },
    });
    expect(JSON.stringify(style['data'])).toContain('KIND');
    const about = await fetch(`${server.url}/ogc/features/collections/countries?f=json`);
    expect(await about.json()).toMatchObject({ title: 'Countries', description: 'Countries of the world' });
    expect(leftovers(server)).toEqual([]);
  }, 180_000);

  it('is cut by a condition and to fields, with a token that stands in no job and no log', async () => {
    const from = remote.queries.length;
    const credentials = { accessTokenSecretReference: 'env:CONNECTION_TOKEN' };
    const job = await imported({
      tableName: 'some',
      whereClause: "KIND = 'B'",
      outputFields: ['NAME'],
      batchSize: 7,
      credentials,
    });
    expect(job).toMatchObject({ status: 8, featuresProcessed: remote.total / 2 });
    expect(remote.queries.slice(from).every(({ token }) => token === env.CONNECTION_TOKEN)).toBe(true);
    const { features } = (await itemsOf(server, 'some', 'limit=1')) as { features: { properties: Json }[] };
    expect(Object.keys(features[0]!.properties)).toEqual(['NAME']);
    expect(remote.asked.join()).not.toContain('token');
    expect(server.log()).not.toContain('secret token');
    const all = await call(server, 'GET', `/jobs/${job['jobId']}`);
    expect(JSON.stringify([job, all])).not.toContain('secret token');
  }, 120_000);

  it('needs a review where something was left behind', async () => {
    remote.layer = {
      relationships: [{ id: 3, name: 'owners' }],
      drawingInfo: { renderer: { type: 'heatmap' } },
    };
    const job = await imported({ tableName: 'reviewed' });
    expect(job).toMatchObject({ status: 9 });
    const warnings = (job['warnings'] as string[]).join('\n');
    for (const word of [/owners/, /heatmap/]) expect(warnings).toMatch(word);
  }, 120_000);

  it('that is a table becomes features without geometries', async () => {
    remote.layer = { type: 'Table', geometryType: undefined, extent: undefined, drawingInfo: undefined };
    remote.change = ({ features }) => ({
      features: (features as { attributes: Json }[]).map(({ attributes }) => ({ attributes })),
    });
    const job = await imported({ tableName: 'rows' });
    expect(job).toMatchObject({
      ...{ status: 8, errorMessage: null, warnings: [], featuresProcessed: remote.total },
    });
    const items = await itemsOf(server, 'rows', "limit=1000&filter=KIND='A'");
    const { features, numberMatched } = items as unknown as {
      numberMatched: number;
      features: { properties: Json; geometry: unknown }[];
    };
    expect(numberMatched).toBe(remote.total / 2);
    expect(features.every(({ geometry }) => geometry === null)).toBe(true);
    expect(features[0]!.properties).toMatchObject({ OBJECTID: 7, KIND: 'A', FOUNDED: null });
    const about = await fetch(`${server.url}/ogc/features/collections/rows?f=json`);
    expect(await about.json()).toMatchObject({ id: 'rows' });
    expect(await itemsOf(server, 'rows', 'bbox=-180,-90,180,90')).toMatchObject({ numberMatched: 0 });
    const from = remote.queries.filter(({ returnGeometry }) => returnGeometry === 'false');
    expect(from.length).toBeGreaterThan(0);
  }, 120_000);

  it('goes into a service, and on surfaces only when it is enabled', async () => {
    const job = await imported({ tableName: 'held', serviceName: 'Field work', autoPublish: false });
    expect(job).toMatchObject({ status: 8, serviceName: 'Field work', publishedLayerId: null });
    const path = `/services/Field%20work/layers/${job['layerId']}/metadata`;
    const surfaces = [
      '/ogc/features/collections/held',
      '/ogc/features/collections/held/items',
      `/ogc/tiles/collections/${job['layerId']}`,
      `/ogc/maps/collections/${job['layerId']}/map`,
    ];
    const statuses = () =>
      Promise.all(
        surfaces.map(async (at) => {
          const response = await fetch(server.url + at, { headers: { 'x-api-key': server.adminKey } });
          await response.arrayBuffer();
          return response.status;
        }),
      );
    expect(await statuses()).toEqual([404, 404, 404, 404]);
    expect(await collections(server)).not.toContain('held');
    const summaries = (await call(server, 'GET', '/services')).body as unknown as Json;
    expect(JSON.stringify(summaries)).toContain('Field work');
    const enable = (enabled: boolean) => call(server, 'PUT', path, { enabled });
    expect(await enable(true)).toMatchObject({ status: 200, body: { data: { enabled: true } } });
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    expect(await collections(server)).toContain('held');
    expect(await enable(false)).toMatchObject({ status: 200, body: { data: { enabled: false } } });
    expect(await statuses()).toEqual([404, 404, 404, 404]);
  }, 120_000);

  it('that does not come leaves no settings behind', async () => {
    remote.change = (page) => ({ ...page, spatialReference: { wkid: 102100 } });
    expect(
      await imported({ tableName: 'again', serviceName: 'Field work', autoPublish: false }),
    ).toMatchObject({ status: 10 });
    remote.change = (page) => page;
    expect(await imported({ tableName: 'again' })).toMatchObject({ status: 8, serviceName: 'default' });
    expect(await collections(server)).toContain('again');
  }, 120_000);

  it('takes the place of a table only when it is to', async () => {
    expect(await start({ tableName: 'countries' })).toMatchObject({ status: 409 });
    const job = await imported({
      tableName: 'countries',
      whereClause: "KIND = 'A'",
      overwriteExisting: true,
    });
    expect(job['status']).toBe(8);
    expect((await itemsOf(server, 'countries'))['numberMatched']).toBe(remote.total / 2);
  }, 120_000);
});

describe('a request that is wrong', () => {
  it.each([
    [{ serviceUrl: 'http://127.0.0.2/x' }],
    [{ serviceUrl: 'ftp://127.0.0.2/x/FeatureServer' }],
    [{ tableName: 'a b' }],
    [{ layerId: -1 }],
    [{ targetSchema: 'other' }],
    [{ targetSrid: 999 }],
    [{ serviceName: 'x'.repeat(201) }],
    [{ credentials: { password: 'p' } }],
    [{ credentials: { accessToken: 't' } }],
    [{ credentials: { accessTokenSecretReference: 'env:HOME' } }],
    [{ batchSize: 0 }],
  ])('%j is 400', async (body) => {
    expect(await start({ tableName: 'wrong', ...body })).toMatchObject({ status: 400 });
  });

  it('is 404 for a job that is not there', async () => {
    expect(await call(server, 'GET', '/import/geoservices/jobs/none')).toMatchObject({ status: 404 });
    expect(await call(server, 'POST', '/import/geoservices/jobs/none/cancel')).toMatchObject({ status: 404 });
  });
});

const ofFeatures = (query: Record<string, string>) => query['objectIds'] !== undefined;

describe('a server that', () => {
  it.each<[string, RegExp, () => void]>([
    [
      'reports an error with status 200',
      /returned 498/,
      () => {
        remote.behaviour = (query, response) => {
          if (ofFeatures(query)) sendJson(response, { error: { code: 498, message: 'Invalid token' } });
          return ofFeatures(query);
        };
      },
    ],
    [
      'answers HTML',
      /not JSON/,
      () => {
        remote.behaviour = (_query, response) => {
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
          return true;
        };
      },
    ],
    [
      'counts more than it lists',
      /counts 999/,
      () => {
        remote.behaviour = (query, response) => {
          if (query['returnCountOnly']) sendJson(response, { count: 999 });
          return query['returnCountOnly'] !== undefined;
        };
      },
    ],
    [
      'repeats a feature',
      /has it twice/,
      () => {
        remote.change = (page) => {
          const features = page['features'] as Json[];
          return { ...page, features: [...features.slice(1), features[1]] };
        };
      },
    ],
    [
      'gives others than it was asked for',
      /not requested/,
      () => {
        remote.change = (page) => ({
          ...page,
          features: (page['features'] as { attributes: Json }[]).map((one) => ({
            ...one,
            attributes: { ...one.attributes, OBJECTID: 1_000_000 },
          })),
        });
      },
    ],
    [
      'leaves one out, and says that there is no more',
      /does not return it/,
      () => {
        remote.change = (page) => ({
          ...page,
          exceededTransferLimit: false,
          features: (page['features'] as { attributes: Json }[]).filter(
            ({ attributes }) => attributes['OBJECTID'] !== 7,
          ),
        });
      },
    ],
    [
      'passes over outSR',
      /EPSG:3857/,
      () => {
        remote.change = (page) => ({ ...page, spatialReference: { wkid: 102100 } });
      },
    ],
    [
      'sends curves',
      /curves/,
      () => {
        remote.change = (page) => ({
          ...page,
          features: (page['features'] as Json[]).map((one) => ({ ...one, geometry: { curveRings: [] } })),
        });
      },
    ],
    [
      'has a raster',
      /Raster Layer/,
      () => {
        remote.layer = { type: 'Raster Layer', geometryType: undefined };
      },
    ],
  ])('%s fails the job, and nothing is published', async (_name, reason, lie) => {
    lie();
    const job = await imported({ tableName: 'lies' });
    expect(job).toMatchObject({
      status: 10,
      publishedLayerId: null,
      errorMessage: expect.stringMatching(reason),
    });
    expect(await collections(server)).not.toContain('lies');
    expect(leftovers(server)).toEqual([]);
  });

  it('fails now and then is asked again', async () => {
    let failures = 0;
    remote.behaviour = (query, response) => {
      const fails = ofFeatures(query) && failures++ % 2 === 0;
      if (fails) sendJson(response, { error: { code: 500, message: 'Error performing query operation' } });
      return fails;
    };
    expect(await imported({ tableName: 'patient', maxRetries: 2 })).toMatchObject({ status: 8 });
  }, 120_000);
});

describe('while it reads', () => {
  const until = (job: unknown, fits: (job: Json) => boolean) =>
    vi.waitFor(
      async () =>
        expect(fits((await call(server, 'GET', `/import/geoservices/jobs/${job}`)).body)).toBe(true),
      { timeout: 60_000 },
    );
  /** Gives one page, and nothing after it. */
  const stall = () => {
    let pages = 0;
    remote.behaviour = (query) => ofFeatures(query) && pages++ > 0;
  };

  it('tells how far it is, and leaves nothing when it is cancelled', async () => {
    stall();
    const { body } = await start({ tableName: 'cancelled', batchSize: 10 });
    await until(body['jobId'], (job) => job['status'] === 2 && job['featuresProcessed'] === 10);
    expect(await call(server, 'POST', `/import/geoservices/jobs/${body['jobId']}/cancel`)).toMatchObject({
      status: 200,
      body: { jobId: body['jobId'] },
    });
    expect(await ended(body['jobId'])).toMatchObject({ status: 11 });
    expect(await call(server, 'POST', `/import/geoservices/jobs/${body['jobId']}/cancel`)).toMatchObject({
      status: 200,
    });
    expect(leftovers(server)).toEqual([]);
  }, 120_000);

  it('goes on where it was after kill -9, and is published whole', async () => {
    stall();
    const { dataDir } = server;
    const { body } = await start({ tableName: 'killed', batchSize: 10 });
    await until(body['jobId'], (job) => job['featuresProcessed'] === 10);
    await server.kill();
    remote.behaviour = undefined;
    const from = remote.queries.length;
    server = await startServerProcess({ sources: [], dataDir, env });
    expect(await ended(body['jobId'])).toMatchObject({ status: 8, featuresProcessed: remote.total });
    const again = remote.queries.slice(from).filter(ofFeatures);
    expect(again.some(({ objectIds }) => objectIds!.split(',').includes('7'))).toBe(false);
    expect((await itemsOf(server, 'killed'))['numberMatched']).toBe(remote.total);
    await vi.waitFor(() => expect(leftovers(server)).toEqual([]), { timeout: 60_000 });
  }, 240_000);
});

describe('attachments', () => {
  const photo = (id: number, bytes = png(id, id, 100 * id)) => ({
    ...{ id, name: `photo ${id}.png`, contentType: 'image/png', keywords: `k${id}` },
    bytes: Buffer.from(bytes),
  });
  const ids = (i: number) => 3 * i + 7;
  const filesOf = async (job: Json) => new Files(await townOf(server), job['layerId'] as number);
  /** Our id of a feature of the other server. */
  const ours = async (table: string, objectId: number) => {
    const { features } = (await itemsOf(server, table, `filter=OBJECTID=${objectId}`)) as {
      features: { id: number }[];
    };
    return features[0]!.id;
  };

  it('come with their features, as they are', async () => {
    remote.layer = { hasAttachments: true };
    remote.attachments.set(ids(0), [photo(1), photo(2)]);
    remote.attachments.set(ids(50), [photo(3)]);
    const from = remote.asked.length;
    const credentials = { accessTokenSecretReference: 'env:CONNECTION_TOKEN' };
    const job = await imported({ tableName: 'pictured', credentials });
    expect(job).toMatchObject({
      ...{ status: 8, warnings: [], errorMessage: null },
      ...{ attachmentsProcessed: 3, failedAttachments: 0 },
    });
    const files = await filesOf(job);
    const first = await ours('pictured', ids(0));
    // They are downloaded side by side.
    const infos = (await files.infos(first)).sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(infos).toMatchObject([
      { name: 'photo 1.png', contentType: 'image/png', keywords: 'k1' },
      { name: 'photo 2.png', contentType: 'image/png', keywords: 'k2' },
    ]);
    const response = await files.fetch(`${first}/attachments/${infos[1].id}`);
    expect(Buffer.from(await response.arrayBuffer()).equals(photo(2).bytes)).toBe(true);
    expect(await files.infos(await ours('pictured', ids(50)))).toHaveLength(1);
    expect(await files.infos(await ours('pictured', ids(1)))).toEqual([]);
    expect(remote.asked.slice(from).join()).not.toContain('token');
    expect(leftovers(server)).toEqual([]);

    // Their features are replaced: what belonged to the old ones goes.
    remote.attachments.clear();
    const again = await imported({ tableName: 'pictured', overwriteExisting: true });
    expect(again).toMatchObject({ status: 8, attachmentsProcessed: 0 });
    expect(await files.get('queryAttachments')).toEqual({ attachmentGroups: [] });
  }, 120_000);

  it('that lie, are too large or cannot be had are left behind with the reason, and the others come', async () => {
    remote.layer = { hasAttachments: true };
    remote.attachments.set(ids(0), [
      photo(1),
      { ...photo(2), bytes: Buffer.from('<html>Sign in</html>') },
      { ...photo(3), size: 20_000_000 },
      { ...photo(4), size: 5 },
    ]);
    const job = await imported({ tableName: 'partly' });
    expect(job).toMatchObject({ status: 9, attachmentsProcessed: 1, failedAttachments: 3 });
    const warnings = (job['warnings'] as string[]).join('\n');
    for (const word of [
      /3 attachments were left behind/,
      /text\/html/,
      /more than 10485760 bytes/,
      /reports 5/,
    ])
      expect(warnings).toMatch(word);
    expect(await (await filesOf(job)).infos(await ours('partly', ids(0)))).toHaveLength(1);
  }, 120_000);

  it('that nobody lists are left behind, and the features come', async () => {
    remote.layer = { hasAttachments: true };
    remote.behaviour = (query, response) => {
      const lists = query['objectIds'] !== undefined && query['outFields'] === undefined;
      if (lists) sendJson(response, { error: { code: 400, message: 'Invalid operation' } });
      return lists;
    };
    const job = await imported({ tableName: 'unlisted' });
    expect(job).toMatchObject({ status: 9, featuresProcessed: remote.total, attachmentsProcessed: 0 });
    expect((job['warnings'] as string[]).join()).toMatch(/could not be listed/);
  }, 120_000);

  it('go on after kill -9: each comes once, and those that were there are not asked for again', async () => {
    remote.layer = { hasAttachments: true };
    for (let i = 0; i < 30; i++) remote.attachments.set(ids(i), [photo(i + 1)]);
    let downloads = 0;
    // Forms are empty where bytes are asked for.
    const isDownload = (query: Record<string, string>) => Object.keys(query).length === 0;
    remote.behaviour = (query) => isDownload(query) && ++downloads > 10;
    const { dataDir } = server;
    const { body } = await start({ tableName: 'interrupted' });
    const path = `/import/geoservices/jobs/${body['jobId']}`;
    await vi.waitFor(
      async () => {
        expect((await call(server, 'GET', path)).body['status']).toBe(6);
        expect(downloads).toBeGreaterThan(10);
      },
      { timeout: 60_000 },
    );
    await server.kill();
    downloads = 0;
    remote.behaviour = (query) => {
      if (isDownload(query)) downloads++;
      return false;
    };
    server = await startServer({ sources: [], dataDir, env });
    const job = await ended(body['jobId']);
    expect(job).toMatchObject({ status: 8, attachmentsProcessed: 30, failedAttachments: 0 });
    expect(downloads).toBeLessThanOrEqual(24);
    const { attachmentGroups } = await (await filesOf(job)).get('queryAttachments');
    expect(attachmentGroups).toHaveLength(30);
    expect(
      attachmentGroups.every((group: { attachmentInfos: unknown[] }) => group.attachmentInfos.length === 1),
    ).toBe(true);
  }, 240_000);
});
