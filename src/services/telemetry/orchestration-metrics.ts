import { Counter, Histogram } from './instruments.js';

/** Plans of processes, which are orchestrated as the steps of a job. */

const BOUNDS = [100, 1000, 10_000, 60_000, 600_000, 3_600_000];

export const runsCreated = new Counter({
  name: 'svc.orchestration.runs_created_total',
  help: 'Plans that were begun',
});
export const runsCompleted = new Counter({
  name: 'svc.orchestration.runs_completed_total',
  help: 'Plans whose steps have all succeeded',
});
export const stepsCompleted = new Counter({
  name: 'svc.orchestration.steps_completed_total',
  help: 'Steps of plans that succeeded',
});
export const stepsRetried = new Counter({
  name: 'svc.orchestration.steps_retried_total',
  help: 'Steps of plans that were begun again',
});
export const runDuration = new Histogram({
  name: 'svc.orchestration.run_duration_ms',
  help: 'Duration of the steps of plans that succeeded, in the run that ended them',
  bounds: BOUNDS,
});
export const stepDuration = new Histogram({
  name: 'svc.orchestration.step_duration_ms',
  help: 'Duration of steps of plans that succeeded',
  bounds: BOUNDS,
});

export const ORCHESTRATION_INSTRUMENTS = [
  runsCreated,
  runsCompleted,
  stepsCompleted,
  stepsRetried,
  runDuration,
  stepDuration,
];
