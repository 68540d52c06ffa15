import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * Durations of proposals, approvals and rejections over HTTP, with their seals and transactions, by one caller after the
 * other. A request that reads one proposal is measured beside them.
 */
const rounds = option('rounds', 300);
const KEY = 'bench-bench-bench-bench';
const GOAL_MS = 50;
const graticule = await startGraticule(['demo/data/world_map.gpkg'], { port: 18_392, cores: '0,1' });
const BASE = `${graticule.origin}/api/v1/admin`;

type Step = 'propose' | 'read' | 'reject' | 'approve';
const durations: Record<Step, number[]> = { propose: [], read: [], reject: [], approve: [] };

async function request(
  step: Step | undefined,
  key: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const start = performance.now();
  const response = await fetch(BASE + path, {
    method: step === 'read' ? 'GET' : 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const took = performance.now() - start;
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  if (step) durations[step].push(took);
  return JSON.parse(text);
}

const createKey = async (name: string) => {
  const { data } = (await request(undefined, KEY, '/api-keys', {
    ...{ name, permissions: ['admin:*'] },
  })) as { data: { key: string } };
  return data.key;
};
const [clerk, chief] = [await createKey('clerk'), await createKey('chief')];
const asked = { actuator: 'tiles.evict', parameters: {} };

for (let round = -20; round < rounds; round++) {
  if (round === 0) for (const list of Object.values(durations)) list.length = 0;
  for (const step of ['reject', 'approve'] as const) {
    const { proposalId } = await request('propose', clerk, '/proposals', asked);
    await request('read', chief, `/proposals/${proposalId}`);
    const body = step === 'reject' ? { reason: 'measured' } : undefined;
    await request(step, chief, `/proposals/${proposalId}/${step}`, body);
  }
}
await graticule.stop();

const percentile = (list: readonly number[], share: number) =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))]!;
const steps = Object.entries(durations);
publish({
  bench: 'operate',
  command: `./run bench operate --rounds ${rounds}`,
  about: 'Durations of requests on proposals, state in a file, with their signatures and audit rows.',
  figures: steps.map(([name, list]) => ({
    name,
    rounds: { 'p50 ms': [percentile(list, 0.5)], 'p99 ms': [percentile(list, 0.99)] },
  })),
  ratios: steps.map(([name, list]) => ({
    what: `p99 of ${name}, ms`,
    rounds: [percentile(list, 0.99)],
    most: GOAL_MS,
  })),
});
