import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { fixture, ruleOf } from './support.js';

let server: TestServer;
let countries: number;

beforeAll(async () => {
  server = await startServer();
  const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json()) as {
    collections: { id: string; title: string }[];
  };
  countries = Number(collections.find(({ title }) => title.toLowerCase() === 'countries')!.id);
});
afterAll(() => server.stop());

async function ask(method: string, path: string, body?: string | Uint8Array, type = 'application/json') {
  return fetch(`${server.url}/api/v1/admin/metadata/layers/${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: body as never }),
  });
}

async function admin(method: string, path: string, body?: string | Uint8Array, type?: string) {
  const response = await ask(method, path, body, type);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape.
  return { status: response.status, body: (await response.json()) as any };
}

const importSld = (text: string | Uint8Array, id = countries) =>
  admin('POST', `${id}/style/import-sld`, text, 'application/xml');
const styleOf = async (id = countries) => (await admin('GET', `${id}/style`)).body.data;
const fill = (color: string) =>
  ruleOf(
    `<PolygonSymbolizer><Fill><CssParameter name="fill">${color}</CssParameter></Fill></PolygonSymbolizer>`,
  );

describe('import-sld', () => {
  it('makes a style in SLD the style of the layer', async () => {
    const { status, body } = await importSld(fixture('se-classes-1.1.sld'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, data: { detectedVersion: 'Sld11', layerCount: 1 } });
    expect(body.data.diagnostics.map(({ construct }: { construct: string }) => construct)).toContain('uom');
    const { mapLibreStyle, changeSummary, drawingInfo } = await styleOf();
    expect(mapLibreStyle).toEqual(body.data.mapLibreStyle);
    expect([changeSummary, drawingInfo]).toEqual(['SLD 1.1 was imported', null]);
  });

  it('draws maps in it', async () => {
    expect((await importSld(fill('#ff0000'))).status).toBe(200);
    const map = await fetch(
      `${server.url}/ogc/maps/collections/${countries}/map?bbox=10,10,20,20&width=8&height=8&f=png`,
    );
    const { default: sharp } = await import('sharp');
    const { data } = await sharp(await map.arrayBuffer())
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([...data.subarray(0, 4)]).toEqual([255, 0, 0, 255]);
  });

  it('reads the encoding that the text declares', async () => {
    const title = '<Title>Fl\u00e4che</Title>';
    const text = `<?xml version="1.0" encoding="ISO-8859-1"?>${fill('#00ff00').replace('<Name>r</Name>', title)}`;
    const { body } = await importSld(Buffer.from(text, 'latin1'));
    expect(body.data.mapLibreStyle.layers[0].metadata).toEqual({ 'graticule:title': 'Fl\u00e4che' });
  });

  it('changes nothing when it cannot be read or drawn', async () => {
    const before = await styleOf();
    const text = ruleOf('<RasterSymbolizer/>');
    const refused = await importSld(text);
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      success: false,
      data: {
        detectedVersion: 'Sld10',
        diagnostics: [{ severity: 'Error', construct: 'RasterSymbolizer' }, {}],
      },
    });
    expect((await importSld('<html/>')).status).toBe(422);
    expect((await importSld('no xml')).status).toBe(400);
    expect((await importSld('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')).status).toBe(400);
    expect((await importSld(`<a>${' '.repeat(1_048_600)}</a>`)).status).toBe(413);
    expect((await admin('POST', `${countries}/style/import-sld`, '{}')).status).toBe(415);
    expect((await importSld(fill('#000000'), 99_999)).status).toBe(404);
    const box = '<ogc:BBOX><Box><coordinates>1,2 3,4</coordinates></Box></ogc:BBOX>';
    expect((await importSld(ruleOf(`<ogc:Filter>${box}</ogc:Filter><LineSymbolizer/>`))).status).toBe(422);
    expect(await styleOf()).toEqual(before);
  });
});

describe('export-sld', () => {
  it('gives the style in force, and tells what was lost', async () => {
    const layers = [
      { id: 'a', type: 'fill', paint: { 'fill-color': '#123456' } },
      { id: 'b', type: 'line', paint: { 'line-blur': 3 }, metadata: { 'graticule:title': 'Gr\u00fcn' } },
    ];
    const put = await admin(
      'PUT',
      `${countries}/style`,
      JSON.stringify({ mapLibreStyle: { version: 8, sources: {}, layers } }),
    );
    expect(put.status).toBe(200);
    const response = await ask('GET', `${countries}/style/export-sld`);
    expect(response.headers.get('content-type')).toContain('application/xml');
    expect(response.headers.get('x-sld-diagnostic-count')).toBe('1');
    expect(JSON.parse(response.headers.get('x-sld-diagnostics')!)).toMatchObject([
      { severity: 'Warning', construct: 'line-blur', ruleName: 'Gr\u00fcn' },
    ]);
    const text = await response.text();
    expect(text).toContain('#123456');
    expect((await importSld(text)).status).toBe(200);
    expect((await admin('GET', '99999/style/export-sld')).status).toBe(404);
  });

  it('fails when nothing has a counterpart', async () => {
    const layers = [{ id: 'a', type: 'heatmap' }];
    await admin(
      'PUT',
      `${countries}/style`,
      JSON.stringify({ mapLibreStyle: { version: 8, sources: {}, layers } }),
    );
    expect((await admin('GET', `${countries}/style/export-sld`)).status).toBe(422);
  });
});

describe('a drawingInfo', () => {
  it('that is put alone becomes the style, with what it could not be', async () => {
    const symbol = { type: 'esriSFS', style: 'esriSFSSolid', color: [1, 2, 3, 255] };
    const renderer = { type: 'simple', symbol, visualVariables: [{ type: 'sizeInfo' }] };
    const { status, body } = await admin(
      'PUT',
      `${countries}/style`,
      JSON.stringify({ drawingInfo: { renderer } }),
    );
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      mapLibreStyle: { layers: [{ type: 'fill', paint: { 'fill-color': '#010203' } }] },
      drawingInfo: { renderer },
      unsupportedSymbolizers: [{ code: 'RENDERER_TYPE_UNSUPPORTED' }],
    });
    expect((await styleOf()).unsupportedSymbolizers).toBeNull();
  });

  it('of which nothing can be drawn leaves the style as it was', async () => {
    const before = await styleOf();
    const { body } = await admin(
      'PUT',
      `${countries}/style`,
      JSON.stringify({ drawingInfo: { renderer: { type: 'heatmap' } } }),
    );
    expect(body.data.mapLibreStyle).toEqual(before.mapLibreStyle);
    expect(body.data.unsupportedSymbolizers).toHaveLength(1);
  });
});

describe('suggest-style', () => {
  it('looks at the data and changes nothing', async () => {
    const before = await styleOf();
    const { status, body } = await admin('POST', `${countries}/suggest-style`);
    expect(status).toBe(200);
    const { data } = body;
    expect(data.suggestedField.name).not.toBe('');
    expect(data.legend.entries.length).toBeGreaterThan(1);
    expect(data.legend.entries.every(({ color }: { color: string }) => /^#[0-9a-f]{6}$/i.test(color))).toBe(
      true,
    );
    expect(data.drawingInfo.renderer.type).toMatch(/^(classBreaks|uniqueValue)$/);
    expect(await styleOf()).toEqual(before);
    const put = await admin(
      'PUT',
      `${countries}/style`,
      JSON.stringify({ mapLibreStyle: data.mapLibreStyle }),
    );
    expect(put.status).toBe(200);
  });

  it('does what is asked for, and names what is wrong', async () => {
    const ask = (body: object) => admin('POST', `${countries}/suggest-style`, JSON.stringify(body));
    const { body } = await ask({ PreferredMethod: 'UniqueValue', preferredPalette: 'RdBu', classCount: 3 });
    expect(body.data).toMatchObject({ classificationMethod: 'UniqueValue', paletteName: 'RdBu' });
    for (const wrong of [{ classCount: 13 }, { preferredPalette: 'x' }, { preferredField: 'no such' }]) {
      expect((await ask(wrong)).status).toBe(400);
    }
    expect((await admin('POST', '99999/suggest-style')).status).toBe(404);
  });
});
