import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Town, townOf } from '../../replicas/support.js';
import { startServer } from '../../support/server.js';

let town: Town;

beforeAll(async () => {
  town = await townOf(await startServer({ sources: ['demo/data/world_map.gpkg'] }));
}, 120_000);
afterAll(() => town?.server.stop());

it.each(['FeatureServer', 'MapServer'])(
  'documents of %s have the extent that a filter leaves',
  async (kind) => {
    const [id] = Object.values(town.layers);
    const text = `fid < ${kind === 'MapServer' ? 4 : 3}`;
    const set = await town.admin('PUT', `/metadata/layers/${id}/filter`, {
      permanentFilter: { expression: text },
    });
    expect(set.status, JSON.stringify(set.body)).toBeLessThan(300);
    const response = await fetch(`${town.server.url}/rest/services/default/${kind}/${id}?f=json`, {
      headers: { 'x-api-key': town.server.adminKey },
    });
    expect(((await response.json()) as { extent: unknown }).extent).toMatchObject({
      xmin: expect.any(Number),
    });
  },
);
