import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, startServerProcess, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Where features come from, where they go, and what is refused. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-processes-'));
const PROCESSES = '/ogc/processes';

let server: TestServer;
let client: ProcessClient;

beforeAll(async () => {
  server = await startServer({ sources: ['demo/data/world_map.gpkg'] });
  client = new ProcessClient(server);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const point = (x: number, y: number, properties: Json = {}) => ({
  ...{ type: 'Feature', properties },
  geometry: { type: 'Point', coordinates: [x, y] },
});
const collection = (...features: unknown[]) => ({ type: 'FeatureCollection', features });

describe('features', () => {
  it('come from a collection with a filter, in CQL2 text or JSON, by id or address', async () => {
    const json = { op: '=', args: [{ property: 'iso_a2' }, 'FR'] };
    for (const features of [
      { collection: 'countries', filter: "iso_a2 = 'FR'" },
      { collection: `${server.url}/ogc/features/collections/countries`, filter: json },
    ]) {
      const result = await client.results('geometry.centroid', { inputs: { features } });
      expect(result.features.features.map(({ properties }: Json) => properties.iso_a2)).toEqual(['FR']);
    }
  });

  it('come from the results of another job, in their own CRS', async () => {
    const inputs = { features: { collection: 'countries', filter: "iso_a2 = 'FR'" }, targetCrs: 'EPSG:3857' };
    const { jobID } = await client.run('geometry.project', { inputs });
    const href = `${server.url}${PROCESSES}/jobs/${jobID}/results/features`;
    const next = { features: { href }, distance: 1000, cap: 'square' };
    const { jobID: second } = await client.run('geometry.buffer', { inputs: next });
    const file = join(folder, 'buffer.gpkg');
    const response = await client.get(`${PROCESSES}/jobs/${second}/results/features?f=gpkg`);
    expect(response.headers.get('content-type')).toBe('application/geopackage+sqlite3');
    const { writeFile } = await import('node:fs/promises');
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    const info = execFileSync('ogrinfo', ['-so', file, 'features'], { encoding: 'utf8' });
    expect(info).toContain('ID["EPSG",3857]');
    expect(info).toContain('Feature Count: 1');
  });

  it('keep their attributes and the types of these', async () => {
    const properties = { n: 7, x: 1.5, b: true, t: 'a', o: { c: [1] }, nothing: null };
    const { jobID } = await client.run('geometry.envelope', {
      inputs: { features: collection(point(1, 2, properties)) },
    });
    const { features } = (await client.json(`${PROCESSES}/jobs/${jobID}/results`)).features;
    expect(features[0].properties).toEqual({ ...properties, o: '{"c":[1]}' });
  });

  it('may be text, as existing clients send them, and numbers may be, too', async () => {
    const features = JSON.stringify(collection(point(1, 2)));
    const inputs = { features, distance: '1.5', unit: 'kilometre' };
    expect((await client.results('geometry.buffer', { inputs })).features.features).toHaveLength(1);
  });

  it('may be named as existing clients name them', async () => {
    const inputGeoJson = JSON.stringify(collection(point(1, 2)));
    const { jobID } = await client.run('generalization.simplify-layer', {
      inputs: { inputGeoJson, tolerance: 1 },
    });
    expect((await client.json(`${PROCESSES}/jobs/${jobID}`)).processID).toBe('geometry.simplify');
    const next = await client.results('geometry.centroid', { inputs: { queryResultId: jobID } });
    expect(next.features.features).toHaveLength(1);
    const { collections } = await client.json('/ogc/tiles/collections');
    const layerId = collections.find(({ title }: Json) => /^countries$/i.test(title)).id;
    const inputs = { layerId, where: "iso_a2 = 'FR'" };
    expect((await client.results('geometry.centroid', { inputs })).features.features).toHaveLength(1);
  });

  it('may have foreign members, and be a long text', async () => {
    const item = { ...point(1, 2), collection: 'countries', href: 'https://example.org' };
    expect(
      (await client.results('geometry.centroid', { inputs: { features: item } })).features.features,
    ).toHaveLength(1);
    const features = JSON.stringify(collection(point(1, 2, { text: 'x'.repeat(100_000) })));
    expect(
      (await client.results('geometry.centroid', { inputs: { features } })).features.features,
    ).toHaveLength(1);
  });

  it('may have a property that is null first', async () => {
    const features = collection(point(1, 2, { n: null }), point(1, 2, { n: 1.5 }));
    const result = await client.results('geometry.centroid', { inputs: { features } });
    expect(result.features.features.map(({ properties }: Json) => properties.n)).toEqual([null, 1.5]);
  });

  it('that are none make no features', async () => {
    for (const process of [
      'geometry.centroid',
      'geometry.dissolve',
      'geometry.voronoi',
      'geometry.layer-convex-hull',
    ]) {
      const { features } = await client.results(process, { inputs: { features: collection() } });
      expect([process, features.features.length]).toEqual([process, 0]);
    }
  });

  it('across the antimeridian and at a pole get buffers there', async () => {
    const inputs = { features: collection(point(180, 10), point(0, 90)), distance: 10, unit: 'kilometre' };
    const { features } = (await client.results('geometry.buffer', { inputs })).features;
    const longitudes = features[0].geometry.coordinates.flat(2).map(([x]: number[]) => x);
    expect(features[0].geometry.type).toBe('MultiPolygon');
    expect([Math.min(...longitudes), Math.max(...longitudes)]).toEqual([-180, 180]);
  });
});

describe('invalid geometries', () => {
  const bow = {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [1, 1],
        [1, 0],
        [0, 1],
        [0, 0],
      ],
    ],
  };
  const features = collection({ type: 'Feature', properties: {}, geometry: bow }, point(5, 5));

  it('are repaired, left out with a warning, or fail the job, as asked', async () => {
    const repaired = await client.results('geometry.convex-hull', { inputs: { features } });
    expect(repaired.features.features).toHaveLength(2);
    const square = await client.results('geometry.centroid', { inputs: { features } });
    // Two triangles, of which GEOS would take one for a hole.
    expect(square.features.features[0].geometry.coordinates[0]).toBeCloseTo(0.5, 9);
    const skip = await client.run('geometry.convex-hull', {
      inputs: { features, invalidGeometries: 'skip' },
    });
    expect([skip.status, skip.message]).toEqual(['successful', expect.stringContaining('Self-intersection')]);
    const fail = await client.run('geometry.convex-hull', {
      inputs: { features, invalidGeometries: 'fail' },
    });
    expect([fail.status, fail.message]).toEqual(['failed', expect.stringContaining('1 (Self-intersection')]);
  });
});

