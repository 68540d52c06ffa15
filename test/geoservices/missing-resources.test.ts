import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(`${server.url}${path}`, init);
  const text = await response.text();
  const type = response.headers.get('content-type');
  return {
    status: response.status,
    type,
    text,
    error: type?.includes('json') ? JSON.parse(text).error : undefined,
  };
}

const inBand = (code: number) => ({
  ...{ status: 200, type: 'application/json' },
  error: { code, message: expect.any(String), details: [] },
});

describe('what is no resource of GeoServices', () => {
  it('is told in band', async () => {
    for (const path of [
      '/rest/nothing',
      '/rest/services/default/NothingServer',
      '/sharing/rest/a/b',
      '/arcgis/rest/x',
    ])
      for (const query of ['', '?f=json', '?f=pjson', '?f=PBF', '?f='])
        expect(await ask(path + query)).toMatchObject(inBand(404));
    const form = { method: 'POST', body: new URLSearchParams({ f: 'json' }) };
    expect(await ask('/rest/services/default/FeatureServer/0/nothing', form)).toMatchObject(inBand(404));
    expect(await ask('/rest/services/default/FeatureServer/0/query', { method: 'DELETE' })).toMatchObject(
      inBand(405),
    );
    const long = `/rest/services/default/FeatureServer/0/query?f=json&where=${'x'.repeat(9000)}`;
    expect(await ask(long)).toMatchObject(inBand(414));
  });

  it('is called where a page asks for a call', async () => {
    const { type, text } = await ask('/rest/nothing?f=json&callback=dojo.io.a');
    expect(type).toMatch(/javascript/);
    expect(text).toMatch(/^\/\*\*\/dojo\.io\.a\(\{"error":\{"code":404,/);
  });

  it('is a problem document for other formats, and other paths', async () => {
    for (const path of [
      '/rest/nothing?f=html',
      '/rest/nothing?f=image',
      '/restful',
      '/sharing',
      '/ogc/nothing?f=json',
    ])
      expect(await ask(path)).toMatchObject({ status: 404, type: 'application/problem+json' });
  });

  it('has no body for who asks for its head', async () => {
    const { url } = server;
    const answer = await new Promise<{ status?: number | undefined; bytes: number }>((resolve, reject) => {
      const asking = request(`${url}/rest/nothing`, { method: 'HEAD' }, (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => (bytes += chunk.length));
        response.on('end', () => resolve({ status: response.statusCode, bytes }));
      });
      asking.on('error', reject).end();
    });
    expect(answer).toEqual({ status: 200, bytes: 0 });
  });
});

describe('pages of operations', () => {
  const LAYER = '/rest/services/default/FeatureServer/3';
  const page = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}${path}`, { headers: { accept: 'text/html', ...headers } });
    const text = await response.text();
    expect(response.headers.get('content-type'), path).toBe('text/html; charset=utf-8');
    return { status: response.status, text };
  };

  it('show the form of a query without parameters, and execute nothing', async () => {
    const { status, text } = await page(`${LAYER}/query`);
    expect(status).toBe(200);
    expect(text).toContain('name="where" value="1=1"');
    for (const name of ['outStatistics', 'spatialRel', 'returnDistinctValues', 'quantizationParameters'])
      expect(text).toContain(`name="${name}"`);
    expect(text).toContain('<option>esriSpatialRelWithin</option>');
    expect(text).not.toContain('<table>');
    expect(text).toContain(`href="${server.url}/rest/services/default/FeatureServer"`);
  });

  it('show the response as a table and on a map, next to the form', async () => {
    const { text } = await page(`${LAYER}/query?where=NAME%3D%27Norway%27&outFields=NAME&objectIds=&f=html`);
    expect(text).toContain('<bdi>Norway</bdi>');
    expect(text).toContain('id="map-data"');
    expect(text).toMatch(/name="where" value="NAME=&#39;Norway&#39;"/);
    expect(text).toContain('f=pjson');
    const statistics = encodeURIComponent(
      '[{"statisticType":"count","onStatisticField":"NAME","outStatisticFieldName":"n"}]',
    );
    expect((await page(`${LAYER}/query?outStatistics=${statistics}`)).text).toContain(
      '<td class="num">238</td>',
    );
    expect((await page(`${LAYER}/query?where=1%3D1&returnCountOnly=true`)).text).toContain('>240</td>');
  });

  it('show an error above the form, with its status', async () => {
    const { status, text } = await page(`${LAYER}/query?where=nothing+LIKE`);
    expect(status).toBe(400);
    expect(text).toContain('role="alert"');
    expect(text).toContain('name="where" value="nothing LIKE"');
  });

  it('show images of exports, and the results of identify and find', async () => {
    const service = '/rest/services/default/MapServer';
    expect((await page(`${service}/export?size=100,50`)).text).toContain(
      'src="/rest/services/default/MapServer/export?size=100%2C50&amp;f=image"',
    );
    expect((await page(`${service}/find?searchText=Norway&layers=3`)).text).toContain('Norway');
    const place = 'geometry=10,61&sr=4326&layers=all&returnGeometry=false';
    expect((await page(`${service}/identify?${place}`)).text).toContain('Norway');
    expect((await page(service)).text).toContain('Form: identify');
  });

  it('have forms of edits for callers who can edit', async () => {
    expect((await page(`${LAYER}/applyEdits`)).status).toBe(401);
    expect((await page(LAYER)).text).not.toContain('applyEdits');
    const key = { 'x-api-key': server.adminKey };
    const { text } = await page(`${LAYER}/applyEdits`, key);
    expect(text).toMatch(/<form [^>]*method="post"/);
    expect(text).toContain('name="adds"');
    expect((await page(LAYER, key)).text).toContain('Form: applyEdits');
    const plain = await fetch(`${server.url}${LAYER}/applyEdits`, { headers: key });
    expect(plain.status).toBe(405);
  });

  it('have forms of replicas, attachments and geoprocessing tasks', async () => {
    const key = { 'x-api-key': server.adminKey };
    const service = LAYER.slice(0, LAYER.lastIndexOf('/'));
    expect((await page(service, key)).text).toContain('Form: createReplica');
    expect((await page(`${service}/createReplica`, key)).text).toMatch(/method="post"[\s\S]*name="layers"/);
    const added = await page(`${LAYER}/1/addAttachment`, key);
    expect(added.text).toMatch(/enctype="multipart\/form-data"[\s\S]*<input name="attachment" type="file">/);
    expect((await page(`${LAYER}/1/addAttachment`)).status).toBe(401);
    expect((await page('/rest/services/Processes/GPServer')).text).toContain('GPServer/geometry.buffer"');
    const { text } = await page('/rest/services/Processes/GPServer/geometry.buffer');
    expect(text).toMatch(
      /action="[^"]*geometry\.buffer\/submitJob"[\s\S]*name="distance"[\s\S]*formaction="[^"]*\/execute"/,
    );
    const json = await fetch(`${server.url}/rest/services/Processes/GPServer/geometry.buffer`);
    expect((await json.json()).name).toBe('geometry.buffer');
  });
});
