import type { JobStore } from '../../stores/jobs/jobs.js';
import { PROCESS_KIND, processResource } from './service.js';

/** Usage of a process. */
export interface ProcessUse {
  readonly rank: number;
  readonly processId: string;
  readonly invocationCount: number;
  readonly successCount: number;
  readonly failureCount: number;
  /** Milliseconds since 1970. */
  readonly lastInvokedAt: number;
}

/** The processes that are executed most, of the jobs that are kept. */
export async function rankProcesses(store: Pick<JobStore, 'tally'>, limit: number): Promise<ProcessUse[]> {
  const uses = new Map<string, Omit<ProcessUse, 'rank' | 'processId'>>();
  for (const { resources_json, state, count, newest } of await store.tally(PROCESS_KIND)) {
    const resource = (JSON.parse(resources_json) as string[]).find((one) =>
      one.startsWith(processResource('')),
    );
    if (resource === undefined) continue;
    const id = resource.slice(processResource('').length);
    const before = uses.get(id);
    const number = Number(count);
    uses.set(id, {
      invocationCount: (before?.invocationCount ?? 0) + number,
      successCount: (before?.successCount ?? 0) + (state === 'Succeeded' ? number : 0),
      failureCount: (before?.failureCount ?? 0) + (state === 'Failed' ? number : 0),
      lastInvokedAt: Math.max(before?.lastInvokedAt ?? 0, Number(newest)),
    });
  }
  return [...uses]
    .sort(([a, one], [b, other]) => other.invocationCount - one.invocationCount || (a < b ? -1 : 1))
    .slice(0, limit)
    .map(([processId, use], i) => ({ rank: i + 1, processId, ...use }));
}
