import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../exchange/remote/support.js';
import { startServer, type TestServer } from '../support/server.js';

/** Collections that are locators: what their readers may read is found, and nothing else. */

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    env: {
      SVC_GEOCODING__COLLECTIONS: JSON.stringify({
        countries: { name: 'NAME', countryCode: 'iso_a2' },
        states_provinces: { name: 'name', country: 'admin', countryCode: 'iso_a2' },
        nothing: { name: 'name' },
      }),
    },
  });
}, 120_000);
afterAll(() => server?.stop());

interface Answer {
  services: { name: string; type: string }[];
  candidates: { address: string; score: number; location: { x: number; y: number } }[];
  suggestions: { text: string; magicKey: string }[];
  address: Record<string, string>;
  error: { code: number };
}

async function ask(path: string, members: Record<string, string> = {}): Promise<Answer> {
  const query = new URLSearchParams({ f: 'json', ...members });
  return (await fetch(`${server.url}/rest/services/${path}?${query}`)).json() as Promise<Answer>;
}

const find = async (SingleLine: string, members: Record<string, string> = {}) =>
  (await ask('states_provinces/GeocodeServer/findAddressCandidates', { SingleLine, ...members })).candidates;
const first = async (text: string, members: Record<string, string> = {}) =>
  (await find(text, members))[0]?.address;

const locators = async () =>
  (await ask('')).services.filter(({ type }) => type === 'GeocodeServer').map(({ name }) => name);

describe('a collection as a locator', () => {
  it('is in the catalogue where it is there', async () => {
    expect(await locators()).toEqual(['countries', 'states_provinces']);
    expect((await ask('nothing/GeocodeServer/suggest', { text: 'a' })).error.code).toBe(404);
    // Clients of Esri ask for it by this name.
    const { suggestions } = await ask('World/GeocodeServer/suggest', { text: 'norw' });
    expect(suggestions.length).toBeGreaterThan(0);
  });

  it('finds its features by their words, without diacritics and with wrong letters', async () => {
    expect(await first('Troms, Norway')).toBe('Troms, Norway');
    expect(await first('sao paulo')).toBe('São Paulo, Brazil');
    expect(await first('Bayenr')).toBe('Bayern, Germany');
    expect(await find("'%_\\")).toEqual([]);
    expect((await find('Bayern', { countryCode: 'FR' })).length).toBe(0);
  });

  it('suggests, and finds what was chosen', async () => {
    const { suggestions } = await ask('countries/GeocodeServer/suggest', { text: 'norw' });
    expect(suggestions[0]).toMatchObject({ text: 'Norway, NO' });
    const chosen = await ask(
      'countries/GeocodeServer/findAddressCandidates',
      suggestions[0] && { magicKey: suggestions[0].magicKey },
    );
    expect(chosen.candidates).toMatchObject([{ address: 'Norway, NO', score: 100 }]);
    // Its islands are far away: the middle of all of it is in Africa, its widest part on Svalbard.
    const { x, y } = chosen.candidates[0]!.location;
    expect(y).toBeLessThan(72);
    const there = await ask('countries/GeocodeServer/reverseGeocode', { location: `${x},${y}` });
    expect(there.address.Match_addr).toBe('Norway, NO');
  });

  it('says in which area a point is', async () => {
    const at = (location: string) => ask('countries/GeocodeServer/reverseGeocode', { location });
    expect((await at('10.4,63.4')).address).toMatchObject({ Match_addr: 'Norway, NO', CountryCode: 'NO' });
    expect((await at('2.35,48.86')).address).toMatchObject({ Match_addr: 'France, FR' });
    expect((await at('-150,-40')).error.code).toBe(400);
  });

  it('holds to rules for rows, masks and filters', async () => {
    const root = (await (await fetch(`${server.url}/?f=json`)).json()) as {
      collections: { id: string; layerId: number }[];
    };
    const { layerId } = root.collections.find(({ id }) => id === 'countries')!;
    const names = async (SingleLine: string) =>
      (await ask('countries/GeocodeServer/findAddressCandidates', { SingleLine })).candidates.map(
        ({ address }) => address,
      );
    const at = async (location: string) =>
      (await ask('countries/GeocodeServer/reverseGeocode', { location })).address?.['Match_addr'];
    const { suggestions } = await ask('countries/GeocodeServer/suggest', { text: 'norw' });
    const chosen = async () =>
      (await ask('countries/GeocodeServer/findAddressCandidates', { magicKey: suggestions[0]!.magicKey }))
        .candidates;
    const admin = async (method: string, path: string, body?: unknown) => {
      const { status, body: answer } = await call(server, method, path, body);
      expect([status, answer]).toEqual([expect.toBeOneOf([200, 201, 204]), expect.anything()]);
      return answer['data'] as { policyId: string };
    };
    const scope = { service: 'default', layer: 'countries', role: 'anonymous' };
    const rows = await admin('POST', '/rls-policies', { ...scope, filter: "NAME <> 'Norway'" });
    expect([await names('Norway'), await at('10.4,63.4'), await chosen()]).toEqual([[], undefined, []]);
    expect(await names('France')).toEqual(['France, FR']);
    await admin('DELETE', `/rls-policies/${rows.policyId}`);
    expect(await names('Norway')).toEqual(['Norway, NO']);

    const filter = `/metadata/layers/${layerId}/filter`;
    await admin('PUT', filter, { permanentFilter: { expression: "NAME <> 'France'" } });
    expect([await names('France'), await names('Norway')]).toEqual([[], ['Norway, NO']]);
    await admin('PUT', filter, null);

    // Masked values are neither looked through nor shown.
    const mask = { ...scope, attribute: 'iso_a2', treatment: 'hash' };
    const masked = await admin('POST', '/field-mask-policies', mask);
    expect([await names('Norway'), await names('NO')]).toEqual([['Norway'], []]);
    const all = await admin('POST', '/field-mask-policies', { ...mask, attribute: 'NAME' });
    expect(await locators()).toEqual(['states_provinces']);
    for (const { policyId } of [masked, all]) await admin('DELETE', `/field-mask-policies/${policyId}`);
    expect(await locators()).toEqual(['countries', 'states_provinces']);
  });
});
