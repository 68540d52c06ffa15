import { Counter } from './instruments.js';

/** Instruments of telemetry itself. */

export const telemetryExported = new Counter({
  name: 'svc.telemetry.exported_total',
  help: 'Spans, metrics and log lines accepted by the collector',
  labels: ['signal'],
});
export const telemetryLost = new Counter({
  name: 'svc.telemetry.lost_total',
  help: 'Spans, metrics and log lines lost: rejected by the collector or beyond the buffer',
  labels: ['signal', 'reason'],
});

export const TELEMETRY_INSTRUMENTS = [telemetryExported, telemetryLost];
