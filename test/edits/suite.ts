import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { capacitySuite } from './capacity.js';
import {
  type Answer,
  type EditableStore,
  type Editor,
  parcel,
  sender,
  square,
  startEditor,
} from './support.js';
import { unchangedSuite } from './unchanged-rows.js';

/** What editing over HTTP must do, whatever the store is. */
export function editSuite(name: string, open: () => Promise<EditableStore>): void {
  let store: EditableStore;
  let editor: Editor;
  const send: Editor['send'] = (...request) => editor.send(...request);
  const events = () => store.query(`SELECT * FROM ${store.outbox} ORDER BY cursor`);
  const lastEvent = async () => (await events()).at(-1)!;

  beforeAll(async () => {
    store = await open();
    editor = await startEditor(store);
  });
  afterAll(async () => {
    await editor?.server.stop();
    await store?.release();
  });

  const created = async (properties: Record<string, unknown>, x = 7, y = 46): Promise<string> => {
    const answer = await send('POST', 'parcels/items', parcel(x, y, properties));
    expect(answer.body).toMatchObject({ type: 'Feature' });
    return String(answer.body.id);
  };

  describe(`${name}: /req/create-replace-delete/{post-op,post-body,post-content-type,post-response,post-response-rid}, /req/features/resources-endpoint`, () => {
    it('/req/features/{crs-crs84,default-crs}: answers 201 with the place, the feature and its entity tag', async () => {
      const answer = await send('POST', 'parcels/items', parcel(7, 46, { name: 'Town hall', floors: 3 }));
      expect(answer.status).toBe(201);
      expect(answer.headers.get('content-type')).toBe('application/geo+json');
      expect(answer.headers.get('content-crs')).toBe('<http://www.opengis.net/def/crs/OGC/1.3/CRS84>');
      expect(answer.headers.get('etag')).toMatch(/^"[0-9a-f]{16}"$/);
      const { id, geometry, properties } = answer.body;
      expect(answer.headers.get('location')).toBe(
        `${editor.server.url}/ogc/features/collections/parcels/items/${id}`,
      );
      expect(geometry).toEqual({ type: 'MultiPolygon', coordinates: [square(7, 46)] });
      expect(properties).toMatchObject({ name: 'Town hall', floors: 3, note: 'none', area: null });
      const read = await fetch(answer.headers.get('location')!, {
        headers: { 'accept-encoding': 'identity' },
      });
      expect(read.headers.get('etag')).toBe(answer.headers.get('etag'));
      expect((await read.json()).properties).toEqual(properties);
    });

    it('keeps every kind of value', async () => {
      const properties = {
        name: 'Ünïcödé 🏠',
        area: 12.5,
        floors: -7,
        built: '1999-12-31',
        seen: '2020-02-29T12:00:00.5+02:00',
        active: true,
        code: `c-${name}`,
        note: null,
        tags: { a: [1, { b: null }] },
      };
      const answer = await send('POST', 'parcels/items', parcel(7, 46, properties));
      expect(answer.status).toBe(201);
      expect(answer.body.properties).toMatchObject({
        ...properties,
        seen: expect.stringMatching(/^2020-02-29T10:00:00\.5/),
      });
    });

    it('keeps whole numbers of 64 bits', async () => {
      const body = `{"type":"Feature","geometry":null,"properties":{"name":"big","floors":9007199254740993}}`;
      const answer = await send('POST', 'parcels/items', body);
      expect(answer.status).toBe(201);
      const text = await (await fetch(answer.headers.get('location')!)).text();
      expect(text).toContain('"floors":9007199254740993');
    });

    it('/req/features/{crs-other-crs,content-crs-header}: takes coordinates in the axis order of Content-Crs and answers in that CRS', async () => {
      const latLon = {
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [46, 7, 100] },
        properties: {},
      };
      const epsg4326 = 'http://www.opengis.net/def/crs/EPSG/0/4326';
      for (const header of [epsg4326, `<${epsg4326}>`]) {
        const answer = await send('POST', 'spots/items', latLon, { 'content-crs': header });
        expect(answer.status).toBe(201);
        expect(answer.headers.get('content-crs')).toBe(`<${epsg4326}>`);
        expect(answer.body.geometry.coordinates).toEqual([46, 7, 100]);
        const read = await (await fetch(answer.headers.get('location')!)).json();
        expect(read.geometry.coordinates).toEqual([7, 46, 100]);
      }
    });

    it('takes heights where the collection has them, and puts 0 where they are missing', async () => {
      const flat = { type: 'Feature', geometry: { type: 'Point', coordinates: [7, 46] }, properties: {} };
      const answer = await send('POST', 'spots/items', flat);
      expect(answer.body.geometry.coordinates).toEqual([7, 46, 0]);
    });

    it('takes a large body, and refuses one of too many positions, while others are answered', async () => {
      const circle = (n: number) => {
        const ring = Array.from({ length: n }, (_, i) => [
          Math.cos((i / n) * 2 * Math.PI),
          Math.sin((i / n) * 2 * Math.PI),
        ]);
        return { type: 'Polygon', coordinates: [[...ring, ring[0]]] };
      };
      const large = { ...parcel(0, 0, { name: 'large', floors: 1 }), geometry: circle(100_000) };
      const answer = await send('POST', 'parcels/items', large);
      expect([answer.status, answer.body.properties.floors]).toEqual([201, 1]);
      const exact = JSON.stringify(large).replace('"floors":1', '"floors":9007199254740993');
      const place = (await send('POST', 'parcels/items', exact)).headers.get('location')!;
      expect(await (await fetch(place)).text()).toContain('"floors":9007199254740993');
      const tooLarge = await send('POST', 'parcels/items', { ...large, geometry: circle(520_000) });
      expect([tooLarge.status, tooLarge.body.errors?.[0]?.name]).toEqual([
        400,
        expect.stringContaining('/geometry'),
      ]);
      expect(
        (await send('POST', 'parcels/items', `{"type":"Feature","x":"${'y'.repeat(100_000)}"`)).status,
      ).toBe(400);
    });

    it('does not refuse an edit for what Accept names', async () => {
      const answer = await send('POST', 'parcels/items', parcel(7, 46), { accept: 'text/xml' });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([201, 'application/geo+json']);
    });

    it('takes a feature without a geometry', async () => {
      const answer = await send('POST', 'parcels/items', {
        type: 'Feature',
        geometry: null,
        properties: { name: 'n' },
      });
      expect([answer.status, answer.body.geometry]).toEqual([201, null]);
    });

    it('answers 409 when a unique value is taken, and when the id is', async () => {
      const id = await created({ name: 'one', code: 'unique' });
      const twice = await send('POST', 'parcels/items', parcel(7, 46, { name: 'two', code: 'unique' }));
      expect(twice.status).toBe(409);
      expect(twice.body.detail).toContain('code');
      const same = await send('POST', 'parcels/items', { ...parcel(7, 46), id });
      expect(same.status).toBe(409);
    });

    it('puts the new feature into pages, counts and tiles at once', async () => {
      const base = `${editor.server.url}/ogc`;
      const page = async () =>
        (await fetch(`${base}/features/collections/spots/items?bbox=19,19,21,21`)).json();
      const collection = await (await fetch(`${base}/tiles/collections?f=json`)).json();
      const layer = collection.collections.find((c: { title: string }) => /^spots$/i.test(c.title))?.id;
      const tile = async () => {
        const answer = await fetch(`${base}/tiles/collections/${layer}/tiles/WebMercatorQuad/3/3/4?f=mvt`);
        return Buffer.from(await answer.arrayBuffer()).toString('latin1');
      };
      expect((await page()).features).toEqual([]);
      expect(await tile()).not.toContain('in the tile');
      const spot = {
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [20, 20, 0] },
        properties: { name: 'in the tile' },
      };
      expect((await send('POST', 'spots/items', spot)).status).toBe(201);
      expect((await page()).features).toHaveLength(1);
      expect(await tile()).toContain('in the tile');
      const all = await (await fetch(`${base}/features/collections/spots/items?limit=1`)).json();
      const [{ n }] = (await store.query('SELECT count(*) AS n FROM spots')) as [{ n: number }];
      expect(all.numberMatched).toBe(Number(n));
      const { extent } = await (await fetch(`${base}/features/collections/spots?f=json`)).json();
      expect(extent.spatial.bbox[0][2]).toBeGreaterThanOrEqual(20);
    });
  });

  describe(`${name}: /req/features/schema: what is refused with 400`, () => {
    const feature = (geometry: unknown, properties: unknown = { name: 'x' }) => ({
      type: 'Feature',
      geometry,
      properties,
    });
    const polygon = (coordinates: unknown) => feature({ type: 'Polygon', coordinates });
    const bow = [
      [
        [0, 0],
        [2, 2],
        [2, 0],
        [0, 2],
        [0, 0],
      ],
    ];

    it.each<[string, unknown, string]>([
      ['an unknown property', parcel(7, 46, { name: 'x', colour: 'red' }), '/properties/colour'],
      ['text for a number', parcel(7, 46, { name: 'x', area: '12' }), '/properties/area'],
      ['a fraction for a whole number', parcel(7, 46, { name: 'x', floors: 1.5 }), '/properties/floors'],
      ['a number beyond 64 bits', parcel(7, 46, { name: 'x', floors: 1e30 }), '/properties/floors'],
      ['a number for text', parcel(7, 46, { name: 5 }), '/properties/name'],
      ['text that is too long', parcel(7, 46, { name: 'x'.repeat(21) }), '/properties/name'],
      ['null where it is not allowed', parcel(7, 46, { name: null }), '/properties/name'],
      ['a missing value that must be there', parcel(7, 46, {}), '/properties/name'],
      ['a day that does not exist', parcel(7, 46, { name: 'x', built: '2021-02-29' }), '/properties/built'],
      [
        'a time that does not exist',
        parcel(7, 46, { name: 'x', seen: '2021-02-03T25:00:00Z' }),
        '/properties/seen',
      ],
      ['text for true or false', parcel(7, 46, { name: 'x', active: 'yes' }), '/properties/active'],
      ['a NUL character', parcel(7, 46, { name: 'a\u0000b' }), '/properties/name'],
      ['half of a surrogate pair', parcel(7, 46, { name: '\ud800' }), '/properties/name'],
      ['a geometry of another type', feature({ type: 'Point', coordinates: [7, 46] }), '/geometry'],
      ['a geometry of no type', feature({ type: 'Circle', coordinates: [7, 46] }), '/geometry'],
      [
        'heights where there are none',
        polygon([
          [
            [0, 0, 1],
            [1, 0, 1],
            [1, 1, 1],
            [0, 0, 1],
          ],
        ]),
        '/geometry',
      ],
      [
        'an open ring',
        polygon([
          [
            [0, 0],
            [1, 0],
            [1, 1],
            [0, 1],
          ],
        ]),
        '/geometry/coordinates/0',
      ],
      [
        'a ring of three positions',
        polygon([
          [
            [0, 0],
            [1, 0],
            [0, 0],
          ],
        ]),
        '/geometry/coordinates/0',
      ],
      [
        'a coordinate that is text',
        polygon([
          [
            ['0', 0],
            [1, 0],
            [1, 1],
            [0, 0],
          ],
        ]),
        '/geometry/coordinates/0/0/0',
      ],
      [
        'a coordinate that is null',
        polygon([
          [
            [null, 0],
            [1, 0],
            [1, 1],
            [0, 0],
          ],
        ]),
        '/geometry/coordinates/0/0/0',
      ],
      ['a ring that crosses itself', polygon(bow), '/geometry'],
      ['a geometry that is a list', feature([]), '/geometry'],
      ['properties that are a list', feature(null, []), '/properties'],
      ['no feature', { type: 'FeatureCollection', geometry: null, properties: null }, '/type'],
    ])('%s', async (_what, body, member) => {
      const answer = await send('POST', 'parcels/items', body);
      expect([answer.status, answer.body.errors?.[0]?.name]).toEqual([400, member]);
    });

    it('says where a ring crosses itself, in the CRS of the body', async () => {
      const answer = await send('POST', 'parcels/items', polygon(bow));
      expect(answer.body.detail).toMatch(/Self-intersection at 1 1/);
    });

    it('a place where the CRS of the data is not defined, or a latitude beyond the pole', async () => {
      const far = polygon([
        [
          [0, 0],
          [1, 0],
          [1, 1e9],
          [0, 0],
        ],
      ]);
      expect((await send('POST', 'parcels/items', far)).status).toBe(400);
    });

    it('a CRS that the collection does not offer', async () => {
      for (const crs of ['http://www.opengis.net/def/crs/EPSG/0/25832', 'nonsense', '']) {
        const answer = await send('POST', 'parcels/items', parcel(7, 46), { 'content-crs': crs || ' <> ' });
        expect([crs, answer.status, answer.body.detail]).toEqual([
          crs,
          400,
          expect.stringContaining('Content-Crs'),
        ]);
      }
    });

    it('a body that is no JSON, not UTF-8, nested without end', async () => {
      expect((await send('POST', 'parcels/items', '{"type":')).status).toBe(400);
      const deep = `{"type":"Feature","geometry":{"type":"Polygon","coordinates":${'['.repeat(100_000)}${']'.repeat(100_000)}},"properties":{}}`;
      expect((await send('POST', 'parcels/items', deep)).status).toBe(400);
      const tags = `{"type":"Feature","geometry":null,"properties":{"name":"x","tags":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
      expect((await send('POST', 'parcels/items', tags)).status).toBe(400);
      const utf8 = await fetch(`${editor.server.url}/ogc/features/collections/parcels/items`, {
        method: 'POST',
        body: Buffer.from([0x22, 0xff, 0x22]),
        headers: { 'x-api-key': editor.server.adminKey, 'content-type': 'application/json' },
      });
      expect(utf8.status).toBe(400);
    });

    it('a body of another media type gives 415, one that is too large 413', async () => {
      const headers = { 'content-type': 'text/plain' };
      expect((await send('POST', 'parcels/items', '{}', headers)).status).toBe(415);
      const large = `{"type":"Feature","properties":{"name":"${'x'.repeat(27_000_000)}"}}`;
      const answer = await send('POST', 'parcels/items', large).catch(() => ({ status: 413 }));
      expect(answer.status).toBe(413);
    });

    it('an id that no key can be', async () => {
      expect((await send('POST', 'parcels/items', { ...parcel(7, 46), id: 'x1' })).status).toBe(400);
    });

    it('changes nothing and writes no event', async () => {
      const before = await events();
      const rows = await store.query('SELECT count(*) AS n FROM parcels');
      await send('POST', 'parcels/items', polygon(bow));
      await send('POST', 'parcels/items', parcel(7, 46, {}));
      expect(await events()).toEqual(before);
      expect(await store.query('SELECT count(*) AS n FROM parcels')).toEqual(rows);
    });
  });

  describe(`${name}: /req/create-replace-delete/{put-op,put-body,put-content-type,put-response}, /req/features/{resource-endpoint,representation-geojson-replace}`, () => {
    it('sets what the body does not name to null, or to its default', async () => {
      const id = await created({ name: 'old', floors: 4, note: 'kept?', code: 'r1' });
      const answer = await send('PUT', `parcels/items/${id}`, parcel(8, 47, { name: 'new', area: 1 }));
      expect(answer.status).toBe(200);
      expect(answer.body.geometry.coordinates).toEqual([square(8, 47)]);
      expect(answer.body.properties).toMatchObject({
        name: 'new',
        area: 1,
        floors: null,
        note: 'none',
        code: null,
      });
      expect(answer.headers.get('etag')).toMatch(/^"[0-9a-f]{16}"$/);
      const bare = { type: 'Feature', geometry: null, properties: { name: 'bare' } };
      expect((await send('PUT', `parcels/items/${id}`, bare)).body.geometry).toBeNull();
    });

    it('takes back what a GET gave', async () => {
      const id = await created({
        name: 'same',
        seen: '2020-01-01T00:00:00Z',
        built: '2000-01-01',
        tags: { a: 1 },
      });
      const read = await send('GET', `parcels/items/${id}`);
      const answer = await send('PUT', `parcels/items/${id}`, read.body);
      expect(answer.status).toBe(200);
      expect(answer.body.properties).toEqual(read.body.properties);
      expect(answer.headers.get('etag')).toBe(read.headers.get('etag'));
    });

    it('/req/create-replace-delete/put-rid: answers 404 for a feature that is not there, and creates none', async () => {
      for (const id of ['987654', 'no-such', '99999999999999999999999', '%27%3B--'])
        expect((await send('PUT', `parcels/items/${id}`, parcel(7, 46))).status).toBe(404);
    });

    it('/req/create-replace-delete/put-rid-exception: answers 400 when the body names another feature', async () => {
      const id = await created({ name: 'a' });
      expect((await send('PUT', `parcels/items/${id}`, { ...parcel(7, 46), id: `${id}0` })).status).toBe(400);
      expect((await send('PUT', `parcels/items/${id}`, { ...parcel(7, 46), id: Number(id) })).status).toBe(
        200,
      );
    });
  });

  describe(`${name}: /req/update/{methods,update-patch-op,update-patch-body,update-patch-response,rid}, /req/features/update-json-merge-patch`, () => {
    it('changes what the merge patch names and keeps the rest', async () => {
      const id = await created({ name: 'a', floors: 2, area: 3, tags: { x: 1, y: { z: 2 } } });
      const patch = { properties: { floors: null, area: 4, tags: { x: null, y: { w: 3 } } } };
      for (const type of ['application/merge-patch+json', 'application/json', 'application/geo+json']) {
        const answer = await send('PATCH', `parcels/items/${id}`, patch, { 'content-type': type });
        expect([answer.status, String(answer.body.id)]).toEqual([200, id]);
        const read = await send('GET', `parcels/items/${id}`);
        expect(answer.headers.get('etag')).toBe(read.headers.get('etag'));
        expect(answer.body.properties).toMatchObject({
          name: 'a',
          floors: null,
          area: 4,
          tags: { y: { z: 2, w: 3 } },
        });
        expect(answer.body.geometry.coordinates).toEqual([square(7, 46)]);
      }
    });

    it('changes a geometry, and takes it away by null', async () => {
      const id = await created({ name: 'a' });
      const moved = { geometry: { type: 'Polygon', coordinates: square(1, 1) } };
      expect((await send('PATCH', `parcels/items/${id}`, moved)).body.geometry.coordinates).toEqual([
        square(1, 1),
      ]);
      expect((await send('PATCH', `parcels/items/${id}`, { geometry: null })).body.geometry).toBeNull();
    });

    it('answers what it did, whatever If-None-Match says', async () => {
      const id = await created({ name: 'a' });
      const { headers } = await send('GET', `parcels/items/${id}`);
      for (const tag of ['*', headers.get('etag')!]) {
        const answer = await send(
          'PATCH',
          `parcels/items/${id}`,
          { properties: {} },
          { 'if-none-match': tag },
        );
        expect([answer.status, answer.body?.properties.name]).toEqual([200, 'a']);
      }
    });

    it('refuses values as create does', async () => {
      const id = await created({ name: 'a' });
      expect((await send('PATCH', `parcels/items/${id}`, { properties: { name: null } })).status).toBe(400);
      expect((await send('PATCH', `parcels/items/${id}`, { properties: null })).status).toBe(400);
      expect((await send('PATCH', `parcels/items/${id}`, [])).status).toBe(400);
      expect((await send('PATCH', 'parcels/items/987654', { properties: {} })).status).toBe(404);
    });
  });

  describe(`${name}: /req/create-replace-delete/{delete-op,delete-response}`, () => {
    it('answers 204, then 404', async () => {
      const id = await created({ name: 'a' });
      const answer = await send('DELETE', `parcels/items/${id}`);
      expect([answer.status, answer.body]).toEqual([204, undefined]);
      expect((await send('DELETE', `parcels/items/${id}`)).status).toBe(404);
      expect((await send('GET', `parcels/items/${id}`)).status).toBe(404);
    });
  });

  describe(`${name}: /req/optimistic-locking-etags/{get-etag-response,put-etag-response,patch-etag-response,ifmatch-put-op,ifmatch-put-eval,ifmatch-patch-op,ifmatch-patch-eval}`, () => {
    it('lets the edit pass for the tag of any representation, in a list, and for *', async () => {
      const id = await created({ name: 'a' });
      const place = `${editor.server.url}/ogc/features/collections/parcels/items/${id}`;
      const tag = async (query: string) => (await fetch(`${place}?${query}`)).headers.get('etag')!;
      const mercator = encodeURIComponent('http://www.opengis.net/def/crs/EPSG/0/3857');
      const tags = [await tag('f=json'), await tag(`crs=${mercator}`)];
      expect(new Set(tags).size).toBe(2);
      for (const condition of [...tags, `"0000000000000000", ${tags[1]}`, '*']) {
        const answer = await send(
          'PATCH',
          `parcels/items/${id}`,
          { properties: { name: 'a' } },
          { 'if-match': condition },
        );
        expect([condition, answer.status]).toEqual([condition, 200]);
      }
    });

    it('answers 412 once the feature has changed, and for weak and unknown tags', async () => {
      const id = await created({ name: 'a' });
      const { headers } = await send('GET', `parcels/items/${id}`);
      const old = headers.get('etag')!;
      expect((await send('PATCH', `parcels/items/${id}`, { properties: { name: 'b' } })).status).toBe(200);
      for (const condition of [old, 'W/"0123456789abcdef"', '"x"', 'x', '']) {
        const match = { 'if-match': condition };
        expect((await send('PUT', `parcels/items/${id}`, parcel(7, 46), match)).status).toBe(412);
        expect((await send('PATCH', `parcels/items/${id}`, { properties: {} }, match)).status).toBe(412);
        expect((await send('DELETE', `parcels/items/${id}`, undefined, match)).status).toBe(412);
      }
      expect((await send('GET', `parcels/items/${id}`)).body.properties.name).toBe('b');
    });

    it('lets one of many writers that saw the same feature win', async () => {
      const id = await created({ name: 'a', floors: 0 });
      const { headers } = await send('GET', `parcels/items/${id}`);
      const match = { 'if-match': headers.get('etag')! };
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          send('PATCH', `parcels/items/${id}`, { properties: { floors: i + 1 } }, match),
        ),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, 412, 412, 412, 412, 412, 412, 412]);
    });

    it('answers 404 for a feature that is not there', async () => {
      const match = { 'if-match': '"0123456789abcdef"' };
      expect((await send('PUT', 'parcels/items/987654', parcel(7, 46), match)).status).toBe(404);
    });
  });

  describe(`${name}: /req/batch-operations/batch`, () => {
    const batch = (operations: unknown[], more: object = {}, collection = 'parcels'): Promise<Answer> =>
      send(
        'POST',
        `${collection}/items/batch`,
        { operations, ...more },
        { 'content-type': 'application/json' },
      );
    const create = (label: string, more: object = {}) => ({
      type: 'create',
      feature: parcel(7, 46, { name: label }),
      ...more,
    });
    const named = async (label: string) =>
      Number(
        (
          (await store.query(`SELECT count(*) AS n FROM parcels WHERE name = '${label}'`)) as [{ n: number }]
        )[0].n,
      );

    it('answers 200 with one result for each operation', async () => {
      const id = await created({ name: 'b', floors: 1 });
      const gone = await created({ name: 'b' });
      const { status, body } = await batch([
        create('b1', { id: 'op-1' }),
        { type: 'UPDATE', featureId: id, feature: parcel(7, 46, { name: 'b2' }) },
        { type: 'Delete', id: 'op-3', featureId: gone },
      ]);
      expect(status).toBe(200);
      expect(body).toEqual({
        results: [
          { operationId: 'op-1', isSuccess: true, statusCode: 201, featureId: expect.any(String) },
          { isSuccess: true, statusCode: 200, featureId: id },
          { operationId: 'op-3', isSuccess: true, statusCode: 204 },
        ],
        hasErrors: false,
        processedCount: 3,
        successCount: 3,
      });
      expect((await send('GET', `parcels/items/${id}`)).body.properties).toMatchObject({
        name: 'b2',
        floors: null,
      });
    });

    it('answers 207 when some fail; the others are done', async () => {
      const { status, body } = await batch([
        create('m1'),
        { type: 'DELETE', featureId: '987654' },
        { type: 'CREATE', feature: parcel(7, 46, {}) },
        { type: 'UPSERT', featureId: '1' },
        { type: 'UPDATE', feature: parcel(7, 46) },
        { type: 'CREATE' },
        { type: 'CREATE', feature: { type: 'Point' } },
        create('m1'),
      ]);
      expect(status).toBe(207);
      expect(body.results.map((result: { statusCode: number }) => result.statusCode)).toEqual([
        201, 404, 400, 400, 400, 400, 400, 201,
      ]);
      expect(body).toMatchObject({ hasErrors: true, processedCount: 8, successCount: 2 });
      expect(body.results[1]).toMatchObject({
        isSuccess: false,
        featureId: '987654',
        errorMessage: expect.any(String),
      });
      expect(await named('m1')).toBe(2);
    });

    it('stops at the first failure with failFast, keeping what was done', async () => {
      const wrong = { type: 'CREATE', feature: parcel(7, 46, {}) };
      for (const failing of [{ type: 'DELETE', featureId: '987654' }, wrong, { type: 'nothing' }]) {
        const label = `f${JSON.stringify(failing).length}`;
        const { status, body } = await batch([create(label), failing, create(label)], { failFast: true });
        expect(status).toBe(207);
        expect(body).toMatchObject({ processedCount: 2, successCount: 1 });
        expect(body.results).toHaveLength(2);
        expect(await named(label)).toBe(1);
      }
    });

    it('undoes everything with atomic, events too', async () => {
      const before = await events();
      const twin = await created({ name: 't', code: 'twin' });
      for (const failing of [
        { type: 'DELETE', featureId: '987654' },
        { type: 'CREATE', feature: parcel(7, 46, { name: 'x', code: 'twin' }) },
        { type: 'CREATE', feature: parcel(7, 46, {}) },
        { type: 'nothing' },
      ]) {
        const { status, body } = await batch([create('atom'), failing, create('atom')], { atomic: true });
        expect(status).toBe(207);
        const statuses = body.results.map((result: { statusCode: number }) => result.statusCode);
        expect([statuses[0], statuses[2]]).toEqual([424, 424]);
        expect(body).toMatchObject({ hasErrors: true, processedCount: 3, successCount: 0 });
      }
      expect(await named('atom')).toBe(0);
      expect((await events()).length).toBe(before.length + 1);
      const good = await batch([create('atom'), { type: 'DELETE', featureId: twin }], { atomic: true });
      expect(good.status).toBe(200);
      expect(await named('atom')).toBe(1);
    });

    it('applies Content-Crs to every feature', async () => {
      const feature = {
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [50, 10, 1] },
        properties: {},
      };
      const answer = await send(
        'POST',
        'spots/items/batch',
        {
          operations: [
            { type: 'CREATE', feature },
            { type: 'CREATE', feature },
          ],
        },
        { 'content-type': 'application/json', 'content-crs': '<http://www.opengis.net/def/crs/EPSG/0/4326>' },
      );
      expect(answer.status).toBe(200);
      for (const { featureId } of answer.body.results)
        expect((await send('GET', `spots/items/${featureId}`)).body.geometry.coordinates).toEqual([
          10, 50, 1,
        ]);
    });

    it('takes 1,000 operations and answers 400 for more', async () => {
      const many = Array.from({ length: 1000 }, (_, i) => create(`k${i}`));
      const before = (await events()).length;
      const { status, body } = await batch(many);
      expect([status, body.successCount]).toEqual([200, 1000]);
      expect((await events()).length).toBe(before + 1000);
      expect((await batch([...many, create('k')])).status).toBe(400);
    });

    it('answers 400 for what is no batch, and 200 for one of nothing', async () => {
      expect((await batch([1])).status).toBe(400);
      expect((await batch('x' as never)).status).toBe(400);
      expect((await batch([{ type: 5 }])).status).toBe(400);
      expect((await batch([])).body).toEqual({
        results: [],
        hasErrors: false,
        processedCount: 0,
        successCount: 0,
      });
    });
  });

  describe(`${name}: the outbox`, () => {
    it('tells of an insert, an update and a delete', async () => {
      const id = await created({ name: 'o', floors: 1 }, 3, 4);
      const insert = await lastEvent();
      expect(insert).toMatchObject({
        collection: 'parcels',
        feature_id: id,
        operation: 'insert',
        protocol: 'OGC-Features',
        actor: expect.any(String),
        request_id: expect.any(String),
        envelope_before: null,
      });
      expect(insert['event_id']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
      expect(read(insert['envelope_after'])).toEqual([3, 4, 4, 5]);
      expect(read(insert['geometry'])).toEqual({ type: 'MultiPolygon', coordinates: [square(3, 4)] });
      expect(read(insert['attributes'])).toMatchObject({ name: 'o', floors: 1 });
      expect(read(insert['changed_attributes'])).toContain('name');
      expect(Boolean(insert['geometry_changed'])).toBe(true);

      await send(
        'PATCH',
        `parcels/items/${id}`,
        { properties: { floors: 2 } },
        { 'x-request-id': 'my-request' },
      );
      const update = await lastEvent();
      expect(update).toMatchObject({ operation: 'update', feature_id: id, request_id: 'my-request' });
      expect(read(update['changed_attributes'])).toEqual(['floors']);
      expect(Boolean(update['geometry_changed'])).toBe(false);
      expect(read(update['envelope_before'])).toEqual([3, 4, 4, 5]);

      await send('DELETE', `parcels/items/${id}`);
      const removed = await lastEvent();
      expect(removed).toMatchObject({ operation: 'delete', feature_id: id, envelope_after: null });
      expect(read(removed['envelope_before'])).toEqual([3, 4, 4, 5]);
      expect(Number(removed['cursor'])).toBeGreaterThan(Number(update['cursor']));
      expect(new Date(removed['time'] as string).getTime()).toBeGreaterThan(Date.now() - 60_000);
    });
  });

  describe(`${name}: who may edit`, () => {
    const edits: [string, string, unknown][] = [
      ['POST', 'parcels/items', parcel(7, 46)],
      ['PUT', 'parcels/items/1', parcel(7, 46)],
      ['PATCH', 'parcels/items/1', {}],
      ['DELETE', 'parcels/items/1', undefined],
      ['POST', 'parcels/items/batch', { operations: [] }],
    ];
    const json = { 'content-type': 'application/json' };

    it.each(edits)('%s %s needs credentials: 401', async (method, path, body) => {
      const answer = await send(method, path, body, { ...json, 'x-api-key': '' });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    });

    it('lets a key edit the collections of its grants, and answers 403 for the others', async () => {
      const answer = await fetch(`${editor.server.url}/api/v1/admin/api-keys`, {
        method: 'POST',
        headers: { ...json, 'x-api-key': editor.server.adminKey },
        body: JSON.stringify({ name: 'clerk', permissions: ['write:parcels'] }),
      });
      const created = await answer.json();
      const secret =
        (created.data ?? created).key ?? (created.data ?? created).secret ?? (created.data ?? created).apiKey;
      const clerk = sender(editor.server.url, secret);
      expect((await clerk('POST', 'parcels/items', parcel(7, 46))).status).toBe(201);
      const spot = { type: 'Feature', geometry: null, properties: {} };
      expect((await clerk('POST', 'spots/items', spot)).status).toBe(403);
      expect((await clerk('POST', 'spots/items/batch', { operations: [] }, json)).status).toBe(403);
    });

    it('answers 404 for a collection that is not there', async () => {
      for (const [method, path, body] of edits)
        expect((await send(method, path.replace('parcels', 'nowhere'), body, json)).status).toBe(404);
    });

    it('/req/create-replace-delete/{options-op,options-response}: tells by OPTIONS what may be done', async () => {
      const allow = async (path: string) =>
        (await send('OPTIONS', path)).headers.get('allow')!.split(', ').sort().join(' ');
      expect(await allow('parcels/items')).toBe('GET HEAD OPTIONS POST');
      expect(await allow('parcels/items/1')).toBe('DELETE GET HEAD OPTIONS PATCH PUT');
      expect(await allow('nowhere/items')).toBe('GET HEAD OPTIONS');
    });

    it('names by OPTIONS what the caller may do, and by a preflight what browsers may send', async () => {
      const options = (headers: Record<string, string>) =>
        fetch(`${editor.server.url}/ogc/features/collections/parcels/items`, { method: 'OPTIONS', headers });
      const stranger = await options({});
      expect(stranger.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
      const preflight = await options({
        origin: 'https://a.example',
        'access-control-request-method': 'POST',
      });
      expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
        204,
        'GET, POST, HEAD, OPTIONS',
      ]);
      expect((await options({ 'x-api-key': 'wrong' })).status).toBe(401);
      const keys = `${editor.server.url}/api/v1/admin/api-keys`;
      expect((await fetch(keys, { method: 'OPTIONS' })).headers.get('allow')).toBe('OPTIONS');
    });
  });

  describe(`${name}: geometries that come back as they were read`, () => {
    unchangedSuite(name, () => ({ store, editor }));
  });

  describe(`${name}: values that do not fit their column`, () => {
    capacitySuite(name, () => ({ store, editor }));
  });
}

/** JSON of an outbox column: text, or parsed already by the driver. */
function read(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value;
}
