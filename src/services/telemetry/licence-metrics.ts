import { Counter } from './instruments.js';

/** Instruments of the capacity of the licence and of compliance reports. */

export const surgeChanges = new Counter({
  name: 'svc.license.capacity.surge_mode_changes',
  help: 'Starts and ends of surge mode',
  labels: ['enabled'],
});
export const reportCacheHits = new Counter({
  name: 'svc.reporting.cache.hit.count',
  help: 'Compliance reports from the cache',
});
export const reportCacheMisses = new Counter({
  name: 'svc.reporting.cache.miss.count',
  help: 'Compliance reports that were not in the cache',
});
export const reportRenders = new Counter({
  name: 'svc.reporting.render.count',
  help: 'Rendered compliance reports',
  labels: ['format'],
});
export const reportRenderFailures = new Counter({
  name: 'svc.reporting.render.failure.count',
  help: 'Compliance reports that could not be rendered',
  labels: ['format'],
});

export const LICENCE_INSTRUMENTS = [
  ...[surgeChanges, reportCacheHits, reportCacheMisses, reportRenders, reportRenderFailures],
];
