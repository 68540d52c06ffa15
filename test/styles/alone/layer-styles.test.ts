import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { LayerMetadataWriter } from '../../../src/services/exchange/migrations/geoserver/metadata-writer.js';
import type { StyledCollection } from '../../../src/services/styles/index.js';
import { dropStoreTable, keepLayerStyles, load } from '../../../src/workers/tiles/load.js';
import { startServer, type TestServer } from '../../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-layer-styles-'));
let server: TestServer;
const ids: Record<string, number> = {};

/** A fill of one colour, as QGIS writes it. */
const sld = (fill: string, rest = '') => `<?xml version="1.0" encoding="UTF-8"?>
<StyledLayerDescriptor xmlns="http://www.opengis.net/sld" version="1.1.0" xmlns:se="http://www.opengis.net/se">
 <NamedLayer><se:Name>x</se:Name><UserStyle><se:FeatureTypeStyle><se:Rule><se:PolygonSymbolizer>
  <se:Fill><se:SvgParameter name="fill">${fill}</se:SvgParameter></se:Fill></se:PolygonSymbolizer>${rest}
 </se:Rule></se:FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>`;

beforeAll(async () => {
  const path = join(folder, 'world.gpkg');
  copyFileSync('demo/data/world_map.gpkg', path);
  const db = new Database(path);
  const add = db.prepare(
    "INSERT INTO layer_styles (f_table_name, f_geometry_column, styleName, styleSLD, useAsDefault) VALUES ('countries', 'geom', ?, ?, ?)",
  );
  add.run('Wrong', '<not-xml', 1);
  add.run('Red Länder', sld('#ff0000'), 1);
  add.run('default', sld('#0000ff'), 0);
  add.run('Bomb', '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', 0);
  add.run('Large', sld('#00ff00', `<!--${'x'.repeat(2_000_000)}-->`), 0);
  add.run(null, null, 0);
  add.run(
    'In part',
    sld(
      '#00ff00',
      '<se:PointSymbolizer><se:Graphic><se:Mark><se:WellKnownName>ttf://Wingdings#0x21</se:WellKnownName></se:Mark></se:Graphic></se:PointSymbolizer>',
    ),
    0,
  );
  db.close();
  const other = join(folder, 'other.gpkg');
  copyFileSync('demo/data/world_map.gpkg', other);
  const changed = new Database(other);
  changed.pragma('foreign_keys = OFF');
  changed.exec(`DROP TABLE layer_styles; CREATE TABLE layer_styles (a, b);
    ALTER TABLE countries RENAME TO lands;
    UPDATE gpkg_geometry_columns SET table_name = 'lands' WHERE table_name = 'countries';
    UPDATE gpkg_contents SET table_name = 'lands', identifier = 'lands' WHERE table_name = 'countries'`);
  changed.close();
  server = await startServer({ sources: [folder] });
  const { collections } = await fetch(`${server.url}/ogc/tiles/collections?f=json`).then((r) => r.json());
  for (const { id, name } of collections) ids[name] = id;
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** The colour in the middle of Africa. */
async function colour(style: string): Promise<number[]> {
  const path = `/ogc/maps/collections/${ids['countries']}/styles/${style}/map?bbox=20,0,22,2&width=9&height=9`;
  const response = await fetch(server.url + path);
  expect(response.status).toBe(200);
  const { data } = await sharp(Buffer.from(await response.arrayBuffer()))
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return [...data.subarray(4 * 40, 4 * 40 + 3)];
}

describe('styles that QGIS keeps in a GeoPackage', () => {
  it('are offered by their names, those that can be drawn', async () => {
    const path = `/ogc/maps/collections/${ids['countries']}/styles`;
    const { styles } = await fetch(server.url + path).then((r) => r.json());
    expect(styles.map(({ id, title }: { id: string; title: string }) => [id, title])).toEqual([
      ['default', 'Countries'],
      ['red-lander', 'Red Länder'],
      ['country_polygons', 'country_polygons'],
      ['default-2', 'default'],
      ['in-part', 'In part'],
    ]);
    const document = await fetch(`${server.url}${path}/red-lander`).then((r) => r.json());
    expect(JSON.stringify(document.layers)).toContain('#ff0000');
    const metadata = await fetch(`${server.url}${path}/in-part?f=json`).then((r) => r.json());
    expect(metadata.diagnostics.length).toBeGreaterThan(0);
  });

  it('draw maps; the default one that can be drawn is in force', async () => {
    expect(await colour('red-lander')).toEqual([255, 0, 0]);
    expect(await colour('default-2')).toEqual([0, 0, 255]);
    expect(await colour('default')).toEqual([255, 0, 0]);
    // Half transparent: the last digit is lost.
    const [red, green, blue] = await colour('country_polygons');
    for (const [i, part] of [red, green, blue].entries())
      expect(Math.abs(part! - [0xe0, 0xdc, 0xca][i]!)).toBeLessThanOrEqual(2);
  });

  it('do not prevent publishing, and are logged', () => {
    expect(ids).toMatchObject({ countries: expect.anything(), lands: expect.anything() });
    for (const name of ['Wrong', 'Bomb', 'Large', 'Style 7'])
      expect(server.log()).toContain(
        `style ${name} of collection countries could not be converted; the default style is used`,
      );
    expect(server.log()).toContain('style In part of collection countries was converted in part');
  });

  it('give way to a style that is put', async () => {
    const layer = { id: 'fill', type: 'fill', paint: { 'fill-color': '#00ff00' } };
    const put = await fetch(`${server.url}/api/v1/admin/metadata/layers/${ids['countries']}/style`, {
      method: 'PUT',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify({ mapLibreStyle: { version: 8, sources: {}, layers: [layer] } }),
    });
    expect(put.status).toBe(200);
    expect(await colour('default')).toEqual([0, 255, 0]);
    expect(await colour('red-lander')).toEqual([255, 0, 0]);
  });
});

it('styles that are kept beside an import stay when it is replaced, and go with it', () => {
  const store = join(folder, 'store.sqlite');
  const names = () => {
    const db = new Database(store);
    const sql = 'SELECT f_table_name, f_geometry_column, styleName FROM layer_styles ORDER BY id';
    const rows = db.prepare(sql).raw().all();
    db.close();
    return rows;
  };
  const put = (table: string, replace: boolean) => {
    const staging = join(folder, 'staging.sqlite');
    copyFileSync('demo/data/world_map.gpkg', staging);
    const task = { staging, stagingTable: 'countries', store, table, title: 'Lands' };
    const first = load(replace ? { ...task, replace } : task);
    // The caller says which table it means.
    if ('occupant' in first)
      expect(load({ ...task, replace, replaced: first.occupant })).toMatchObject({
        features: expect.any(Number),
      });
  };
  put('Lands', false);
  const [red, blue] = [sld('#ff0000'), sld('#0000ff')];
  const styles = [
    { name: 'Red', sld: blue },
    { name: 'Blue', sld: blue },
  ];
  keepLayerStyles({ store, table: 'Lands', styles });
  keepLayerStyles({ store, table: 'Lands', styles: [{ name: 'Red', sld: red }] });
  put('lands', true);
  expect(names()).toEqual([
    ['lands', 'geom', 'Blue'],
    ['lands', 'geom', 'Red'],
  ]);
  dropStoreTable({ store, table: 'lands' });
  expect(names()).toEqual([]);
});

it('styles of a migration are kept at once, those that can be drawn', async () => {
  const keep = vi.fn(async () => true);
  const run = async (_name: string, { xml }: { xml: Buffer }) => ({
    layers: xml.includes('red') ? [{}] : [],
    diagnostics: xml.includes('lost') ? [{ construct: 'Rule', message: 'lost' }] : [],
  });
  const check = async (_collection: unknown, document: unknown) => document;
  const parts = [{}, { check }, { run }, () => {}, { addStyles: keep }] as unknown;
  const words = new LayerMetadataWriter(...(parts as ConstructorParameters<typeof LayerMetadataWriter>));
  const collection = { kind: 'vector', id: 'lands', source: { geometryType: 'Polygon', fields: [] } };
  const styles = ['red', 'blue', 'red lost'].map((name) => ({ name, sld: name }));
  const offer = words.addStyles(
    collection as unknown as StyledCollection,
    styles,
    new AbortController().signal,
  );
  expect(await offer).toEqual(['Nothing of the style blue can be drawn.', 'Style red lost: Rule: lost']);
  expect(keep.mock.calls).toEqual([[collection, [styles[0], styles[2]]]]);
});
