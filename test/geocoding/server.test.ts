import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { importTowns } from './support.js';

/** A GeocodeServer over HTTP, as clients of GeoServices ask it. */

interface CandidateDocument {
  address: string;
  location: { x: number; y: number };
  score: number;
  attributes: Record<string, unknown>;
}

/** Members of all the documents. */
interface Answer {
  services: unknown;
  spatialReference: unknown;
  candidates: CandidateDocument[];
  locations: CandidateDocument[];
  suggestions: { text: string; magicKey: string }[];
  error: { code: number; message: string };
}

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ sources: [] });
  await importTowns(server, 'towns');
}, 120_000);
afterAll(() => server?.stop());

async function ask(path: string, members: Record<string, string> = {}, isPosted = false): Promise<Answer> {
  const form = new URLSearchParams({ f: 'json', ...members });
  const url = `${server.url}/rest/services/${path}`;
  const answer = await (isPosted ? fetch(url, { method: 'POST', body: form }) : fetch(`${url}?${form}`));
  expect(answer.status).toBe(200);
  return answer.json() as Promise<Answer>;
}

const LOCATOR = 'towns/GeocodeServer';

describe('a GeocodeServer', () => {
  it('is in the catalogue, and has a document', async () => {
    expect((await ask('')).services).toContainEqual({ name: 'towns', type: 'GeocodeServer' });
    const document = await ask(LOCATOR);
    expect(document).toMatchObject({
      capabilities: 'Geocode,ReverseGeocode,Suggest',
      spatialReference: { wkid: 4326 },
      locatorProperties: { MaxBatchSize: 1000 },
      singleLineAddressField: { name: 'SingleLine' },
      supportedLanguages: ['en', 'fr'],
    });
    expect(await ask('GeocodeServer')).toEqual(document);
  });

  it('finds candidates', async () => {
    const members = {
      singleLine: 'Köln',
      maxLocations: '1',
      outFields: 'City,Region,Addr_type',
      langCode: 'en',
    };
    const document = await ask(`${LOCATOR}/findAddressCandidates`, members);
    expect(document).toEqual({
      spatialReference: { wkid: 4326, latestWkid: 4326 },
      candidates: [
        {
          address: 'Cologne, Nordrhein-Westfalen, Deutschland',
          location: { x: 6.95, y: 50.9333 },
          score: 100,
          attributes: { Addr_type: 'POI', City: '', Region: 'Nordrhein-Westfalen' },
        },
      ],
    });
    expect(await ask('GeocodeServer/findAddressCandidates', members, true)).toEqual(document);
  });

  it('finds them by parts, in another spatial reference', async () => {
    const members = { Address: 'Hauptstraße 5', City: 'Köln', countryCode: 'DE', outSR: '102100' };
    const { candidates, spatialReference } = await ask(`${LOCATOR}/findAddressCandidates`, members);
    expect(spatialReference).toEqual({ wkid: 102_100, latestWkid: 3857 });
    const { location, attributes } = candidates[0]!;
    const half = 20_037_508.342789244;
    expect(location.x).toBeCloseTo((6.99 / 180) * half, 3);
    expect(location.y).toBeCloseTo((Math.log(Math.tan((Math.PI / 360) * (90 + 50.89))) / Math.PI) * half, 3);
    expect(attributes).toEqual({});
  });

  it('takes extents and locations in any spatial reference', async () => {
    const find = async (members: Record<string, string>) =>
      (await ask(`${LOCATOR}/findAddressCandidates`, { SingleLine: 'Berlin', ...members })).candidates[0]!
        .address;
    const extent = {
      xmin: -9.3e6,
      ymin: 5e6,
      xmax: -9.1e6,
      ymax: 5.2e6,
      spatialReference: { wkid: 102_100 },
    };
    expect(await find({ searchExtent: JSON.stringify(extent) })).toMatch(/^Berlin Heights/);
    expect(await find({ searchExtent: '-90,40,-80,42' })).toMatch(/^Berlin Heights/);
    expect(await find({ location: '-71.2,44.5' })).toMatch(/^Berlin, New Hampshire/);
    expect(await find({ category: 'city', countryCode: 'FR,US' })).toMatch(/^Berlin, New Hampshire/);
  });

  it('suggests, and finds what was chosen', async () => {
    const { suggestions } = await ask(`${LOCATOR}/suggest`, { text: 'berl', maxSuggestions: '2' });
    expect(suggestions).toEqual([
      { text: 'Berlin, Deutschland', magicKey: expect.any(String), isCollection: false },
      { text: 'Berlin, New Hampshire, United States', magicKey: expect.any(String), isCollection: false },
    ]);
    const chosen = suggestions[1]!;
    const members = { SingleLine: chosen.text, magicKey: chosen.magicKey };
    const { candidates } = await ask(`${LOCATOR}/findAddressCandidates`, members);
    expect(candidates).toMatchObject([{ address: chosen.text, score: 100 }]);
    // A key of before is not taken for another place: the text counts.
    await importTowns(server, 'towns');
    expect((await ask(`${LOCATOR}/findAddressCandidates`, { magicKey: chosen.magicKey })).candidates).toEqual(
      [],
    );
    const again = await ask(`${LOCATOR}/findAddressCandidates`, { ...members, maxLocations: '1' });
    expect(again.candidates).toMatchObject([{ address: chosen.text }]);
  });

  it('says what is at a point', async () => {
    const document = await ask(`${LOCATOR}/reverseGeocode`, { location: '13.3551,52.4871', distance: '100' });
    expect(document).toMatchObject({
      address: { Match_addr: 'Hauptstraße 5, Berlin, 10827, Deutschland', AddNum: '5', City: 'Berlin' },
      location: { x: 13.355, y: 52.487, spatialReference: { wkid: 4326 } },
    });
    const point = JSON.stringify({ x: 1_486_707, y: 6_892_000, spatialReference: { wkid: 102_100 } });
    expect(
      await ask(`${LOCATOR}/reverseGeocode`, { location: point, featureTypes: 'PointAddress' }),
    ).toMatchObject({
      address: { Addr_type: 'PointAddress', CountryCode: 'DE' },
    });
  });

  it('takes batches', async () => {
    const records = [
      { attributes: { OBJECTID: 7, SingleLine: 'Hauptstraße 5, Köln' } },
      { attributes: { OBJECTID: 3, Address: 'Hauptstraße 7', City: 'Berlin', Postal: 10_827 } },
      { attributes: { OBJECTID: 9, SingleLine: 'nowhere at all' } },
      { attributes: { OBJECTID: 1, SingleLine: 'Berlin' } },
      ...Array.from({ length: 60 }, (_, i) => ({ attributes: { OBJECTID: 100 + i, SingleLine: 'Łódź' } })),
    ];
    const members = { addresses: JSON.stringify({ records }) };
    const { locations } = await ask(`${LOCATOR}/geocodeAddresses`, members, true);
    expect(locations).toHaveLength(64);
    expect(
      locations
        .map(({ attributes, score }) => [attributes['ResultID'], attributes['Status'], score])
        .slice(0, 4),
    ).toEqual([
      [7, 'M', 100],
      [3, 'M', 100],
      [9, 'U', 0],
      [1, 'T', 100],
    ]);
    expect(locations[63]!.address).toBe('Łódź, Łódzkie, Polska');
  });
});

