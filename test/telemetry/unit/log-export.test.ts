import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LogEventName } from '../../../src/core/kit/log-events.js';
import type {
  Log,
  LogReceiver,
  Properties,
  RequestEvent,
  RequestKind,
} from '../../../src/services/telemetry/log.js';
import { type Otlp, startLogExport } from '../../../src/services/telemetry/otlp.js';
import { errorRecovery } from '../../../src/services/telemetry/process-metrics.js';
import { telemetryExported, telemetryLost } from '../../../src/services/telemetry/telemetry-metrics.js';
import { type Collector, logRecords, startCollector } from '../../support/collector.js';

const KIND: RequestKind = { method: 'GET', status: 200, protocol: 'OGC-Tiles', operation: 'x', quiet: false };
const EVENT: RequestEvent = {
  path: '/tiles/a/0/0/0',
  plainPath: true,
  correlationId: 'id-1',
  correlationBytes: undefined,
  principal: { id: 'anonymous' },
  trace: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' },
};
const LINES = 5000;

const exported = () => telemetryExported.cell('logs').value;
const refused = () => telemetryLost.cell('logs', 'collector').value;
const crowded = () => telemetryLost.cell('logs', 'queue').value;

describe('the log on its way to a collector', () => {
  let collector: Collector;
  let receiver: LogReceiver;
  let otlp: Otlp;
  const told: [LogEventName, Properties | undefined][] = [];

  beforeAll(async () => {
    collector = await startCollector();
    const log = {
      process: 'test',
      write: (event: LogEventName, properties?: Properties) => void told.push([event, properties]),
      copyTo: (to: LogReceiver) => {
        receiver = to;
      },
    } as unknown as Log;
    otlp = startLogExport(`${collector.url}/`, '1.2.3', log);
  });
  beforeEach(() => {
    collector.status = 200;
    collector.received.clear();
    told.length = 0;
  });
  afterAll(() => void collector.server.close());

  it('has severity, text, attributes, trace, span, event and resource', async () => {
    const before = Date.now();
    const taken = exported();
    receiver.request(KIND, EVENT, 1.239, 512);
    receiver.request({ ...KIND, status: 500 }, { ...EVENT, trace: undefined }, 1, 0);
    receiver.write('feed.store.failed', { Store: 'a', Lost: ['b', 'c'], '@x': 'Error: d' }, 'the text');
    receiver.write('http.request.failed', { '@tr': EVENT.trace!.traceId, '@sp': EVENT.trace!.spanId }, 'e');
    // Counted when the answer is there, which is after the collector has them.
    await vi.waitFor(() => expect(exported() - taken).toBe(4), 20_000);
    expect(logRecords(collector)).toHaveLength(4);
    const [request, failed, written, traced] = logRecords(collector);
    expect(request).toEqual({
      resource: expect.objectContaining({ 'service.name': 'graticule', 'service.version': '1.2.3' }),
      scope: 'Graticule',
      timeMs: expect.any(Number),
      severityNumber: 9,
      severityText: 'Information',
      body: 'GET /tiles/a/0/0/0 200 1.24 ms',
      attributes: {
        'event.id': 1000,
        Method: 'GET',
        StatusCode: 200,
        Protocol: 'OGC-Tiles',
        Operation: 'x',
        Process: 'test',
        DurationMs: 1.239,
        Bytes: 512,
        Path: '/tiles/a/0/0/0',
        CorrelationId: 'id-1',
        Principal: 'anonymous',
      },
      flags: 1,
      traceId: EVENT.trace!.traceId,
      spanId: EVENT.trace!.spanId,
      eventName: 'http.request.completed',
    });
    expect(request!.timeMs).toBeGreaterThan(before - 1);
    expect(failed).toMatchObject({ severityNumber: 17, severityText: 'Error', traceId: '', spanId: '' });
    expect(written).toMatchObject({
      severityNumber: 13,
      severityText: 'Warning',
      body: 'the text',
      eventName: 'feed.store.failed',
      attributes: { 'event.id': 1401, Store: 'a', Lost: ['b', 'c'], 'exception.stacktrace': 'Error: d' },
    });
    expect(traced).toMatchObject({ traceId: EVENT.trace!.traceId, spanId: EVENT.trace!.spanId });
    expect(told).toEqual([]);
  });

  it('waits up to a bound, and what is beyond it is counted', async () => {
    const before = exported();
    const lost = crowded();
    // Without a turn of the event loop nothing leaves.
    for (let i = 0; i < LINES; i++) receiver.request(KIND, EVENT, i, i);
    const beyond = crowded() - lost;
    expect(beyond).toBeGreaterThanOrEqual(LINES - 2048 - 512);
    expect(beyond).toBeLessThan(LINES);
    await vi.waitFor(() => expect(exported() - before).toBe(LINES - beyond), 20_000);
    expect(logRecords(collector)).toHaveLength(LINES - beyond);
  });

  it('tells the log once of a collector that fails, and once that it is back', async () => {
    collector.status = 400;
    const recoveries = errorRecovery.cell('collector').count;
    const before = refused();
    for (let i = 1; i <= 3; i++) {
      receiver.write('catalog.reloaded', {}, `line ${i}`);
      await vi.waitFor(() => expect(refused() - before).toBe(i), 20_000);
    }
    expect(told).toEqual([
      ['telemetry.export.failed', { Signal: 'logs', Error: expect.stringContaining('400') }],
    ]);
    collector.status = 200;
    for (let i = 1; i <= 2; i++) {
      const taken = exported();
      receiver.write('catalog.reloaded', {}, `line ${i}`);
      await vi.waitFor(() => expect(exported()).toBe(taken + 1), 20_000);
    }
    expect(told.map(([event]) => event)).toEqual(['telemetry.export.failed', 'telemetry.export.resumed']);
    expect(errorRecovery.cell('collector').count).toBe(recoveries + 1);
  });

  it('does not hold up the end when nobody listens', async () => {
    await new Promise((resolve) => collector.server.close(resolve).closeAllConnections());
    receiver.write('catalog.reloaded', {}, 'the last line');
    await otlp.shutdown();
  });
});
