import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type Json, ProcessClient } from '../processes/support.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Processes as tasks of a geoprocessing service. */

const ROOT = '/rest/services/Processes/GPServer';
let server: SharedServer;
let client: ProcessClient;
let countries: string;

beforeAll(async () => {
  server = await sharedServer();
  client = new ProcessClient(server);
  const { collections } = await client.json('/?f=json');
  const { layerId } = collections.find(({ id }: Json) => id === 'countries');
  countries = `${server.url}/rest/services/default/FeatureServer/${layerId}`;
});

const get = async (path: string): Promise<Json> => (await client.get(`${ROOT}${path}?f=json`)).json();

async function post(path: string, form: Record<string, string>): Promise<Json> {
  const headers = { 'x-api-key': server.adminKey };
  const body = new URLSearchParams({ f: 'json', ...form });
  return (await fetch(`${server.url}${ROOT}${path}`, { method: 'POST', headers, body })).json();
}

/** The newest job of a process. */
async function lastJob(process: string): Promise<Json> {
  const { jobs } = await client.json('/ogc/processes/jobs?f=json');
  return jobs.find(({ processID }: Json) => processID === process);
}

/** A square of the side 2 in Web Mercator. */
const square = (x: number, y: number) => ({
  geometryType: 'esriGeometryPolygon',
  spatialReference: { wkid: 102100 },
  features: [
    {
      attributes: { name: 'a', size: 2.5, level: 3 },
      geometry: {
        rings: [
          [
            [x, y],
            [x, y + 2],
            [x + 2, y + 2],
            [x + 2, y],
            [x, y],
          ],
        ],
      },
    },
  ],
});

describe('documents', () => {
  it('list all processes, and tell their parameters', async () => {
    const { tasks } = await get('');
    const { processes } = await client.json('/ogc/processes/processes?f=json');
    expect(tasks).toEqual(processes.map(({ id }: Json) => id));
    const { parameters } = await get('/geometry.buffer');
    const typeOf = (name: string) => {
      const { dataType, parameterType, direction } = parameters.find((one: Json) => one.name === name);
      return [dataType, parameterType, direction].map((text) => text.replace(/^esriGPParameter/, ''));
    };
    expect(parameters.filter((one: Json) => one.name === 'features').length).toBe(2);
    expect(typeOf('features')).toEqual(['GPFeatureRecordSetLayer', 'TypeRequired', 'DirectionInput']);
    expect(typeOf('distance')).toEqual(['GPDouble', 'TypeRequired', 'DirectionInput']);
    const unit = parameters.find((one: Json) => one.name === 'unit');
    expect([unit.dataType, unit.defaultValue]).toEqual(['GPString', 'metre']);
    expect(unit.choiceList).toContain('mile');
    expect((await get('/geometry.nonsense')).error.code).toBe(404);
  });
});

