import { Counter, Histogram } from './instruments.js';

/** Instruments of manifests that are applied. */

export const specApplies = new Counter({
  name: 'svc.spec.applies_started',
  help: 'Manifests submitted, including dry runs',
});
export const specAppliesDone = new Counter({
  name: 'svc.spec.applies_completed',
  help: 'Manifests applied or planned without errors',
});
export const specNodes = new Counter({
  name: 'svc.spec.nodes_processed',
  help: 'Manifest objects compared with the state',
});
export const specDuration = new Histogram({
  name: 'svc.spec.apply_duration_ms',
  help: 'Time until all processes have applied a manifest',
  bounds: [5, 25, 100, 500, 2500, 10_000],
});

export const SPEC_INSTRUMENTS = [specApplies, specAppliesDone, specNodes, specDuration];
