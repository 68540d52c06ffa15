import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Map services as KML: links that ask for what is in view, and pictures of it. */

const home = mkdtempSync(join(tmpdir(), 'graticule-kml-'));
let server: SharedServer;
let address: string;

beforeAll(async () => {
  server = await sharedServer();
  address = `${server.url}/rest/services/default/MapServer/generateKml`;
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const unescaped = (text: string) => text.replaceAll('&#38;', '&');
const hrefs = (kml: string) => [...kml.matchAll(/<href>(.*?)<\/href>/g)].map(([, href]) => unescaped(href!));

async function read(query: string): Promise<string> {
  const response = await fetch(`${address}?${query}`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/vnd.google-earth.kml+xml',
  ]);
  return response.text();
}

it('links ask for a picture of what is in view', async () => {
  const [link] = hrefs(await read('docName=Maps+%26+more'));
  const kml = await (await fetch(`${link}&bbox=0,40,20,50`)).text();
  const picture = new URL(hrefs(kml)[0]!);
  expect(picture.searchParams.get('size')).toBe('1024,512');
  const image = await fetch(picture);
  expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(kml).toContain(
    '<LatLonBox><north>50</north><south>40</south><east>20</east><west>0</west></LatLonBox>',
  );
});

it('each layer is a link of its own where that is asked for', async () => {
  const { layers } = await (await fetch(`${address.replace('/generateKml', '')}?f=json`)).json();
  const kml = await read('docName=a&layerOptions=separateImage');
  expect(hrefs(kml)).toHaveLength(layers.length);
  const [one] = hrefs(await read(`docName=a&layers=${layers[1].id}`));
  expect(new URL(one!).searchParams.get('layers')).toBe(String(layers[1].id));
});

it('a view across the antimeridian goes on to the east', async () => {
  const kml = await read('docName=a&bbox=170,-20,-170,0');
  expect(kml).toContain('<east>190</east><west>170</west>');
  expect((await fetch(hrefs(kml)[0]!)).status).toBe(200);
});

it('is well-formed, whatever the name is', async () => {
  const path = join(home, 'map.kml');
  writeFileSync(path, await read(`docName=${encodeURIComponent('<a>&"')}`));
  execFileSync('xmllint', ['--noout', path]);
});

it.each([['bbox=1,2,3'], ['bbox=0,0,0,9'], ['bbox=a,b,c,d'], ['layers=x'], ['layerOptions=nonComposite']])(
  'refuses %s by its name',
  async (query) => {
    const { error } = await (await fetch(`${address}?docName=a&${query}`)).json();
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining(query.split('=')[0]!) });
  },
);
