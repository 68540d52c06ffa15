import { expect, it } from 'vitest';
import { ApiError } from '../../src/core/errors/errors.js';
import { defineOperation } from '../../src/core/http/operation.js';
import { json } from '../../src/core/http/reply.js';
import { LatencyRecorder } from '../../src/services/observability/latency/latencies.js';
import { serverOf } from '../http/support.js';

const COMMON = {
  surface: 'features',
  method: 'GET',
  permission: 'public',
  tag: 'Test',
  openQuery: true,
  responses: { 200: { description: 'Done', content: { 'application/json': null } } },
} as const;

/** An operation that fails with the error that its query names. */
function failing(name: string, more: object) {
  return defineOperation({
    ...COMMON,
    ...{ id: name, path: `/${name}`, summary: 'Fail', protocol: 'STAC' },
    run(x) {
      const code = (x as { query: string }).query;
      if (code === 'fine') return json({});
      throw new ApiError(code as 'internal', 'It failed.');
    },
    ...more,
  });
}

it('errors of the server are counted, also inside responses with another status', async () => {
  const latency = new LatencyRecorder();
  const server = serverOf(
    [
      failing('plain', {}),
      failing('inside', {
        protocol: 'FeatureServer',
        failure: ({ status }: ApiError) => json({ error: { code: status } }),
      }),
      failing('stream', {
        protocol: 'Streaming',
        responses: { 200: { description: 'Events', content: { 'text/event-stream': null } } },
      }),
    ],
    { latency },
  );
  const url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  const statuses: number[] = [];
  for (const name of ['plain', 'inside', 'stream', 'nothing'])
    for (const code of ['fine', 'invalid-parameter', 'internal', 'unavailable', 'not-implemented']) {
      const response = await fetch(`${url}/${name}?${code}`);
      await response.arrayBuffer();
      statuses.push(response.status);
    }
  await server.close(100);
  expect(statuses.slice(0, 10)).toEqual([200, 400, 500, 503, 501, 200, 200, 200, 200, 200]);
  const counted = latency.read().map(([protocol, { requests, errors }]) => [protocol, requests, errors]);
  expect(counted.sort()).toEqual([
    ['FeatureServer', 5, 2],
    ['STAC', 5, 2],
    ['Unknown', 5, 0],
  ]);
});
