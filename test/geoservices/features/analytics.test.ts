import { beforeAll, describe, expect, it } from 'vitest';
import { layerNumbers, type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Analytics of layers of GeoServices: the same as those of OGC API Features, as feature sets. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let server: SharedServer;
let layer: string;
let collection: string;
let otherLayer: number;

beforeAll(async () => {
  server = await sharedServer();
  const numbers = await layerNumbers(server);
  collection = `${server.url}/ogc/features/collections/countries`;
  layer = `${server.url}/rest/services/default/FeatureServer/${numbers['countries']}`;
  otherLayer = numbers['states_provinces']!;
});

/** Members as the fields of a form. */
const asTexts = (members: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  );

async function ask(operation: string, members: Record<string, unknown>): Promise<Json> {
  const body = new URLSearchParams(asTexts(members));
  return (await fetch(`${layer}/${operation}`, { method: 'POST', body })).json();
}

async function ogc(operation: string, members: Record<string, unknown>): Promise<Json> {
  const headers = { 'content-type': 'application/json' };
  return (
    await fetch(`${collection}/${operation}`, { method: 'POST', headers, body: JSON.stringify(members) })
  ).json();
}

/** Attributes of a feature of GeoJSON as those of a feature set. */
const flat = ({ properties: { attributes, ...own } }: Json) =>
  Object.fromEntries(
    Object.entries({ ...attributes, ...own }).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    ]),
  );

/** Rings of polygons from any first position, all in one direction. */
const rings = (coordinates: number[][][]) =>
  coordinates.map((ring) => ring.slice(1).map(String).sort().join(' ')).sort();

const STATISTICS = [{ statisticType: 'max', onStatisticField: 'NAME', outStatisticFieldName: 'most' }];

describe('each operation is that of the collection', () => {
  it.each([
    ['queryClusters', 'clusters', { algorithm: 'kmeans', k: 5, where: "NAME LIKE 'A%'" }],
    [
      'queryClusters',
      'clusters',
      { algorithm: 'kmeans', k: 4, returnHullPerCluster: true, outStatistics: STATISTICS },
    ],
    [
      'queryBufferAggregate',
      'buffer-aggregate',
      { distance: 10, unit: 'km', groupByFields: 'NAME', objectIds: '1,2,3' },
    ],
    ['queryDensity', 'density', { cellSize: 100_000, mode: 'square', where: "NAME < 'G'" }],
  ])('%s %s %j', async (name, path, members) => {
    const { features, geometryType, exceededTransferLimit, fields } = await ask(name, {
      ...members,
      f: 'json',
    });
    const form = new FormData();
    for (const [key, value] of Object.entries(asTexts({ ...members, f: 'json' }))) form.append(key, value);
    const inParts = await (await fetch(`${layer}/${name}`, { method: 'POST', body: form })).json();
    expect(inParts.features).toEqual(features);
    const theirs = await ogc(path, members);
    expect(features.length).toBeGreaterThan(2);
    expect(features.map((one: Json) => one.attributes)).toEqual(theirs.features.map(flat));
    expect([geometryType.startsWith('esriGeometry'), exceededTransferLimit]).toEqual([true, false]);
    expect(fields.map((one: Json) => one.name).sort()).toEqual(
      [...new Set(features.flatMap((one: Json) => Object.keys(one.attributes)))]
        .filter((key) => features.some((one: Json) => one.attributes[key as string] !== null))
        .sort(),
    );
    const polygons = theirs.features.flatMap(({ geometry }: Json, i: number) =>
      geometry.type.endsWith('Polygon') ? [{ geometry, own: features[i].geometry }] : [],
    );
    for (const { geometry, own } of polygons)
      expect(rings(own.rings)).toEqual(
        rings(geometry.type === 'MultiPolygon' ? geometry.coordinates.flat() : geometry.coordinates),
      );
    expect(path === 'clusters' || polygons.length > 0).toBe(true);
  });

  it('spatialJoin takes a layer by its number', async () => {
    const members = { joinLayerId: otherLayer, carryFields: 'name', where: "NAME = 'Germany'" };
    const [{ attributes }] = (await ask('spatialJoin', members)).features;
    const [theirs] = (await ogc('spatial-join', members)).features;
    expect(attributes).toEqual(flat(theirs));
    expect(attributes.matchCount).toBeGreaterThan(10);
  });

  it('queryH3 is asked by GET, too, and is GeoJSON where that is asked for', async () => {
    const query = 'resolution=1&where=NAME+LIKE+%27B%25%27';
    const theirs = (await (await fetch(`${collection}/h3?${query}`)).json()) as Json;
    const own = (await (await fetch(`${layer}/queryH3?${query}&f=json`)).json()) as Json;
    expect(own.features.map((one: Json) => one.attributes)).toEqual(theirs.features.map(flat));
    const geojson = (await (await fetch(`${layer}/queryH3?${query}&f=geojson`)).json()) as Json;
    expect(geojson.features).toEqual(theirs.features);
    expect((await ask('queryH3', { resolution: 1 })).features.length).toBeGreaterThan(20);
  });
});

it.each([
  ['queryClusters', { algorithm: 'dbscan', minPoints: 2 }, 'eps'],
  ['queryDensity', { cellSize: 1 }, 'cellSize'],
  ['queryDensity', { cellSize: 100, f: 'html' }, 'f'],
  ['queryBufferAggregate', { distance: 'far' }, 'distance'],
  ['spatialJoin', { joinLayerId: 999_999 }, 'joinLayerId'],
  ['queryH3', { resolution: 16 }, 'resolution'],
  ['queryH3', { resolution: 1, kRingDistance: 2 }, 'kRingDistance'],
  ['queryH3', { resolution: 1, outStatistics: '{' }, 'outStatistics'],
  ['queryClusters', { algorithm: 'kmeans', k: 2, where: '1=1; DROP TABLE x' }, 'where'],
])('%s %j is an error in band that names %s', async (operation, members, parameter) => {
  const { error } = await ask(operation, members);
  expect(error).toMatchObject({ code: 400, message: expect.stringContaining(parameter) });
});