describe('two layers', () => {
  const countries = { collection: 'countries', filter: "iso_a2 IN ('FR', 'DE')" };

  it('of which one is sent are compared, and pairs have no geometry', async () => {
    const targets = collection(point(2.35, 48.85), point(13.4, 52.5), point(0, 0));
    const inputs = { features: countries, targets, unit: 'kilometre' };
    const { features } = (await client.results('analytics.distance-matrix', { inputs })).features;
    expect(features.map(({ geometry }: Json) => geometry)).toEqual(new Array(6).fill(null));
    const inside = features.filter(({ properties }: Json) => properties.distance === 0);
    expect(inside.map(({ properties }: Json) => properties.targetId).sort()).toEqual([1, 2]);
  });

  it('are looked at before the job begins: fields of the second, distances that nothing takes', async () => {
    const join = { collection: 'states_provinces' };
    const wrong = [
      [{ mode: 'count', statistics: [{ type: 'sum', field: 'no_such' }] }, '/inputs/statistics/0/field'],
      [{ statistics: [{ type: 'count', field: 'iso_a2' }] }, '/inputs/statistics'],
      [{ predicate: 'dwithin' }, '/inputs/distance'],
      [{ distance: 5 }, '/inputs/distance'],
    ] as const;
    for (const [values, name] of wrong) {
      const answer = await client.execute('analytics.spatial-join', {
        inputs: { features: countries, join, ...values },
      });
      expect([answer.status, ((await answer.json()) as Json).errors?.[0].name]).toEqual([400, name]);
    }
  });
});