describe('tasks', () => {
  it('take feature sets in any spatial reference, and give them', async () => {
    const form = { features: JSON.stringify(square(1000, 2000)), 'env:outSR': '102100' };
    const { results, messages } = await post('/geometry.centroid/execute', form);
    const [{ paramName, dataType, value }] = results;
    expect([paramName, dataType]).toEqual(['features', 'GPFeatureRecordSetLayer']);
    expect(value.geometryType).toBe('esriGeometryPoint');
    const [{ geometry, attributes }] = value.features;
    expect([geometry.x, geometry.y].map((one) => Math.round(one * 1e4) / 1e4)).toEqual([1001, 2001]);
    expect(attributes).toMatchObject({ name: 'a', size: 2.5, level: 3 });
    expect(messages.at(-1)).toMatchObject({ type: 'esriJobMessageTypeInformative' });
  });

  it('take layers of this server, as jobs that can be asked for', async () => {
    const features = JSON.stringify({ url: countries, filter: "iso_a2 = 'CH'" });
    const { jobId, jobStatus } = await post('/geometry.envelope/submitJob', { features });
    expect(jobStatus).toBe('esriJobSubmitted');
    await client.ended(jobId);
    const job = await get(`/geometry.envelope/jobs/${jobId}`);
    expect(job).toMatchObject({
      ...{ jobId, jobStatus: 'esriJobSucceeded' },
      results: { features: { paramUrl: 'results/features' } },
    });
    const { value } = await get(`/geometry.envelope/jobs/${jobId}/${job.results.features.paramUrl}`);
    const ogc = await client.json(`/ogc/processes/jobs/${jobId}/results`);
    const names = (list: Json[], members: string) => list.map((one) => one[members].NAME);
    expect(names(value.features, 'attributes')).toEqual(names(ogc.features.features, 'properties'));
    expect(value.features[0].geometry.rings[0].length).toBe(5);
    expect((await get(`/geometry.centroid/jobs/${jobId}`)).error.code).toBe(404);
    expect((await post(`/geometry.envelope/jobs/${jobId}/cancel`, {})).error.code).toBe(409);
  });

  it('end when the client leaves who waits for them, unless it may come again', async () => {
    const states: string[] = [];
    for (const key of [undefined, crypto.randomUUID()]) {
      const before = await lastJob('geometry.intersect');
      const leaving = new AbortController();
      const body = new URLSearchParams({ f: 'json', features: JSON.stringify({ url: countries }) });
      body.set('overlay', JSON.stringify({ url: countries }));
      const headers = { 'x-api-key': server.adminKey, ...(key ? { 'idempotency-key': key } : {}) };
      const url = `${server.url}${ROOT}/geometry.intersect/execute`;
      const answer = fetch(url, { method: 'POST', headers, body, signal: leaving.signal });
      answer.catch(() => {});
      const id = await vi.waitFor(
        async () => {
          const job = await lastJob('geometry.intersect');
          expect(job?.status === 'running' && job.jobID !== before?.jobID).toBe(true);
          return job.jobID as string;
        },
        { timeout: 60_000, interval: 20 },
      );
      leaving.abort();
      await expect(answer).rejects.toThrow();
      states.push((await client.ended(id)).status);
    }
    expect(states).toEqual(['dismissed', 'successful']);
  }, 240_000);

  it('give values, and addresses of files', async () => {
    const echo = await post('/echo/execute', { doubleInput: '3.5', stringInput: 'Value2' });
    expect(echo.results.map(({ dataType, value }: Json) => [dataType, value])).toEqual(
      expect.arrayContaining([
        ['GPDouble', 3.5],
        ['GPString', 'Value2'],
      ]),
    );
    const features = JSON.stringify(square(0, 0));
    const { results } = await post('/conversion.feature-export/execute', { features, format: 'csv' });
    expect(results[0].dataType).toBe('GPDataFile');
    expect(await (await client.get(results[0].value.url)).text()).toContain('name,size,level');
  });
});

describe('wrong requests', () => {
  it('name the parameter', async () => {
    const error = async (task: string, form: Record<string, string>) =>
      (await post(`/${task}/execute`, form)).error.message as string;
    expect(await error('geometry.buffer', {})).toContain('features');
    expect(await error('geometry.buffer', { features: '{"features":' })).toContain('features');
    expect(await error('geometry.buffer', { features: '{"features":[1]}', distance: '1' })).toContain(
      'features',
    );
    const nothing = { features: JSON.stringify(square(0, 0)), distance: 'wide' };
    expect(await error('geometry.buffer', nothing)).toContain('distance');
    expect(await error('echo', { nonsense: '1' })).toContain('nonsense');
    for (const query of ['where=a%3D1', 'objectIds=1', 'geometry=1,2,3,4']) {
      const features = JSON.stringify({ url: `${countries}/query?${query}` });
      expect(await error('geometry.envelope', { features })).toContain('filter');
    }
    const features = JSON.stringify({ url: 'http://[/rest/services/a/FeatureServer/3' });
    expect(await error('geometry.envelope', { features })).toContain('features');
    const raster = JSON.stringify({ url: '/rest/services/%zz/ImageServer' });
    expect(await error('surface.slope', { raster })).toContain('raster');
  });

  it('read no layer of ours in place of one of another server', async () => {
    const url = countries.replace(server.url, 'http://192.0.2.1');
    const { error } = await post('/geometry.envelope/execute', { features: JSON.stringify({ url }) });
    expect(error.message).toContain('192.0.2.1');
  });

  it('are refused to who may not execute', async () => {
    const ask = async (init: RequestInit = {}) =>
      ((await (await fetch(`${server.url}${ROOT}/echo/submitJob?doubleInput=1`, init)).json()) as Json).error;
    expect((await ask()).code).toBe(499);
    expect((await ask({ method: 'POST', body: new URLSearchParams() })).code).toBe(499);
    const byToken = await fetch(
      `${server.url}${ROOT}/echo/submitJob?doubleInput=1&token=${encodeURIComponent(server.adminKey)}`,
    );
    expect((await byToken.json()) as Json).toMatchObject({ jobStatus: 'esriJobSubmitted' });
  });
});
