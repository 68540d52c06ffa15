import { Counter, Histogram } from './instruments.js';

/** Instruments of manifests that are applied. */

export const specApplies = new Counter({
  name: 'svc.spec.applies_started',
  help: 'Manifests that were given to be applied, dry runs too',
});
export const specAppliesDone = new Counter({
  name: 'svc.spec.applies_completed',
  help: 'Manifests that were applied, or planned, without an error',
});
export const specNodes = new Counter({
  name: 'svc.spec.nodes_processed',
  help: 'Objects of manifests that were compared with the state',
});
export const specDuration = new Histogram({
  name: 'svc.spec.apply_duration_ms',
  help: 'From the manifest to its answer: until all processes have taken it over',
  bounds: [5, 25, 100, 500, 2500, 10_000],
});

export const SPEC_INSTRUMENTS = [specApplies, specAppliesDone, specNodes, specDuration];