describe('outputs', () => {
  it('without geometry become a collection, too', async () => {
    const features = { collection: 'states_provinces', filter: "iso_a2 IN ('AT', 'CH')" };
    const inputs = { features, groupBy: ['iso_a2'] };
    const outputs = { features: { publish: { collection: 'province_counts' } } };
    const status = await client.run('analytics.summary-statistics', { inputs, outputs });
    expect(status.status).toBe('successful');
    const items = await client.json('/ogc/features/collections/province_counts/items?f=json');
    const counts = items.features.map(({ geometry, properties }: Json) => [
      geometry,
      properties.featureCount,
    ]);
    expect(counts).toEqual([
      [null, 9],
      [null, 26],
    ]);
  });

  it('become a collection, which other surfaces show', async () => {
    const inputs = {
      features: { collection: 'countries', filter: "iso_a2 IN ('FR', 'DE')" },
      distance: 10000,
    };
    const outputs = { features: { publish: { collection: 'zones', title: 'Zones' } } };
    const result = await client.results('geometry.buffer', { inputs, outputs });
    expect(result.features).toMatchObject({ href: `${server.url}/ogc/features/collections/zones` });
    const items = await client.json('/ogc/features/collections/zones/items');
    expect(items.features.map(({ properties }: Json) => properties.iso_a2).sort()).toEqual(['DE', 'FR']);
    expect((await client.json('/ogc/features/collections/zones')).title).toBe('Zones');
    const again = await client.execute('geometry.buffer', { inputs, outputs });
    expect(again.status).toBe(409);
  });
});

