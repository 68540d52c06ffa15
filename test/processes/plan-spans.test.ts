import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Collector, startCollector, traceSpans } from '../support/collector.js';
import { startServer, type TestServer } from '../support/server.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

const PLAN = {
  planId: 'spans',
  steps: [
    { kind: 'queryFeatures', stepId: 'rows', inputs: { features: { collection: 'countries' } } },
    {
      ...{ kind: 'geoprocess', stepId: 'points', processId: 'geometry.centroid' },
      inputs: { features: 'rows' },
    },
  ],
};

let collector: Collector;
let server: TestServer;

beforeAll(async () => {
  collector = await startCollector();
  server = await startServer({
    sources: ['demo/data'],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
});

afterAll(async () => {
  await server?.stop();
  collector?.server.close();
});

it('makes a trace of a plan, with a span for each step', async () => {
  const answer = await fetch(`${server.url}/ogc/processes/processes/svc-geoprocessing/execution`, {
    method: 'POST',
    headers: {
      ...{ 'x-api-key': server.adminKey, 'content-type': 'application/json', prefer: 'wait=60' },
      traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
    },
    body: JSON.stringify({ inputs: { plan: PLAN } }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Point')]);
  // Spans are pushed when the server stops, at the latest.
  await server.stop();
  const all = traceSpans(collector);
  const spans = all.filter(({ name }) => name.startsWith('svc.orchestration.'));
  const run = spans.find(({ name }) => name === 'svc.orchestration.reconcile_run');
  expect(run?.attributes).toEqual({
    'svc.job.id': expect.any(String),
    'svc.operation': 'svc-geoprocessing',
  });
  const steps = spans.filter(({ name }) => name === 'svc.orchestration.execute_step');
  expect(steps.map(({ attributes }) => attributes['svc.operation'])).toEqual([
    'conversion.feature-select',
    'geometry.centroid',
  ]);
  for (const step of steps) {
    expect([step.traceId, step.parentSpanId]).toEqual([run!.traceId, run!.spanId]);
    expect(step.attributes['svc.job.id']).toBe(run!.attributes['svc.job.id']);
  }
  const bindings = spans.filter(({ name }) => name === 'svc.orchestration.resolve_bindings');
  expect(bindings.map(({ parentSpanId }) => parentSpanId)).toEqual([run!.spanId, run!.spanId]);
  // The job goes on with the trace of the request that submitted it.
  const request = all.find(({ name, traceId }) => name === 'svc.http.request' && traceId === TRACE);
  const admission = all.find(({ name }) => name === 'svc.execution.admission');
  expect([run!.traceId, run!.parentSpanId]).toEqual([TRACE, request!.spanId]);
  expect([admission!.traceId, admission!.parentSpanId]).toEqual([TRACE, request!.spanId]);
  expect(admission!.attributes).toEqual({ 'svc.operation': 'svc-geoprocessing' });
  const ticks = spans.filter(({ name }) => name === 'svc.orchestration.scheduler_tick');
  expect(ticks.length).toBeGreaterThan(0);
  expect(ticks.every(({ traceId }) => traceId !== TRACE)).toBe(true);
});
