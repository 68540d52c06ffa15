import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { ApiError } from '../../src/core/errors/errors.js';
import { type ProbeDeps, probeOperations } from '../../src/gateway/probes/operations.js';

const DEPS: ProbeDeps = {
  registry: new Registry(),
  metricsPath: undefined,
  poolStatus: () => [],
  pingState: async () => {},
  dataFolder: () => ({}),
  databaseStatus: async () => [],
  catalogStatus: () => ({ generation: 1, collections: 0, quarantined: 0, warnings: [], problems: [] }),
  cacheRefresh: () => ({}),
  license: () => ({ validationState: 'not_required', activeEntitlements: [] }),
  cacheStatistics: () => ({}),
  hostChecks: () => [],
  outboxStatus: () => [],
};

async function readiness(failingMs: number): Promise<unknown> {
  const outboxStatus = () => [{ name: 'town.gpkg', failingMs }];
  const ready = probeOperations({ ...DEPS, outboxStatus }).find(({ id }) => id === 'operations.ready')!;
  try {
    return await ready.run(undefined as never);
  } catch (error) {
    return error;
  }
}

it('a server is ready while its outboxes are read, and when one fails for a moment', async () => {
  for (const failingMs of [0, 59_000]) expect(await readiness(failingMs)).not.toBeInstanceOf(Error);
});

it('a server is not ready when an outbox cannot be read for long', async () => {
  const error = (await readiness(61_000)) as ApiError;
  expect(error).toBeInstanceOf(ApiError);
  expect(error.message).toContain('feature-change-outbox');
});
