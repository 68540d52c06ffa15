import { beforeAll, expect, it } from 'vitest';
import { layerNumbers, type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Queries of a service: what its layers answer each, in one document. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let server: SharedServer;
let countries: number;
let states: number;

beforeAll(async () => {
  server = await sharedServer();
  const numbers = await layerNumbers(server);
  [countries, states] = [numbers['countries']!, numbers['states_provinces']!];
});

const read = async (path: string, members: Record<string, string>): Promise<Json> =>
  (
    await fetch(
      `${server.url}/rest/services/default/FeatureServer${path}/query?${new URLSearchParams(members)}`,
    )
  ).json();

const WINDOW = { geometry: '5,45,15,55', inSR: '4326', geometryType: 'esriGeometryEnvelope' };

it.each([
  ['by numbers', (a: number, b: number) => JSON.stringify({ [a]: "NAME LIKE 'G%'", [b]: '' })],
  ['by text', (a: number, b: number) => `${a}:NAME LIKE 'G%';${b}:1=1`],
  [
    'as a list',
    (a: number, b: number) =>
      JSON.stringify([
        { layerId: a, where: "NAME LIKE 'G%'", outFields: '*' },
        { layerId: b, where: '' },
      ]),
  ],
])('conditions %s', async (_, layerDefs) => {
  const members = { ...WINDOW, f: 'json', outSR: '3857', maxAllowableOffset: '1000' };
  const { layers } = await read('', { ...members, layerDefs: layerDefs(countries, states) });
  const alone = async (layer: number, where: string) => ({
    id: layer,
    ...(await read(`/${layer}`, { ...members, where, outFields: '*' })),
  });
  expect(layers).toEqual([await alone(countries, "NAME LIKE 'G%'"), await alone(states, '1=1')]);
  expect(layers.map((one: Json) => one.features.length > 0)).toEqual([true, true]);
});

it('counts', async () => {
  const { layers } = await read('', { layerDefs: `${countries}:1=1`, returnCountOnly: 'true', f: 'json' });
  const { count } = await read(`/${countries}`, { where: '1=1', returnCountOnly: 'true', f: 'json' });
  expect(layers).toEqual([{ id: countries, count }]);
});

it.each([
  [{}, 'layerDefs'],
  [{ layerDefs: '[1]' }, 'layerDefs'],
  [{ layerDefs: '9999:1=1' }, 'layer 9999'],
  [{ layerDefs: '{' }, 'layerDefs'],
  [{ layerDefs: 'x:1=1' }, 'layerDefs'],
  [{ layerDefs: '{"COUNTRIES":"nothing = 1"}' }, 'where'],
  [{ layerDefs: '{"COUNTRIES":"1=1"}', f: 'pbf' }, 'f'],
])('refuses %j by the name %s', async (members: Record<string, string>, name) => {
  const own = Object.fromEntries(
    Object.entries(members).map(([key, value]) => [key, value.replace('COUNTRIES', String(countries))]),
  );
  const { error } = await read('', { f: 'json', ...own });
  expect(error).toMatchObject({ code: expect.any(Number), message: expect.stringContaining(name) });
});
