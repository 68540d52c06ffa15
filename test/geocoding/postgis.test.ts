import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../access/policies/support/database.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

/** A table of PostGIS as a locator. */

let postgres: TestPostgres;
let server: TestServer;
beforeAll(async () => {
  postgres = await startPostgres();
  await query(
    postgres.url,
    `CREATE TABLE towns (id int PRIMARY KEY, label text, land text, no int, kind smallint, geom geometry(Point, 3857));
     INSERT INTO towns SELECT i, n, l, i + 40, i % 2, ST_Transform(ST_SetSRID(ST_MakePoint(x, y), 4326), 3857) FROM (VALUES
       (1, 'Łódź', 'Polska', 19.46, 51.77), (2, 'São Paulo', 'Brasil', -46.63, -23.55), (3, '100%_\\', 'X', 0, 0)) t(i, n, l, x, y);
     CREATE TABLE inns (id text PRIMARY KEY, label text, geom geometry(Point, 4326));
     INSERT INTO inns VALUES (E'a\\nb', 'Swan', 'SRID=4326;POINT(1 2)'), ('a', 'Swan', 'SRID=4326;POINT(3 4)'),
       (repeat('x', 6000), 'Crown', 'SRID=4326;POINT(5 6)');`,
  );
  const collections = JSON.stringify({
    towns: { name: 'label', country: 'land', houseNumber: 'no', type: 'kind' },
    inns: { name: 'label' },
  });
  server = await startServer({ sources: [postgres.url], env: { SVC_GEOCODING__COLLECTIONS: collections } });
}, 240_000);
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
});

async function ask(
  verb: string,
  members: Record<string, string>,
  locator = 'towns',
): Promise<Record<string, unknown>> {
  const form = new URLSearchParams({ f: 'json', ...members });
  const url = `${server.url}/rest/services/${locator}/GeocodeServer/${verb}?${form}`;
  return (await fetch(url)).json() as Promise<Record<string, unknown>>;
}

const find = async (SingleLine: string, members: Record<string, string> = {}) =>
  (
    (await ask('findAddressCandidates', { SingleLine, ...members }))['candidates'] as { address: string }[]
  ).map(({ address }) => address);

describe('a table of PostGIS as a locator', () => {
  it('finds its rows', async () => {
    expect(await find('sao paulo')).toEqual(['São Paulo, Brasil']);
    expect(await find('SÃO Paulu')).toEqual(['São Paulo, Brasil']);
    expect(await find('100')).toEqual(['100%_\\, X']);
    expect(await find("' OR 1=1 --")).toEqual([]);
  });

  it('chooses by types and countries, and by numbers', async () => {
    expect(await find('o', { category: '0' })).toEqual([]);
    expect(await find('Paulo', { category: '0' })).toEqual(['São Paulo, Brasil']);
    expect(await find('Paulo', { category: '1' })).toEqual([]);
    expect(await find('Paulo', { category: 'POI', countryCode: 'BRASIL' })).toEqual(['São Paulo, Brasil']);
    expect(await find('Paulo', { category: 'PointAddress' })).toEqual([]);
    expect(await find('Paulo 42')).toEqual(['São Paulo, Brasil']);
    for (const number of ['43', '9007199254740991', '9999999999999999999'])
      expect(await find(`Paulo ${number}`)).toEqual([]);
    expect(await find('Paulo', { category: '99999999999' })).toEqual([]);
  });

  it('finds what was suggested by any id that a key has room for', async () => {
    const suggest = async (text: string) =>
      (await ask('suggest', { text }, 'inns'))['suggestions'] as { magicKey: string }[];
    const meridians: number[] = [];
    for (const { magicKey } of await suggest('swan')) {
      const { candidates } = await ask('findAddressCandidates', { magicKey }, 'inns');
      meridians.push(...(candidates as { location: { x: number } }[]).map(({ location }) => location.x));
    }
    expect(meridians.sort()).toEqual([1, 3]);
    const [{ magicKey }] = (await suggest('crown')) as [{ magicKey: string }];
    expect(magicKey).toBe('');
    const { candidates } = await ask('findAddressCandidates', { magicKey, SingleLine: 'Crown' }, 'inns');
    expect(candidates).toHaveLength(1);
  });

  it('suggests, and says what is at a point', async () => {
    const { suggestions } = await ask('suggest', { text: 'sao' });
    expect(suggestions).toMatchObject([{ text: 'São Paulo, Brasil' }]);
    const { magicKey } = (suggestions as { magicKey: string }[])[0]!;
    const { candidates } = await ask('findAddressCandidates', { magicKey });
    expect(candidates).toMatchObject([{ address: 'São Paulo, Brasil' }]);
    const { address } = await ask('reverseGeocode', { location: '19.5,51.8' });
    expect(address).toMatchObject({ Match_addr: 'Łódź, Polska' });
  });
});