describe('what is asked wrongly', () => {
  const many = { records: Array.from({ length: 1001 }, () => ({})) };
  const thousand = {
    records: Array.from({ length: 1000 }, (_, i) => ({ attributes: { OBJECTID: i, SingleLine: 'Koln' } })),
  };
  const tenThousand = {
    records: Array.from({ length: 10_000 }, (_, i) => ({ attributes: { OBJECTID: i, SingleLine: 'Köln' } })),
  };

  it.each([
    ['findAddressCandidates', {}, 'SingleLine'],
    ['findAddressCandidates', { SingleLine: 'x'.repeat(501) }, 'SingleLine'],
    ['findAddressCandidates', { SingleLine: 'Köln', location: 'NaN,1' }, 'location'],
    ['findAddressCandidates', { SingleLine: 'Köln', location: '1,91' }, 'location'],
    ['findAddressCandidates', { SingleLine: 'Köln', outSR: '999999' }, 'outSR'],
    ['findAddressCandidates', { SingleLine: 'Köln', searchExtent: '1,2,3' }, 'searchExtent'],
    ['findAddressCandidates', { SingleLine: 'Köln', maxLocations: '0' }, 'maxLocations'],
    ['findAddressCandidates', { SingleLine: 'Köln', langCode: "'" }, 'langCode'],
    ['suggest', {}, 'text'],
    ['suggest', { text: 'a', maxSuggestions: '-1' }, 'maxSuggestions'],
    ['reverseGeocode', {}, 'location'],
    ['reverseGeocode', { location: '{"x":"a","y":1}' }, 'location'],
    ['reverseGeocode', { location: '1,1', distance: 'NaN' }, 'distance'],
    ['reverseGeocode', { location: '1,1', distance: '100001' }, 'distance'],
    ['reverseGeocode', { location: '0,0' }, 'location'],
    ['geocodeAddresses', {}, 'addresses'],
    ['geocodeAddresses', { addresses: '{"records":1}' }, 'addresses'],
    ['geocodeAddresses', { addresses: '{"records":[1]}' }, 'addresses'],
    ['geocodeAddresses', { addresses: JSON.stringify(many) }, 'addresses'],
  ])('%s %#: is told by the name of the parameter', async (verb, members, name) => {
    const { error } = await ask(`${LOCATOR}/${verb}`, members as Record<string, string>, true);
    expect(error).toMatchObject({ code: 400, message: expect.stringMatching(new RegExp(name)) });
  });

  it('100 kB of text and ten thousand addresses are refused', async () => {
    const text = await ask(`${LOCATOR}/findAddressCandidates`, { SingleLine: 'Köln '.repeat(20_000) }, true);
    expect(text.error).toMatchObject({ code: 413, message: expect.stringContaining('SingleLine') });
    const addresses = JSON.stringify(tenThousand);
    const { error } = await ask(`${LOCATOR}/geocodeAddresses`, { addresses }, true);
    expect([400, 413]).toContain(error.code);
  });

  it('a thousand addresses are not, of who has a key', async () => {
    const body = new URLSearchParams({ f: 'json', addresses: JSON.stringify(thousand) });
    const url = `${server.url}/rest/services/${LOCATOR}/geocodeAddresses`;
    const answer = await fetch(url, { method: 'POST', body, headers: { 'x-api-key': server.adminKey } });
    const { locations } = (await answer.json()) as Answer;
    expect(locations.filter(({ score }) => score === 100)).toHaveLength(1000);
  });

  it('a locator that is not there is not found', async () => {
    expect(await ask('other/GeocodeServer/suggest', { text: 'a' })).toMatchObject({ error: { code: 404 } });
  });
});
