import { Counter, Histogram } from './instruments.js';

/** Plans of processes, which are orchestrated as the steps of a job. */

const BOUNDS = [100, 1000, 10_000, 60_000, 600_000, 3_600_000];

export const runsCreated = new Counter({
  name: 'svc.orchestration.runs_created_total',
  help: 'Started plans',
});
export const runsCompleted = new Counter({
  name: 'svc.orchestration.runs_completed_total',
  help: 'Completed plans',
});
export const stepsCompleted = new Counter({
  name: 'svc.orchestration.steps_completed_total',
  help: 'Completed plan steps',
});
export const stepsRetried = new Counter({
  name: 'svc.orchestration.steps_retried_total',
  help: 'Repeated plan steps',
});
export const runDuration = new Histogram({
  name: 'svc.orchestration.run_duration_ms',
  help: 'Duration of the steps of completed plans in their last run',
  bounds: BOUNDS,
});
export const stepDuration = new Histogram({
  name: 'svc.orchestration.step_duration_ms',
  help: 'Duration of completed plan steps',
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
