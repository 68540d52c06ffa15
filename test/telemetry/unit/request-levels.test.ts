import { expect, it } from 'vitest';
import { outboxDead, outboxOldest, outboxPending } from '../../../src/services/telemetry/event-metrics.js';
import { getRequestLogLevel } from '../../../src/services/telemetry/log.js';

it.each([
  [200, 'Information'],
  [404, 'Information'],
  [500, 'Error'],
  [501, 'Information'],
  [502, 'Warning'],
  [503, 'Warning'],
  [504, 'Warning'],
  [507, 'Error'],
])('a request with the status %d is logged at the level %s', (status, level) => {
  const kind = {
    method: 'GET',
    status,
    protocol: 'OGC-Features',
    operation: 'features.getItems',
    quiet: false,
  };
  expect(getRequestLogLevel(kind)).toBe(level);
});

it('gauges of outboxes begin at 0', () => {
  for (const gauge of [outboxPending, outboxDead, outboxOldest]) expect(gauge.cell().value).toBe(0);
});
