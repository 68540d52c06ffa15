import { Counter } from './instruments.js';

/** Instruments of telemetry itself. */

export const telemetryExported = new Counter({
  name: 'svc.telemetry.exported_total',
  help: 'Spans, metrics and log lines that the collector took',
  labels: ['signal'],
});
export const telemetryLost = new Counter({
  name: 'svc.telemetry.lost_total',
  help: 'Spans, metrics and log lines that the collector did not take, and log lines for which there was no room',
  labels: ['signal', 'reason'],
});

export const TELEMETRY_INSTRUMENTS = [telemetryExported, telemetryLost];
