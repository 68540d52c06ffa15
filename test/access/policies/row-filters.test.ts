import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Policies for rows whose condition is a filter with claims of the caller. */

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ sources: ['demo/data/world_map.gpkg'] });
  await admin('POST', '/roles', { name: 'clerk' });
});
afterAll(() => server?.stop());

async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { data, errors } = (await response.json()) as {
    data: Record<string, never>;
    errors?: { name: string }[];
  };
  return { status: response.status, data, errors };
}

const SCOPE = { service: '*', layer: 'countries', role: 'clerk' };

/** Countries that a clerk with these claims sees under a policy, which is there for as long. */
async function seen(policy: object, ...claims: string[]): Promise<string[]> {
  const made = await admin('POST', '/rls-policies', { ...SCOPE, ...policy });
  expect(made.status).toBe(201);
  const permissions = ['role:clerk', ...claims.map((claim) => `claim:${claim}`)];
  const issued = await admin('POST', '/api-keys', { name: 'clerk', permissions });
  const response = await fetch(`${server.url}/ogc/features/collections/countries/items?limit=1000&f=json`, {
    headers: { 'x-api-key': issued.data['key'] as unknown as string },
  });
  const { features = [] } = (await response.json()) as { features?: { properties: { ISO_A3: string } }[] };
  await admin('DELETE', `/rls-policies/${made.data['policyId']}`);
  return features.map(({ properties }) => properties.ISO_A3).sort();
}

describe('filters of policies', () => {
  it('let rows through by the values of the caller', async () => {
    const one = { filter: "ISO_A3 = claim('country')" };
    expect(await seen(one, 'country=CHE')).toEqual(['CHE']);
    const several = { filter: "ISO_A3 IN (claim('country'), 'ITA')" };
    expect(await seen(several, 'country=CHE', 'country=FRA')).toEqual(['CHE', 'FRA', 'ITA']);
    const numbers = { filter: "fid <= claim('most')" };
    expect((await seen(numbers, 'most=3')).length).toBe(3);
    const beside = { ...{ attribute: 'ISO_A3', claimType: 'country' }, filter: "NAME LIKE 'S%'" };
    expect(await seen(beside, 'country=CHE', 'country=FRA')).toEqual(['CHE']);
  });

  it('let nothing through without the claim, with several values for one, or with one that does not fit', async () => {
    expect(await seen({ filter: "ISO_A3 = claim('country')" })).toEqual([]);
    expect(await seen({ filter: "NOT (ISO_A3 = claim('country'))" })).toEqual([]);
    expect(await seen({ filter: "ISO_A3 = claim('country') OR fid > 0" })).toEqual([]);
    expect(await seen({ filter: "ISO_A3 IN (claim('country'))" })).toEqual([]);
    expect(await seen({ filter: "NOT (ISO_A3 = claim('country'))" }, 'country=CHE', 'country=FRA')).toEqual(
      [],
    );
    expect(await seen({ filter: "NOT (fid = claim('number'))" }, 'number=many')).toEqual([]);
  });

  it('read nothing in a claim as a filter', async () => {
    for (const claim of ["x' OR '1'='1", "CHE') OR (1=1", "claim('country')", '%', "'' OR TRUE"]) {
      expect(await seen({ filter: "ISO_A3 = claim('country')" }, `country=${claim}`)).toEqual([]);
      expect(await seen({ filter: "ISO_A3 IN (claim('country'))" }, `country=${claim}`)).toEqual([]);
    }
  });

  it('are checked when they are saved', async () => {
    const post = (policy: object) => admin('POST', '/rls-policies', { ...SCOPE, ...policy });
    for (const filter of [
      'nope = 1',
      'NAME =',
      'NAME = claim(1)',
      "NAME = claim('a', 'b')",
      'NAME',
      "fid = 'x'",
    ]) {
      const { status, errors } = await post({ filter });
      expect([filter, status, errors?.[0]?.name]).toEqual([filter, 400, '/filter']);
    }
    expect((await post({})).errors?.map(({ name }) => name)).toEqual(['/attribute', '/claimType']);
    expect((await post({ attribute: 'NAME' })).errors).toMatchObject([{ name: '/claimType' }]);
    const { data } = await post({ filter: "NAME = claim('sub')" });
    expect(data).toMatchObject({ attribute: null, claimType: null, comparison: 'in', description: null });
    expect(data).toMatchObject({ filter: "NAME = claim('sub')" });
  });
});
