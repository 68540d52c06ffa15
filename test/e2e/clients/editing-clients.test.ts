import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, postgisStore, square } from '../../edits/support.js';
import { startServer, type TestServer } from '../../support/server.js';

/**
 * The requests that QGIS 3.32 and later makes to edit an OGC API Features layer: it asks by OPTIONS what it may do,
 * creates by POST and reads the feature at Location again, changes by PATCH where it may (else by PUT), and deletes.
 * Credentials come as basic authentication, as its authentication manager sends them.
 */
describe.each([
  ['GeoPackage', async () => geoPackageStore() as EditableStore],
  ['PostGIS', () => postgisStore()],
])('a desktop client that edits a layer of %s', (_name, open) => {
  let store: EditableStore;
  let server: TestServer;
  let items: string;
  let headers: Record<string, string>;

  beforeAll(async () => {
    store = await open();
    server = await startServer({ sources: store.sources });
    items = `${server.url}/ogc/features/collections/parcels/items`;
    headers = { authorization: `Basic ${Buffer.from(`editor:${server.adminKey}`).toString('base64')}` };
  });
  afterAll(async () => {
    await server?.stop();
    await store?.release();
  });

  const allow = async (url: string) => {
    const answer = await fetch(url, { method: 'OPTIONS', headers });
    return answer.headers.get('allow')!.split(/,\s*/);
  };

  it('conf/create-replace-delete and conf/update: creates, reads again, changes, replaces and deletes', async () => {
    expect(await allow(items)).toContain('POST');
    const geojson = { ...headers, 'content-type': 'application/geo+json' };
    const feature = {
      type: 'Feature',
      geometry: { type: 'MultiPolygon', coordinates: [square(7, 46)] },
      properties: { name: 'QGIS', area: 2, floors: null, built: null, seen: null, active: null, code: null },
    };
    const posted = await fetch(items, { method: 'POST', headers: geojson, body: JSON.stringify(feature) });
    expect(posted.status).toBe(201);
    const place = posted.headers.get('location')!;
    const created = await (await fetch(place, { headers })).json();
    expect(created).toMatchObject({ geometry: feature.geometry, properties: { name: 'QGIS', area: 2 } });

    expect(await allow(place)).toEqual(expect.arrayContaining(['PUT', 'PATCH', 'DELETE']));
    const patches = [
      { properties: { name: 'renamed' } },
      { geometry: { type: 'MultiPolygon', coordinates: [square(8, 47)] } },
    ];
    for (const patch of patches) {
      const patched = await fetch(place, {
        method: 'PATCH',
        headers: { ...headers, 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify(patch),
      });
      expect(patched.status).toBe(200);
    }
    const changed = await (await fetch(place, { headers })).json();
    expect(changed).toMatchObject({
      geometry: patches[1]!.geometry,
      properties: { name: 'renamed', area: 2 },
    });

    changed.properties.floors = 5;
    const put = await fetch(place, { method: 'PUT', headers: geojson, body: JSON.stringify(changed) });
    expect(put.status).toBe(200);
    expect((await (await fetch(place)).json()).properties).toMatchObject({ name: 'renamed', floors: 5 });

    expect((await fetch(place, { method: 'DELETE', headers })).status).toBe(204);
    expect((await fetch(place)).status).toBe(404);
  });

  it('in the CRS of the data: Content-Crs on the way there, crs on the way back', async () => {
    const uri = 'http://www.opengis.net/def/crs/EPSG/0/3857';
    const sent = {
      type: 'Feature',
      geometry: { type: 'Polygon', coordinates: square(100, 200, 50) },
      properties: { name: 'm' },
    };
    const posted = await fetch(items, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/geo+json', 'content-crs': `<${uri}>` },
      body: JSON.stringify(sent),
    });
    expect(posted.status).toBe(201);
    const place = posted.headers.get('location')!;
    const read = await (await fetch(`${place}?crs=${encodeURIComponent(uri)}`)).json();
    expect(read.geometry.coordinates).toEqual([square(100, 200, 50)]);
  });
});
