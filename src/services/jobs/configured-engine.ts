import type { Config } from '../../core/config/config.js';
import type { JobStore } from '../../stores/jobs/jobs.js';
import { JobEngine, type JobEngineOptions } from './engine.js';
import { sharePlaces } from './places.js';

/** Returns the job engine of a server with the limits of its configuration. */
export function createJobEngine(
  store: JobStore,
  { atOnce, deadlines, limits, perOwner, perTenant }: Config['jobs'],
  options: Pick<JobEngineOptions, 'folder' | 'requireCaller' | 'onError'>,
): JobEngine {
  return new JobEngine(store, {
    ...options,
    concurrency: atOnce,
    places: sharePlaces(atOnce),
    deadlinesMs: Object.fromEntries(
      Object.entries(deadlines).map(([kind, minutes]) => [kind, minutes * 60_000]),
    ),
    limits: { kinds: limits, perOwner, perTenant },
  });
}
