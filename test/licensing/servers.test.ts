import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';
import { LicenceIssuer, licence } from './support/licence-files.js';

let postgres: TestPostgres;
let issuer: LicenceIssuer;
const servers: TestServer[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  issuer = new LicenceIssuer();
  const url = await makeDatabase(postgres.url);
  for (const role of ['production', 'production', 'staging'])
    servers.push(
      await startServerProcess({
        sources: [],
        env: {
          SVC_STATE__URL: url,
          SVC_LICENSING__ENABLED: 'true',
          SVC_LICENSING__KEYS: issuer.keys(),
          SVC_LICENSING__DEPLOYMENT_ROLE: role,
        },
      }),
    );
}, 240_000);
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await postgres?.stop();
  issuer?.remove();
}, 60_000);

const call = async ({ url, adminKey }: TestServer, path: string, body?: string) => {
  const response = await fetch(`${url}/api/v1/admin${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': adminKey, 'content-type': 'application/octet-stream' },
    ...(body === undefined ? {} : { body }),
  });
  const { data } = await response.json();
  return { status: response.status, data };
};
const licences = () =>
  Promise.all(servers.map(async (server) => (await call(server, '/license')).data.licenseId));

it('use the licence of an upload as soon as it is answered, and keep it when another one is refused', async () => {
  const [first, second, third] = servers as [TestServer, TestServer, TestServer];
  expect((await call(first, '/license', issuer.issue(licence()))).status).toBe(200);
  expect(await licences()).toEqual(['L-1', 'L-1', 'L-1']);
  const other = new LicenceIssuer(issuer.kid);
  for (const text of [
    other.issue(licence({ licenseId: 'L-9' })),
    'text',
    issuer.issue(licence({ edition: 'x' })),
  ])
    expect((await call(second, '/license', text)).status).toBe(400);
  other.remove();
  expect(await licences()).toEqual(['L-1', 'L-1', 'L-1']);
  const next = issuer.issue(licence({ licenseId: 'L-2' }));
  expect((await call(third, '/license/upload', next)).data.success).toBe(true);
  expect(await licences()).toEqual(['L-2', 'L-2', 'L-2']);
}, 60_000);

it('count the units of production servers once, and not those of a server that was killed', async () => {
  const units = async () => (await call(servers[0]!, '/license/capacity')).data;
  const all = await units();
  expect(all).toMatchObject({ liveInstanceCount: 3, productionInstanceCount: 2, excludedInstanceCount: 1 });
  expect(all.currentServingUnits).toBe(2 * all.localServingUnits);
  const staging = (await call(servers[2]!, '/license/capacity')).data;
  expect(staging).toMatchObject({ localDeploymentRole: 3, localRoleExcluded: true });
  await servers[1]!.kill();
  let left = await units();
  while (left.productionInstanceCount > 1) {
    await new Promise((next) => setTimeout(next, 500));
    left = await units();
  }
  expect(left.currentServingUnits).toBe(left.localServingUnits);
  servers.splice(1, 1);
}, 60_000);