describe('refusals', () => {
  it.each([
    [{ collection: 'nothing' }, '/inputs/features/collection'],
    [{ collection: 'countries', filter: 'nothing = 1' }, '/inputs/features/filter'],
    [{ collection: 'countries', filter: 'iso_a2 =' }, '/inputs/features/filter'],
    [{ collection: 'https://example.org/collections/a' }, '/inputs/features/collection'],
    [{ href: 'file:///etc/passwd' }, '/inputs/features/href'],
    [{ type: 'Nothing' }, '/inputs/features'],
    [{ type: 'FeatureCollection' }, '/inputs/features/features'],
    ['no json', '/inputs/features'],
    [7, '/inputs/features'],
    [[], '/inputs/features'],
  ])('features %j are 400 naming %s', async (features, name) => {
    const response = await client.execute('geometry.centroid', { inputs: { features } });
    const problem = (await response.json()) as Json;
    expect([response.status, problem.errors?.[0]?.name]).toEqual([400, name]);
  });

  it.each([
    ['geometry.buffer', { distance: -1 }, '/inputs/distance'],
    ['geometry.buffer', {}, '/inputs/distance'],
    ['geometry.buffer', { distance: 1, unit: 'cubit' }, '/inputs/unit'],
    ['geometry.buffer', { distance: 'far' }, '/inputs/distance'],
    ['geometry.dissolve', { groupBy: ['nothing'] }, '/inputs/groupBy'],
    ['geometry.dissolve', { statistics: [{ type: 'sum', field: 'NAME' }] }, '/inputs/statistics/0/type'],
    ['geometry.project', { targetCrs: 'EPSG:1' }, '/inputs/targetCrs'],
    ['geometry.densify', { segmentLength: 0 }, '/inputs/segmentLength'],
    ['geometry.clip', {}, '/inputs/overlay'],
  ])('%s with %j is 400 naming %s', async (process, values, name) => {
    const inputs = { features: { collection: 'countries' }, ...values };
    const response = await client.execute(process, { inputs });
    const problem = (await response.json()) as Json;
    expect([response.status, problem.errors?.[0]?.name]).toEqual([400, name]);
  });

  it('features that would become too large are left out, and told', async () => {
    const line = {
      type: 'LineString',
      coordinates: [
        [0, 0],
        [1, 0],
      ],
    };
    const inputs = {
      features: collection({ type: 'Feature', properties: {}, geometry: line }),
      segmentLength: 1e-9,
      unit: 'crs',
    };
    const status = await client.run('geometry.densify', { inputs });
    expect([status.status, status.message]).toEqual([
      'successful',
      expect.stringContaining('10 million vertices'),
    ]);
    const far = await client.execute('geometry.buffer', {
      inputs: { features: { collection: 'countries' }, distance: 2e6 },
    });
    expect(far.status).toBe(400);
  });

  it('a body that is too large is 413, and one that is no JSON 400', async () => {
    const text = `{"inputs":{"features":"${'x'.repeat(9_000_000)}"}}`;
    const large = await client.execute('geometry.centroid', text);
    expect([large.status, (await large.json()).detail]).toEqual([
      413,
      expect.stringContaining('Import the features'),
    ]);
    expect((await client.execute('geometry.centroid', '{"inputs":')).status).toBe(400);
  });

  it('results of somebody else do not exist', async () => {
    const answer = await fetch(`${server.url}/api/v1/admin/api-keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'other',
        permissions: ['processes:execute', 'processes:read', 'admin:jobs:read'],
      }),
    });
    const secret = ((await answer.json()) as Json).data.key;
    const stranger = new ProcessClient({ url: server.url, adminKey: secret });
    const { jobID } = await client.run('geometry.centroid', {
      inputs: { features: collection(point(1, 2)) },
    });
    // Who reads jobs of the management API sees that there is a job, and neither its results nor a way to end it.
    expect((await stranger.get(`${PROCESSES}/jobs/${jobID}`)).status).toBe(200);
    expect((await stranger.get(`${PROCESSES}/jobs/${jobID}/results`)).status).toBe(404);
    expect((await stranger.dismiss(jobID)).status).toBe(403);
    const href = `${server.url}${PROCESSES}/jobs/${jobID}/results/features`;
    expect((await stranger.execute('geometry.centroid', { inputs: { features: { href } } })).status).toBe(
      404,
    );
    const outputs = { features: { publish: { collection: 'mine' } } };
    const inputs = { features: collection(point(1, 2)) };
    expect((await stranger.execute('geometry.centroid', { inputs, outputs })).status).toBe(403);
    expect((await stranger.run('geometry.centroid', { inputs })).status).toBe('successful');
    // Going before others is for who manages jobs.
    expect(await priorityOf(stranger, 'u=0')).toBe('Normal');
    expect(await priorityOf(stranger, 'u=6')).toBe('Low');
    expect(await priorityOf(client, 'u=0')).toBe('Critical');
  });
});

async function priorityOf(caller: ProcessClient, priority: string): Promise<string> {
  const inputs = { features: collection(point(1, 2)) };
  const response = await caller.execute('geometry.centroid', { inputs }, { priority });
  const { jobID } = (await response.json()) as Json;
  return (await client.json(`/api/v1/admin/jobs/${jobID}`)).priority;
}

it('a request that is sent again with its key is executed once', async () => {
  const body = { inputs: { features: collection(point(1, 2)) } };
  const headers = { 'idempotency-key': 'once-and-no-more' };
  const [first, second] = [
    await client.execute('geometry.centroid', body, headers),
    await client.execute('geometry.centroid', body, headers),
  ];
  expect(((await second.json()) as Json).jobID).toBe(((await first.json()) as Json).jobID);
});

it('kill -9 in the middle: the job begins again, and nothing else stays', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'graticule-processes-'));
  const start = () => startServerProcess({ sources: ['demo/data/world_map.gpkg'], dataDir });
  let own = await start();
  try {
    const body = {
      inputs: {
        features: {
          collection: 'states_provinces',
          filter: "iso_a2 IN ('CH', 'DE', 'FR', 'IT', 'US')",
        },
        overlay: { collection: 'countries' },
      },
      outputs: { features: { publish: { collection: 'pieces' } } },
    };
    const { jobID } = (await (
      await new ProcessClient(own).execute('geometry.intersect', body)
    ).json()) as Json;
    const jobFolder = join(dataDir, 'processes', jobID);
    for (const deadline = Date.now() + 60_000; !existsSync(join(jobFolder, 'features.gpkg')); ) {
      expect(Date.now()).toBeLessThan(deadline);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await own.kill();
    own = await start();
    const again = new ProcessClient(own);
    const status = await again.ended(jobID);
    expect([status.status, status.message]).toEqual(['successful', expect.any(String)]);
    expect(
      (await again.json('/ogc/features/collections/pieces/items?limit=1')).numberMatched,
    ).toBeGreaterThan(200);
    expect(readdirSync(jobFolder)).toEqual(['features.gpkg']);
  } finally {
    await own.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
